"""Pipelines in autocommit: each statement is a transaction of its own, and the end of the block speaks for all of
them. The session ends before one of the statements, or after all of them."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator, Iterator
from functools import partial
from typing import Any

from headrace import errors

from .runs import Case, Run

MOST = 20
"""Statements that a pipeline has at most."""
SHORT = (1, 7, 8, 9, 16)
"""Numbers of statements at which the driver sends, and one less and one more."""


async def _each(run: Run, count: int, at: int) -> AsyncIterator[None]:
    """A turn for each of ``count`` statements. The session ends before that of number ``at``, or after the last."""
    for number in range(count + 1):
        if number == at:
            await run.point()
        if number < count:
            yield


async def _filled(run: Run, conn: Any, count: int, at: int) -> list[Any]:
    """Stores a row in each turn; returns the cursors."""
    return [await run.insert(conn) async for _ in _each(run, count, at)]


async def plain(count: int, at: int, run: Run) -> None:
    conn = await run.connect(autocommit=True)
    async with conn.pipeline():
        await _filled(run, conn, count, at)


async def flushed(count: int, at: int, run: Run) -> None:
    conn = await run.connect(autocommit=True)
    async with conn.pipeline() as pipeline:
        await _filled(run, conn, count, at)
        if not run.tasks:
            await pipeline.flush()


async def known(count: int, at: int, run: Run) -> None:
    """The statement was prepared before."""
    conn = await run.connect(autocommit=True)
    sql = f"insert into ends values ({run.db.differences.mark})"
    await conn.execute(sql, (run.new(),))
    async with conn.pipeline():
        async for _ in _each(run, count, at):
            row = run.new()
            await conn.execute(sql, (row,))
            run.claimed.append(row)


async def synced(count: int, at: int, run: Run) -> None:
    """sync() speaks for what was before it, whatever the end of the block says."""
    conn = await run.connect(autocommit=True)
    claimed: list[int] = []
    with contextlib.suppress(errors.Error):
        async with conn.pipeline() as pipeline:
            await _filled(run, conn, count, at)
            await pipeline.sync()
            claimed = run.claimed
            await conn.close()
    run.claimed = claimed


async def closed(count: int, at: int, run: Run) -> None:
    """The program closes the connection with statements that are not answered."""
    conn = await run.connect(autocommit=True)
    async with conn.pipeline():
        await _filled(run, conn, count, at)
        await conn.close()


async def one_error_caught(count: int, at: int, run: Run) -> None:
    """The program is told of one statement only."""
    conn = await run.connect(autocommit=True)
    async with conn.pipeline():
        cursors = await _filled(run, conn, count, at)
        try:
            await cursors[0].wait()
        except errors.Error:
            del run.claimed[0]


async def one_cursor(count: int, at: int, run: Run) -> None:
    """A cursor that is used again: its errors are not less."""
    conn = await run.connect(autocommit=True)
    async with conn.pipeline():
        cursor = conn.cursor() if run.tasks else await conn.cursor()
        await _filled(run, cursor, count, at)
        await cursor.close()


async def batches(count: int, at: int, run: Run) -> None:
    conn = await run.connect(autocommit=True)
    sql = f"insert into ends values ({run.db.differences.mark})"
    async with conn.pipeline():
        async for _ in _each(run, count, at):
            rows = [(run.new(),) for _ in range(3)]
            await conn.executemany(sql, rows)
            run.claimed += [row for (row,) in rows]


async def scripts(count: int, at: int, run: Run) -> None:
    conn = await run.connect(autocommit=True)
    async with conn.pipeline():
        async for _ in _each(run, count, at):
            row = run.new()
            await conn.executescript(run.insert_of(row))
            run.claimed.append(row)


async def lent(count: int, at: int, run: Run) -> None:
    async with run.pool(autocommit=True) as pool, pool.connection() as conn, (await run.lent(conn)).pipeline():
        await _filled(run, conn, count, at)


async def in_a_connection_block(count: int, at: int, run: Run) -> None:
    async with await run.connect(autocommit=False) as conn, conn.pipeline():
        await _filled(run, conn, count, at)


def cases(driver: str) -> Iterator[tuple[str, Case]]:
    """Every number of statements, and of the others those that matter."""
    for count in range(MOST + 1):
        for at in sorted({0, count // 2, count}):
            yield f"plain, {count} statements, ended before {at}", partial(plain, count, at)
    kinds = [flushed, known, synced, closed, one_error_caught, one_cursor, batches, lent, in_a_connection_block]
    if driver in ("postgresql", "mysql"):
        kinds.append(scripts)
    for kind in kinds:
        for count in SHORT:
            for at in (0, count):
                yield f"{kind.__name__}, {count} statements, ended before {at}", partial(kind, count, at)
