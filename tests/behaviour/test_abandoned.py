"""Abandoned requests end in bounded time, whether or not the server reacts."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import headrace
from headrace import defaults, errors
from headrace.pool import ConnectionPool
from headrace.testing import PostgresServer

STOPPED = 1.0 + defaults.CANCEL_TIMEOUT


@pytest.fixture
def quick_cancels(monkeypatch: pytest.MonkeyPatch) -> None:
    """A server that does not react is given up sooner."""
    monkeypatch.setattr(defaults, "CANCEL_TIMEOUT", 1.0)


@contextlib.contextmanager
def interrupted(after: float) -> Iterator[float]:
    """Sends a SIGINT after a number of seconds; returns its time."""
    timer = threading.Timer(after, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield time.monotonic() + after
    finally:
        timer.cancel()


@contextlib.contextmanager
def stopped(pid: int) -> Iterator[None]:
    """A server process that does not react."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.kill(pid, signal.SIGCONT)


def test_an_interrupt_is_seen_while_rows_flow(conn: Any) -> None:
    with interrupted(0.3) as due, pytest.raises(KeyboardInterrupt):
        conn.fetch("select generate_series(1, 40000000)")
    assert time.monotonic() - due < 2.0
    conn.rollback()
    assert conn.fetchval("select 1") == 1


def test_a_timeout_is_seen_while_rows_flow(conn: Any) -> None:
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        conn.execute("select generate_series(1, 20000000)", timeout=0.3)
    assert time.monotonic() - started < 1.3
    conn.rollback()
    assert conn.fetchval("select 1") == 1


def test_an_interrupt_is_seen_while_connecting() -> None:
    with socket.socket() as full:
        full.bind(("127.0.0.1", 0))
        full.listen(0)
        port = full.getsockname()[1]
        # The queue of a listener that never accepts takes a few; those after them wait for the handshake.
        fillers = [socket.socket() for _ in range(4)]
        for filler in fillers:
            filler.setblocking(False)
            filler.connect_ex(("127.0.0.1", port))
        with interrupted(0.2) as due, pytest.raises(KeyboardInterrupt):
            headrace.connect(f"host=127.0.0.1 port={port} user=x dbname=x connect_timeout=20")
        assert time.monotonic() - due < 0.5
        for filler in fillers:
            filler.close()


def test_an_interrupt_is_seen_while_a_name_is_resolved(monkeypatch: pytest.MonkeyPatch) -> None:
    forever = threading.Event()

    def slow(*_: Any, **__: Any) -> Any:
        forever.wait(20)
        raise OSError("no answer")

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    for url in ("postgresql://u@db.example/d", "mysql://u@db.example/d", "informix://u:p@db.example:9/d?server=s"):
        with interrupted(0.1) as due, pytest.raises(KeyboardInterrupt):
            headrace.connect(url)
        assert time.monotonic() - due < 0.5
        started = time.monotonic()
        with pytest.raises(errors.OperationalError):
            headrace.connect(url, connect_timeout=0.2)
        assert time.monotonic() - started < 1.0
    forever.set()


@pytest.mark.usefixtures("quick_cancels")
async def test_on_a_loop_a_connection_whose_server_does_not_react_is_closed(server: PostgresServer) -> None:
    conn = await headrace.aio.connect(server.url, autocommit=True)
    with stopped(conn.backend_pid):
        with pytest.raises(TimeoutError):
            await conn.execute("select 1", timeout=0.1)
        behind = asyncio.ensure_future(conn.fetchval("select 2"))
        started = time.monotonic()
        with pytest.raises(errors.OperationalError, match="did not react to a cancel request"):
            await asyncio.wait_for(behind, STOPPED)
        assert conn.closed
        assert time.monotonic() - started < STOPPED
    with pytest.raises(errors.OperationalError):
        await conn.fetchval("select 3")


@pytest.mark.usefixtures("quick_cancels")
def test_a_connection_whose_server_does_not_react_is_closed(server: PostgresServer) -> None:
    conn = headrace.connect(server.url, autocommit=True)
    with stopped(conn.backend_pid):
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            conn.execute("select 1", timeout=0.1)
        assert conn.closed
        assert time.monotonic() - started < STOPPED


@pytest.mark.usefixtures("quick_cancels")
@pytest.mark.parametrize("at", ["inside", "its end"])
async def test_a_cancelled_pipeline_waits_for_nothing(server: PostgresServer, at: str) -> None:
    conn = await headrace.aio.connect(server.url, autocommit=True)

    async def work() -> None:
        async with conn.pipeline():
            first = await conn.execute("select 1")
            await conn.execute("select 2")
            await conn.execute("select 3")
            if at == "inside":
                await first.fetchall()

    with stopped(conn.backend_pid):
        task = asyncio.ensure_future(work())
        await asyncio.wait([task], timeout=0.2)
        task.cancel()
        done, _ = await asyncio.wait([task], timeout=1.5)
        assert done, "it waits for a server that does not react"
        # The server did not react to it, or where it was slow to leave, its answer is missing.
        with pytest.raises(errors.OperationalError, match=r"the connection was closed: .*a cancel request"):
            await asyncio.wait_for(conn.fetchval("select 4"), STOPPED)
        assert conn.closed


