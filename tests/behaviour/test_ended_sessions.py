"""A session that the server ends: the first request raises the server's error, with its own class."""

from __future__ import annotations

import asyncio
import collections

import pytest

import headrace
import headrace.aio
from headrace import errors
from headrace.testing import PostgresServer

END = "select pg_terminate_backend(%s, 10000)"


def test_next_request_raises_the_error_that_ended_an_idle_session(server: PostgresServer) -> None:
    with headrace.connect(server.url, autocommit=True) as conn, headrace.connect(server.url) as admin:
        assert admin.fetchval(END, conn.backend_pid)
        assert not conn.check_alive()
        with pytest.raises(errors.AdminShutdown, match="terminating connection"):
            conn.execute("select 1")
        with pytest.raises(errors.ConnectionClosed, match="terminating connection"):
            conn.execute("select 1")


async def test_next_request_on_a_loop_raises_the_error_that_ended_an_idle_session(server: PostgresServer) -> None:
    async with (
        await headrace.aio.connect(server.url, autocommit=True) as conn,
        await headrace.aio.connect(server.url) as admin,
    ):
        assert await admin.fetchval(END, conn.backend_pid)
        while not conn.closed:
            await asyncio.sleep(0.001)
        with pytest.raises(errors.AdminShutdown, match="terminating connection"):
            await conn.execute("select 1")
        with pytest.raises(errors.ConnectionClosed, match="terminating connection"):
            await conn.execute("select 1")


@pytest.mark.parametrize("how", ["stream", "copy_out"])
def test_a_session_that_ended_under_an_unread_result_is_called_closed(server: PostgresServer, how: str) -> None:
    """And not occupied by what can never be read to its end."""
    with headrace.connect(server.url, autocommit=True) as conn, headrace.connect(server.url, autocommit=True) as other:
        rows = getattr(conn, how)("select n, repeat('y', 1000) from generate_series(1, 100000) n")
        next(rows)
        assert other.fetchval(END, conn.backend_pid)
        with pytest.raises(headrace.OperationalError):
            collections.deque(rows, maxlen=0)
        with pytest.raises(errors.ConnectionClosed):
            conn.execute("select 1")
