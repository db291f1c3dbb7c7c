"""Tasks that see to what other tasks have left."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Coroutine
from typing import Any


class Leftovers:
    """The tasks that a connection has started by itself: they cancel statements whose tasks were cancelled.

    At the end of ``asyncio.run()`` all tasks are cancelled, and those that are started then would be destroyed while
    they are pending: the server would execute on, and asyncio complain. What the end of a loop does wait for are its
    asynchronous generators, so one of these waits for the tasks.
    """

    def __init__(self) -> None:
        self._tasks: set[asyncio.Task[Any]] = set()
        self._guard: AsyncGenerator[None, None] | None = None

    def start(self, work: Coroutine[Any, Any, None]) -> None:
        """Runs it in a task of its own."""
        self.keep(asyncio.get_running_loop().create_task(work))

    def keep(self, task: asyncio.Task[Any]) -> None:
        """Keeps a task until it is done."""
        self._tasks.add(task)
        task.add_done_callback(self._done)
        if self._guard is None:
            self._guard = _guard(self._tasks)
            _step(self._guard.__anext__())

    def cancel(self) -> None:
        """Cancels them all."""
        for task in list(self._tasks):
            task.cancel()

    def _done(self, task: asyncio.Task[Any]) -> None:
        self._tasks.discard(task)
        if not self._tasks and self._guard is not None:
            guard, self._guard = self._guard, None
            _step(guard.aclose())


async def _guard(tasks: set[asyncio.Task[Any]]) -> AsyncGenerator[None, None]:
    try:
        yield
    finally:
        if tasks:
            await asyncio.wait(tasks)


def _step(awaitable: Any) -> None:
    """Drives what does not wait."""
    try:
        awaitable.send(None)
    except (StopIteration, StopAsyncIteration):
        return
    except RuntimeError:
        # The loop is closing it already.
        return
