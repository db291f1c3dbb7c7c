"""What a driver promises on a loop: a cancelled task never puts the next statement out of step."""

from __future__ import annotations

import asyncio
import time
from typing import Any

import pytest

from servers import Database

SOON = 5.0
"""Seconds within which a cancelled statement has ended; it would run for far longer."""


@pytest.mark.parametrize("steps", [1, 2, 3, 5, 8, 13, 50])
async def test_a_cancelled_task_leaves_the_connection_in_step(db: Database, aconn: Any, steps: int) -> None:
    task = asyncio.ensure_future(aconn.execute(db.slow))
    for _ in range(steps):
        await asyncio.sleep(0)
    await asyncio.sleep(db.loses_early_cancels)
    started = time.monotonic()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await aconn.fetchval("select max(n) from numbers where n < ?", 10) == 9
    assert time.monotonic() - started < SOON


@pytest.mark.parametrize("steps", range(1, 40, 3))
async def test_a_cancelled_batch_is_not_applied(db: Database, aconn: Any, steps: int) -> None:
    # So many that the steps are over before the last row is answered: the COMMIT after it is not cancelled.
    task = asyncio.ensure_future(
        aconn.executemany("insert into t values (?, ?)", [(n, "x" * 40) for n in range(db.large_batch)])
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
