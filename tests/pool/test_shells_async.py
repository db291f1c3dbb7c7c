"""What a pool promises to tasks and to threads, over connections in memory."""

from __future__ import annotations

import contextlib
import time
from functools import partial
from typing import Any

import pytest
from pool_fakes import AsyncFake, Server

from headrace.aio.pool import AsyncConnectionPool
from headrace.errors import PoolClosed, PoolTimeout, ProgrammingError, TooManyRequests
from headrace.rows import dict_row, tuple_row
from headrace.types import TransactionStatus as Status
from waiting import AsyncEvent, AsyncWork, agather, asleep, auntil


def pool_on(server: Server, **options: Any) -> AsyncConnectionPool[AsyncFake]:
    return AsyncConnectionPool(connect=server.aconnect, **{"min_size": 1, "max_size": 1, **options})


async def test_a_block_commits_rolls_back_and_costs_nothing_when_idle() -> None:
    server = Server()
    async with pool_on(server) as pool:
        async with pool.connection() as conn:
            pass
        assert conn.log == []
        async with pool.connection() as conn:
            conn.transaction_status = Status.INTRANS
        assert conn.log == ["commit"]
        with pytest.raises(ZeroDivisionError):
            async with pool.connection() as conn:
                conn.transaction_status = Status.INERROR
                raise ZeroDivisionError
        assert conn.log == ["commit", "rollback"]
        assert len(server.made) == 1


async def test_a_row_factory_and_other_keywords_are_passed_to_connect() -> None:
    passed: list[dict[str, Any]] = []
    server = Server()

    async def connect(conninfo: str, **keywords: Any) -> AsyncFake:
        passed.append(keywords)
        return await server.aconnect()

    for kwargs in ({}, {"row_factory": tuple_row, "user": "me"}):
        async with AsyncConnectionPool(connect=connect, row_factory=dict_row, kwargs=kwargs, min_size=1) as pool:
            await pool.wait()
    assert passed[0] == {"row_factory": dict_row}
    assert passed[-1] == {"row_factory": dict_row, "user": "me"}


async def test_an_error_rolls_back_even_where_nothing_is_reset() -> None:
    async with pool_on(Server(), reset="none") as pool:
        with pytest.raises(ZeroDivisionError):
            async with pool.connection() as conn:
                conn.transaction_status = Status.INTRANS
                raise ZeroDivisionError
        assert conn.log == ["rollback"]


async def test_configure_is_called_again_after_a_reset_that_discards() -> None:
    async def configure(conn: AsyncFake) -> None:
        if configuring:
            raise OSError("not now")
        conn.log.append("configure")

    configuring: list[int] = []
    for mode, log in (("discard", ["configure", "discard", "configure"]), ("rollback", ["configure", "rollback"])):
        server = Server()
        async with pool_on(server, reset=mode, configure=configure) as pool:
            async with pool.connection() as conn:
                pass
            conn = await pool.getconn()
            conn.transaction_status = Status.INTRANS
            conn.log[:] = conn.log[:1]
            await pool.putconn(conn)
            await auntil(lambda conn=conn, log=log: conn.log == log)  # type: ignore[misc]
            # A connection that cannot be set up again is replaced.
            conn = await pool.getconn()
            configuring.append(1)
            await pool.putconn(conn)
            configuring.clear()
            lent = await pool.getconn()
            assert (lent is conn) == (mode == "rollback")
            await pool.putconn(lent)


async def test_a_failed_commit_is_raised_and_rolled_back() -> None:
    async def lost() -> None:
        raise OSError("lost")

    async with pool_on(Server()) as pool:
        with pytest.raises(OSError, match="lost"):
            async with pool.connection() as conn:
                conn.transaction_status = Status.INTRANS
                conn.commit = lost
        await auntil(lambda: conn.log == ["rollback"])


async def test_a_failed_reset_costs_the_connection_and_nothing_else() -> None:
    server = Server()
    async with pool_on(server) as pool:
        conn = await pool.getconn()
        conn.transaction_status, conn.reset_fails = Status.INTRANS, True
        await pool.putconn(conn)
        await auntil(lambda: conn.closed)
        async with pool.connection() as other:
            assert other is not conn
        assert pool.stats().lost == {"doubt": 1}


