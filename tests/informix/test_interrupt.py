"""Interrupts of the test server: they leave the transaction as it was, or it says that the transaction is gone."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator
from typing import Any

import pytest

import headrace.aio.informix
import headrace.informix
from headrace import errors
from headrace.testing import InformixServer, informix


def test_a_long_change_that_is_broken_off_takes_its_transaction_with_it(ifx: InformixServer, table: str) -> None:
    with headrace.informix.connect(**ifx.parameters(), autocommit=True) as conn:
        conn.execute(f"create table {table} (a int)")
        conn.executemany(f"insert into {table} values (?)", [(n,) for n in range(3000)])
        conn.execute("begin work")
        conn.execute(f"insert into {table} values (-1)")
        endless = f"update {table} set a = (select count(*) from {table} x, {table} y where x.a + y.a = {table}.a)"
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            conn.execute(endless, timeout=0.2)
        assert time.monotonic() - started < 10
        change: Any = f"insert into {table} values (-2)"
        for lost in (change, f"select count(*) from {table}", "commit work"):
            with pytest.raises(errors.OperationalError, match="-458"):
                conn.execute(lost)
        conn.execute("rollback work")
        assert conn.fetchval(f"select count(*) from {table} where a < 0") == 0
        assert conn.fetchval(f"select count(*) from {table}") == 3000
        conn.execute(change)


def test_a_long_change_that_is_broken_off_in_mode_ansi_leaves_no_transaction() -> None:
    with (
        informix(mode="ansi") as server,
        headrace.informix.connect(**server.parameters(), autocommit=True) as conn,
    ):
        conn.execute("create table t (a int)")
        conn.executemany("insert into t values (?)", [(n,) for n in range(3000)])
        for _ in range(2):
            with pytest.raises(TimeoutError):
                conn.execute(
                    "update t set a = (select count(*) from t x, t y where x.a + y.a = t.a)",
                    timeout=0.2,
                )
            conn.execute("insert into t values (-1)")
        with headrace.informix.connect(**server.parameters()) as other:
            assert other.fetchval("select count(*) from t where a < 0") == 2


def test_a_cancelled_query_leaves_the_transaction_as_it_was(ifx: InformixServer, table: str) -> None:
    with headrace.informix.connect(**ifx.parameters()) as conn:
        conn.execute(f"create table {table} (a int)")
        conn.executemany(f"insert into {table} values (?)", [(n,) for n in range(3000)])
        timer = threading.Timer(0.2, conn.cancel)
        timer.start()
        with pytest.raises(errors.QueryCanceled):
            conn.fetchval(f"select count(*) from {table} a, {table} b, {table} c where a.a + b.a + c.a = -1")
        timer.join()
        assert conn.fetchval(f"select count(*) from {table}") == 3000
        conn.commit()


def test_an_interrupt_ends_no_later_savepoint_that_waits_for_a_lock(ifx: InformixServer, table: str) -> None:
    with (
        headrace.informix.connect(**ifx.parameters(), autocommit=True, lock_wait=20) as conn,
        headrace.informix.connect(**ifx.parameters()) as writer,
    ):
        conn.execute(f"create table {table} (a int)")
        insert: Any = f"insert into {table} values (?)"
        conn.executemany(insert, [(0,), (1,)])
        writer.execute(insert, (2,))
        with pytest.raises(TimeoutError):
            conn.fetch("select ifx_sleep(30) from sysmaster:sysdual", timeout=0.1)
        committing = threading.Timer(0.3, writer.commit)
        committing.start()
        with conn.transaction():
            # The statement is prepared: a savepoint comes first.
            conn.executemany(insert, [(3,), (4,)])
        committing.join()
        assert conn.fetchval(f"select count(*) from {table}") == 5


@contextlib.contextmanager
def stopped(server: InformixServer) -> Iterator[None]:
    """The server does nothing in the block, as one on a busy machine."""
    os.kill(server.pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(server.pid, signal.SIGCONT)


QUICK = "select ifx_sleep(0.001) from sysmaster:sysdual"


def attempt(conn: headrace.informix.Connection[Any]) -> None:
    with contextlib.suppress(errors.QueryCanceled, errors.ConnectionClosed):
        conn.fetch(QUICK)


@pytest.mark.slow
async def test_cancelled_tasks_leave_a_slow_server_in_step(server: InformixServer) -> None:
    """Of two urgent bytes that the server has not read, TCP makes the first one a part of the stream."""
    conn = await headrace.aio.informix.connect(**server.parameters(), autocommit=True)
    await conn.fetch(QUICK)
    with stopped(server):
        tasks = [asyncio.ensure_future(conn.fetch(QUICK)) for _ in range(3)]
        await asyncio.sleep(0)
        for task in tasks:
            task.cancel()
        await asyncio.sleep(1.2)  # the server is asked again meanwhile
    await asyncio.gather(*tasks, return_exceptions=True)
    assert await conn.fetchval("select 42 from sysmaster:sysdual") == 42
    await conn.close()


PATIENCE = 2.0
"""Seconds that a server gets to read an urgent byte: one that takes longer loses the connection."""


def cancelled_repeatedly(server: InformixServer) -> bool:
    """Cancels while the server does nothing. Returns False if that took longer than a server has."""
    with headrace.informix.connect(**server.parameters(), autocommit=True) as conn:
        conn.fetch(QUICK)
        with stopped(server):
            started = time.monotonic()
            asking = [threading.Thread(target=attempt, args=(conn,)) for _ in range(2)]
            for thread in asking:
                thread.start()
                for _ in range(3):
                    time.sleep(0.15)
                    conn.cancel()
            in_time = time.monotonic() - started < PATIENCE
        for thread in asking:
            thread.join()
        if in_time:
            assert conn.fetchval("select 42 from sysmaster:sysdual") == 42
    return in_time


@pytest.mark.slow
def test_repeated_cancels_leave_a_slow_server_in_step(server: InformixServer) -> None:
    assert any(cancelled_repeatedly(server) for _ in range(10)), "the machine is too busy"


async def test_cancels_one_after_the_other_each_interrupt(server: InformixServer) -> None:
    """What is cancelled at once after another cancellation is interrupted too."""
    conn = await headrace.aio.informix.connect(**server.parameters(), autocommit=True)
    started = time.monotonic()
    for _ in range(5):
        with pytest.raises(TimeoutError):
            await conn.fetch("select ifx_sleep(30) from sysmaster:sysdual", timeout=0.05)
    assert await conn.fetchval("select 42 from sysmaster:sysdual") == 42
    assert time.monotonic() - started < 10
    await conn.close()
