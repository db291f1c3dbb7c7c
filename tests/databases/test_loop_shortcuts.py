"""What a cursor of a loop does without a frame of Python in the usual case is a coroutine like any other."""

from __future__ import annotations

import asyncio
import collections.abc
import contextlib
import contextvars
import cProfile
import gc
import inspect
import pstats
import sys
import sysconfig
import traceback
import unittest.mock
import warnings
import weakref
from collections.abc import Callable, Coroutine, Iterator
from functools import partial
from typing import Any

import pytest
import uvloop

from frames_of_python import Frames
from headrace import errors
from headrace.rows import dict_row
from servers import Database

LOOPS: dict[str, Callable[[], asyncio.AbstractEventLoop]] = {
    "asyncio": asyncio.new_event_loop,
    "debug": asyncio.new_event_loop,
    "uvloop": uvloop.new_event_loop,
}
LOCKED = not sysconfig.get_config_var("Py_GIL_DISABLED") and sys.version_info >= (3, 11)
"""There are shortcuts on loops with the global lock only, and not on Python 3.10."""
variable: contextvars.ContextVar[str] = contextvars.ContextVar("variable", default="none")

Run = Callable[[Coroutine[Any, Any, Any]], Any]


@pytest.fixture(params=LOOPS)
def run(request: pytest.FixtureRequest) -> Iterator[Run]:
    """Runs a coroutine on a loop of each kind."""
    loop = LOOPS[request.param]()
    loop.set_debug(request.param == "debug")
    try:
        yield loop.run_until_complete
        loop.run_until_complete(loop.shutdown_asyncgens())
    finally:
        loop.close()


def calls(cursor: Any, sql: str) -> dict[str, Callable[[], Any]]:
    """The calls of a cursor that has a result of one row, by their names."""
    return {
        "execute": lambda: cursor.execute(sql),
        "fetchall": lambda: cursor.fetchall(),
        "fetchone": lambda: cursor.fetchone(),
    }


def queries(conn: Any, sql: str) -> dict[str, Callable[[], Any]]:
    """The calls of a connection, by their names."""
    return {name: partial(getattr(conn, name), sql) for name in QUERIES}


CALLS = ("execute", "fetchall", "fetchone")
QUERIES = ("execute", "fetch", "fetchrow", "fetchval")


@pytest.mark.skipif(not LOCKED, reason="there are shortcuts with the lock only")
async def test_usual_statement_takes_no_frame_of_python(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        cursor = conn.cursor()
        # The timer of limits is set.
        await cursor.execute(any_db.answer, timeout=20)
        with Frames() as frames:
            await cursor.execute(any_db.answer)
            rows = await cursor.fetchall()
            await cursor.execute(any_db.answer, None, timeout=20)
            one = await cursor.fetchone()
            queried = [await conn.fetch(any_db.answer), await conn.fetchrow(any_db.answer)]
            value = await conn.fetchval(any_db.answer)
            made = await conn.execute(any_db.answer)
        assert (rows, one, queried, value) == ([(42,)], (42,), [[(42,)], (42,)], 42)
        assert frames.names == []
        assert await made.fetchall() == [(42,)]


async def test_profiler_sees_the_calls(any_db: Database) -> None:
    profile = cProfile.Profile()
    async with await any_db.aconnect(autocommit=True) as conn:
        cursor = conn.cursor()
        with profile:
            for _ in range(3):
                await cursor.execute(any_db.answer)
                await cursor.fetchone()
        await cursor.execute(any_db.answer)
        assert await cursor.fetchall() == [(42,)]
    counted = {name: found[1] for (_, _, name), found in pstats.Stats(profile).stats.items()}  # type: ignore[attr-defined]
    assert counted["execute"] >= 3
    assert counted["fetchone"] >= 3


async def test_methods_are_coroutine_functions(any_db: Database) -> None:
    async with await any_db.aconnect() as conn:
        cursor = conn.cursor()
        for method in (type(cursor).execute, cursor.execute, type(cursor).fetchall, cursor.fetchone):
            assert inspect.iscoroutinefunction(method)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DeprecationWarning)
                assert asyncio.iscoroutinefunction(method)
        assert list(inspect.signature(type(cursor).execute).parameters) == ["self", "sql", "params", "timeout"]
        assert type(cursor).execute.__qualname__ == "LoopCursor.execute"
        mocked = unittest.mock.create_autospec(type(cursor))
        assert isinstance(mocked.execute, unittest.mock.AsyncMock)


