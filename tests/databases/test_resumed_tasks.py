"""A task is resumed in the loop's own call that has read its answer, as asyncio resumes it a turn later: in its
context, cancelled at each moment, whatever it does then, and without taking the turns of others."""

from __future__ import annotations

import asyncio
import contextlib
import contextvars
import functools
import re
import sys
import time
from collections.abc import Callable, Coroutine, Iterator
from typing import Any

import pytest
import uvloop

import headrace
import headrace.aio
from headrace.aio._shared import transport
from headrace.aio.pool import AsyncConnectionPool
from servers import Database

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "debug": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}
STATEMENTS = 20
TASKS = 200
SOON = 5.0
"""Seconds within which a cancelled statement has ended; it would run for far longer."""

variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")


class Reads:
    """The reads of connections, and what is done beside them."""

    def __init__(self, original: type[transport.LoopProtocol]) -> None:
        self._original = original
        self.count = 0
        self.is_inside = False
        """The loop calls the engine just now, with what it has read."""
        self.before: Callable[[], object] | None = None
        """Is called once, when something was read, before the engine has it."""
        self.deliver: Callable[[Callable[[], object]], object] | None = None
        """Is called in the engine's place, with its call."""
        self.writes = 0

    def protocol(self, wire: Any) -> transport.LoopProtocol:
        """The protocol of a connection, watched."""
        own = self._original(wire)
        passed_on = own.__dict__["buffer_updated"]
        begun = own.__dict__["connection_made"]

        def buffer_updated(nbytes: int) -> None:
            before, self.before = self.before, None
            if before is not None:
                before()
            if self.deliver is not None:
                # The next read would be into the same buffer.
                made = own.__dict__["made"]
                made.pause_reading()
                self.deliver(lambda: (made.resume_reading(), passed_on(nbytes)))
                return
            self.count += 1
            self.is_inside = True
            try:
                passed_on(nbytes)
            finally:
                self.is_inside = False

        own.__dict__["buffer_updated"] = buffer_updated

        def connection_made(made: Any) -> None:
            own.__dict__["made"] = made
            begun(Written(made, self))

        own.__dict__["connection_made"] = connection_made
        return own


class Written:
    """A transport whose writes are counted."""

    def __init__(self, inner: Any, reads: Reads) -> None:
        self._inner, self._reads = inner, reads

    def write(self, data: bytes) -> None:
        self._reads.writes += 1
        self._inner.write(data)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._inner, name)


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> Reads:
    """Those of the test's connections."""
    reads = Reads(transport.LoopProtocol)
    monkeypatch.setattr(transport, "LoopProtocol", reads.protocol)
    return reads


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest) -> Iterator[Callable[[Coroutine[Any, Any, Any]], Any]]:
    """Runs a coroutine on a loop of each kind; the same one, if it is called again."""
    loop = LOOPS[request.param]()
    loop.set_debug(request.param == "debug")
    try:
        yield loop.run_until_complete
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


Run = Callable[[Coroutine[Any, Any, Any]], Any]


async def in_step(conn: Any, any_db: Database) -> None:
    """The connection is in step: each statement has its own answer."""
    for n in (7, 8, 9):
        assert await asyncio.wait_for(conn.fetchval(re.sub("1(?= from|$)", str(n), any_db.one)), 60) == n


def test_a_task_is_resumed_in_the_read_that_has_its_answer(any_db: Database, run: Run, reads: Reads) -> None:
    async def resumed() -> list[bool]:
        async with await any_db.aconnect(autocommit=True) as conn:
            await conn.fetchval(any_db.one)
            found = []
            for _ in range(STATEMENTS):
                assert await conn.fetchval(any_db.one) == 1
                found.append(reads.is_inside)
            return found

    assert run(resumed()) == [True] * STATEMENTS


def test_a_resumed_task_has_its_own_context(any_db: Database, run: Run, reads: Reads) -> None:
    async def one(conn: Any, name: str) -> None:
        variable.set(name)
        for n in range(STATEMENTS):
            await conn.fetchval(any_db.one)
            assert variable.get() == (name if n == 0 else f"{name} {n - 1}")
            assert asyncio.current_task() is tasks[name]
            variable.set(f"{name} {n}")
            await asyncio.sleep(0)

    async def all_of_them() -> None:
        async with await any_db.aconnect(autocommit=True) as conn, await any_db.aconnect(autocommit=True) as other:
            for name, used in (("a", conn), ("b", other), ("c", conn)):
                tasks[name] = asyncio.ensure_future(one(used, name))
            await asyncio.gather(*tasks.values())
            assert variable.get() == "none"

    tasks: dict[str, asyncio.Future[None]] = {}
    run(all_of_them())


