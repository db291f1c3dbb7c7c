"""A cancel request that was sent, and not answered in time, meets no statement that comes later."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator

import pytest

import headrace
import headrace.aio
from headrace import defaults, errors
from headrace.aio.pool import AsyncConnectionPool
from headrace.pool import ConnectionPool
from headrace.testing import PostgresServer
from holding import HoldsCancels, release

LATE = 0.4
SLOW = "select pg_sleep(0.2)"
LATER = "select 7 from pg_sleep(0.5)"
CANCEL_REQUEST = (80877102).to_bytes(4, "big")


@pytest.fixture
def between(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> Iterator[HoldsCancels]:
    monkeypatch.setattr(defaults, "CANCEL_TIMEOUT", LATE)
    with HoldsCancels(server.port, CANCEL_REQUEST) as proxy:
        yield proxy


def address(server: PostgresServer, proxy: HoldsCancels) -> str:
    """The server, by way of the proxy."""
    return server.url.replace(f":{server.port}", f":{proxy.port}")


def test_a_late_cancel_request_meets_no_later_statement(server: PostgresServer, between: HoldsCancels) -> None:
    with ConnectionPool(address(server, between), min_size=1, max_size=1, kwargs={"autocommit": True}) as pool:
        with pytest.raises(TimeoutError), pool.connection() as conn:
            first = conn.backend_pid
            conn.execute(SLOW, timeout=0.05)
        with pool.connection() as conn:
            threading.Timer(0.1, release, [between]).start()
            assert conn.fetchval(LATER) == 7
            assert conn.backend_pid != first


def test_a_connection_is_closed_whose_cancel_request_was_not_answered(
    server: PostgresServer, between: HoldsCancels
) -> None:
    with headrace.connect(address(server, between), autocommit=True) as conn:
        with pytest.raises(errors.OperationalError, match="not answered"):
            conn.cancel(timeout=LATE)
        with pytest.raises(errors.ConnectionClosed, match="could come late"):
            conn.execute("select 1")


async def test_a_late_cancel_request_meets_no_later_statement_on_a_loop(
    server: PostgresServer, between: HoldsCancels
) -> None:
    options = {"autocommit": True}
    async with AsyncConnectionPool(address(server, between), min_size=1, max_size=1, kwargs=options) as pool:
        with pytest.raises(asyncio.TimeoutError):
            async with pool.connection() as conn:
                first = conn.backend_pid
                await asyncio.wait_for(conn.execute(SLOW), 0.05)
        async with pool.connection() as conn:
            asyncio.get_running_loop().call_later(0.1, release, between)
            assert await conn.fetchval(LATER) == 7
            assert conn.backend_pid != first
