"""The two shells with one interface: a test's coroutines run as tasks of a loop, or each in a thread on blocking
objects.

A blocking object is lent the face of its asyncio form by :class:`Now`: what such a coroutine awaits has happened
already, so it never suspends, and :func:`drive` runs it to its end without a loop. Whatever waits has a bound: what is
not done by then is a failed test with the stacks of all threads or tasks.
"""

from __future__ import annotations

import asyncio
import contextlib
import faulthandler
import io
import math
import sys
import threading
import time
import traceback
from abc import ABC, abstractmethod
from collections.abc import AsyncGenerator, Callable, Coroutine, Generator, Iterator, Sequence
from typing import Any, TypeVar

import headrace
import headrace.aio
from headrace.aio import AsyncConnectionPool
from headrace.pool import ConnectionPool

T = TypeVar("T")
SWITCH = 0.00002
"""Seconds after which the interpreter lets another thread run."""
STUCK = 25.0
"""Seconds that nothing may happen in: more than any single wait here may take on a busy machine."""


class Hang(AssertionError):
    """Something did not end within its bound."""


def lent(value: Any) -> Any:
    """The value, or its face where it has methods that wait."""
    module = type(value).__module__
    waits = module.startswith("headrace.") or module == "contextlib" or isinstance(value, Iterator)
    return Now(value) if waits and not isinstance(value, (Now, tuple, BaseException)) else value


class Now:
    """A blocking object with the face of its asyncio form."""

    def __init__(self, value: Any) -> None:
        self.value = value

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.value, name)
        return (lambda *args, **keywords: Now(found(*args, **keywords))) if callable(found) else found

    def __await__(self) -> Generator[Any, Any, Any]:
        return lent(self.value)
        yield

    async def __aenter__(self) -> Any:
        return lent(self.value.__enter__())

    async def __aexit__(self, *error: Any) -> Any:
        return self.value.__exit__(*error)

    def __aiter__(self) -> Now:
        self.iterator: Iterator[Any] = iter(self.value)
        return self

    async def __anext__(self) -> Any:
        try:
            return next(self.iterator)
        except StopIteration:
            raise StopAsyncIteration from None

    async def aclose(self) -> None:
        self.value.close()


def drive(work: Coroutine[Any, Any, T]) -> T:
    """Runs a coroutine that never suspends."""
    try:
        work.send(None)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
    work.close()
    raise AssertionError("it suspended: something in it belongs to asyncio")


def stacks() -> str:
    """Where every thread stands."""
    names = {thread.ident: thread.name for thread in threading.enumerate()}
    return "\n".join(
        f"--- {names.get(number, number)}\n" + "".join(traceback.format_stack(frame)[-12:])
        for number, frame in sys._current_frames().items()
    )


def awaited(task: asyncio.Task[Any]) -> Iterator[str]:
    """What a task waits in, from its outermost coroutine inwards."""
    inner: Any = task.get_coro()
    while inner is not None:
        frame = getattr(inner, "cr_frame", None) or getattr(inner, "ag_frame", None) or getattr(inner, "gi_frame", None)
        if frame is not None:
            yield f"{frame.f_code.co_filename}:{frame.f_lineno} {frame.f_code.co_name}"
        inner = next(
            (found for name in ("cr_await", "ag_await", "gi_yieldfrom") if (found := getattr(inner, name, None))), None
        )


class Lock:
    """Many may hold it shared, or one alone, who goes first."""

    def __init__(self, condition: Any) -> None:
        self.condition = condition
        self.shared = 0
        self.alone = False
        self.waiting = 0

    @contextlib.asynccontextmanager
    async def held(self, alone: bool) -> AsyncGenerator[None]:
        """The lock, shared or alone."""
        async with self.condition:
            self.waiting += alone
            try:
                await self.condition.wait_for(
                    lambda: not self.alone and (not self.shared if alone else not self.waiting)
                )
            finally:
                self.waiting -= alone
            if alone:
                self.alone = True
            else:
                self.shared += 1
        try:
            yield
        finally:
            async with self.condition:
                if alone:
                    self.alone = False
                else:
                    self.shared -= 1
                self.condition.notify_all()


class Shell(ABC):
    """How a test's coroutines are run."""

    name: str
    tasks: bool

    @abstractmethod
    def run(self, work: Coroutine[Any, Any, T], limit: float) -> T:
        """Runs a test within ``limit`` seconds."""

    @abstractmethod
    async def together(
        self,
        works: Sequence[Coroutine[Any, Any, Any]],
        limit: float,
        progress: Callable[[], float] = lambda: math.inf,
    ) -> None:
        """Runs them at the same time, all within ``limit`` seconds, and none stuck for :data:`STUCK` seconds by what
        ``progress`` says of the last step; raises what the first one raised."""

    @abstractmethod
    async def connect(self, url: str, **keywords: Any) -> Any:
        """A connection."""

    @abstractmethod
    async def drop(self, conn: Any) -> None:
        """Closes a connection after a test that failed, be it that others hang on it."""

    @abstractmethod
    def pool(self, url: str, **keywords: Any) -> Any:
        """A pool, to be entered."""

    @abstractmethod
    def lock(self) -> Lock:
        """A lock for those who run together."""

    @abstractmethod
    async def sleep(self, seconds: float) -> None:
        """Lets the others go on."""