def test_a_read_within_a_task_resumes_no_other_there(any_db: Database, run: Run, reads: Reads) -> None:
    async def delivered() -> None:
        async with await any_db.aconnect(autocommit=True) as conn:
            await conn.fetchval(any_db.one)
            due: asyncio.Queue[Callable[[], object]] = asyncio.Queue()
            reads.deliver = due.put_nowait
            statement = asyncio.ensure_future(conn.fetchval(any_db.one))
            while not statement.done():
                with contextlib.suppress(asyncio.TimeoutError):
                    deliver = await asyncio.wait_for(due.get(), 0.05)
                    was_done = statement.done()
                    deliver()
                    # This task is running.
                    assert statement.done() == was_done
            assert await statement == 1
            reads.deliver = None
            await in_step(conn, any_db)

    run(delivered())


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
@pytest.mark.parametrize("times", [1, 2])
def test_a_task_that_is_cancelled_early_leaves_the_connection_in_step(
    any_db: Database, run: Run, turns: int, times: int
) -> None:
    async def cancelled() -> None:
        async with await any_db.aconnect(autocommit=True) as conn:
            await conn.fetchval(any_db.one)
            for beside in (False, True):
                other = asyncio.ensure_future(conn.fetchval(any_db.one)) if beside else None
                statement = asyncio.ensure_future(conn.fetchval(any_db.one))
                for _ in range(turns):
                    await asyncio.sleep(0)
                is_over = [statement.cancel() for _ in range(times)]
                with contextlib.suppress(asyncio.CancelledError):
                    assert await statement == 1
                    # A result after a cancellation would be a lost cancellation.
                    assert not any(is_over)
                if other is not None:
                    assert await other == 1
                await in_step(conn, any_db)

    run(cancelled())


def test_a_task_that_is_cancelled_while_its_answer_is_read_is_cancelled(
    any_db: Database, run: Run, reads: Reads
) -> None:
    async def cancelled() -> None:
        async with await any_db.aconnect(autocommit=True) as conn:
            for _ in range(STATEMENTS):
                statement = asyncio.ensure_future(conn.fetchval(any_db.one))
                reads.before = functools.partial(statement.cancel, "why")
                with pytest.raises(asyncio.CancelledError) as raised:
                    await statement
                assert raised.value.args in (("why",), ())
                await in_step(conn, any_db)

    run(cancelled())


def test_tasks_that_are_answered_but_not_resumed_can_be_cancelled(any_db: Database, run: Run) -> None:
    async def first(conn: Any) -> None:
        await conn.fetchval(any_db.one)
        # What one read has answered is in the next turn.
        for task in tasks:
            task.cancel()

    async def cancelled() -> None:
        async with await any_db.aconnect(autocommit=True) as conn:
            await conn.fetchval(any_db.one)
            for _ in range(STATEMENTS):
                leader = asyncio.ensure_future(first(conn))
                tasks[:] = [asyncio.ensure_future(conn.fetchval(any_db.one)) for _ in range(5)]
                outcomes = await asyncio.gather(leader, *tasks, return_exceptions=True)
                assert outcomes[0] is None
                assert all(outcome == 1 or isinstance(outcome, asyncio.CancelledError) for outcome in outcomes[1:])
                await in_step(conn, any_db)

    tasks: list[asyncio.Future[Any]] = []
    run(cancelled())


def test_a_cancellation_can_be_taken_back(any_db: Database, run: Run) -> None:
    async def stubborn(conn: Any) -> Any:
        task = asyncio.current_task()
        assert task is not None
        with contextlib.suppress(asyncio.CancelledError):
            await conn.execute(any_db.slow)
        if hasattr(task, "uncancel"):
            assert task.uncancel() == 0
        return await conn.fetchval(any_db.one)

    async def cancelled() -> None:
        async with await any_db.aconnect(autocommit=True) as conn:
            started = time.monotonic()
            task = asyncio.ensure_future(stubborn(conn))
            await asyncio.sleep(max(0.05, any_db.loses_early_cancels))
            task.cancel()
            assert await task == 1
            assert time.monotonic() - started < SOON * 2
            await in_step(conn, any_db)

    run(cancelled())


