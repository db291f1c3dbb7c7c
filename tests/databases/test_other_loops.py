"""A connection or a pool that is used on another event loop than its own: nothing is sent, and the error says so."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

import headrace
import headrace.aio
from servers import Database

CLOSED = "belongs to another event loop, which is closed: "
OPEN = "belongs to another event loop: "


@pytest.fixture
def other() -> Iterator[asyncio.AbstractEventLoop]:
    """A loop that runs in another thread."""
    loop = asyncio.new_event_loop()
    thread = threading.Thread(target=loop.run_forever)
    thread.start()
    yield loop
    loop.call_soon_threadsafe(loop.stop)
    thread.join()
    loop.close()


def on(loop: asyncio.AbstractEventLoop, work: Any) -> Any:
    """The result of a coroutine on a loop that runs elsewhere."""
    return asyncio.run_coroutine_threadsafe(work, loop).result(30)


async def _in_a_block(connection: Any, sql: str) -> None:
    async with connection.transaction():
        await connection.execute(sql)


async def _streamed(connection: Any, sql: str) -> None:
    async for _ in connection.stream(sql):
        pass


async def _pipelined(connection: Any, sql: str) -> None:
    async with connection.pipeline():
        await connection.execute(sql)


USES: dict[str, Callable[[Any, str], Awaitable[Any]]] = {
    "execute": lambda connection, sql: connection.execute(sql),
    "fetchval": lambda connection, sql: connection.fetchval(sql),
    "executemany": lambda connection, sql: connection.executemany("insert into nowhere values (1)", [()]),
    "transaction": _in_a_block,
    "stream": _streamed,
    "pipeline": _pipelined,
}


async def _opened(db: Database) -> Any:
    connection = await db.aconnect(autocommit=True)
    await connection.fetchval(db.one)
    return connection


@pytest.mark.parametrize("use", USES)
def test_a_connection_of_a_loop_that_runs_elsewhere(
    any_db: Database, other: asyncio.AbstractEventLoop, use: str
) -> None:
    connection, one = on(other, _opened(any_db)), any_db.one

    async def misuse() -> None:
        with pytest.raises(headrace.ProgrammingError, match=f"^the connection {OPEN}.*asyncio.run"):
            await USES[use](connection, one)

    asyncio.run(misuse())
    assert on(other, connection.fetchval(one)) == 1
    asyncio.run(connection.close())

    async def closed() -> bool:
        return bool(connection.closed)

    # Its loop closes it, after what it was asked for before.
    assert on(other, closed())


# The loop was closed with an open connection, of which its transport warns.
@pytest.mark.filterwarnings("ignore::ResourceWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_connection_of_a_loop_that_is_closed(any_db: Database) -> None:
    one = any_db.one

    async def misuse(connection: Any) -> None:
        for use in USES.values():
            with pytest.raises(headrace.ProgrammingError, match=f"^the connection {CLOSED}"):
                await use(connection, one)
        await connection.close()
        assert connection.closed

    asyncio.run(misuse(asyncio.run(_opened(any_db))))
    gc.collect()


def test_a_pool_of_another_loop(any_db: Database, other: asyncio.AbstractEventLoop) -> None:
    one = any_db.one

    async def used() -> Any:
        pool: Any = headrace.aio.AsyncConnectionPool(any_db.url, min_size=1, max_size=1)
        async with pool.connection() as connection:
            assert await connection.fetchval(one) == 1
        return pool

    pool = on(other, used())

    async def misuse() -> None:
        with pytest.raises(headrace.ProgrammingError, match=f"^the pool {OPEN}.*asyncio.run"):
            async with pool.connection():
                pass

    asyncio.run(misuse())
    on(other, pool.close())
