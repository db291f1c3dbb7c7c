"""The ends of a connection's waits that have a limit in time, by one timer for all of them."""

from __future__ import annotations

import asyncio
import contextvars
import math
import time
import weakref
from collections.abc import Iterable
from typing import Any

from ..._native import Wire
from ..._shared.limits import Until, checked_seconds
from .alarm import LoopAlarm, timer


class Overdue(Exception):
    """The time of a wait is up. What was waited for has not ended: only the waiting task is informed."""


class Deadlines:
    """The waits of a connection that have a limit.

    A timer for each of them would cost as much as a statement. So there is one, which is not stopped when a wait ends:
    when it is due it looks at those that are under way by then, and is set to the first of their ends. Statements with
    equal limits, one after the other, set it once in the time of a limit.

    The engine keeps the ends of statements that are executed by its ``run``, with the statements: nothing is left to do
    when one is answered. It sets the timer by :meth:`arm`, and is asked for those that are late.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, wire: Wire | None = None) -> None:
        self._loop = loop
        self._wire: weakref.ref[Wire] | None = None
        if wire is not None:
            wire.on_limit(self.arm)
            # The engine has this, and the loop its timer.
            self._wire = weakref.ref(wire)
        self._ends: dict[Any, float] = {}
        """The futures that are waited for, and when their time is up, by the monotonic clock: asking the loop's own
        would take a frame more."""
        self.end = self._ends.pop
        """``end(future, None)``: the wait is over. A method of the dictionary, which takes no frame."""
        self._timer: asyncio.TimerHandle | LoopAlarm | None = None
        self._due = math.inf
        """When the timer is due, by the same clock."""
        # That of the first statement would be kept as long as there are others.
        self._context = contextvars.Context()

    def begin(self, future: Any, limit: float | Until) -> None:
        """``future`` is waited for, until ``limit`` at most: then it has the exception :class:`Overdue`, unless it is
        done. A cancellation that comes before its task is resumed still counts. Raises what
        :func:`headrace._shared.limits.checked_seconds` raises."""
        end = limit.end if isinstance(limit, Until) else time.monotonic() + float(checked_seconds(limit))
        if end < self._due:
            self._set(end)
        if end < math.inf:
            self._ends[future] = end

    def arm(self, seconds: float) -> None:
        """Looks at the engine's statements after ``seconds`` at the latest."""
        due = time.monotonic() + seconds
        if due < self._due:
            self._set(due)

    def stop(self) -> None:
        """The connection is closed: what is still waited for fails with that."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer, self._due = None, math.inf

    def _set(self, due: float) -> None:
        if self._timer is not None:
            self._timer.cancel()
        self._due = due
        self._timer = timer(self._loop, due - time.monotonic(), self._look, self._context)

    def _look(self) -> None:
        # The loop's clock may be a little ahead of this one.
        now = max(time.monotonic(), self._due)
        self._timer, self._due = None, math.inf
        first = math.inf
        late: list[Any] = []
        for future, end in self._ends.items():
            if end > now:
                first = min(first, end)
            else:
                late.append(future)
        wire = None if self._wire is None else self._wire()
        if wire is not None and not wire.closed:
            statements, left = wire.overdue()
            late += statements
            if left is not None:
                first = min(first, now + left)
        _tell(late)
        if first < math.inf:
            self._set(first)


def _tell(late: Iterable[Any]) -> None:
    """Ends the waits for futures that are not done."""
    for future in late:
        if not future.done():
            future.set_exception(Overdue())
            # Retrieved: the task may be cancelled before it is resumed.
            future.exception()


def look_at(future: asyncio.Future[Any]) -> None:
    """Retrieves the error of a future: asyncio would report it otherwise."""
    if not future.cancelled():
        future.exception()


def is_overdue(future: Any) -> bool:
    """Returns true if a future that is done, and not cancelled, was not answered in time."""
    return isinstance(future.exception(), Overdue)


def apart(future: Any) -> Any:
    """Another future that has the outcome of ``future``, and whose end by a cancellation or a limit is not that of
    ``future``. Not :func:`asyncio.shield`: its own future must not end otherwise in the turn of the loop in which the
    other has ended."""
    own = future.get_loop().create_future()

    def tell(future: Any) -> None:
        error = None if future.cancelled() else future.exception()
        if own.done():
            return
        if future.cancelled():
            own.cancel()
        elif error is not None:
            own.set_exception(error)
        else:
            own.set_result(future.result())

    future.add_done_callback(tell)
    return own