class Threads(Shell):
    """Each coroutine in a thread, on blocking objects."""

    name = "threads"
    tasks = False

    def run(self, work: Coroutine[Any, Any, T], limit: float) -> T:
        results: list[T] = []

        async def noted() -> None:
            results.append(await work)

        drive(self.together([noted()], limit))
        return results[0]

    async def together(
        self,
        works: Sequence[Coroutine[Any, Any, Any]],
        limit: float,
        progress: Callable[[], float] = lambda: math.inf,
    ) -> None:
        failed: list[BaseException] = []

        def run(work: Coroutine[Any, Any, Any]) -> None:
            try:
                drive(work)
            except BaseException as error:
                failed.append(error)

        threads = [
            threading.Thread(target=run, args=(work,), name=f"company-{number}", daemon=True)
            for number, work in enumerate(works)
        ]
        deadline = time.monotonic() + limit
        usual = sys.getswitchinterval()
        # Threads then meet at points where they would only once in many runs.
        sys.setswitchinterval(SWITCH)
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive() and time.monotonic() < min(deadline, progress() + STUCK):
                    thread.join(0.1)
        finally:
            sys.setswitchinterval(usual)
        hung = [thread.name for thread in threads if thread.is_alive()]
        if hung:
            raise Hang(f"{hung} did not end in time\n{stacks()}")
        if failed:
            raise failed[0]

    async def connect(self, url: str, **keywords: Any) -> Any:
        return Now(headrace.connect(url, **keywords))

    async def drop(self, conn: Any) -> None:
        closing = threading.Thread(target=conn.value.close, daemon=True)
        closing.start()
        closing.join(3)

    def pool(self, url: str, **keywords: Any) -> Any:
        return Now(ConnectionPool(url, **keywords))

    def lock(self) -> Lock:
        return Lock(Now(threading.Condition()))

    async def sleep(self, seconds: float) -> None:
        time.sleep(seconds)


class Tasks(Shell):
    """Each coroutine as a task of one loop."""

    tasks = True

    def __init__(self, name: str, new_loop: Callable[[], asyncio.AbstractEventLoop]) -> None:
        self.name = name
        self.new_loop = new_loop

    def run(self, work: Coroutine[Any, Any, T], limit: float) -> T:
        # A loop that stands still cannot look at a clock: this one says where.
        faulthandler.dump_traceback_later(limit + 20, exit=False)
        loop = self.new_loop()
        asyncio.set_event_loop(loop)
        results: list[T] = []

        async def noted() -> None:
            results.append(await work)

        try:
            loop.run_until_complete(self.together([noted()], limit))
            return results[0]
        finally:
            faulthandler.cancel_dump_traceback_later()
            loop.run_until_complete(asyncio.wait_for(loop.shutdown_asyncgens(), 10))
            asyncio.set_event_loop(None)
            loop.close()

    async def together(
        self,
        works: Sequence[Coroutine[Any, Any, Any]],
        limit: float,
        progress: Callable[[], float] = lambda: math.inf,
    ) -> None:
        tasks = [asyncio.ensure_future(work) for work in works]
        deadline = time.monotonic() + limit
        hung = set(tasks)
        while hung and time.monotonic() < min(deadline, progress() + STUCK):
            _, hung = await asyncio.wait(tasks, timeout=0.2)
        if hung:
            said = io.StringIO()
            for task in hung:
                task.print_stack(file=said)
                for frame in awaited(task):
                    print(f"    {frame}", file=said)
                task.cancel()
            await asyncio.wait(hung, timeout=1)
            raise Hang(f"{len(hung)} tasks did not end in time\n{said.getvalue()}")
        failed = [error for task in tasks if (error := task.exception()) is not None]
        if failed:
            raise failed[0]

    async def connect(self, url: str, **keywords: Any) -> Any:
        return await headrace.aio.connect(url, **keywords)

    async def drop(self, conn: Any) -> None:
        await conn.close()

    def pool(self, url: str, **keywords: Any) -> Any:
        return AsyncConnectionPool(url, **keywords)

    def lock(self) -> Lock:
        return Lock(asyncio.Condition())

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)


def _uvloop() -> asyncio.AbstractEventLoop:
    import uvloop

    return uvloop.new_event_loop()


SHELLS: dict[str, Callable[[], Shell]] = {
    "threads": Threads,
    "tasks": lambda: Tasks("tasks", asyncio.new_event_loop),
    "uvloop": lambda: Tasks("uvloop", _uvloop),
}
