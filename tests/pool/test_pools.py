"""Pools on a real server, sync and async."""

from __future__ import annotations

import asyncio
import threading
import time
from typing import Any

import pytest

import headrace
from headrace import errors
from headrace.aio import AsyncConnectionPool
from headrace.pool import ConnectionPool
from waiting import until


def test_lending_commits_and_rolls_back(url: str) -> None:
    with ConnectionPool(url, min_size=1, max_size=2) as pool:
        with pool.connection() as conn:
            conn.execute("create table p (n int)")
        with pytest.raises(ZeroDivisionError), pool.connection() as conn:
            conn.execute("insert into p values (1)")
            raise ZeroDivisionError
        with pool.connection() as conn:
            assert conn.fetchval("select count(*) from p") == 0
        conn = pool.getconn()
        conn.execute("insert into p values (1)")
        pool.putconn(conn)
        with pool.connection() as conn:
            assert conn.fetchval("select count(*) from p") == 0
        with pytest.raises(errors.ProgrammingError, match="does not belong"):
            pool.putconn(conn)


def test_waiting_is_fair_and_ends_in_time(url: str) -> None:
    with ConnectionPool(url, min_size=1, max_size=1) as pool:
        held = pool.getconn()
        order: list[int] = []

        def work(n: int) -> None:
            with pool.connection():
                order.append(n)

        threads = []
        for n in range(5):
            thread = threading.Thread(target=work, args=(n,))
            thread.start()
            threads.append(thread)
            until(lambda n=n: pool.stats().waiting > n)  # type: ignore[misc]
        with pytest.raises(errors.PoolTimeout, match="1 of 1"):
            pool.getconn(timeout=0.05)
        pool.putconn(held)
        for thread in threads:
            thread.join()
        assert order == list(range(5))
        assert pool.stats().timeouts == 1


def test_dead_and_old_connections_are_replaced(url: str) -> None:
    with ConnectionPool(url, min_size=2, max_size=2, kwargs={"autocommit": True}) as pool:
        lent = [pool.getconn(), pool.getconn()]
        for conn in lent:
            pool.putconn(conn)
        with headrace.connect(url, autocommit=True) as killer:
            killer.execute(
                "select pg_terminate_backend(pid) from pg_stat_activity"
                " where pid <> pg_backend_pid() and backend_type = 'client backend'"
            )
        until(lambda: not any(entry.connection.check_alive() for entry in pool._core.idle))
        with pool.connection() as conn:
            assert conn.fetchval("select 1") == 1
        assert pool.stats().lost["dead"] >= 1
    with ConnectionPool(url, min_size=1, max_size=1, max_lifetime=0.05) as pool:
        with pool.connection() as conn:
            first = conn.backend_pid
        time.sleep(0.1)
        with pool.connection() as conn:
            assert conn.backend_pid != first


def test_reset_discards_session_state_when_asked(url: str) -> None:
    with ConnectionPool(url, min_size=1, max_size=1, reset="discard") as pool:
        with pool.connection() as conn:
            conn.execute("set work_mem = '7MB'")
        with pool.connection() as conn:
            assert conn.fetchval("show work_mem") != "7MB"


def test_the_last_connect_error_is_in_the_message() -> None:
    with (
        ConnectionPool("host=127.0.0.1 port=1 user=x", min_size=1) as pool,
        pytest.raises(errors.PoolTimeout, match="refused"),
    ):
        pool.getconn(timeout=0.3)


def test_configure_check_and_limits(url: str) -> None:
    configured: list[int] = []
    checked: list[int] = []
    with ConnectionPool(
        url, min_size=1, max_size=1, max_waiting=1, configure=lambda c: configured.append(c.backend_pid),
        check=lambda c: checked.append(c.backend_pid),
    ) as pool:  # fmt: skip
        held = pool.getconn()
        waiting = threading.Thread(target=lambda: pool.putconn(pool.getconn()))
        waiting.start()
        until(lambda: pool.stats().waiting)
        with pytest.raises(errors.TooManyRequests):
            pool.getconn()
        pool.putconn(held)
        waiting.join()
        assert len(configured) == 1
        assert len(checked) == 2


