"""Connections that are dropped without close(): they are closed, and a warning says so."""

from __future__ import annotations

import asyncio
import gc
from typing import Any

import pytest

import headrace

DROPPED = 5


async def _sessions(watcher: Any) -> int:
    count = await watcher.fetchval(
        "SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND pid <> pg_backend_pid() "
        "AND backend_type = 'client backend'"
    )
    return int(count)


async def _none_left(watcher: Any) -> None:
    """Waits for the server to have ended all other sessions of this database; pytest's timeout is the bound."""
    while await _sessions(watcher):
        await asyncio.sleep(0.01)


async def _fail(url: str) -> None:
    connection = await headrace.aio.connect(url)
    await connection.fetchval("SELECT 1")
    raise LookupError("before the close")


async def _drop(url: str) -> None:
    for _ in range(DROPPED):
        with pytest.raises(LookupError):
            await _fail(url)
    gc.collect()


async def test_connections_dropped_by_an_error_are_closed(url: str) -> None:
    async with await headrace.aio.connect(url, autocommit=True) as watcher:
        with pytest.warns(ResourceWarning, match="dropped without close"):
            await _drop(url)
        await _none_left(watcher)


def test_connections_of_a_loop_that_has_ended_are_closed(url: str) -> None:
    async def open_only() -> Any:
        return await headrace.aio.connect(url)

    def drop() -> None:
        asyncio.run(open_only())
        gc.collect()

    async def watch() -> None:
        async with await headrace.aio.connect(url, autocommit=True) as watcher:
            await _none_left(watcher)

    with pytest.warns(ResourceWarning):
        drop()
    asyncio.run(watch())


async def test_a_statement_under_way_keeps_its_connection(url: str) -> None:
    connection = await headrace.aio.connect(url, autocommit=True)
    waiting = asyncio.ensure_future(connection.fetchval("SELECT 7 FROM pg_sleep(0.05)"))
    closing = connection.close
    del connection
    gc.collect()
    assert await waiting == 7
    await closing()
