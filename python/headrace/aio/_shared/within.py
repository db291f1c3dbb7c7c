"""Waiting with a limit, for every Python that headrace supports."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, TypeVar

from .deadlines import look_at

T = TypeVar("T")


async def within(seconds: float | None, work: Awaitable[T]) -> T:
    """Returns the result of ``work``, within ``seconds`` (None: however long it takes).

    When the time is up, or the task is cancelled, the work is cancelled and has ended before this does. Not
    :func:`asyncio.wait_for`, which before Python 3.12 swallows a cancellation that comes as the work ends, and not
    :func:`asyncio.timeout`, which Python 3.10 does not have.

    Raises TimeoutError.
    """
    task = asyncio.ensure_future(work)
    try:
        await asyncio.wait({task}, timeout=seconds)
    except GeneratorExit:
        # The loop is over, and nothing can be waited for any more. Sockets are closed by the callers.
        raise
    except BaseException:
        await _end(task)
        raise
    if not task.done():
        await _end(task)
        raise TimeoutError
    return task.result()


async def within_here(seconds: float | None, work: Coroutine[Any, Any, T]) -> T:
    """The same for a coroutine, in this task where Python can end it in time: a task of its own takes two turns of the
    loop more, a tenth of what opening a connection does.

    Raises TimeoutError.
    """
    if sys.version_info < (3, 11) or asyncio.current_task() is None:
        return await within(seconds, work)
    async with asyncio.timeout(seconds):
        return await work


async def taken_within(seconds: float | None, work: Coroutine[Any, Any, T], give_back: Callable[[T], object]) -> T:
    """The same for work that opens or borrows something. It is given back if the caller is not told of it: Python 3.10
    may cancel the caller as the work ends.

    Raises TimeoutError.
    """
    taken: list[T] = []

    async def take() -> T:
        taken.append(await work)
        return taken[0]

    try:
        return await within_here(seconds, take())
    except BaseException:
        for one in taken:
            give_back(one)
        raise


async def _end(task: asyncio.Future[Any]) -> None:
    task.cancel()
    await asyncio.wait({task})
    look_at(task)
