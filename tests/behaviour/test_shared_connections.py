"""Threads and tasks that share a connection: each gets its own answer, and only what was cancelled is cancelled."""

from __future__ import annotations

import asyncio
import contextlib
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import headrace
from headrace import errors
from headrace.testing import PostgresServer
from time_limit import time_limit

WAIT = 30.0


def together(*work: Callable[[], None]) -> None:
    """Runs each in a thread of its own; the first error of any is raised, and so is it when one does not end."""
    failures: list[BaseException] = []
    start = threading.Barrier(len(work))

    def run(one: Callable[[], None]) -> None:
        start.wait()
        try:
            one()
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=run, args=(one,), daemon=True) for one in work]
    for thread in threads:
        thread.start()
    deadline = time.monotonic() + WAIT
    for thread in threads:
        thread.join(max(0.0, deadline - time.monotonic()))
    assert not any(thread.is_alive() for thread in threads), "a thread waits for ever"
    if failures:
        raise failures[0]


@pytest.fixture
def shared(server: PostgresServer) -> Any:
    """A connection in autocommit."""
    with headrace.connect(server.url, autocommit=True) as connection:
        yield connection


def test_copies_of_two_threads_bring_all_their_rows(shared: Any) -> None:
    def copy() -> None:
        for _ in range(150):
            assert len(list(shared.copy_out("select generate_series(1, 500)"))) == 500

    def select() -> None:
        for i in range(500):
            assert shared.fetchval("select $1::int", i) == i

    together(copy, copy, select)


def test_copies_into_a_table_of_two_threads_are_whole(shared: Any) -> None:
    shared.execute("create temp table into_it (n int)")

    def copy() -> None:
        for _ in range(60):
            assert shared.copy_in("into_it", [(i,) for i in range(200)]) == 200

    together(copy, copy)
    assert shared.fetchval("select count(*) from into_it") == 2 * 60 * 200


def test_statement_without_a_sync_is_answered_to_every_waiter(shared: Any) -> None:
    wire = shared._core.wire
    for _ in range(3):
        tickets = [wire.execute("select 1", None, sync=False) for _ in range(3)]
        assert [wire.wait(ticket, WAIT).rows for ticket in tickets] == [[(1,)]] * 3
    # Behind one that has no Sync yet, of another thread.
    open_one = wire.execute("select 2", None, sync=False)
    together(lambda: shared.fetchval("select 3"))
    assert wire.wait(open_one, WAIT).rows == [(2,)]


def test_a_timeout_in_one_thread_cancels_nothing_of_another(shared: Any) -> None:
    over = threading.Event()

    def overdue() -> None:
        for i in range(60):
            with contextlib.suppress(TimeoutError):
                shared.execute("select pg_sleep(0.004)", timeout=0.0035 + i % 7 / 5000)
        over.set()

    def company() -> None:
        while not over.is_set():
            shared.fetchval("select pg_sleep(0.002)")

    together(overdue, company, company)
    assert not shared.closed


async def test_a_cancelled_task_cancels_nothing_of_another(server: PostgresServer) -> None:
    async with await headrace.aio.connect(server.url, autocommit=True) as conn:

        async def overdue(wait: float) -> None:
            for i in range(60):
                task = asyncio.ensure_future(conn.execute("select pg_sleep(0.004)"))
                await asyncio.sleep(wait + i % 7 / 2000)
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task

        async def company(working: set[Any]) -> None:
            while any(not task.done() for task in working):
                assert await conn.fetchval("select 7 from pg_sleep(0.002)") == 7

        working: set[Any] = {asyncio.ensure_future(overdue(wait)) for wait in (0.001, 0.003)}
        await asyncio.wait_for(asyncio.gather(*working, company(working), company(working)), WAIT)
        assert not conn.closed


def test_waiting_for_notifications_blocks_no_other_thread(shared: Any) -> None:
    shared.listen("nothing")
    got: list[str] = []
    arrived = threading.Event()

    def wait() -> None:
        for notify in shared.notifies(
            stop_after=2
        ):  # Without a limit: a request that waited for it would wait forever.
            got.append(notify.payload)
            arrived.set()

    waiting = threading.Thread(target=wait, daemon=True)
    waiting.start()

    def work() -> None:
        shared.execute("notify nothing, 'first'")
        assert arrived.wait(WAIT)
        for i in range(200):
            assert shared.fetchval("select $1::int", i) == i
            time.sleep(i % 2 * 0.001)  # Time for it to wait again.

    together(work)
    assert got == ["first"]
    assert waiting.is_alive()
    together(lambda: shared.execute("notify nothing, 'second'"))
    waiting.join(WAIT)
    assert got == ["first", "second"]


async def test_waiting_for_notifications_blocks_no_other_task(server: PostgresServer) -> None:
    async with await headrace.aio.connect(server.url, autocommit=True) as shared, time_limit(WAIT):
        await shared.listen("nothing")

        async def wait() -> list[str]:
            return [notify.payload async for notify in shared.notifies(stop_after=2)]

        waiting = asyncio.ensure_future(wait())
        await shared.execute("notify nothing, 'first'")
        for i in range(50):
            assert await shared.fetchval("select $1::int", i) == i
        assert not waiting.done()
        await shared.execute("notify nothing, 'second'")
        assert await waiting == ["first", "second"]


def test_a_timeout_holds_beside_a_thread_that_waits(shared: Any) -> None:
    slow = threading.Thread(target=lambda: shared.execute("select pg_sleep(3)"), daemon=True)
    slow.start()
    while not shared._core.wire.queued():
        time.sleep(0.001)
    started = time.monotonic()
    with pytest.raises(TimeoutError):
        shared.execute("select 1", timeout=0.2)
    assert time.monotonic() - started < 1.0
    slow.join(WAIT)
    assert shared.fetchval("select 1") == 1


def test_close_and_cancel_reach_a_thread_that_waits(shared: Any) -> None:
    def cancelled() -> None:
        with pytest.raises(errors.QueryCanceled):
            shared.execute("select pg_sleep(20)")

    waiting = threading.Thread(target=cancelled, daemon=True)
    waiting.start()
    while waiting.is_alive():
        shared.cancel()
        waiting.join(0.05)
    assert shared.fetchval("select 1") == 1
