"""Timers of a loop that cost its other turns nothing."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import Callable

from ..._native import Alarm


class LoopAlarm:
    """A timer for which the loop's selector waits, as it does for sockets.

    While any timer of its own waits, asyncio asks for the time several times in each of its turns: a tenth of the
    instructions of a statement.
    """

    def __init__(self, loop: asyncio.AbstractEventLoop, seconds: float, function: Callable[[], object]) -> None:
        """Raises OSError where the system has none."""
        self._loop = loop
        self._function = function
        self._alarm = Alarm(seconds)
        # The loop keeps a copy of the context that is current: that of a statement would be kept with it.
        contextvars.Context().run(loop.add_reader, self._alarm.fileno(), self._due)

    def cancel(self) -> None:
        """Nothing is called any more."""
        number = self._alarm.fileno()
        if number >= 0:
            self._loop.remove_reader(number)
            self._alarm.close()

    def cancelled(self) -> bool:
        """Returns true if it will call nothing."""
        return self._alarm.fileno() < 0

    def _due(self) -> None:
        self.cancel()
        self._function()


def timer(
    loop: asyncio.AbstractEventLoop, seconds: float, function: Callable[[], object], context: contextvars.Context
) -> LoopAlarm | asyncio.TimerHandle:
    """Calls ``function`` after a number of seconds, unless it is cancelled."""
    # Not those that have been derived from it: their time may be another.
    if type(loop) is asyncio.SelectorEventLoop:
        try:
            return LoopAlarm(loop, seconds, function)
        except OSError:
            # No file descriptor is left, or the system has no such timers.
            pass
    return loop.call_later(seconds, function, context=context)
