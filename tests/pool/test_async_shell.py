"""The pool for tasks, over connections in memory; cancelled everywhere."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import pytest
from pool_fakes import AsyncFake, Server

from headrace.aio.pool import AsyncConnectionPool
from headrace.errors import PoolClosed, PoolTimeout, ProgrammingError, TooManyRequests
from headrace.types import TransactionStatus as Status


async def until(condition: Callable[[], object], seconds: float = 5.0) -> None:
    async def poll() -> None:
        while not condition():
            await asyncio.sleep(0.001)

    await asyncio.wait_for(poll(), seconds)


def pool_on(server: Server, **options: Any) -> AsyncConnectionPool[AsyncFake]:
    return AsyncConnectionPool(connect=server.aconnect, **{"min_size": 1, "max_size": 1, **options})


async def steps(n: int) -> None:
    for _ in range(n):
        await asyncio.sleep(0)


async def healthy(pool: AsyncConnectionPool[AsyncFake], server: Server) -> None:
    """Everything came back: the pool can lend all it may, and nothing is open that it does not know."""
    await until(lambda: pool.stats().in_use == 0)
    size = pool.stats().max_size
    held = [await pool.getconn(5) for _ in range(size)]
    assert all(conn.transaction_status == Status.IDLE and not conn.closed for conn in held)
    assert len({id(conn) for conn in held}) == size
    for conn in held:
        await pool.putconn(conn)
    await until(lambda: len(server.open) == pool.stats().size)


async def test_a_block_commits_rolls_back_and_costs_nothing_when_idle() -> None:
    async with pool_on(Server()) as pool:
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


async def test_an_error_rolls_back_even_where_nothing_is_reset() -> None:
    async with pool_on(Server(), reset="none") as pool:
        with pytest.raises(ZeroDivisionError):
            async with pool.connection() as conn:
                conn.transaction_status = Status.INTRANS
                raise ZeroDivisionError
        assert conn.log == ["rollback"]


@pytest.mark.parametrize("hooked", [False, True])
@pytest.mark.parametrize("busy", [False, True])
@pytest.mark.parametrize("n", range(16))
async def test_cancelled_at_every_await_nothing_is_lost(n: int, busy: bool, hooked: bool) -> None:
    async def hook(conn: AsyncFake) -> None:
        await conn.execute()

    server = Server()
    async with pool_on(server, check=hook if hooked else None, on_checkout=hook if hooked else None) as pool:
        await pool.wait()
        held = await pool.getconn() if busy else None

        async def use() -> None:
            async with pool.connection() as conn:
                await conn.execute()

        task = asyncio.ensure_future(use())
        if held is not None:
            await steps(2)
            await pool.putconn(held)
        await steps(n)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        await healthy(pool, server)
        # The reset made it fit again: a cancellation does not cost a connection.
        assert len(server.made) == 1


@pytest.mark.parametrize("n", range(8))
async def test_putconn_cancelled_at_every_await(n: int) -> None:
    server = Server()
    async with pool_on(server, reset="discard") as pool:
        conn = await pool.getconn()
        task = asyncio.ensure_future(pool.putconn(conn))
        await steps(n)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        if n == 0:
            # Never begun: it still belongs to the test.
            await pool.putconn(conn)
        await healthy(pool, server)


async def test_connection_of_a_waiter_cancelled_at_the_hand_over_goes_to_the_next() -> None:
    async with pool_on(Server()) as pool:
        conn = await pool.getconn()
        first, second = (asyncio.ensure_future(pool.getconn()) for _ in range(2))
        await steps(2)
        await pool.putconn(conn)
        first.cancel()
        assert await asyncio.wait_for(second, 1) is conn
        assert first.cancelled()
        await pool.putconn(conn)


async def test_thousands_cancelled_at_once() -> None:
    server = Server()
    async with pool_on(server) as pool:
        conn = await pool.getconn()
        tasks = [asyncio.ensure_future(pool.getconn()) for _ in range(3000)]
        await steps(3)
        for task in tasks[:-1]:
            task.cancel()
        await pool.putconn(conn)
        assert await tasks[-1] is conn
        await pool.putconn(conn)
        await asyncio.gather(*tasks, return_exceptions=True)
        await healthy(pool, server)


async def test_under_constant_cancellation() -> None:
    server = Server()
    async with pool_on(server, min_size=0, max_size=4) as pool:
        owners: set[int] = set()

        async def use(n: int) -> None:
            async with pool.connection() as conn:
                assert id(conn) not in owners
                owners.add(id(conn))
                try:
                    await conn.execute()
                finally:
                    owners.discard(id(conn))

        for turn in range(60):
            tasks = [asyncio.ensure_future(use(n)) for n in range(20)]
            await steps(turn % 9)
            for task in tasks[turn % 3 :: 2]:
                task.cancel()
            for result in await asyncio.gather(*tasks, return_exceptions=True):
                assert result is None or isinstance(result, asyncio.CancelledError)
        await healthy(pool, server)


async def test_waiting_is_fair_and_ends_in_time() -> None:
    async with pool_on(Server(), max_waiting=6) as pool:
        held = await pool.getconn()
        order: list[int] = []

        async def use(n: int) -> None:
            async with pool.connection():
                order.append(n)
                await asyncio.sleep(0)

        tasks = [asyncio.ensure_future(use(n)) for n in range(5)]
        await steps(2)
        with pytest.raises(PoolTimeout, match="1 of 1"):
            await pool.getconn(0.01)
        tasks.append(asyncio.ensure_future(use(5)))
        await steps(2)
        with pytest.raises(TooManyRequests):
            await pool.getconn()
        await pool.putconn(held)
        await asyncio.gather(*tasks)
        assert order == list(range(6))


async def test_a_reset_outlives_its_putconn_and_does_not_hold_up_others() -> None:
    async with pool_on(Server(), min_size=2, max_size=2) as pool:
        await pool.wait()
        slow = await pool.getconn()
        slow.transaction_status, slow.reset_gate = Status.INTRANS, asyncio.Event()
        task = asyncio.ensure_future(pool.putconn(slow))
        await steps(3)
        async with pool.connection(timeout=1) as conn:
            assert conn is not slow
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
        assert pool.stats().in_use == 1
        slow.reset_gate.set()
        await until(lambda: pool.stats().idle == 2)


async def test_an_outage_is_met_with_few_attempts_and_named_in_the_timeout() -> None:
    server = Server()
    server.down = OSError("no route to host")
    async with pool_on(server, max_size=50) as pool:
        await steps(5)
        for _ in range(10):
            results = await asyncio.gather(*(pool.getconn(0.02) for _ in range(20)), return_exceptions=True)
            assert all("OSError: no route to host" in str(error) for error in results)
        assert server.attempts < 10
        server.down = None
        async with pool.connection(timeout=5):
            pass


async def test_close_waits_for_work_in_flight_and_then_takes_it_away() -> None:
    server = Server()
    pool = pool_on(server, min_size=2, max_size=2)
    await pool.wait()
    quick, slow = await pool.getconn(), await pool.getconn()
    waiter = asyncio.ensure_future(pool.getconn())
    await steps(2)
    asyncio.get_running_loop().call_later(0.05, lambda: asyncio.ensure_future(pool.putconn(quick)))
    await pool.close(0.2)
    with pytest.raises(PoolClosed):
        await waiter
    assert not server.open
    await pool.putconn(slow)
    with pytest.raises(PoolClosed):
        await pool.getconn()


@pytest.mark.parametrize("n", range(8))
async def test_close_cancelled_at_every_await_leaves_nothing_open(n: int) -> None:
    server = Server()
    pool = pool_on(server, min_size=2, max_size=3)
    await pool.wait()
    await pool.getconn()
    task = asyncio.ensure_future(pool.close(0.001))
    await steps(n)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    if n:
        await until(lambda: not server.open)
    else:
        await pool.close(0)
    assert not server.open


async def test_close_cancels_resets_and_connects_that_never_end() -> None:
    server = Server()
    pool = pool_on(server, min_size=1, max_size=2)
    conn = await pool.getconn()
    conn.transaction_status, conn.reset_gate = Status.INTRANS, asyncio.Event()
    reset = asyncio.ensure_future(pool.putconn(conn))
    server.delay = 60
    waiting = asyncio.ensure_future(pool.getconn())
    await until(lambda: pool.stats().connecting == 1)
    await asyncio.wait_for(pool.close(0.05), 2)
    with pytest.raises(PoolClosed):
        await waiting
    await reset
    assert conn.closed
    assert not pool._tasks


async def test_check_tries_another_and_on_checkout_raises() -> None:
    server = Server()
    calls: list[AsyncFake] = []

    async def check(conn: AsyncFake) -> None:
        if conn is server.made[0]:
            raise OSError("unfit")

    async def on_checkout(conn: AsyncFake) -> None:
        calls.append(conn)
        if len(calls) == 1:
            raise KeyError("mine")

    async with pool_on(server, check=check, on_checkout=on_checkout, backoff=0.01) as pool:
        with pytest.raises(KeyError):
            await pool.getconn()
        async with pool.connection() as conn:
            assert conn is server.made[2]


async def test_configure_is_committed_and_its_failure_closes() -> None:
    server = Server()

    async def configure(conn: AsyncFake) -> None:
        await conn.execute()
        if len(server.made) == 1:
            raise ValueError("no setup")

    async with pool_on(server, configure=configure, backoff=0.01) as pool:
        async with pool.connection() as conn:
            assert conn.log == ["commit"]
        assert server.made[0].closed


def test_a_pool_made_outside_of_a_loop_opens_at_its_first_use() -> None:
    kept = [pool_on(Server())]

    async def main() -> None:
        async with kept[0].connection():
            pass

    asyncio.run(main())

    async def elsewhere() -> None:
        with pytest.raises(ProgrammingError, match="another event loop"):
            await kept[0].getconn()

    asyncio.run(elsewhere())

    def drop() -> None:
        kept.clear()
        gc.collect()

    with pytest.warns(ResourceWarning, match="dropped without close"):
        drop()


async def test_open_false_waits_for_open() -> None:
    pool = pool_on(Server(), open=False)
    with pytest.raises(PoolClosed, match="not open"):
        await pool.getconn()
    async with pool, pool.connection():
        pass


async def test_drain_and_resize() -> None:
    server = Server()
    async with pool_on(server, min_size=2, max_size=2) as pool:
        await pool.wait()
        conn = await pool.getconn()
        await pool.drain()
        await pool.putconn(conn)
        await until(lambda: len(server.open) == 2 and conn.closed)
        pool.resize(0, 1)
        await until(lambda: len(server.open) == 1)


def left_behind(server: Server, main: Callable[[AsyncConnectionPool[AsyncFake]], Any], **options: Any) -> set[Any]:
    """The tasks that a loop leaves unfinished, if the pool is not closed."""
    loops: list[asyncio.AbstractEventLoop] = []

    async def noted() -> None:
        loops.append(asyncio.get_running_loop())
        await main(pool_on(server, **options))

    def run() -> set[Any]:
        asyncio.run(noted())
        left = asyncio.all_tasks(loops[0])
        gc.collect()
        return left

    with pytest.warns(ResourceWarning, match="dropped without close"):
        return run()


@pytest.mark.parametrize("waited_for", [False, True])
def test_a_loop_that_ends_while_the_pool_connects_leaves_no_task(waited_for: bool) -> None:
    server = Server()
    server.delay = 60

    async def main(pool: AsyncConnectionPool[AsyncFake]) -> None:
        waiting = asyncio.ensure_future(pool.getconn() if waited_for else pool.wait())
        await steps(5)
        assert pool.stats().connecting == 3
        assert not waiting.done()

    assert not left_behind(server, main, min_size=3, max_size=5)
    assert server.attempts == 3


def test_a_loop_that_ends_while_the_pool_resets_leaves_no_task() -> None:
    server = Server()

    async def main(pool: AsyncConnectionPool[AsyncFake]) -> None:
        conn = await pool.getconn()
        conn.reset_gate = asyncio.Event()
        conn.transaction_status = Status.INTRANS
        back = asyncio.ensure_future(pool.putconn(conn))
        await until(lambda: conn.log)
        assert not back.done()

    assert not left_behind(server, main)
    assert server.attempts == 1


async def test_an_attempt_that_was_cancelled_from_outside_is_made_again() -> None:
    server = Server()
    server.delay = 60
    async with pool_on(server, backoff=0.01) as pool:
        waiting = asyncio.ensure_future(pool.getconn())
        await steps(5)
        (attempt,) = pool._connecting
        server.delay = 0
        attempt.cancel()
        await pool.putconn(await asyncio.wait_for(waiting, 5))
        assert server.attempts == 2
