"""A task cancelled at every point where it waits: afterwards the connection answers correctly, or is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import headrace
from headrace import errors


async def query(conn: Any) -> None:
    assert (await conn.fetch("select generate_series(1, 3), %s::text", "x"))[2] == (3, "x")


async def batch(conn: Any) -> None:
    await conn.executemany("insert into cancelled values ($1)", [(i,) for i in range(3000)])


async def pipeline(conn: Any) -> None:
    async with conn.pipeline():
        cursors = [await conn.execute("select $1::int", (i,)) for i in range(5)]
    assert [await c.fetchone() for c in cursors] == [(i,) for i in range(5)]


async def copy_in(conn: Any) -> None:
    await conn.copy_in("cancelled", [(i,) for i in range(3000)])


async def copy_out(conn: Any) -> None:
    assert len([row async for row in await conn.copy_out("select generate_series(1, 3000)")]) == 3000


async def stream(conn: Any) -> None:
    assert len([row async for row in conn.stream("select generate_series(1, 500)", fetch_size=100)]) == 500


async def transaction(conn: Any) -> None:
    async with conn.transaction():
        await conn.execute("insert into cancelled values (1)")
        async with conn.transaction():
            await conn.execute("insert into cancelled values (2)")


WORK: dict[str, Callable[[Any], Awaitable[None]]] = {
    f.__name__: f for f in (query, batch, pipeline, copy_in, copy_out, stream, transaction)
}
MOST_STEPS = 400


async def answers_or_is_closed(conn: Any) -> None:
    async def check() -> None:
        await conn.rollback()
        assert await conn.fetchval("select 42") == 42
        assert await conn.fetchval("select $1::int", 7) == 7
        await conn.rollback()

    try:
        await asyncio.wait_for(check(), 10)
    except errors.Error:
        assert conn.closed


@pytest.mark.parametrize("name", WORK)
async def test_cancelled_at_every_step(url: str, name: str) -> None:
    work = WORK[name]
    conn = await headrace.aio.connect(url)
    await conn.execute("create table if not exists cancelled (n int)")
    await conn.commit()
    cancelled = 0
    for steps in range(MOST_STEPS):
        if conn.closed:
            conn = await headrace.aio.connect(url)
        task = asyncio.ensure_future(work(conn))
        for _ in range(steps):
            await asyncio.sleep(0)
            if task.done():
                break
        if task.done():
            await task
            await answers_or_is_closed(conn)
            break
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        cancelled += 1
        await answers_or_is_closed(conn)
    await conn.close()
    assert cancelled >= 2


async def test_cancelled_while_connecting(url: str) -> None:
    for steps in range(MOST_STEPS):
        task = asyncio.ensure_future(headrace.aio.connect(url))
        for _ in range(steps):
            await asyncio.sleep(0)
            if task.done():
                break
        if task.done():
            conn = await task
            await answers_or_is_closed(conn)
            await conn.close()
            return
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
