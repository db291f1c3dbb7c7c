"""A task cancelled at every point where it waits: afterwards the connection answers correctly, or is closed."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

from headrace import errors
from servers import Database


async def query(target: Database, conn: Any) -> None:
    assert (await conn.fetch(f"select n, {target.differences.integer} from ({target.series(3)}) s", 7))[2] == (3, 7)


async def batch(target: Database, conn: Any) -> None:
    await conn.executemany(f"insert into cancelled values ({target.mark})", [(i,) for i in range(3000)])


async def pipeline(target: Database, conn: Any) -> None:
    async with conn.pipeline():
        cursors = [await conn.execute(target.number, (i,)) for i in range(5)]
    assert [await c.fetchone() for c in cursors] == [(i,) for i in range(5)]


async def copied_in(conn: Any) -> None:
    await conn.copy_in("cancelled", [(i,) for i in range(3000)])


async def loaded(conn: Any) -> None:
    await conn.load_rows("cancelled", [(i,) for i in range(3000)])


async def made_while_sent(conn: Any) -> None:
    await conn.executemany("insert into cancelled values (?)", ((i,) for i in range(3000)))


# Informix and CUBRID have no statement for it.
BULK: dict[str, Callable[[Any], Awaitable[None]]] = {
    "postgresql": copied_in, "mysql": loaded, "informix": made_while_sent, "cubrid": made_while_sent,
}  # fmt: skip


async def bulk_in(target: Database, conn: Any) -> None:
    await BULK[target.kind](conn)


async def copy_out(target: Database, conn: Any) -> None:
    if hasattr(conn, "copy_out"):
        assert len([row async for row in await conn.copy_out("select generate_series(1, 3000)")]) == 3000
    else:
        cursor = await conn.cursor().execute(target.series(3000))
        assert len(await cursor.fetchall()) == 3000


async def stream(target: Database, conn: Any) -> None:
    assert len([row async for row in conn.stream(target.series(500), **target.differences.streamed(100))]) == 500


async def transaction(target: Database, conn: Any) -> None:
    async with conn.transaction():
        await conn.execute("insert into cancelled values (1)")
        async with conn.transaction():
            await conn.execute("insert into cancelled values (2)")


WORK: dict[str, Callable[[Database, Any], Awaitable[None]]] = {
    f.__name__: f for f in (query, batch, pipeline, bulk_in, copy_out, stream, transaction)
}
MOST_STEPS = 400


async def answers_or_is_closed(target: Database, conn: Any) -> None:
    async def check() -> None:
        await conn.rollback()
        assert await conn.fetchval(target.answer) == 42
        assert await conn.fetchval(target.number, 7) == 7
        await conn.rollback()

    try:
        await asyncio.wait_for(check(), 10)
    except errors.Error:
        assert conn.closed


@pytest.mark.parametrize("name", WORK)
async def test_cancelled_at_every_step(target: Database, name: str) -> None:
    work = WORK[name]
    more = target.differences.allowing_load_data
    conn = await target.aconnect(**more)
    await conn.execute("create table if not exists cancelled (n int)")
    await conn.commit()
    cancelled = 0
    for steps in range(MOST_STEPS):
        if conn.closed:
            conn = await target.aconnect(**more)
        task = asyncio.ensure_future(work(target, conn))
        for _ in range(steps):
            await asyncio.sleep(0)
            if task.done():
                break
        if task.done():
            await task
            await answers_or_is_closed(target, conn)
            break
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        cancelled += 1
        await answers_or_is_closed(target, conn)
    await conn.close()
    assert cancelled >= 2


async def test_cancelled_while_connecting(target: Database) -> None:
    for steps in range(MOST_STEPS):
        task = asyncio.ensure_future(target.aconnect())
        for _ in range(steps):
            await asyncio.sleep(0)
            if task.done():
                break
        if task.done():
            conn = await task
            await answers_or_is_closed(target, conn)
            await conn.close()
            return
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
