"""The same promises on a loop: concurrent awaits are pipelined, and a cancelled one never puts the next out of step."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

import headrace
from headrace import errors
from headrace.rows import dict_row

from .conftest import Database

SOON = 5.0
"""Seconds within which a cancelled statement has ended; it would run for far longer."""


@pytest.fixture
async def aconn(db: Database, conn: Any) -> AsyncIterator[Any]:
    """A connection in autocommit, with an empty table ``t``."""
    connection = await db.aconnect(autocommit=True)
    try:
        yield connection
    finally:
        await connection.close()


async def test_concurrent_awaits_get_their_own_answers(aconn: Any) -> None:
    await aconn.executemany("insert into t values (?, ?)", [(n, f"n{n}") for n in range(200)])
    asked = (aconn.fetchval("select name from t where id = ?", n) for n in range(200))
    assert await asyncio.gather(*asked) == [f"n{n}" for n in range(200)]


async def test_errors_belong_to_who_caused_them(aconn: Any) -> None:
    results = await asyncio.gather(
        aconn.fetchval("select count(*) from numbers"),
        aconn.fetchval("select nope from t"),
        aconn.fetchval("select max(n) from numbers"),
        return_exceptions=True,
    )
    assert results[0] == 1000
    assert isinstance(results[1], errors.UndefinedColumn)
    assert results[2] == 999


async def test_rows_and_cursors(aconn: Any) -> None:
    cursor = await aconn.executemany("insert into t values (?, ?)", [(1, "a"), (2, "b")])
    assert cursor.rowcount == 2
    cursor = aconn.cursor(row_factory=dict_row)
    await cursor.execute("select id, name from t order by id")
    assert [row async for row in cursor] == [{"id": 1, "name": "a"}, {"id": 2, "name": "b"}]
    assert await aconn.fetchrow("select id from t where id = ?", 2) == (2,)


async def test_a_batch_names_its_failing_row(aconn: Any) -> None:
    with pytest.raises(errors.UniqueViolation) as caught:
        await aconn.executemany("insert into t values (?, ?)", [(1, "a"), (2, "b"), (1, "c")])
    assert caught.value.row == 2
    assert await aconn.fetchval("select count(*) from t") == 0


async def test_blocks_and_pipelines(aconn: Any) -> None:
    async with aconn.transaction():
        await aconn.execute("insert into t values (1, 'kept')")
        async with aconn.transaction(force_rollback=True):
            await aconn.execute("delete from t")
        async with aconn.transaction():
            await aconn.execute("delete from t")
            raise headrace.Rollback
    async with aconn.pipeline():
        first = await aconn.execute("select name from t")
        second = await aconn.execute("select count(*) from t")
    assert await first.fetchall() == [("kept",)]
    assert await second.fetchone() == (1,)
    await aconn.set_autocommit(False)
    await aconn.execute("delete from t")
    await aconn.rollback()
    assert await aconn.fetchval("select count(*) from t") == 1


async def test_a_timeout_ends_the_statement(db: Database, aconn: Any) -> None:
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        await aconn.execute(db.slow, timeout=0.5)
    assert await aconn.fetchval("select count(*) from numbers") == 1000
    assert time.monotonic() - started < SOON


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8, 13, 50])
async def test_a_cancelled_task_leaves_the_connection_in_step(db: Database, aconn: Any, steps: int) -> None:
    started = time.monotonic()
    task = asyncio.ensure_future(aconn.execute(db.slow))
    for _ in range(steps):
        await asyncio.sleep(0)
    if db.name == "informix":
        # An urgent byte that comes before the server has begun is lost, and the statement runs to its end.
        await asyncio.sleep(0.5)
        started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await aconn.fetchval("select max(n) from numbers where n < ?", 10) == 9
    assert time.monotonic() - started < SOON


@pytest.mark.parametrize("steps", range(1, 40, 3))
async def test_a_cancelled_batch_is_not_applied(db: Database, aconn: Any, steps: int) -> None:
    # So many that the steps are over before the last row is answered: the COMMIT after it is not cancelled.
    count = 100_000 if db.kind == "cubrid" else 20_000
    task = asyncio.ensure_future(
        aconn.executemany("insert into t values (?, ?)", [(n, "x" * 40) for n in range(count)])
    )
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await aconn.fetchval("select count(*) from t") == 0
    await aconn.execute("insert into t values (1, 'a')")
    assert await aconn.fetchval("select count(*) from t") == 1


@pytest.mark.parametrize("steps", range(12))
async def test_cancelled_while_connecting(db: Database, steps: int) -> None:
    task = asyncio.ensure_future(db.aconnect())
    for _ in range(steps):
        await asyncio.sleep(0)
    if task.done():
        await (await task).close()
        return
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task


async def test_refusals(db: Database) -> None:
    with pytest.raises(errors.InvalidPassword):
        await headrace.aio.connect(db.wrong_password)


async def test_a_pool(db: Database, conn: Any) -> None:
    async with headrace.aio.AsyncConnectionPool(db.url, min_size=1, max_size=4) as pool:

        async def one(n: int) -> Any:
            async with pool.connection() as connection:
                return await connection.fetchval("select n from numbers where n = ?", n)

        assert await asyncio.gather(*(one(n) for n in range(40))) == list(range(40))


@pytest.mark.parametrize("name", [None, "outermost"])
@pytest.mark.parametrize("steps", [0, 1, 2, 3, 5, 8, 11])
async def test_a_block_ends_however_often_it_is_cancelled(
    db: Database, aconn: Any, steps: int, name: str | None
) -> None:
    async def work() -> None:
        async with aconn.transaction(name):
            await aconn.execute("insert into t values (1, 'outer')")
            async with aconn.transaction():
                await aconn.execute("insert into t values (2, 'inner')")
                await aconn.execute(db.slow)

    for wait in (0, 0.02, 0.3):
        task = asyncio.create_task(work())
        await asyncio.sleep(wait)
        for _ in range(3):
            task.cancel()
            for _ in range(steps):
                await asyncio.sleep(0)
        with pytest.raises(asyncio.CancelledError):
            await task
        await aconn.execute("insert into t values (3, 'behind')")
        await aconn.rollback()
        assert await aconn.fetch("select id from t") == [(3,)]
        await aconn.execute("delete from t")


async def test_timings_count_what_fails_and_each_fetch(db: Database) -> None:
    connection = await db.aconnect(autocommit=True, enable_timing=True)
    async with connection:
        cursor = await connection.execute("select n from numbers where n < 5")
        connection.reset_timings()
        await cursor.fetchone()
        await cursor.fetchmany(2)
        await cursor.fetchall()
        with pytest.raises(errors.UndefinedColumn):
            await connection.execute("select nope from numbers")
        assert {name: connection.timings()[name]["count"] for name in ("execute", "fetch")} == {
            "execute": 1,
            "fetch": 3,
        }
