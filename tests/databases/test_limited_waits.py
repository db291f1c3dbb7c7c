"""Limits in time on a loop, on every database: they cost one timer, and leave nothing of a statement behind."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import time
from typing import Any

import pytest

from headrace.aio._shared import deadlines
from headrace.aio._shared.deadlines import Overdue
from servers import Database

SOON = 5.0
"""Seconds within which a statement that was cancelled has ended; it would run for far longer."""
LIMIT = 0.1


async def test_statements_with_limits_set_one_timer(any_db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    async with await any_db.aconnect(autocommit=True, command_timeout=60) as conn:
        await conn.fetchval(any_db.one)
        timers: list[Any] = []
        timer = deadlines.timer

        def counted(*args: Any) -> Any:
            timers.append(timer(*args))
            return timers[-1]

        monkeypatch.setattr(deadlines, "timer", counted)
        for _ in range(5):
            await conn.fetchval(any_db.one)
            await conn.execute(any_db.one, timeout=90)
            async with conn.transaction(timeout=70):
                await conn.fetchrow(any_db.one)
        await asyncio.gather(*(conn.fetchval(any_db.one) for _ in range(5)))
        # None at all where the connection's beginning has set it.
        assert len(timers) <= 1


async def test_of_statements_under_way_each_has_its_own_limit(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        started = time.monotonic()
        slow = asyncio.ensure_future(conn.execute(any_db.slow, timeout=SOON * 10))
        await asyncio.sleep(any_db.loses_early_cancels)
        with pytest.raises(TimeoutError, match=r"longer than 0\.1 s"):
            await conn.fetchval(any_db.one, timeout=LIMIT)
        assert not slow.done()
        slow.cancel()
        with pytest.raises(asyncio.CancelledError):
            await slow
        assert await conn.fetchval(any_db.one, timeout=SOON * 10) is not None
        assert time.monotonic() - started < SOON * 2


async def test_a_limit_that_is_reached_leaves_nothing_to_the_collector(any_db: Database) -> None:
    gc.collect()
    gc.disable()
    try:
        async with await any_db.aconnect(autocommit=True) as conn:
            try:
                await conn.execute(any_db.slow, timeout=max(LIMIT, any_db.loses_early_cancels))
            except TimeoutError:
                pass
            else:
                pytest.fail("it has ended")
            assert await conn.fetchval(any_db.one) is not None
        # Its traceback has the call, and all that this has.
        assert [found for found in gc.get_objects() if type(found) is Overdue] == []
    finally:
        gc.enable()


@pytest.mark.parametrize("kind", ["cancel", "wait_for"])
async def test_a_cancellation_counts_beside_a_limit(any_db: Database, kind: str) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        statement = asyncio.ensure_future(conn.execute(any_db.slow, timeout=SOON * 10))
        pause = max(LIMIT, any_db.loses_early_cancels)
        if kind == "cancel":
            await asyncio.sleep(pause)
            statement.cancel()
            with pytest.raises(asyncio.CancelledError):
                await statement
        else:
            with pytest.raises(asyncio.TimeoutError) as raised:
                await asyncio.wait_for(statement, pause)
            assert "was cancelled" not in str(raised.value)
        started = time.monotonic()
        assert await conn.fetchval(any_db.one) is not None
        assert time.monotonic() - started < SOON


async def _streamed(conn: Any, sql: str, timeout: float) -> None:
    async with contextlib.aclosing(conn.stream(sql, timeout=timeout)) as rows:
        async for _ in rows:
            pass


async def _blocks(conn: Any, sql: str, timeout: float) -> None:
    async with contextlib.aclosing(conn.stream_blocks(sql, timeout=timeout)) as blocks:
        async for _ in blocks:
            pass


async def _arrow(conn: Any, sql: str, timeout: float) -> None:
    async with contextlib.aclosing(conn.stream_arrow(sql, timeout=timeout)) as batches:
        async for _ in batches:
            pass


async def _pipelined(conn: Any, sql: str, timeout: float) -> None:
    async with conn.pipeline(timeout=timeout):
        await conn.execute(sql, timeout=timeout)
        await conn.execute(sql, timeout=timeout)


async def _in_a_block(conn: Any, sql: str, timeout: float) -> None:
    async with conn.transaction(timeout=timeout):
        await conn.execute(sql, timeout=timeout)


async def _with_a_cursor(conn: Any, sql: str, timeout: float) -> None:
    async with conn.cursor() as cursor:
        await cursor.execute(sql, timeout=timeout)
        await cursor.fetchall()


@pytest.mark.parametrize("way", [_streamed, _blocks, _arrow, _pipelined, _in_a_block, _with_a_cursor])
async def test_no_limit_is_so_short_that_the_connection_stays_occupied(any_db: Database, way: Any) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        for timeout in (0, 1e-4, 3e-4, 1e-3, 3e-3):
            with contextlib.suppress(TimeoutError):
                await way(conn, any_db.answer, timeout)
            assert await asyncio.wait_for(conn.fetchval(any_db.answer), SOON * 2) == 42