async def test_wrong_arguments_are_told_at_the_call(any_db: Database) -> None:
    async with await any_db.aconnect() as conn:
        cursor = conn.cursor()
        with pytest.raises(TypeError, match="sql"):
            cursor.execute()
        with pytest.raises(TypeError, match="parameters"):
            cursor.execute(any_db.answer, parameters=None)
        with pytest.raises(TypeError):
            cursor.fetchall(1)
        with pytest.raises((TypeError, AttributeError)):
            await type(cursor).execute(42, any_db.answer)


@pytest.mark.parametrize("name", CALLS)
def test_a_call_is_a_coroutine(any_db: Database, run: Run, name: str) -> None:
    async def called() -> None:
        async with await any_db.aconnect(autocommit=True) as conn:
            cursor = conn.cursor()
            expected = {"execute": cursor, "fetchall": [(42,)], "fetchone": (42,)}[name]

            async def call() -> Any:
                await cursor.execute(any_db.answer)
                return calls(cursor, any_db.answer)[name]()

            made = await call()
            assert asyncio.iscoroutine(made)
            assert isinstance(made, collections.abc.Coroutine)
            assert inspect.isawaitable(made)
            assert made.__qualname__ == f"LoopCursor.{name}"
            assert repr(made).startswith(f"<coroutine object LoopCursor.{name} at ")
            assert await made == expected
            assert await asyncio.create_task(await call()) == expected
            assert await asyncio.ensure_future(await call()) == expected
            assert await asyncio.gather(await call()) == [expected]
            assert await asyncio.shield(await call()) == expected
            assert await asyncio.wait_for(await call(), 60) == expected
            task = asyncio.create_task(await call())
            assert f"LoopCursor.{name}" in repr(task)
            done, pending = await asyncio.wait([task])
            assert ([one.result() for one in done], pending) == ([expected], set())
            if sys.version_info >= (3, 11):
                async with asyncio.timeout(60), asyncio.TaskGroup() as group:
                    task = group.create_task(await call(), name="one")
                assert task.result() == expected
            if sys.version_info >= (3, 12):
                assert await asyncio.Task(await call(), eager_start=True) == expected
            made = await call()
            loop = asyncio.get_running_loop()
            assert await asyncio.to_thread(lambda: asyncio.run_coroutine_threadsafe(made, loop).result(60)) == expected

    run(called())


@pytest.mark.parametrize("name", CALLS)
async def test_what_nobody_awaits_is_warned_of(any_db: Database, name: str) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        cursor = conn.cursor()
        await cursor.execute(any_db.answer)
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            calls(cursor, any_db.answer)[name]()
            gc.collect()
        (warning,) = [warning for warning in caught if warning.category is RuntimeWarning]
        assert str(warning.message) == f"coroutine 'LoopCursor.{name}' was never awaited"
        assert warning.filename == __file__
        # Nothing was done.
        assert await cursor.fetchall() == [(42,)]
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            calls(cursor, any_db.answer)[name]().close()