def test_what_waits_for_tasks_waits_for_resumed_ones(any_db: Database, run: Run) -> None:
    async def waited_for() -> None:
        async with await any_db.aconnect(autocommit=True) as conn:
            for _ in range(STATEMENTS):
                assert await asyncio.wait_for(conn.fetchval(any_db.one), 60) == 1
                assert await asyncio.shield(conn.fetchval(any_db.one)) == 1
                assert await asyncio.gather(*(conn.fetchval(any_db.one) for _ in range(5))) == [1] * 5
                done, pending = await asyncio.wait([asyncio.ensure_future(conn.fetchval(any_db.one))], timeout=60)
                assert [task.result() for task in done] == [1]
                assert not pending
            outer = asyncio.ensure_future(conn.execute(any_db.slow))
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(outer, max(0.05, any_db.loses_early_cancels))
            await in_step(conn, any_db)

    run(waited_for())


def test_a_group_ends_with_the_error_of_a_resumed_task(any_db: Database, run: Run) -> None:
    if not hasattr(asyncio, "TaskGroup"):
        return

    async def failing(conn: Any) -> None:
        await conn.fetchval(any_db.one)
        raise LookupError

    async def grouped() -> None:
        async with await any_db.aconnect(autocommit=True) as conn, await any_db.aconnect(autocommit=True) as other:
            with pytest.raises(BaseExceptionGroup) as raised:  # noqa: F821
                async with asyncio.timeout(60), asyncio.TaskGroup() as group:
                    slow = group.create_task(other.execute(any_db.slow))
                    await asyncio.sleep(any_db.loses_early_cancels)
                    group.create_task(failing(conn))
            assert [type(error) for error in raised.value.exceptions] == [LookupError]
            assert slow.cancelled()
            await in_step(conn, any_db)
            await in_step(other, any_db)

    run(grouped())


@pytest.mark.parametrize("error", [KeyboardInterrupt, SystemExit])
def test_what_ends_the_loop_leaves_the_connection_usable(
    any_db: Database, run: Run, error: type[BaseException]
) -> None:
    async def begun() -> Any:
        conn = await any_db.aconnect(autocommit=True)
        await conn.fetchval(any_db.one)
        return conn

    async def raising() -> None:
        await conn.fetchval(any_db.one)
        raise error

    conn = run(begun())
    with pytest.raises(error):
        run(raising())
    run(in_step(conn, any_db))
    run(conn.close())


