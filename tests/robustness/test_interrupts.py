"""Ctrl-C goes on within half a second, whatever the server does; the connection is in step then, or closed."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import socket
import threading
import time
from collections.abc import Callable, Generator, Iterator
from typing import Any

import pytest

import headrace
from company.gate import Gate
from headrace import defaults, errors
from headrace.testing import PostgresServer
from servers import Database

BOUND = 2.0
"""Half a second, and what a busy machine may add. It would be the five of CANCEL_TIMEOUT, or for ever."""


SLOW = 10.0
"""Less than the slow statement takes."""


@contextlib.contextmanager
def prompt() -> Generator[None]:
    """What is done inside is interrupted, and ends soon."""
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        yield
    assert time.monotonic() - started < BOUND


@contextlib.contextmanager
def interrupted(after: float) -> Generator[None]:
    """A SIGINT after so many seconds."""
    timer = threading.Timer(after, lambda: os.kill(os.getpid(), signal.SIGINT))
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
        timer.join()


def test_an_interrupt_with_the_end_of_a_timeout_cancels_the_statement(target: Database) -> None:
    with target.connect(autocommit=True) as conn:
        conn.fetchval(target.answer)
        for late in (0.02, 0.05, 0.055):
            if conn.closed:
                break
            with pytest.raises((KeyboardInterrupt, TimeoutError)), interrupted(late):
                conn.execute(target.slow, timeout=0.05)
            started = time.monotonic()
            assert conn.closed or conn.fetchval(target.answer) == 42
            assert time.monotonic() - started < SLOW


def rows(gate: Gate) -> Iterator[tuple[int]]:
    """Rows, after some of which the server is silent and the user interrupts."""
    for n in range(1000):
        yield (n,)
    gate.state = "frozen"
    for n in range(1000, 20_000):
        yield (n,)
    raise KeyboardInterrupt


WAITS: dict[str, Callable[[Database, Any, Gate], Any]] = {
    "execute": lambda target, conn, gate: conn.execute(target.answer),
    "stream": lambda target, conn, gate: list(conn.stream(target.series(5))),
    "pipeline": lambda target, conn, gate: _pipeline(target, conn),
    "transaction": lambda target, conn, gate: _transaction(target, conn),
}


def _pipeline(target: Database, conn: Any) -> None:
    with conn.pipeline():
        for _ in range(3):
            conn.execute(target.answer)


def _transaction(target: Database, conn: Any) -> None:
    with conn.transaction():
        conn.execute(target.answer)


@pytest.mark.parametrize("wait", WAITS)
def test_an_interrupt_waits_for_no_silent_server(target: Database, wait: str) -> None:
    with Gate(target.port) as gate:
        conn = target.connect(gate.port, autocommit=True)
        gate.state = "frozen"
        with interrupted(0.2), prompt():
            WAITS[wait](target, conn, gate)
        gate.state = "open"
        assert conn.closed or conn.fetchval(target.answer) == 42


def test_an_interrupt_in_a_row_of_a_batch_waits_for_no_silent_server(target: Database) -> None:
    with Gate(target.port) as gate:
        conn = target.connect(gate.port, autocommit=True)
        conn.execute(target.temporary)
        # Where the server is waited for before the interrupt is made, it comes from outside.
        with interrupted(1.0), prompt():
            conn.executemany(f"insert into r values ({target.mark})", rows(gate))
        gate.state = "open"
        assert conn.closed or conn.fetchval("select count(*) from r") == 0


def test_an_interrupt_in_a_row_of_a_batch_leaves_the_connection_in_step(target: Database) -> None:
    def some(count: int) -> Iterator[tuple[int]]:
        yield from ((n,) for n in range(count))
        raise KeyboardInterrupt

    with target.connect(autocommit=True) as conn:
        conn.execute(target.temporary)
        for count in (0, 1, 5000):
            with pytest.raises(KeyboardInterrupt):
                conn.executemany(f"insert into r values ({target.mark})", some(count))
            assert conn.fetchval("select count(*) from r") == 0
            assert conn.fetchval(target.number, 7) == 7


@pytest.mark.parametrize("block", [False, True], ids=["alone", "in a block"])
def test_what_a_slow_server_owes_is_waited_for_by_the_next_statement(server: PostgresServer, block: bool) -> None:
    conn: Any = headrace.connect(server.url, autocommit=True)
    conn.execute("create temp table t as select 1 as n")
    pid = conn.backend_pid
    os.kill(pid, signal.SIGSTOP)
    try:
        with interrupted(0.2), prompt(), conn.transaction() if block else contextlib.nullcontext():
            conn.execute("insert into t values (2)")
        assert not conn.closed
        threading.Timer(0.3, os.kill, (pid, signal.SIGCONT)).start()
        assert conn.fetchval("select 7") == 7
        assert conn.fetch("select n from t where n = 1") == [(1,)]
        assert conn.transaction_status is headrace.types.TransactionStatus.IDLE
    finally:
        os.kill(pid, signal.SIGCONT)
        conn.close()


def test_a_cancel_request_that_came_too_early_is_said_again_by_the_next_statement(
    server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    conn: Any = headrace.connect(server.url, autocommit=True)
    monkeypatch.setattr(conn, "_send_cancel", lambda _: None)
    with interrupted(0.2), prompt():
        conn.execute("select pg_sleep(60)")
    monkeypatch.undo()
    started = time.monotonic()
    assert conn.fetchval("select 7") == 7
    assert time.monotonic() - started < BOUND
    conn.close()


def test_a_server_that_owes_too_long_is_given_up(server: PostgresServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(defaults, "CANCEL_TIMEOUT", 1.0)
    conn: Any = headrace.connect(server.url, autocommit=True)
    pid = conn.backend_pid
    os.kill(pid, signal.SIGSTOP)
    try:
        with interrupted(0.2), prompt():
            conn.execute("select 1")
        started = time.monotonic()
        with pytest.raises(errors.OperationalError, match="did not react to a cancel request"):
            conn.fetchval("select 7")
        assert conn.closed
        assert time.monotonic() - started < 1.0 + BOUND
    finally:
        os.kill(pid, signal.SIGCONT)


def test_leaving_a_connection_by_an_interrupt_waits_for_nothing(server: PostgresServer) -> None:
    pids: list[int] = []
    try:
        with prompt(), headrace.connect(server.url) as conn:
            conn.execute("select 1")
            pids.append(conn.backend_pid)
            os.kill(pids[0], signal.SIGSTOP)
            with interrupted(0.2):
                conn.execute("select 2")
    finally:
        for pid in pids:
            os.kill(pid, signal.SIGCONT)


@pytest.mark.parametrize(
    "url",
    [
        "postgresql://u@db.example/d",
        "mysql://u@db.example/d",
        "informix://u:p@db.example:9/d?server=s",
        "cubrid://u@db.example/d",
    ],
)
def test_a_loop_ends_while_a_name_is_resolved(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    forever = threading.Event()

    def slow(*_: Any, **__: Any) -> Any:
        forever.wait(20)
        raise OSError("no answer")

    async def work() -> None:
        await headrace.aio.connect(url)

    monkeypatch.setattr(socket, "getaddrinfo", slow)
    with interrupted(0.2), prompt():
        asyncio.run(work())
    forever.set()