async def test_a_warning_has_where_the_call_was_made(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        cursor = conn.cursor()
        before = sys.get_coroutine_origin_tracking_depth()
        sys.set_coroutine_origin_tracking_depth(3)
        try:
            with pytest.warns(RuntimeWarning, match="never awaited") as caught:
                cursor.execute(any_db.answer)
        finally:
            sys.set_coroutine_origin_tracking_depth(before)
        assert "test_a_warning_has_where_the_call_was_made" in str(caught[0].message)


class Asking:
    """An object whose ``__await__`` awaits several calls."""

    def __init__(self, *asked: Any) -> None:
        self.asked = asked

    def __await__(self) -> Iterator[Any]:
        answers = []
        for call in self.asked:
            answers.append((yield from call.__await__()))
        return answers  # type: ignore[return-value]  # pyright: ignore[reportReturnType]


@pytest.mark.parametrize("name", QUERIES)
async def test_calls_of_a_connection_are_coroutines(any_db: Database, name: str) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        ask = queries(conn, any_db.answer)[name]
        made = ask()
        assert inspect.iscoroutine(made)
        assert not isinstance(made, collections.abc.Iterable)
        assert inspect.getcoroutinestate(made) == "CORO_CREATED"
        first = await made
        assert inspect.getcoroutinestate(made) == "CORO_CLOSED"
        answer: Any = {"execute": [(42,)], "fetch": [(42,)], "fetchrow": (42,), "fetchval": 42}[name]
        assert answer == (await first.fetchall() if name == "execute" else first)
        answers = await Asking(ask(), ask())  # type: ignore[misc]  # pyright: ignore[reportGeneralTypeIssues]
        assert len(answers) == 2
        with pytest.raises(LookupError, match="why"):
            ask().throw(LookupError("why"))
        ask().close()
        with pytest.warns(RuntimeWarning, match=f"{name}' was never awaited"):
            ask()
        with pytest.warns(RuntimeWarning, match=f"{name}' was never awaited"):
            assert inspect.getcoroutinestate(ask()) == "CORO_CREATED"
        task = asyncio.create_task(ask())
        await asyncio.sleep(0)
        task.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await task
        task = asyncio.create_task(ask())
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await conn.fetchval(any_db.one) == 1


@pytest.mark.parametrize("name", [f"cursor.{CALLS[0]}", *QUERIES])
async def test_an_error_is_let_go_with_its_handler(any_db: Database, name: str) -> None:
    class Local:
        """What a frame of the program has."""

    async with await any_db.aconnect(autocommit=True) as conn:

        async def fails() -> weakref.ref[Local]:
            local = Local()
            bad = "no statement at all"
            try:
                await (conn.cursor().execute(bad) if "." in name else queries(conn, bad)[name]())
            except errors.DatabaseError:
                return weakref.ref(local)
            raise AssertionError

        gc.disable()
        try:
            local = await fails()
            # The loop's call has the future until it returns. The extension is not called any more.
            await asyncio.sleep(0)
            assert local() is None
        finally:
            gc.enable()


@pytest.mark.parametrize("name", CALLS)
async def test_protocol_of_a_coroutine(any_db: Database, name: str) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        cursor = conn.cursor()
        await cursor.execute(any_db.answer)
        made = calls(cursor, any_db.answer)[name]()
        with pytest.raises(TypeError, match="non-None value"):
            made.send(1)
        with pytest.raises(LookupError, match="why"):
            made.throw(LookupError("why"))
        with pytest.raises(RuntimeError, match="already awaited"):
            made.send(None)
        with pytest.raises(RuntimeError, match="already awaited"):
            await made
        made.close()
        made = calls(cursor, any_db.answer)[name]()
        made.close()
        with pytest.raises(RuntimeError, match="already awaited"):
            await made
        made = calls(cursor, any_db.answer)[name]()
        gone = weakref.ref(made)
        await made
        del made
        assert gone() is None
        assert await conn.fetchval(any_db.one) == 1


async def test_only_one_awaits_a_call(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        cursor = conn.cursor()
        made = cursor.execute(any_db.answer)
        task = asyncio.create_task(made)
        await asyncio.sleep(0)
        if not task.done():
            assert inspect.getcoroutinestate(made) == "CORO_SUSPENDED"
            with pytest.raises(RuntimeError, match="awaited already"):
                await made
        assert await task is cursor
        assert await cursor.fetchall() == [(42,)]


async def test_a_call_begins_when_it_is_awaited(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        cursor = conn.cursor()
        await cursor.execute(any_db.answer)
        made, rows = cursor.execute("no statement at all"), cursor.fetchall()
        assert await rows == [(42,)]
        with pytest.raises(errors.DatabaseError):
            await made
        made = cursor.execute(any_db.answer)
        await cursor.close()
        with pytest.raises(errors.InterfaceError, match="the cursor is closed"):
            await made


def test_a_call_that_is_left_waiting_leaves_the_connection_in_step(any_db: Database, run: Run) -> None:
    async def left() -> None:
        async with await any_db.aconnect(autocommit=True) as conn:
            cursor = conn.cursor()
            await cursor.execute(any_db.answer)
            for end in (lambda made: made.close(), lambda made: made.throw(LookupError), lambda made: None):
                made = cursor.execute(any_db.answer)
                made.send(None)
                with contextlib.suppress(LookupError):
                    end(made)
                del made
                for _ in range(3):
                    await cursor.execute(any_db.answer)
                    assert await cursor.fetchall() == [(42,)]

    run(left())


@pytest.mark.parametrize("turns", [0, 1, 2, 3])
@pytest.mark.parametrize("times", [1, 2])
def test_a_call_that_is_cancelled_leaves_the_connection_in_step(
    any_db: Database, run: Run, turns: int, times: int
) -> None:
    async def cancelled() -> None:
        async with await any_db.aconnect(autocommit=True) as conn:
            cursor = conn.cursor()
            await cursor.execute(any_db.answer)
            for _ in range(5):
                task = asyncio.ensure_future(cursor.execute(any_db.answer))
                for _ in range(turns):
                    await asyncio.sleep(0)
                is_over = [task.cancel() for _ in range(times)]
                with contextlib.suppress(asyncio.CancelledError):
                    assert await task is cursor
                    assert not any(is_over)
                assert await asyncio.wait_for(conn.fetchval(any_db.one), 60) == 1
                await cursor.execute(any_db.answer)
                assert await cursor.fetchall() == [(42,)]

    run(cancelled())


def test_a_slow_call_is_cancelled_or_ends_in_time(any_db: Database, run: Run) -> None:
    async def cancelled() -> None:
        async with await any_db.aconnect(autocommit=True) as conn:
            cursor = conn.cursor()
            task = asyncio.ensure_future(cursor.execute(any_db.slow))
            await asyncio.sleep(max(0.05, any_db.loses_early_cancels))
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            with pytest.raises(TimeoutError):
                await cursor.execute(any_db.slow, timeout=max(0.05, any_db.loses_early_cancels))
            with pytest.raises(asyncio.TimeoutError):
                await asyncio.wait_for(cursor.execute(any_db.slow), max(0.05, any_db.loses_early_cancels))
            await cursor.execute(any_db.answer)
            assert await cursor.fetchall() == [(42,)]

    run(cancelled())


def test_a_call_runs_in_the_context_of_its_task(any_db: Database, run: Run) -> None:
    async def called() -> None:
        async with await any_db.aconnect(autocommit=True) as conn:
            cursor = conn.cursor()
            variable.set("mine")
            made = cursor.execute(any_db.answer)
            variable.set("later")
            await made
            assert variable.get() == "later"
            assert await asyncio.create_task(cursor.fetchone()) == (42,)

    run(called())


def test_a_task_of_another_loop_gets_an_error(any_db: Database) -> None:
    loop, other = asyncio.new_event_loop(), asyncio.new_event_loop()
    try:
        conn = loop.run_until_complete(any_db.aconnect(autocommit=True))
        cursor = conn.cursor()

        async def used() -> None:
            with pytest.raises((RuntimeError, errors.Error)):
                await cursor.execute(any_db.answer)

        other.run_until_complete(used())

        async def again() -> None:
            await cursor.execute(any_db.answer)
            assert await cursor.fetchall() == [(42,)]
            await conn.close()

        loop.run_until_complete(again())
    finally:
        loop.close()
        other.close()


async def test_subclass_calls_a_shortcut_as_its_method(any_db: Database) -> None:
    async with await any_db.aconnect() as conn:

        class Counting(type(conn.cursor())):  # type: ignore[misc]
            executed = 0

            async def execute(self, *args: Any, **named: Any) -> Any:
                self.executed += 1
                return await super().execute(*args, **named)

            async def fetchall(self, **named: Any) -> Any:
                return [*await super().fetchall(**named), "more"]

        cursor = Counting(conn, conn.row_factory)
        await cursor.execute(any_db.answer)
        assert await cursor.fetchall() == [(42,), "more"]
        assert cursor.executed == 1


async def test_row_factory_and_pipeline(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        cursor = conn.cursor(row_factory=dict_row)
        await cursor.execute(any_db.answer)
        (row,) = await cursor.fetchall()
        assert list(row.values()) == [42]

        def failing(_: object) -> Any:
            raise LookupError("of the factory")

        with pytest.raises(LookupError, match="of the factory"):
            await conn.cursor(row_factory=failing).execute(any_db.answer)
        async with conn.pipeline():
            cursor = conn.cursor()
            # In the task that awaits it.
            await cursor.execute(any_db.answer)
            assert cursor._pending is not None
            assert await cursor.fetchall() == [(42,)]


async def test_what_a_statement_leaves_is_of_that_statement(any_db: Database) -> None:
    async with await any_db.aconnect() as conn:
        cursor = conn.cursor()
        await cursor.execute(any_db.answer)
        assert cursor.rownumber == 0
        assert await cursor.fetchone() == (42,)
        assert cursor.rownumber == 1
        assert await cursor.fetchone() is None
        assert await cursor.fetchall() == []
        await cursor.execute(any_db.answer)
        assert [await cursor.fetchall(), await cursor.fetchall(), await cursor.fetchone()] == [[(42,)], [], None]
        with pytest.raises(errors.DatabaseError):
            await cursor.execute("no statement at all")
        with pytest.raises(errors.ProgrammingError, match="nothing was executed"):
            await cursor.fetchall()
        with pytest.raises(errors.ProgrammingError, match="nothing was executed"):
            await cursor.fetchone()
        await conn.rollback()
        assert cursor.description is None
        await cursor.execute(any_db.answer)
        assert [row async for row in cursor] == [(42,)]


async def test_error_has_the_frame_of_the_caller_and_leaves_no_cycle(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        cursor = conn.cursor()
        gone = weakref.ref(cursor)
        gc.collect()
        gc.disable()
        try:
            shown: list[str] = []
            # A test that raises an exception between two instructions of the interpreter leaves it there.
            handled = sys.exc_info()[1]
            with contextlib.suppress(errors.DatabaseError):
                try:
                    await cursor.execute("no statement at all")
                except errors.DatabaseError as error:
                    is_apart = error.__context__ is handled
                    shown += traceback.format_exception(type(error), error, error.__traceback__)
                    raise
            assert is_apart
            assert 'await cursor.execute("no statement at all")' in "".join(shown)
            task = asyncio.ensure_future(cursor.execute(any_db.answer))
            await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
            del cursor, task
            # The loop's call has the future until it returns.
            await asyncio.sleep(0)
            assert gone() is None
        finally:
            gc.enable()


async def test_call_in_a_cycle_is_collected(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        cursor = conn.cursor()
        cursor.mine = cursor.execute(any_db.answer)
        gone = weakref.ref(cursor)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)
            del cursor
            gc.collect()
        assert gone() is None
        assert await conn.fetchval(any_db.one) == 1


async def test_stop_iteration_does_not_end_the_caller(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:

        def at_once(_: object) -> Any:
            raise StopIteration

        with pytest.raises(RuntimeError):
            await conn.cursor(row_factory=at_once).execute(any_db.answer)
        assert await conn.fetchval(any_db.one) == 1


class Again:
    """A value that uses its own call while that runs."""

    def __init__(self) -> None:
        self.call: Any = None
        self.raised: list[BaseException] = []

    def __call__(self, _: object) -> Any:
        for use in (lambda: self.call.send(None), lambda: self.call.close(), lambda: self.call.throw(LookupError)):
            try:
                use()
            except ValueError as error:
                self.raised.append(error)
        return tuple


async def test_running_call_is_not_entered_again(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        again = Again()
        cursor = conn.cursor(row_factory=again)
        again.call = cursor.execute(any_db.answer)
        await again.call
        assert [str(error) for error in again.raised] == ["coroutine already executing"] * 3
        assert await cursor.fetchall() == [(42,)]