async def test_a_reset_does_not_hold_up_others() -> None:
    async with pool_on(Server(), min_size=2, max_size=2) as pool:
        await pool.wait()
        slow = await pool.getconn()
        slow.transaction_status, slow.reset_gate = Status.INTRANS, AsyncEvent()
        back = AsyncWork(pool.putconn, slow)
        await auntil(lambda: slow.log)
        for _ in range(3):
            async with pool.connection(timeout=1) as conn:
                assert conn is not slow
        assert pool.stats().in_use == 1
        slow.reset_gate.set()
        await back.result()
        assert pool.stats().idle == 2


async def test_waiting_is_fair_and_ends_in_time() -> None:
    async with pool_on(Server(), max_waiting=9) as pool:
        held = await pool.getconn()
        order: list[int] = []

        async def use(n: int) -> None:
            async with pool.connection():
                order.append(n)
                await asleep(0)

        working = []
        for n in range(8):
            working.append(AsyncWork(use, n))
            await auntil(lambda n=n: pool.stats().waiting == n + 1)  # type: ignore[misc]
        with pytest.raises(PoolTimeout, match="1 of 1"):
            await pool.getconn(0.01)
        working.append(AsyncWork(use, 8))
        await auntil(lambda: pool.stats().waiting == 9)
        with pytest.raises(TooManyRequests):
            await pool.getconn()
        await pool.putconn(held)
        for work in working:
            await work.result()
        assert order == list(range(9))


async def test_an_outage_is_met_with_few_attempts_and_named_in_the_timeout() -> None:
    server = Server()
    server.down = OSError("no route to host")
    async with pool_on(server, max_size=50) as pool:

        async def ask() -> None:
            end = time.monotonic() + 0.5
            while time.monotonic() < end:
                with pytest.raises(PoolTimeout, match="OSError: no route to host"):
                    await pool.getconn(timeout=0.02)

        await auntil(lambda: server.attempts)
        await asleep(0.05)
        await agather(*[ask] * 10)
        assert server.attempts < 15
        server.down = None
        async with pool.connection(timeout=5):
            pass


async def test_a_connection_whose_setup_fails_is_closed_and_costs_no_place() -> None:
    server = Server()
    fail = [True]

    async def refuse() -> None:
        raise ZeroDivisionError

    async def configure(conn: AsyncFake) -> None:
        conn.transaction_status = Status.INTRANS
        if fail[0]:
            conn.close = refuse
            raise ValueError("no setup")

    async with pool_on(server, configure=configure, backoff=0.01) as pool:
        with pytest.raises(PoolTimeout, match="ValueError: no setup"):
            await pool.wait(0.2)
        fail[0] = False
        async with pool.connection(timeout=5) as conn:
            assert conn.log == ["commit"]


async def test_a_connection_whose_setup_fails_once_is_closed() -> None:
    server = Server()

    async def configure(conn: AsyncFake) -> None:
        conn.transaction_status = Status.INTRANS
        if len(server.made) == 1:
            raise ValueError("no setup")

    async with pool_on(server, configure=configure, backoff=0.01) as pool:
        async with pool.connection() as conn:
            assert conn.log == ["commit"]
        assert server.made[0].closed


async def test_check_tries_another_and_on_checkout_raises() -> None:
    server = Server()
    unfit: list[AsyncFake] = []
    seen: list[AsyncFake] = []

    async def check(conn: AsyncFake) -> None:
        if conn in unfit:
            raise OSError("unfit")

    async def on_checkout(conn: AsyncFake) -> None:
        seen.append(conn)
        if len(seen) == 2:
            raise KeyError("mine")

    async with pool_on(server, check=check, on_checkout=on_checkout) as pool:
        await pool.wait()
        await pool.putconn(await pool.getconn())
        unfit.append(server.made[0])
        with pytest.raises(KeyError):
            await pool.getconn()
        await auntil(lambda: server.made[0].closed and server.made[1].closed)
        async with pool.connection(timeout=5) as conn:
            assert conn is server.made[2]
        assert pool.stats().lost == {"refused": 2}


async def test_a_check_that_refuses_all_ends_in_time_and_connects_slowly() -> None:
    server = Server()

    async def check(conn: AsyncFake) -> None:
        raise ZeroDivisionError

    async with pool_on(server, check=check) as pool:
        with pytest.raises(PoolTimeout, match="ZeroDivisionError"):
            await pool.getconn(timeout=0.5)
    assert server.attempts < 12


