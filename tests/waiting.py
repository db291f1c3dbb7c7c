"""What a test needs to wait, once for each shell: tools/async_to_sync.py makes blocking tests of those on asyncio, and
``await agather(...)`` there is ``gather(...)`` here. What runs beside the test is a task or a thread."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Awaitable, Callable
from concurrent.futures import Future
from typing import Any

SECONDS = 60.0
"""How long a test waits for what must come true."""

AsyncEvent = asyncio.Event
Event = threading.Event


async def asleep(seconds: float) -> None:
    """Pauses this task."""
    await asyncio.sleep(seconds)


def sleep(seconds: float) -> None:
    """Pauses this thread."""
    time.sleep(seconds)


async def auntil(condition: Callable[[], object], seconds: float = SECONDS) -> None:
    """Waits for something to come true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come true"
        await asyncio.sleep(0.002)


def until(condition: Callable[[], object], seconds: float = SECONDS) -> None:
    """Waits for something to come true."""
    end = time.monotonic() + seconds
    while not condition():
        assert time.monotonic() < end, "it did not come true"
        time.sleep(0.002)


class AsyncWork:
    """A function's coroutine, in a task."""

    def __init__(self, function: Callable[..., Awaitable[Any]], *arguments: Any) -> None:
        self._task = asyncio.ensure_future(function(*arguments))

    @property
    def done(self) -> bool:
        """True if it has ended."""
        return self._task.done()

    async def result(self, seconds: float = SECONDS) -> Any:
        """Its result, or its exception."""
        return await asyncio.wait_for(asyncio.shield(self._task), seconds)


class Work:
    """A function, in a thread."""

    def __init__(self, function: Callable[..., Any], *arguments: Any) -> None:
        self._future: Future[Any] = Future()
        threading.Thread(target=self._run, args=(function, *arguments), daemon=True).start()

    def _run(self, function: Callable[..., Any], *arguments: Any) -> None:
        try:
            self._future.set_result(function(*arguments))
        except BaseException as error:
            self._future.set_exception(error)

    @property
    def done(self) -> bool:
        """True if it has ended."""
        return self._future.done()

    def result(self, seconds: float = SECONDS) -> Any:
        """Its result, or its exception."""
        return self._future.result(seconds)


async def agather(*functions: Callable[[], Awaitable[Any]], return_exceptions: bool = False) -> list[Any]:
    """Runs all of them at once, each in a task. The results have the order of the functions."""
    return await asyncio.gather(*(function() for function in functions), return_exceptions=return_exceptions)


def gather(*functions: Callable[[], Any], return_exceptions: bool = False) -> list[Any]:
    """Runs all of them at once, each in a thread. The results have the order of the functions."""

    def outcome(work: Work) -> Any:
        try:
            return work.result()
        except Exception as error:
            if return_exceptions:
                return error
            raise

    return [outcome(work) for work in [Work(function) for function in functions]]
