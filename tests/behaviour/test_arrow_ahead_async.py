"""A stream of record batches reads ahead: the server sends one fetch while another is decoded."""

from __future__ import annotations

import time
from typing import Any

import pytest

import headrace
from headrace import errors

ROWS = 1000
"""Rows of a batch, and of a fetch."""
PATIENCE = 60.0
"""Seconds that a cancelled statement may take to end."""
SLOW = "select n, case when n > 3500 then pg_sleep(600) end::text as slept from generate_series(1, 100000) n"
WRONG = "select 1 / (n - 3500) as x from generate_series(1, 100000) n"


async def taken(stream: Any, batches: int) -> None:
    """Takes batches."""
    for _ in range(batches):
        assert len(await anext(stream)) == ROWS


async def test_two_fetches_are_under_way_and_no_more(url: str) -> None:
    async with await headrace.aio.connect(url, autocommit=True) as conn, await headrace.aio.connect(url) as other:
        await conn.execute("drop sequence if exists fetched")
        await conn.execute("create sequence fetched")
        stream = conn.stream_arrow("select nextval('fetched') from generate_series(1, 100000)", batch_rows=ROWS)
        await taken(stream, 1)
        # A sequence counts what the server has executed, whoever looks.
        end = time.monotonic() + PATIENCE
        while (count := await other.fetchval("select last_value from fetched")) < 3 * ROWS:
            assert time.monotonic() < end, f"{count} rows were fetched"
        for batches in range(1, 20):
            assert await other.fetchval("select last_value from fetched") <= (batches + 2) * ROWS
            await taken(stream, 1)
        await stream.aclose()
        assert await conn.fetchval("select 1") == 1


async def test_a_timeout_cancels_what_is_waited_for_and_what_is_asked_ahead(url: str) -> None:
    async with await headrace.aio.connect(url, autocommit=True, command_timeout=PATIENCE) as conn:
        stream = conn.stream_arrow(SLOW, batch_rows=ROWS, timeout=0.5)
        await taken(stream, 3)
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            await anext(stream)
        assert await conn.fetchval("select 1") == 1
        assert time.monotonic() - started < PATIENCE


async def test_a_cancel_ends_a_stream_that_reads_ahead(url: str) -> None:
    async with (
        await headrace.aio.connect(url, command_timeout=PATIENCE) as conn,
        await headrace.aio.connect(url, autocommit=True) as other,
    ):
        pid = await conn.fetchval("select pg_backend_pid()")
        stream = conn.stream_arrow(SLOW, batch_rows=ROWS)
        await taken(stream, 3)
        end = time.monotonic() + PATIENCE
        while await other.fetchval("select wait_event from pg_stat_activity where pid = $1", pid) != "PgSleep":
            assert time.monotonic() < end, "it does not sleep"
        await conn.cancel()
        with pytest.raises(errors.QueryCanceled):
            await anext(stream)
        await conn.rollback()
        assert await conn.fetchval("select 1") == 1


async def test_a_stream_that_fails_in_a_savepoint_leaves_the_block_outside_usable(url: str) -> None:
    async with await headrace.aio.connect(url, autocommit=True) as conn, conn.transaction():
        await conn.execute("create temporary table kept (n int)")
        with pytest.raises(errors.DivisionByZero):
            async with conn.transaction():
                stream = conn.stream_arrow(WRONG, batch_rows=ROWS)
                await taken(stream, 3)
                await anext(stream)
        assert await conn.fetchval("select count(*) from kept") == 0


async def test_what_was_asked_ahead_of_a_rollback_is_not_taken_for_all(url: str) -> None:
    async with await headrace.aio.connect(url) as conn:
        stream = conn.stream_arrow("select n from generate_series(1, 100000) n", batch_rows=ROWS)
        await taken(stream, 1)
        await conn.rollback()
        await taken(stream, 2)
        with pytest.raises(errors.InvalidCursorName, match="transaction that it reads in was ended"):
            await anext(stream)
        assert await conn.fetchval("select 1") == 1