async def test_close_waits_for_work_in_flight_and_then_takes_it_away() -> None:
    server = Server()
    pool = pool_on(server, min_size=2, max_size=2)
    await pool.wait()
    quick, slow = await pool.getconn(), await pool.getconn()
    waiter = AsyncWork(pool.getconn)
    await auntil(lambda: pool.stats().waiting == 1)

    async def back_later() -> None:
        await asleep(0.1)
        await pool.putconn(quick)

    later = AsyncWork(back_later)
    started = time.monotonic()
    await pool.close(0.3)
    assert 0.25 < time.monotonic() - started < 3
    await later.result()
    with pytest.raises(PoolClosed):
        await waiter.result()
    assert not server.open
    await pool.putconn(slow)
    with pytest.raises(PoolClosed):
        await pool.getconn()


async def test_close_does_not_hang_on_a_connection_that_does_not_close() -> None:
    pool = pool_on(Server())
    conn = await pool.getconn()
    gate = AsyncEvent()
    conn.close = gate.wait
    started = time.monotonic()
    await pool.close(0.1)
    assert time.monotonic() - started < 3
    gate.set()


async def test_close_while_connecting_leaves_nothing_open() -> None:
    server = Server()
    server.delay = 0.2
    pool = pool_on(server, min_size=3, max_size=3)
    await pool.open()
    await auntil(lambda: pool.stats().connecting == 3)
    await pool.close()
    # blocking: until(lambda: len(server.made) == 3)
    await auntil(lambda: not server.open)


async def test_a_pool_can_be_opened_again() -> None:
    server = Server()
    pool = pool_on(server, open=False)
    with pytest.raises(PoolClosed, match="not open"):
        await pool.getconn()
    for n in range(2):
        async with pool:
            await pool.wait()
            assert len(server.open) == 1
        assert len(server.made) == n + 1
        assert not server.open


async def test_drain_and_resize() -> None:
    server = Server()
    async with pool_on(server, min_size=2, max_size=2) as pool:
        await pool.wait()
        conn = await pool.getconn()
        await pool.drain()
        await auntil(lambda: len(server.made) == 3)
        await pool.putconn(conn)
        await auntil(lambda: len(server.open) == 2 and conn.closed)
        pool.resize(4)
        await auntil(lambda: len(server.open) == 4)
        pool.resize(0, 1)
        await auntil(lambda: len(server.open) == 1)


async def test_a_connection_of_elsewhere_is_refused() -> None:
    async with pool_on(Server()) as pool:
        with pytest.raises(ProgrammingError, match="does not belong"):
            await pool.putconn(AsyncFake())
        conn = await pool.getconn()
        await pool.putconn(conn)
        with pytest.raises(ProgrammingError, match="already"):
            await pool.putconn(conn)


async def test_many_never_share_a_connection() -> None:
    server = Server()
    owners: dict[int, int] = {}
    wrong: list[str] = []
    async with pool_on(server, min_size=1, max_size=4) as pool:

        async def work(n: int) -> None:
            for turn in range(150):
                with contextlib.suppress(PoolTimeout):
                    async with pool.connection(timeout=(n * turn) % 3 * 0.0005 or 10) as conn:
                        if owners.setdefault(id(conn), n) != n or conn.closed:
                            wrong.append("two owners")
                        conn.transaction_status = list(Status)[turn % 3]
                        if turn % 7 == 0:
                            await asleep(0.0005)
                        if turn % 50 == 49:
                            conn.broken = True
                        del owners[id(conn)]

        await agather(*(partial(work, n) for n in range(12)))
        assert not wrong
        stats = pool.stats()
        assert stats.in_use == 0
        assert stats.size <= 4
    assert not server.open


async def test_statistics_add_up() -> None:
    async with pool_on(Server(), name="web") as pool:
        async with pool.connection():
            with pytest.raises(PoolTimeout):
                await pool.getconn(0.01)
            assert "1 of 1 in use" in repr(pool)
        stats = pool.stats()
        assert (stats.size, stats.idle, stats.in_use, stats.opened, stats.timeouts) == (1, 1, 0, 1, 1)
        assert stats.requests == 2
        assert stats.wait_ms >= 10
        assert stats.use_ms >= 10


async def test_a_block_is_entered_again_after_its_end_only() -> None:
    async with pool_on(Server(), max_size=2) as pool:
        block = pool.connection()
        async with block as conn:
            with pytest.raises(ProgrammingError, match="open already"):
                await block.__aenter__()
            conn.transaction_status = Status.INTRANS
        assert conn.log == ["commit"]
        async with block as again:
            assert again is conn
        assert pool.stats().in_use == 0