def test_an_interrupt_before_a_task_is_resumed_loses_neither(
    any_db: Database, run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    current = asyncio.current_task
    is_due = False

    def interrupted(loop: Any = None) -> Any:
        # Where a signal is handled on CPython 3.11, of which this is a function in Python.
        nonlocal is_due
        if is_due and current(loop) is None:
            is_due = False
            raise KeyboardInterrupt
        return current(loop)

    async def statement() -> Any:
        nonlocal is_due
        async with await any_db.aconnect(autocommit=True) as conn:
            await conn.fetchval(any_db.one)
            is_due = True
            assert await conn.fetchval(any_db.one) == 1
            await in_step(conn, any_db)
            return "resumed"

    async def both() -> Any:
        return await asyncio.wait_for(task, SOON)

    monkeypatch.setattr(asyncio, "current_task", interrupted)

    async def begun() -> Any:
        return asyncio.ensure_future(statement())

    task = run(begun())
    with pytest.raises(KeyboardInterrupt):
        run(both())
    assert run(both()) == "resumed"


def test_a_resumed_task_may_close_its_connection(any_db: Database, run: Run) -> None:
    async def closed() -> None:
        for _ in range(3):
            conn = await any_db.aconnect(autocommit=True)
            assert await conn.fetchval(any_db.one) == 1
            await conn.close()
            assert conn.closed

    run(closed())


def test_a_resumed_task_may_stop_its_loop(any_db: Database, run: Run) -> None:
    async def begun() -> Any:
        return await any_db.aconnect(autocommit=True), asyncio.get_running_loop()

    async def stopping() -> None:
        assert await conn.fetchval(any_db.one) == 1
        loop.stop()

    conn, loop = run(begun())
    task = loop.create_task(stopping())
    loop.run_forever()
    run(in_step(conn, any_db))
    assert task.done()
    run(conn.close())


def test_other_tasks_have_a_turn_for_each_statement(any_db: Database, run: Run) -> None:
    turns = 0

    async def counting() -> None:
        nonlocal turns
        while True:
            await asyncio.sleep(0)
            turns += 1

    async def beside() -> None:
        async with await any_db.aconnect(autocommit=True) as conn:
            await conn.fetchval(any_db.one)
            other = asyncio.ensure_future(counting())
            timer = asyncio.ensure_future(asyncio.sleep(0.01))
            for n in range(STATEMENTS):
                before = turns
                await conn.fetchval(any_db.one)
                # However quickly the server answers, or the task is resumed.
                assert turns > before or n == 0
                time.sleep(0.001)
            assert timer.done()
            other.cancel()

    run(beside())


def test_statements_of_many_tasks_are_still_sent_together(any_db: Database, run: Run, reads: Reads) -> None:
    async def several(conn: Any) -> None:
        for _ in range(5):
            assert await conn.fetchval(any_db.one) == 1

    async def together() -> tuple[int, int]:
        async with await any_db.aconnect(autocommit=True) as conn:
            await conn.fetchval(any_db.one)
            reads.count = reads.writes = 0
            await asyncio.gather(*(several(conn) for _ in range(TASKS)))
            return reads.count, reads.writes

    received, sent = run(together())
    # A read that answers all that is in flight is followed by the statement of the first task that goes on, and by
    # those of the others together.
    assert sent <= 2 * (received + 1)


def test_a_connection_of_a_pool_goes_on_to_the_next_task(any_db: Database, run: Run) -> None:
    async def work(pool: Any) -> None:
        for _ in range(5):
            async with pool.connection() as conn:
                assert await conn.fetchval(any_db.one) == 1
            assert await pool.fetchval(any_db.one) == 1

    async def shared() -> None:
        async with AsyncConnectionPool(any_db.url, min_size=1, max_size=2) as pool:
            await asyncio.gather(*(work(pool) for _ in range(STATEMENTS)))

    run(shared())


def test_the_read_that_answers_may_end_the_session(url: str, run: Run) -> None:
    async def ended() -> None:
        conn = await headrace.aio.connect(url, autocommit=True)
        await conn.fetchval("select 1")
        with pytest.raises(headrace.OperationalError):
            await conn.fetchval("select pg_terminate_backend(pg_backend_pid())")
        with pytest.raises(headrace.Error, match="closed"):
            await conn.fetchval("select 1")
        await conn.close()

    run(ended())


def test_the_tasks_of_a_factory_may_be_pythons_own(any_db: Database, run: Run) -> None:
    async def pythons() -> None:
        loop = asyncio.get_running_loop()
        own: Any = asyncio.tasks._PyTask  # type: ignore[attr-defined]
        async with await any_db.aconnect(autocommit=True) as conn:
            loop.set_task_factory(lambda loop, coroutine, **named: own(coroutine, loop=loop, **named))
            tasks = [asyncio.ensure_future(conn.fetchval(any_db.one)) for _ in range(3)]
            assert await asyncio.gather(*tasks) == [1] * 3
            # From 3.14 on current_task(), and with it wait_for(), does not know of tasks that are written in Python.
            if sys.version_info < (3, 14):
                await asyncio.ensure_future(in_step(conn, any_db))
            loop.set_task_factory(None)

    run(pythons())


def test_eager_tasks_are_resumed_as_others_are(any_db: Database, run: Run) -> None:
    if sys.version_info < (3, 12):
        return

    def eager(loop: Any, coroutine: Any, **named: Any) -> Any:
        # asyncio's own factory does not take all that later versions, and uvloop, give it.
        given = {name: value for name, value in named.items() if value is not None and name != "eager_start"}
        return asyncio.Task(coroutine, loop=loop, eager_start=True, **given)

    async def nested(conn: Any, depth: int) -> int:
        assert await conn.fetchval(any_db.one) == 1
        return 1 + (await asyncio.create_task(nested(conn, depth - 1)) if depth else 0)

    async def all_of_them() -> None:
        asyncio.get_running_loop().set_task_factory(eager)
        async with await any_db.aconnect(autocommit=True) as conn:
            assert await asyncio.create_task(nested(conn, STATEMENTS)) == STATEMENTS + 1
            assert await asyncio.gather(*(nested(conn, 3) for _ in range(STATEMENTS))) == [4] * STATEMENTS
            for turns in range(4):
                statement = asyncio.create_task(conn.fetchval(any_db.one, timeout=60))
                for _ in range(turns):
                    await asyncio.sleep(0)
                is_over = statement.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    assert await statement == 1
                    assert not is_over
                await in_step(conn, any_db)
            with pytest.raises(TimeoutError):
                await asyncio.create_task(conn.execute(any_db.slow, timeout=max(0.05, any_db.loses_early_cancels)))
            await in_step(conn, any_db)

    run(all_of_them())


def test_a_function_that_raises_stop_iteration_ends_its_statement(url: str, run: Run) -> None:
    def loads(text: str) -> Any:
        raise StopIteration(text)

    async def read() -> None:
        async with await headrace.aio.connect(url, autocommit=True, json_loads=loads) as conn:
            with pytest.raises(RuntimeError, match="StopIteration"):
                await asyncio.wait_for(conn.fetchval("select '1'::json"), 60)
            assert await conn.fetchval("select 1") == 1

    run(read())
