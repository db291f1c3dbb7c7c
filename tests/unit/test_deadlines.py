"""Limits in time of an asyncio connection's waits: one timer for all, on each loop."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import math
import os
import sys
import time
import weakref
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from headrace._shared.limits import Until
from headrace.aio._shared import alarm, deadlines
from headrace.aio._shared.deadlines import Deadlines, Overdue, apart, is_overdue
from headrace.errors import ProgrammingError

try:
    import uvloop

    LOOPS: list[Callable[[], asyncio.AbstractEventLoop]] = [asyncio.SelectorEventLoop, uvloop.new_event_loop]
except ImportError:
    LOOPS = [asyncio.SelectorEventLoop]

OVERDUE = "overdue"
CANCELLED = "cancelled"


@pytest.fixture(params=LOOPS, ids=lambda loop: loop.__module__.partition(".")[0])
def run(request: pytest.FixtureRequest) -> Any:
    """Runs a coroutine on a new loop of each kind, which must not complain of anything."""

    def running(main: Coroutine[Any, Any, Any]) -> Any:
        loop = request.param()
        complaints: list[Any] = []
        loop.set_exception_handler(lambda _, context: complaints.append(context))
        try:
            outcome = loop.run_until_complete(main)
            gc.collect()
        finally:
            loop.close()
        assert complaints == []
        return outcome

    return running


async def outcome(deadlines: Deadlines, future: Any, seconds: float | Until) -> Any:
    """What a task sees that waits for ``future`` within a limit."""
    deadlines.begin(future, seconds)
    try:
        return await future
    except Overdue:
        return OVERDUE
    except asyncio.CancelledError:
        return CANCELLED
    finally:
        deadlines.end(future, None)


def test_each_wait_ends_after_its_own_limit(run: Any) -> None:
    async def main() -> list[Any]:
        loop = asyncio.get_running_loop()
        deadlines = Deadlines(loop)

        async def wait(seconds: float) -> Any:
            begun = time.monotonic()
            ended = await outcome(deadlines, loop.create_future(), seconds)
            # uvloop's clock has milliseconds, and that of a turn of the loop.
            return ended, time.monotonic() - begun > seconds - 0.005

        together = await asyncio.gather(*map(wait, (0.06, 0.02, 0.04, -1)))
        return [*together, await wait(0)]

    assert run(main()) == [(OVERDUE, True)] * 5


def test_waits_one_after_the_other_set_the_timer_once(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    timers: list[Any] = []

    def counted(*args: Any) -> Any:
        timers.append(alarm.timer(*args))
        return timers[-1]

    async def main() -> None:
        loop = asyncio.get_running_loop()
        limits = Deadlines(loop)
        for seconds in (60, 60, 90, 60.5, 70):
            future = loop.create_future()
            loop.call_soon(future.set_result, 1)
            assert await outcome(limits, future, seconds) == 1

    monkeypatch.setattr(deadlines, "timer", counted)
    run(main())
    assert len(timers) == 1


@pytest.mark.skipif(sys.platform != "linux", reason="only Linux has timers that a selector waits for")
def test_asyncio_has_no_timer_of_its_own_to_look_at_in_each_turn() -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        limits, future = Deadlines(loop), loop.create_future()
        before = len(os.listdir("/proc/self/fd"))
        loop.call_soon(future.set_result, 1)
        assert await outcome(limits, future, 60) == 1
        assert limits._timer is not None
        assert loop._scheduled == []  # type: ignore[attr-defined]
        limits.stop()
        assert await outcome(limits, loop.create_future(), 0.001) == OVERDUE
        assert len(os.listdir("/proc/self/fd")) == before

    asyncio.run(main())


def test_without_a_file_descriptor_the_timer_is_the_loops(run: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def none(seconds: float) -> Any:
        raise OSError("too many open files")

    async def main() -> Any:
        loop = asyncio.get_running_loop()
        return await outcome(Deadlines(loop), loop.create_future(), 0.001)

    monkeypatch.setattr(alarm, "Alarm", none)
    assert run(main()) == OVERDUE


def test_a_loop_with_a_time_of_its_own_has_the_timer() -> None:
    class Derived(asyncio.SelectorEventLoop):
        pass

    loop = Derived()
    try:
        timer = alarm.timer(loop, 60, print, contextvars.Context())
        assert isinstance(timer, asyncio.TimerHandle)
        timer.cancel()
    finally:
        loop.close()


def test_the_timer_is_set_to_the_first_end_that_is_left(run: Any) -> None:
    async def main() -> list[Any]:
        loop = asyncio.get_running_loop()
        deadlines = Deadlines(loop)
        done, late = loop.create_future(), loop.create_future()
        loop.call_soon(done.set_result, 1)
        return [await outcome(deadlines, done, 0.02), await outcome(deadlines, late, 0.05)]

    assert run(main()) == [1, OVERDUE]


@pytest.mark.parametrize(
    ("first", "then", "expected"),
    [
        ("limit", "cancel", CANCELLED),
        ("limit", "answer", OVERDUE),
        ("answer", "limit", "answer"),
        ("answer", "cancel", CANCELLED),
        ("cancel", "limit", CANCELLED),
        ("cancel", "answer", CANCELLED),
    ],
)
def test_what_comes_in_one_turn_of_the_loop(run: Any, first: str, then: str, expected: str) -> None:
    async def main() -> Any:
        loop = asyncio.get_running_loop()
        deadlines, future = Deadlines(loop), loop.create_future()
        task = asyncio.ensure_future(outcome(deadlines, future, 0))
        await asyncio.sleep(0)
        events = {
            "limit": deadlines._look,
            "cancel": task.cancel,
            "answer": lambda: future.done() or future.set_result("answer"),
        }
        events[first]()
        events[then]()
        return await task

    assert run(main()) == expected


@pytest.mark.parametrize("first", ["answer", "limit"])
def test_a_future_apart_may_end_with_the_other_in_one_turn(run: Any, first: str) -> None:
    async def main() -> Any:
        loop = asyncio.get_running_loop()
        deadlines, request = Deadlines(loop), loop.create_future()
        waits = asyncio.ensure_future(outcome(deadlines, apart(request), 0))
        await asyncio.sleep(0)
        events = [lambda: request.set_result(1), deadlines._look]
        for event in events if first == "answer" else events[::-1]:
            event()
        return await waits, request.result()

    assert run(main()) == (OVERDUE, 1)


def test_a_future_apart_has_the_other_ones_outcome(run: Any) -> None:
    async def main() -> list[Any]:
        loop = asyncio.get_running_loop()
        deadlines, outcomes = Deadlines(loop), []
        for end in (lambda f: f.set_result(1), lambda f: f.cancel(), lambda f: f.set_exception(Overdue())):
            request = loop.create_future()
            loop.call_soon(end, request)
            outcomes.append(await outcome(deadlines, apart(request), 60))
        # Its cancellation is not that of the other.
        request = loop.create_future()
        waits = asyncio.ensure_future(outcome(deadlines, apart(request), 60))
        await asyncio.sleep(0)
        waits.cancel()
        outcomes.append(await waits)
        assert not request.done()
        request.set_exception(ValueError("nobody waits for it any more"))
        await asyncio.sleep(0)
        return outcomes

    assert run(main()) == [1, CANCELLED, OVERDUE, CANCELLED]


def test_what_is_overdue(run: Any) -> None:
    async def main() -> list[bool]:
        loop = asyncio.get_running_loop()
        futures = [loop.create_future() for _ in range(3)]
        futures[0].set_result(1)
        futures[1].set_exception(ValueError())
        futures[2].set_exception(Overdue())
        return [is_overdue(future) for future in futures]

    assert run(main()) == [False, False, True]


def test_the_timer_keeps_nothing_of_a_task(run: Any) -> None:
    class Request:
        pass

    async def main() -> Any:
        loop = asyncio.get_running_loop()
        deadlines, future = Deadlines(loop), loop.create_future()
        loop.call_soon(future.set_result, 1)
        current: contextvars.ContextVar[Request] = contextvars.ContextVar("current")

        async def work() -> Any:
            request = Request()
            current.set(request)
            await outcome(deadlines, future, 60)
            return weakref.ref(request)

        request = await asyncio.ensure_future(work())
        await asyncio.sleep(0)
        return request() is None, deadlines._timer is not None

    assert run(main()) == (True, True)


def test_a_connection_that_is_closed_leaves_no_timer(run: Any) -> None:
    kept: list[Deadlines] = []

    async def main() -> None:
        loop = asyncio.get_running_loop()
        deadlines, future = Deadlines(loop), loop.create_future()
        future.set_result(1)
        await outcome(deadlines, future, 60)
        timer: Any = deadlines._timer
        deadlines.stop()
        assert timer.cancelled()
        await outcome(deadlines, future, 60)
        kept.append(deadlines)

    run(main())
    # From another loop, as a connection may be.
    kept[0].stop()


@pytest.mark.parametrize("limit", [math.inf, Until(math.inf), 10**400, 1e300])
def test_no_limit_sets_no_timer_that_ends_a_wait(run: Any, limit: float | Until) -> None:
    async def main() -> Any:
        loop = asyncio.get_running_loop()
        deadlines = Deadlines(loop)
        future = loop.create_future()
        loop.call_later(0.02, future.set_result, 7)
        try:
            return await outcome(deadlines, future, limit)
        finally:
            deadlines.stop()

    assert run(main()) == 7


@pytest.mark.parametrize("limit", [-1, -(10**400), -math.inf, Until(-1), Until(-math.inf)])
def test_a_time_that_is_over_ends_the_wait_in_the_next_turn(run: Any, limit: float | Until) -> None:
    async def main() -> Any:
        loop = asyncio.get_running_loop()
        return await outcome(Deadlines(loop), loop.create_future(), limit)

    assert run(main()) == OVERDUE


def test_what_is_no_number_of_seconds_is_refused(run: Any) -> None:
    async def main() -> None:
        loop = asyncio.get_running_loop()
        deadlines = Deadlines(loop)
        with pytest.raises(ProgrammingError):
            deadlines.begin(loop.create_future(), math.nan)
        with pytest.raises(TypeError, match="number of seconds"):
            deadlines.begin(loop.create_future(), "5")  # type: ignore[arg-type]

    run(main())