def test_close_with_work_in_flight(url: str) -> None:
    pool = ConnectionPool(url, min_size=1, max_size=1)
    conn = pool.getconn()
    done: list[Any] = []

    def wait() -> None:
        with pytest.raises(errors.PoolClosed):
            pool.getconn(timeout=10)
        done.append(1)

    waiter = threading.Thread(target=wait)
    waiter.start()
    until(lambda: pool.stats().waiting)
    threading.Timer(0.2, lambda: pool.putconn(conn)).start()
    pool.close()
    waiter.join()
    assert done
    assert conn.closed
    with pytest.raises(errors.PoolClosed):
        pool.getconn()


async def test_async_pool(url: str) -> None:
    async with AsyncConnectionPool(url, min_size=1, max_size=3) as pool:

        async def work(n: int) -> int:
            async with pool.connection() as conn:
                return int(await conn.fetchval("select $1::int", n))

        assert await asyncio.gather(*(work(n) for n in range(50))) == list(range(50))
        assert pool.stats().size <= 3
        with pytest.raises(ZeroDivisionError):
            async with pool.connection() as conn:
                await conn.execute("create table never (n int)")
                raise ZeroDivisionError
        async with pool.connection() as conn:
            assert await conn.fetchval("select to_regclass('never')") is None


@pytest.mark.parametrize("steps", range(40))
async def test_a_cancelled_checkout_loses_no_connection(url: str, steps: int) -> None:
    async with AsyncConnectionPool(url, min_size=1, max_size=1) as pool:

        async def use() -> None:
            async with pool.connection() as conn:
                await conn.fetchval("select 1")

        task = asyncio.ensure_future(use())
        for _ in range(steps):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        async with pool.connection(timeout=5) as conn:
            assert await conn.fetchval("select 42") == 42
        assert pool.stats().in_use == 0


async def test_a_task_cancelled_inside_its_block_gives_a_clean_connection_back(url: str) -> None:
    async with AsyncConnectionPool(url, min_size=1, max_size=1) as pool:

        async def use() -> None:
            async with pool.connection() as conn:
                await conn.execute("select pg_sleep(30)")

        task = asyncio.ensure_future(use())
        await asyncio.sleep(0.2)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        started = time.monotonic()
        async with pool.connection(timeout=20) as conn:
            assert await conn.fetchval("select 42") == 42
        assert time.monotonic() - started < 20, "it was cancelled, and not waited for"


WRONG = {
    "keyword": ({"kwargs": {"databse": "x"}}, errors.ProgrammingError, "dbname"),
    "database": ({"kwargs": {"dbname": "nowhere"}}, errors.InvalidCatalogName, "nowhere"),
    "user": ({"kwargs": {"user": "nobody_here"}}, errors.InvalidAuthorizationSpecification, "nobody_here"),
}


@pytest.mark.parametrize("what", WRONG)
def test_what_waiting_cannot_mend_is_raised_at_once(url: str, what: str) -> None:
    options, kind, words = WRONG[what]
    started = time.monotonic()
    with ConnectionPool(url, min_size=1, timeout=60, **options) as pool:
        for ask in (pool.getconn, pool.wait, pool.getconn):
            with pytest.raises(kind, match=words):
                ask()
    assert time.monotonic() - started < 10


@pytest.mark.parametrize("what", WRONG)
async def test_what_waiting_cannot_mend_is_raised_at_once_on_a_loop(url: str, what: str) -> None:
    options, kind, words = WRONG[what]
    started = time.monotonic()
    async with headrace.aio.AsyncConnectionPool(url, min_size=1, timeout=60, **options) as pool:
        for ask in (pool.getconn, pool.wait, pool.getconn):
            with pytest.raises(kind, match=words):
                await ask()
    assert time.monotonic() - started < 10


def test_a_check_that_always_fails_says_how_long_it_was_waited(url: str) -> None:
    def check(_: Any) -> None:
        raise LookupError("unfit")

    with (
        ConnectionPool(url, min_size=1, check=check, backoff=0.02) as pool,
        pytest.raises(errors.PoolTimeout, match=r"no connection within 0\.3 s.*unfit"),
    ):
        pool.getconn(timeout=0.3)
