"""What a borrower keeps of a pool's connection after its return raises, and changes nothing of the next borrower's."""

# Made by tools/async_to_sync.py of test_ended_leases_async.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from headrace import ConnectionPool, errors
from headrace.rows import dict_row
from headrace.types import TransactionStatus
from servers import Database

OLD = "returned to its pool"


@pytest.fixture
def pool(any_db: Database) -> Iterator[Any]:
    """A pool of one connection, and a table ``leases``."""
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists leases")
        conn.execute("create table leases (n int)")
    with ConnectionPool(any_db.url, min_size=1, max_size=1, timeout=20) as pool:
        yield pool


def rows(db: Database) -> list[int]:
    """What is stored."""
    with db.connect(autocommit=True) as conn:
        return sorted(n for (n,) in conn.fetch("select n from leases"))


USES: dict[str, Callable[[Any, str], Awaitable[object]]] = {
    "execute": lambda conn, insert: conn.execute(insert),
    "fetch": lambda conn, insert: conn.fetch("select n from leases"),
    "executemany": lambda conn, insert: conn.executemany("insert into leases values (?)", [(7,)]),
    "commit": lambda conn, insert: conn.commit(),
    "rollback": lambda conn, insert: conn.rollback(),
    "reset": lambda conn, insert: conn.reset(),
}
"""What an old borrower does, with an INSERT of 7."""


@pytest.mark.parametrize("use", USES)
def test_a_connection_that_was_returned_raises(any_db: Database, pool: Any, use: str) -> None:
    with pool.connection() as old:
        old.fetch("select n from leases")
    with pytest.raises(KeyError), pool.connection() as new:
        new.execute("insert into leases values (1)")
        with pytest.raises(errors.InterfaceError, match=OLD):
            USES[use](old, "insert into leases values (7)")
        assert new.transaction_status is TransactionStatus.INTRANS
        raise KeyError
    with pool.connection() as new:
        new.execute("insert into leases values (2)")
    assert rows(any_db) == [2]


def test_it_is_closed_for_its_old_borrower_only(any_db: Database, pool: Any) -> None:
    with pool.connection() as old:
        pass
    with pool.connection() as new:
        old.close()
        old.cancel()
        assert old.closed
        assert old.transaction_status is TransactionStatus.UNKNOWN
        assert OLD in repr(old)
        old.row_factory = dict_row
        assert new is not old
        assert not new.closed
        new.execute("insert into leases values (1)")
        assert new.fetch("select n from leases") == [(1,)]


def test_a_cursor_keeps_its_rows_and_executes_nothing(any_db: Database, pool: Any) -> None:
    with pool.connection() as old:
        old.execute("insert into leases values (1)")
        cursor = old.cursor()
        cursor.execute("select n from leases")
    with pool.connection():
        assert cursor.fetchall() == [(1,)]
        with pytest.raises(errors.InterfaceError, match=OLD):
            cursor.execute("insert into leases values (7)")
        with pytest.raises(errors.InterfaceError, match=OLD):
            cursor.executemany("insert into leases values (7)", [()])
        cursor.close()
    assert rows(any_db) == [1]


def test_a_block_that_outlives_the_lease_does_not_end_without_an_error(any_db: Database, pool: Any) -> None:
    old = pool.getconn()
    block = old.transaction()
    block.__enter__()
    old.execute("insert into leases values (7)")
    pool.putconn(old)
    with pool.connection() as new:
        new.execute("insert into leases values (1)")
        with pytest.raises(errors.InterfaceError, match=OLD):
            block.__exit__(None, None, None)
        assert new.transaction_status is TransactionStatus.INTRANS
    assert rows(any_db) == [1]


def test_an_exception_passes_through_what_outlives_the_lease(any_db: Database, pool: Any) -> None:
    for begin in (lambda conn: conn.transaction(), lambda conn: conn.pipeline()):
        with pytest.raises(KeyError):
            with pool.connection() as new:
                pass
            old = pool.getconn()
            with begin(old):
                old.execute("insert into leases values (7)")
                pool.putconn(old)
                with pool.connection() as new:
                    new.execute("insert into leases values (1)")
                raise KeyError
    assert rows(any_db) == [1, 1]


def test_a_pipeline_that_outlives_the_lease_does_not_end_without_an_error(any_db: Database, pool: Any) -> None:
    old = pool.getconn()
    pipeline = old.pipeline()
    pipeline.__enter__()
    old.execute("insert into leases values (7)")
    pool.putconn(old)
    with pool.connection() as new:
        new.execute("insert into leases values (1)")
        with pytest.raises(errors.InterfaceError, match=OLD):
            pipeline.__exit__(None, None, None)
        new.execute("insert into leases values (2)")
    assert rows(any_db) == [1, 2]


def test_a_connection_is_returned_once(any_db: Database, pool: Any) -> None:
    old = pool.getconn()
    pool.putconn(old)
    with pool.connection() as new:
        with pytest.raises(errors.ProgrammingError, match="given back already"):
            pool.putconn(old)
        new.execute("insert into leases values (1)")
    assert rows(any_db) == [1]


def test_a_connection_that_is_dropped_is_replaced(any_db: Database, pool: Any) -> None:
    old = pool.getconn()
    old.execute("insert into leases values (7)")
    del old
    with pool.connection(timeout=10) as new:
        new.execute("insert into leases values (1)")
    assert pool.stats().lost == {"doubt": 1}
    assert rows(any_db) == [1]
