"""The database server is started again behind its broker: the connection is recognised as lost."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest

import headrace.aio
import headrace.aio.cubrid
import headrace.testing
from headrace import errors
from headrace.testing import CubridServer

from .killing import restart

POOLED = 3


@pytest.fixture
def server() -> Iterator[CubridServer]:
    with headrace.testing.cubrid() as running:
        yield running


async def check_closed(conn: headrace.aio.cubrid.AsyncConnection[Any]) -> None:
    """It is closed, and says why."""
    assert conn.closed
    with pytest.raises(errors.ConnectionClosed, match="the server ended the session"):
        await conn.execute("select 1")


@pytest.mark.parametrize("autocommit", [True, False])
async def test_a_statement(server: CubridServer, autocommit: bool) -> None:
    conn = await headrace.aio.cubrid.connect(server.url, autocommit=autocommit)
    await conn.fetchval("select 1")
    await conn.commit()
    restart(server.port)
    with pytest.raises(errors.CrashShutdown, match="-111"):
        await conn.fetchval("select 1")
    await check_closed(conn)


async def test_a_ping(server: CubridServer) -> None:
    async with await headrace.aio.cubrid.connect(server.url, autocommit=True) as conn:
        restart(server.port)
        with pytest.raises(errors.ConnectionFailure, match="has lost the database server"):
            await conn.ping()
        await check_closed(conn)


async def test_the_end_of_a_block(server: CubridServer) -> None:
    async with await headrace.aio.cubrid.connect(server.url, autocommit=True) as conn:
        await conn.execute("create table lost (n int)")
        with pytest.raises(errors.CrashShutdown, match="-111"):
            async with conn.transaction():
                await conn.execute("insert into lost values (1)")
                restart(server.port)
        await check_closed(conn)
    async with await headrace.aio.cubrid.connect(server.url) as conn:
        assert await conn.fetch("select n from lost") == []


async def test_a_batch(server: CubridServer) -> None:
    async with await headrace.aio.cubrid.connect(server.url, autocommit=True) as conn:
        await conn.execute("create table lost (n int)")
        restart(server.port)
        with pytest.raises(errors.CrashShutdown, match="-111"):
            await conn.executemany("insert into lost values (?)", [(1,), (2,)])
        await check_closed(conn)


async def use_all(pool: headrace.aio.AsyncConnectionPool[Any]) -> None:
    """Executes a statement on each connection of the pool."""
    async with AsyncExitStack() as stack:
        for conn in [await stack.enter_async_context(pool.connection()) for _ in range(POOLED)]:
            await conn.fetchval("select 1")


@pytest.mark.parametrize("autocommit", [True, False])
async def test_a_pool_replaces_its_connections(server: CubridServer, autocommit: bool) -> None:
    kwargs = {"autocommit": autocommit}
    async with headrace.aio.AsyncConnectionPool(server.url, min_size=POOLED, max_size=POOLED, kwargs=kwargs) as pool:
        await use_all(pool)
        restart(server.port)
        # Each fails once. Which one is lent next, a lost one or one in the place of another, is the pool's matter.
        for _ in range(POOLED):
            with pytest.raises(errors.CrashShutdown, match="-111"):
                await use_all(pool)
        await use_all(pool)
