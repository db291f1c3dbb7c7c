"""A KILL QUERY that was sent, and not answered in time, meets no statement that comes later."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

import headrace.aio.mysql
import headrace.mysql
from headrace import defaults, errors
from headrace.aio.pool import AsyncConnectionPool
from headrace.pool import ConnectionPool
from holding import HoldsCancels, release
from served import Served

LATE = 0.4
SLOW = "select sleep(0.2)"


@pytest.fixture
def between(my_server: Served, monkeypatch: pytest.MonkeyPatch) -> Iterator[HoldsCancels]:
    monkeypatch.setattr(defaults, "CANCEL_TIMEOUT", LATE)
    with HoldsCancels(my_server.server.port, b"KILL QUERY") as proxy:
        yield proxy


def url(my_url: str, proxy: HoldsCancels) -> str:
    """The database, by way of the proxy, which has to read what is said."""
    head, _, database = my_url.rpartition("/")
    return f"{head.rpartition(':')[0]}:{proxy.port}/{database}?ssl_mode=DISABLED&get_server_public_key=true"


def test_a_late_kill_meets_no_later_statement(my_url: str, between: HoldsCancels) -> None:
    with ConnectionPool(url(my_url, between), min_size=1, max_size=1, kwargs={"autocommit": True}) as pool:
        with pool.connection() as conn:
            with pytest.raises(TimeoutError):
                conn.execute(SLOW, timeout=0.05)
            first = conn.thread_id
        with pool.connection() as conn:
            threading.Timer(0.1, release, [between]).start()
            assert conn.fetchval("select sleep(0.5)") == 0
            assert conn.thread_id != first


def test_a_connection_is_closed_whose_cancel_was_not_answered(my_url: str, between: HoldsCancels) -> None:
    with headrace.mysql.connect(url(my_url, between), autocommit=True) as conn:
        ended: list[str] = []

        def run() -> None:
            with pytest.raises(errors.OperationalError) as caught:
                conn.execute("select sleep(20)")
            ended.append(str(caught.value))

        thread = threading.Thread(target=run)
        thread.start()
        with pytest.raises(errors.OperationalError, match="not answered"):
            conn.cancel(timeout=LATE)
        thread.join(10)
        assert "not answered" in ended[0]
        with pytest.raises(errors.ConnectionClosed):
            conn.execute("select 1")


async def test_a_late_kill_meets_no_later_statement_on_a_loop(my_url: str, between: HoldsCancels) -> None:
    pool = AsyncConnectionPool(url(my_url, between), min_size=1, max_size=1, kwargs={"autocommit": True})
    async with pool:
        with pytest.raises(asyncio.TimeoutError):
            async with pool.connection() as conn:
                first = conn.thread_id
                await asyncio.wait_for(conn.execute(SLOW), 0.05)
        async with pool.connection() as conn:
            asyncio.get_running_loop().call_later(0.1, release, between)
            assert await conn.fetchval("select sleep(0.5)") == 0
            assert conn.thread_id != first
            assert not conn.closed


async def test_a_task_that_gives_cancel_up_leaves_no_late_kill(my_url: str, between: HoldsCancels) -> None:
    async with await headrace.aio.mysql.connect(url(my_url, between), autocommit=True) as conn:
        running = asyncio.ensure_future(conn.execute(SLOW))
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(conn.cancel(), LATE)
        await asyncio.wait([running])
        assert conn.closed
