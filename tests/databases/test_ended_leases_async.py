"""What a borrower keeps of a pool's connection after its return raises, and changes nothing of the next borrower's."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from headrace import errors
from headrace.aio import AsyncConnectionPool
from headrace.rows import dict_row
from headrace.types import TransactionStatus
from servers import Database

OLD = "returned to its pool"


@pytest.fixture
async def pool(any_db: Database) -> AsyncIterator[Any]:
    """A pool of one connection, and a table ``leases``."""
    async with await any_db.aconnect(autocommit=True) as conn:
        await conn.execute("drop table if exists leases")
        await conn.execute("create table leases (n int)")
    async with AsyncConnectionPool(any_db.url, min_size=1, max_size=1, timeout=20) as pool:
        yield pool


async def rows(db: Database) -> list[int]:
    """What is stored."""
    async with await db.aconnect(autocommit=True) as conn:
        return sorted(n for (n,) in await conn.fetch("select n from leases"))


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
async def test_a_connection_that_was_returned_raises(any_db: Database, pool: Any, use: str) -> None:
    async with pool.connection() as old:
        await old.fetch("select n from leases")
    with pytest.raises(KeyError):
        async with pool.connection() as new:
            await new.execute("insert into leases values (1)")
            with pytest.raises(errors.InterfaceError, match=OLD):
                await USES[use](old, "insert into leases values (7)")
            assert new.transaction_status is TransactionStatus.INTRANS
            raise KeyError
    async with pool.connection() as new:
        await new.execute("insert into leases values (2)")
    assert await rows(any_db) == [2]


async def test_it_is_closed_for_its_old_borrower_only(any_db: Database, pool: Any) -> None:
    async with pool.connection() as old:
        pass
    async with pool.connection() as new:
        await old.close()
        await old.cancel()
        assert old.closed
        assert old.transaction_status is TransactionStatus.UNKNOWN
        assert OLD in repr(old)
        old.row_factory = dict_row
        assert new is not old
        assert not new.closed
        await new.execute("insert into leases values (1)")
        assert await new.fetch("select n from leases") == [(1,)]


async def test_a_cursor_keeps_its_rows_and_executes_nothing(any_db: Database, pool: Any) -> None:
    async with pool.connection() as old:
        await old.execute("insert into leases values (1)")
        cursor = old.cursor()
        await cursor.execute("select n from leases")
    async with pool.connection():
        assert await cursor.fetchall() == [(1,)]
        with pytest.raises(errors.InterfaceError, match=OLD):
            await cursor.execute("insert into leases values (7)")
        with pytest.raises(errors.InterfaceError, match=OLD):
            await cursor.executemany("insert into leases values (7)", [()])
        await cursor.close()
    assert await rows(any_db) == [1]


async def test_a_block_that_outlives_the_lease_does_not_end_without_an_error(any_db: Database, pool: Any) -> None:
    old = await pool.getconn()
    block = old.transaction()
    await block.__aenter__()
    await old.execute("insert into leases values (7)")
    await pool.putconn(old)
    async with pool.connection() as new:
        await new.execute("insert into leases values (1)")
        with pytest.raises(errors.InterfaceError, match=OLD):
            await block.__aexit__(None, None, None)
        assert new.transaction_status is TransactionStatus.INTRANS
    assert await rows(any_db) == [1]


async def test_an_exception_passes_through_what_outlives_the_lease(any_db: Database, pool: Any) -> None:
    for begin in (lambda conn: conn.transaction(), lambda conn: conn.pipeline()):
        with pytest.raises(KeyError):
            async with pool.connection() as new:
                pass
            old = await pool.getconn()
            async with begin(old):
                await old.execute("insert into leases values (7)")
                await pool.putconn(old)
                async with pool.connection() as new:
                    await new.execute("insert into leases values (1)")
                raise KeyError
    assert await rows(any_db) == [1, 1]


async def test_a_pipeline_that_outlives_the_lease_does_not_end_without_an_error(any_db: Database, pool: Any) -> None:
    old = await pool.getconn()
    pipeline = old.pipeline()
    await pipeline.__aenter__()
    await old.execute("insert into leases values (7)")
    await pool.putconn(old)
    async with pool.connection() as new:
        await new.execute("insert into leases values (1)")
        with pytest.raises(errors.InterfaceError, match=OLD):
            await pipeline.__aexit__(None, None, None)
        await new.execute("insert into leases values (2)")
    assert await rows(any_db) == [1, 2]


async def test_a_connection_is_returned_once(any_db: Database, pool: Any) -> None:
    old = await pool.getconn()
    await pool.putconn(old)
    async with pool.connection() as new:
        with pytest.raises(errors.ProgrammingError, match="given back already"):
            await pool.putconn(old)
        await new.execute("insert into leases values (1)")
    assert await rows(any_db) == [1]


async def test_a_connection_that_is_dropped_is_replaced(any_db: Database, pool: Any) -> None:
    old = await pool.getconn()
    await old.execute("insert into leases values (7)")
    del old
    async with pool.connection(timeout=10) as new:
        await new.execute("insert into leases values (1)")
    assert pool.stats().lost == {"doubt": 1}
    assert await rows(any_db) == [1]
