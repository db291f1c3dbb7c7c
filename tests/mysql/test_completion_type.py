"""``completion_type``: COMMIT and ROLLBACK that the driver sends end the transaction, and do nothing else.

With CHAIN the server would open another, in which the statements that follow are never committed; with RELEASE it would
end the session. For those that the program executes, the setting counts."""

# Made by tools/async_to_sync.py of test_completion_type_async.py: edit that file, and run the tool.

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

import headrace
import headrace.mysql
from headrace.types import TransactionStatus

INSERT = "insert into completed values (?)"
TYPES = ["CHAIN", "RELEASE"]


@pytest.fixture
def table(my: headrace.mysql.Connection[Any]) -> headrace.mysql.Connection[Any]:
    """A connection that sees what others have committed into an empty table."""
    my.execute("drop table if exists completed")
    my.execute("create table completed (n int primary key) engine=innodb")
    return my


def committed(table: headrace.mysql.Connection[Any]) -> list[int]:
    return [n for (n,) in table.fetch("select n from completed order by n")]


def is_open(conn: headrace.mysql.Connection[Any] | headrace.mysql.Connection[Any]) -> bool:
    return conn.transaction_status == TransactionStatus.INTRANS


@contextlib.contextmanager
def chained_by_default(my: headrace.mysql.Connection[Any]) -> Iterator[None]:
    """The setting of the server, which no statement of a new session names."""
    my.execute("set global completion_type = 'CHAIN'")
    try:
        yield
    finally:
        my.execute("set global completion_type = 'NO_CHAIN'")


def work(conn: headrace.mysql.Connection[Any]) -> None:
    """Ends transactions in every way, with a statement in autocommit after each."""
    with conn.transaction():
        conn.execute(INSERT, (1,))
    assert not is_open(conn)
    conn.execute(INSERT, (2,))
    with conn.transaction(force_rollback=True):
        conn.execute(INSERT, (3,))
    conn.execute(INSERT, (4,))
    conn.execute("begin")
    conn.execute(INSERT, (5,))
    conn.commit()
    conn.execute(INSERT, (6,))
    conn.execute("begin")
    conn.execute(INSERT, (7,))
    conn.rollback()
    conn.execute(INSERT, (8,))
    conn.executemany(INSERT, [(n,) for n in range(9, 20)])
    conn.execute(INSERT, (20,))
    with pytest.raises(headrace.IntegrityError):
        conn.executemany(INSERT, [(21,), (1,)])
    conn.execute(INSERT, (22,))
    conn.execute("begin")
    conn.execute(INSERT, (23,))
    conn.reset()
    conn.execute(INSERT, (24,))
    assert not is_open(conn)
    assert not conn.closed


KEPT = [1, 2, 4, 5, 6, 8, *range(9, 20), 20, 22, 24]


@pytest.mark.parametrize("kind", TYPES)
def test_the_drivers_end_of_a_transaction_ends_it_alone(
    table: headrace.mysql.Connection[Any], my_url: str, kind: str
) -> None:
    with headrace.mysql.connect(my_url, autocommit=True) as conn:
        conn.execute(f"set completion_type = '{kind}'")
        work(conn)
        assert committed(table) == KEPT


def test_a_chained_transaction_is_ended_if_the_server_chains_by_default(
    table: headrace.mysql.Connection[Any], my_url: str
) -> None:
    with chained_by_default(table), headrace.mysql.connect(my_url, autocommit=True) as conn:
        work(conn)
        assert committed(table) == KEPT


@pytest.mark.parametrize("by_default", [False, True])
def test_without_autocommit_a_block_is_a_transaction(
    table: headrace.mysql.Connection[Any], my_url: str, by_default: bool
) -> None:
    with chained_by_default(table) if by_default else contextlib.nullcontext(), headrace.mysql.connect(my_url) as conn:
        if not by_default:
            conn.execute("set completion_type = 'CHAIN'")
        conn.execute(INSERT, (1,))
        conn.commit()
        assert not is_open(conn)
        conn.isolation_level = "serializable"
        with conn.transaction():
            conn.execute(INSERT, (2,))
        assert committed(table) == [1, 2]
        conn.execute(INSERT, (3,))
        conn.rollback()
        assert committed(table) == [1, 2]


def test_an_end_that_the_program_executes_is_chained(table: headrace.mysql.Connection[Any], my_url: str) -> None:
    with headrace.mysql.connect(my_url, autocommit=True) as conn:
        conn.execute("set completion_type = 'CHAIN'")
        conn.execute("begin")
        conn.execute("commit")
        assert is_open(conn)
        conn.execute(INSERT, (1,))
        assert committed(table) == []
        conn.commit()
        assert not is_open(conn)
        assert committed(table) == [1]
