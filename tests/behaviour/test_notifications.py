"""Several tasks or threads that wait for notifications of one connection."""

from __future__ import annotations

import asyncio
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import headrace
from headrace import errors

SENT = {"first", "second", "third"}


async def test_each_task_that_waits_gets_a_notification(aconn: Any, conn: Any) -> None:
    await aconn.set_autocommit(True)
    await aconn.listen("news")

    async def one() -> str:
        (notify,) = [notify async for notify in aconn.notifies(timeout=20, stop_after=1)]
        return str(notify.payload)

    waiting = [asyncio.create_task(one()) for _ in SENT]
    await asyncio.sleep(0)
    for payload in SENT:
        conn.execute("select pg_notify('news', %s)", (payload,))
    conn.commit()
    assert set(await asyncio.wait_for(asyncio.gather(*waiting), 10)) == SENT


def test_each_thread_that_waits_gets_a_notification(conn: Any, url: str) -> None:
    with headrace.connect(url, autocommit=True) as listener, ThreadPoolExecutor(3) as threads:
        listener.listen("news")
        waiting = [threads.submit(lambda: next(listener.notifies(timeout=20, stop_after=1)).payload) for _ in SENT]
        for payload in SENT:
            conn.execute("select pg_notify('news', %s)", (payload,))
            conn.commit()
        assert {future.result(10) for future in waiting} == SENT


async def test_the_end_of_the_connection_ends_every_wait(aconn: Any, conn: Any) -> None:
    async def forever() -> None:
        async for _ in aconn.notifies():
            pass

    waiting = [asyncio.create_task(forever()) for _ in range(3)]
    await asyncio.sleep(0)
    conn.execute("select pg_terminate_backend(%s)", (aconn.backend_pid,))
    for task in waiting:
        with pytest.raises(errors.OperationalError):
            await asyncio.wait_for(task, 10)


def test_the_end_of_the_connection_ends_every_threads_wait(conn: Any, url: str) -> None:
    with headrace.connect(url, autocommit=True) as listener, ThreadPoolExecutor(3) as threads:
        waiting = [threads.submit(lambda: list(listener.notifies())) for _ in range(3)]
        conn.execute("select pg_terminate_backend(%s)", (listener.backend_pid,))
        for future in waiting:
            with pytest.raises(errors.OperationalError):
                future.result(10)


async def test_a_wait_that_timed_out_leaves_nothing(aconn: Any, conn: Any) -> None:
    await aconn.set_autocommit(True)
    await aconn.listen("news")
    for _ in range(50):
        assert [notify async for notify in aconn.notifies(timeout=0)] == []
    conn.execute("notify news, 'late'")
    conn.commit()
    assert [notify.payload async for notify in aconn.notifies(timeout=10, stop_after=1)] == ["late"]


def test_notifications_that_nobody_reads_are_limited(conn: Any, url: str, caplog: pytest.LogCaptureFixture) -> None:
    with headrace.connect(url, autocommit=True) as listener:
        listener.listen("many")
        conn.execute("select pg_notify('many', n::text) from generate_series(1, 66000) n")
        conn.commit()
        listener.execute("select 1")
        payloads = [int(notify.payload) for notify in listener.notifies(timeout=0)]
    assert payloads == list(range(66_000 - 65_536 + 1, 66_001))
    assert [record.getMessage() for record in caplog.records] == [
        f"{66_000 - 65_536} notifications were dropped, as too many were not read"
    ]
