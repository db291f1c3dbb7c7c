"""A connection that is not in a transaction keeps no process of the broker from other clients, used or not."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import AsyncExitStack, asynccontextmanager
from typing import Any

import pytest

import headrace.aio
import headrace.aio.cubrid
import headrace.testing

PROCESSES = 2
SECONDS = 10


@pytest.fixture
def few() -> Iterator[str]:
    """The URL of a server of few processes."""
    with headrace.testing.cubrid(cas=PROCESSES) as server:
        yield server.url


@asynccontextmanager
async def connections(url: str, **settings: Any) -> AsyncIterator[list[headrace.aio.cubrid.AsyncConnection[Any]]]:
    """As many as there are processes."""
    async with AsyncExitStack() as stack:
        yield [
            await stack.enter_async_context(await headrace.aio.cubrid.connect(url, **settings))
            for _ in range(PROCESSES)
        ]


async def check_free(url: str) -> None:
    """As many others as there are processes get one each."""
    async with connections(url, connect_timeout=SECONDS, autocommit=True) as others:
        for other in others:
            assert await other.fetchval("select 1") == 1


@pytest.mark.parametrize("autocommit", [True, False])
async def test_a_connection_that_has_executed_nothing(few: str, autocommit: bool) -> None:
    async with connections(few, autocommit=autocommit) as unused:
        await check_free(few)
        for conn in unused:
            assert await conn.fetchval("select 1") == 1


async def test_a_pool_that_was_warmed(few: str) -> None:
    async with headrace.aio.AsyncConnectionPool(few, min_size=PROCESSES, max_size=PROCESSES) as pool:
        await pool.wait()
        await check_free(few)


@pytest.mark.parametrize(
    "request_name", ["rollback", "commit", "reset", "ping", "fetch_server_version", "last_insert_id"]
)
async def test_a_request_after_the_process_was_given_up(few: str, request_name: str) -> None:
    async with connections(few, autocommit=True) as first:
        await check_free(few)
        for conn in first:
            await getattr(conn, request_name)()
        await check_free(few)


@pytest.mark.parametrize("autocommit", [True, False])
async def test_an_end_of_nothing_asks_for_no_process(few: str, autocommit: bool) -> None:
    # Another request may find that the session is gone, which is no error of what was committed before.
    async with connections(few, autocommit=autocommit) as first:
        for conn in first:
            await conn.fetchval("select 1")
            await conn.commit()
        await check_free(few)
        for conn in first:
            await conn.commit()
            await conn.rollback()
    assert [conn.resumed for conn in first] == [0] * PROCESSES


async def test_a_process_that_is_kept_is_kept(few: str) -> None:
    async with connections(few, keep_cas=True):
        with pytest.raises(headrace.errors.ConnectionTimeout):
            await headrace.aio.cubrid.connect(few, connect_timeout=0.3)
    await check_free(few)
