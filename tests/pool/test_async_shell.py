"""The pool for tasks, over connections in memory: cancelled everywhere, and on loops that end."""

from __future__ import annotations

import asyncio
import gc
from collections.abc import Callable
from typing import Any

import pytest
import uvloop
from pool_fakes import AsyncFake, Server

from headrace.aio.pool import AsyncConnectionPool
from headrace.errors import PoolClosed, ProgrammingError
from headrace.types import TransactionStatus as Status
from waiting import auntil


def pool_on(server: Server, **options: Any) -> AsyncConnectionPool[AsyncFake]:
    return AsyncConnectionPool(connect=server.aconnect, **{"min_size": 1, "max_size": 1, **options})


async def steps(n: int) -> None:
    for _ in range(n):
        await asyncio.sleep(0)


async def healthy(pool: AsyncConnectionPool[AsyncFake], server: Server) -> None:
    """Everything came back: the pool can lend all it may, and nothing is open that it does not know."""
    await auntil(lambda: pool.stats().in_use == 0)
    size = pool.stats().max_size
    held = [await pool.getconn(5) for _ in range(size)]
    assert all(conn.transaction_status == Status.IDLE and not conn.closed for conn in held)
    assert len({id(conn) for conn in held}) == size
    for conn in held:
        await pool.putconn(conn)
    await auntil(lambda: len(server.open) == pool.stats().size)


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
        await auntil(lambda: pool.stats().idle == 2)


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
        await auntil(lambda: not server.open)
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
    await auntil(lambda: pool.stats().connecting == 1)
    await asyncio.wait_for(pool.close(0.05), 2)
    with pytest.raises(PoolClosed):
        await waiting
    await reset
    assert conn.closed
    assert not pool._tasks


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
        await auntil(lambda: conn.log)
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


@pytest.mark.parametrize("new_loop", [asyncio.new_event_loop, uvloop.new_event_loop])
def test_a_timer_that_is_due_at_once(new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
    # Within half a millisecond, as after a timer that came a little early, uvloop returns a handle without a time.
    async def work() -> None:
        server = Server()
        async with pool_on(server, max_size=3) as pool:
            await pool.wait()
            pool._core._tick_at = asyncio.get_running_loop().time() + 1e-4
            held = await asyncio.gather(*(pool.getconn() for _ in range(3)))
            for conn in held:
                await pool.putconn(conn)
            await healthy(pool, server)

    loop = new_loop()
    try:
        loop.run_until_complete(work())
    finally:
        loop.close()
