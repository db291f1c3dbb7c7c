"""Connections that are dropped without close(): they are closed, and a warning says so."""

from __future__ import annotations

import asyncio
import gc
import os
import threading
import warnings
import weakref
from typing import Any

import pytest

import headrace
from headrace.pool import ConnectionPool

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


async def test_dropped_pools_close_their_connections(url: str) -> None:
    async def drop() -> None:
        pool = headrace.aio.AsyncConnectionPool(url, min_size=2, max_size=3)
        async with pool.connection() as conn:
            assert await conn.fetchval("SELECT 1") == 1
        await pool.wait()
        del pool, conn
        # The task that made its last connection ends a turn of the loop after that is there.
        await asyncio.sleep(0)
        gc.collect()

    async with await headrace.aio.connect(url, autocommit=True) as watcher:
        with pytest.warns(ResourceWarning, match=r"pool \('headrace-pool'\) was dropped"):
            await drop()
        await _none_left(watcher)


async def test_a_pool_that_cannot_connect_is_dropped() -> None:
    seen: list[int] = []

    async def refuse(*_: Any, **__: Any) -> Any:
        seen.append(1)
        raise OSError

    async def drop() -> None:
        pool = headrace.aio.AsyncConnectionPool("", connect=refuse, min_size=1, backoff=0.01, backoff_max=0.01)
        while len(seen) < 3:
            await asyncio.sleep(0.01)
        ref = weakref.ref(pool)
        del pool
        # An attempt that is under way holds it until it has failed.
        while ref() is not None:
            await asyncio.sleep(0.005)
            gc.collect()

    with pytest.warns(ResourceWarning, match="was dropped"):
        await drop()
    count = len(seen)
    await asyncio.sleep(0.1)
    assert len(seen) == count


async def test_a_connection_that_outlives_its_pool_works(url: str) -> None:
    kept = [headrace.aio.AsyncConnectionPool(url, min_size=1)]
    conn = await kept[0].getconn()

    def drop() -> None:
        kept.clear()
        gc.collect()

    with pytest.warns(ResourceWarning, match="pool"):
        drop()
    await asyncio.sleep(0.01)
    assert await conn.fetchval("SELECT 1") == 1
    await conn.close()


@pytest.mark.filterwarnings("ignore")
def test_what_waits_when_its_loop_is_closed_is_closed_too(url: str) -> None:
    """The engine holds who waits for an answer, whose task holds the connection."""

    async def begin() -> None:
        conn = await headrace.aio.connect(url)
        waiting.append(asyncio.ensure_future(conn.fetchval("SELECT pg_sleep(60)")))
        await asyncio.sleep(0.05)

    waiting: list[asyncio.Future[Any]] = []
    loop = asyncio.new_event_loop()
    loop.run_until_complete(begin())
    before = len(os.listdir("/proc/self/fd"))
    loop.close()
    waiting.clear()
    gc.collect()
    # The loop's own three, and the connection's.
    assert len(os.listdir("/proc/self/fd")) <= before - 4
    with headrace.connect(url, autocommit=True) as admin:
        # The server sees that the client is gone when it has slept: others count its sessions.
        admin.execute("SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE query = 'SELECT pg_sleep(60)'")


def test_blocking_connections_that_are_dropped_are_closed_with_a_warning(url: str) -> None:
    def drop() -> None:
        connection = headrace.connect(url)
        connection.execute("SELECT 1")
        del connection
        gc.collect()

    async def watch() -> None:
        async with await headrace.aio.connect(url, autocommit=True) as watcher:
            await _none_left(watcher)

    with pytest.warns(ResourceWarning, match=r"connection \(.*\) was dropped without close"):
        drop()
    asyncio.run(watch())


def test_a_blocking_pool_that_is_dropped_closes_its_connections_with_one_warning(url: str) -> None:
    def drop() -> None:
        pool = ConnectionPool(url, min_size=2, max_size=3)
        pool.wait()
        threads = [thread for thread in threading.enumerate() if thread.name.startswith(pool.name)]
        pool._wake.set()  # The thread that looks after it holds it for a short time.
        del pool
        for thread in threads:
            thread.join(30)
        gc.collect()

    async def watch() -> None:
        async with await headrace.aio.connect(url, autocommit=True) as watcher:
            await _none_left(watcher)

    with pytest.warns(ResourceWarning) as warned:
        drop()
    assert [str(one.message) for one in warned] == ["a pool ('headrace-pool') was dropped without close()"]
    asyncio.run(watch())


def test_what_was_closed_is_dropped_in_silence(url: str) -> None:
    gc.collect()
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        with ConnectionPool(url) as pool, pool.connection() as lent:
            lent.execute("SELECT 1")
        with headrace.connect(url) as connection:
            connection.execute("SELECT 1")
        del connection, lent, pool
        gc.collect()
    assert [str(one.message) for one in warned] == []