async def test_a_connection_is_in_step_after_a_cancelled_pipeline(server: PostgresServer) -> None:
    async with await headrace.aio.connect(server.url, autocommit=True) as conn:
        for block in (False, True):

            async def work(block: bool = block) -> None:
                async with conn.transaction() if block else contextlib.nullcontext(), conn.pipeline():
                    for _ in range(3):
                        await conn.execute("select pg_sleep(20)")

            started = time.monotonic()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(work(), 0.3)
            assert await conn.fetchval("select 7") == 7
            assert time.monotonic() - started < 15.0


async def test_a_cancelled_task_is_not_held_by_its_pool(server: PostgresServer) -> None:
    async with headrace.aio.AsyncConnectionPool(server.url, min_size=1, max_size=1) as pool:
        async with pool.connection() as conn:
            pid = conn.backend_pid

        async def work() -> None:
            async with pool.connection() as conn:
                await conn.execute("select pg_sleep(60)")

        with stopped(pid):
            started = time.monotonic()
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(work(), 0.3)
            assert time.monotonic() - started < 1.5
        async with pool.connection(timeout=20) as conn:
            assert await conn.fetchval("select 1") == 1


CALLS = {
    "fetch": lambda c: c.fetch("select 1"),
    "fetchrow": lambda c: c.fetchrow("select 1"),
    "fetchval": lambda c: c.fetchval("select 1"),
    "executemany": lambda c: c.executemany("select $1::int", [(1,), (2,)]),
    "executescript": lambda c: c.executescript("select 1; select 2"),
    "commit": lambda c: c.commit(),
    "rollback": lambda c: c.rollback(),
    "stream": lambda c: list(c.stream("select 1")),
    "copy_out": lambda c: list(c.copy_out("select 1 as n")),
    "copy_in": lambda c: c.copy_in("pg_temp.t", [(1,)]),
    "server cursor": lambda c: c.cursor("named").execute("select 1").fetchall(),
    "reset": lambda c: c.reset(),
    "pipeline": lambda c: _pipeline(c),
    "block": lambda c: _block(c),
}


def _pipeline(conn: Any) -> None:
    with conn.pipeline():
        conn.execute("select 1")


def _block(conn: Any) -> None:
    with conn.transaction():
        conn.execute("select 1")


@pytest.mark.parametrize("call", CALLS)
def test_every_call_ends_within_the_connections_timeout(
    server: PostgresServer, call: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(defaults, "CANCEL_TIMEOUT", 0.3)
    conn = headrace.connect(server.url, command_timeout=0.1)
    conn.execute("create temp table t (n int)", timeout=20)
    with stopped(conn.backend_pid):
        started = time.monotonic()
        with pytest.raises((TimeoutError, errors.OperationalError)):
            CALLS[call](conn)
        assert time.monotonic() - started < 4.0
        assert conn.closed


def test_a_call_may_have_a_timeout_of_its_own(server: PostgresServer) -> None:
    with headrace.connect(server.url, autocommit=True, command_timeout=0.2) as conn:
        assert conn.fetchval("select 7 from pg_sleep(0.5)", timeout=5) == 7
        for fetch in (conn.fetch, conn.fetchrow, conn.fetchval):
            with pytest.raises(TimeoutError):
                fetch("select pg_sleep($1)", 5.0, timeout=0.1)
            with pytest.raises(TimeoutError):
                fetch("select pg_sleep($1)", 5.0)


def test_notifications_are_waited_for_longer_than_a_command_may_take(server: PostgresServer) -> None:
    with headrace.connect(server.url, autocommit=True, command_timeout=0.1) as conn:
        conn.listen("nothing")
        started = time.monotonic()
        assert list(conn.notifies(timeout=0.4)) == []
        assert time.monotonic() - started >= 0.4


def test_a_pool_gets_over_a_server_that_does_not_react(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defaults, "CANCEL_TIMEOUT", 0.5)
    with ConnectionPool(server.url, max_size=1, kwargs={"command_timeout": 0.2}) as pool:
        with pytest.raises(TimeoutError), pool.connection() as conn, stopped(conn.backend_pid):
            conn.fetchval("select 1")
        with pool.connection() as conn:
            assert conn.fetchval("select 1") == 1
