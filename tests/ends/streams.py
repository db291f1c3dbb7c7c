"""Streams of an INSERT that returns its rows, with a transaction of their own. All rows are written with the first of
them, and stored when the stream has ended without an error, be it read to its end or left."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from typing import Any

from .runs import LIMIT, Case, Run

ROWS = 6
SIZES = {"a divisor": 2, "no divisor": 4, "more": 10, "as many as there are": ROWS}
"""Numbers of rows that are fetched at a time."""


async def _opened(run: Run) -> Any:
    """A connection that has executed something, so that a daemon has one to the server."""
    conn = await run.connect(autocommit=True)
    await conn.execute("select 1")
    await run.point()
    return conn


def _insert(run: Run) -> str:
    """The statement, whose rows are claimed."""
    run.claimed += [run.new() for _ in range(ROWS)]
    return f"insert into ends select {run.claimed[-ROWS]} + n from generate_series(0, {ROWS - 1}) n returning id"


async def _shown(run: Run, rows: Any) -> AsyncIterator[Any]:
    async for row in rows if run.tasks else await rows:
        yield row


async def read(size: int, run: Run) -> None:
    conn = await _opened(run)
    rows = conn.stream(_insert(run), fetch_size=size)
    assert len([row async for row in _shown(run, rows)]) == ROWS


async def read_with_a_timeout(size: int, run: Run) -> None:
    conn = await _opened(run)
    rows = conn.stream(_insert(run), fetch_size=size, timeout=LIMIT / 2)
    assert len([row async for row in _shown(run, rows)]) == ROWS


async def read_in_blocks(size: int, run: Run) -> None:
    conn = await _opened(run)
    blocks = conn.stream_blocks(_insert(run), fetch_size=size)
    assert sum([len(block) async for block in _shown(run, blocks)]) == ROWS


async def read_after_an_error(size: int, run: Run) -> None:
    """The program handles another error meanwhile."""
    conn = await _opened(run)
    try:
        raise LookupError
    except LookupError:
        rows = conn.stream(_insert(run), fetch_size=size)
        assert len([row async for row in _shown(run, rows)]) == ROWS


async def left(size: int, run: Run) -> None:
    conn = await _opened(run)
    rows = conn.stream(_insert(run), fetch_size=size)
    opened = rows if run.tasks else await rows
    async for _ in opened:
        break
    await opened.aclose()


async def read_in_a_block(size: int, run: Run) -> None:
    """The transaction is the block's, and so is the error."""
    conn = await _opened(run)
    async with conn.transaction():
        rows = conn.stream(_insert(run), fetch_size=size)
        assert len([row async for row in _shown(run, rows)]) == ROWS


WAYS: tuple[Callable[[int, Run], Awaitable[None]], ...] = (
    read,
    read_with_a_timeout,
    read_in_blocks,
    read_after_an_error,
    left,
    read_in_a_block,
)
STREAMS: dict[str, Case] = {
    f"{way.__name__}, {name}": partial(way, size) for way in WAYS for name, size in SIZES.items()
}
"""Every way with every size."""
