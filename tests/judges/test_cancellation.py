"""A task cancelled at every point where it waits: afterwards the connection answers correctly, or is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from headrace import errors

from .conftest import Judged


async def query(judged: Judged, conn: Any) -> None:
    assert (await conn.fetch(f"select n, {judged.differences.integer} from ({judged.series(3)}) s", 7))[2] == (3, 7)


async def batch(judged: Judged, conn: Any) -> None:
    await conn.executemany(f"insert into cancelled values ({judged.mark})", [(i,) for i in range(3000)])


async def pipeline(judged: Judged, conn: Any) -> None:
    async with conn.pipeline():
        cursors = [await conn.execute(judged.number, (i,)) for i in range(5)]
    assert [await c.fetchone() for c in cursors] == [(i,) for i in range(5)]


async def bulk_in(judged: Judged, conn: Any) -> None:
    if judged.kind == "mysql":
        await conn.load_rows("cancelled", [(i,) for i in range(3000)])
    elif judged.kind == "informix":
        # There is no such statement: a batch that is made while it is sent.
        await conn.executemany("insert into cancelled values (?)", ((i,) for i in range(3000)))
    else:
        await conn.copy_in("cancelled", [(i,) for i in range(3000)])


async def copy_out(judged: Judged, conn: Any) -> None:
    if judged.kind == "postgresql":
        assert len([row async for row in await conn.copy_out("select generate_series(1, 3000)")]) == 3000
    else:
        cursor = await conn.cursor().execute(judged.series(3000))
        assert len(await cursor.fetchall()) == 3000


async def stream(judged: Judged, conn: Any) -> None:
    assert len([row async for row in conn.stream(judged.series(500), **judged.differences.streamed(100))]) == 500


async def transaction(judged: Judged, conn: Any) -> None:
    async with conn.transaction():
        await conn.execute("insert into cancelled values (1)")
        async with conn.transaction():
            await conn.execute("insert into cancelled values (2)")


WORK: dict[str, Callable[[Judged, Any], Awaitable[None]]] = {
    f.__name__: f for f in (query, batch, pipeline, bulk_in, copy_out, stream, transaction)
}
MOST_STEPS = 400


async def answers_or_is_closed(judged: Judged, conn: Any) -> None:
    async def check() -> None:
        await conn.rollback()
        assert await conn.fetchval(judged.answer) == 42
        assert await conn.fetchval(judged.number, 7) == 7
        await conn.rollback()

    try:
        await asyncio.wait_for(check(), 10)
    except errors.Error:
        assert conn.closed


@pytest.mark.parametrize("name", WORK)
async def test_cancelled_at_every_step(judged: Judged, name: str) -> None:
    work = WORK[name]
    more = judged.differences.allowing_load_data
    conn = await judged.aconnect(**more)
    await conn.execute("create table if not exists cancelled (n int)")
    await conn.commit()
    cancelled = 0
    for steps in range(MOST_STEPS):
        if conn.closed:
            conn = await judged.aconnect(**more)
        task = asyncio.ensure_future(work(judged, conn))
        for _ in range(steps):
            await asyncio.sleep(0)
            if task.done():
                break
        if task.done():
            await task
            await answers_or_is_closed(judged, conn)
            break
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        cancelled += 1
        await answers_or_is_closed(judged, conn)
    await conn.close()
    assert cancelled >= 2


async def test_cancelled_while_connecting(judged: Judged) -> None:
    for steps in range(MOST_STEPS):
        task = asyncio.ensure_future(judged.aconnect())
        for _ in range(steps):
            await asyncio.sleep(0)
            if task.done():
                break
        if task.done():
            conn = await task
            await answers_or_is_closed(judged, conn)
            await conn.close()
            return
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
