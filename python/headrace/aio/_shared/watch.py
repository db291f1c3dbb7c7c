"""Read and write timeouts on a loop: a connection that receives nothing for too long is closed."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from ..._native import Wire

LOOKS: Final = 4
"""Looks at a connection within its timeout."""


class Watch:
    """Looks at a connection every ``pause`` seconds while it has requests."""

    def __init__(self, wire: Wire, pause: float) -> None:
        self._wire = wire
        self._pause = pause
        self.transport: Any = None
        """Where the bytes come and go. It is another one after the session was connected again."""
        self._handle: asyncio.TimerHandle | None = None
        self._seen: Any = None
        self._since = 0.0

    def start(self) -> None:
        """A request is under way."""
        if self._handle is None:
            self._seen = None
            self._look()

    def _look(self) -> None:
        self._handle = None
        wire = self._wire
        if wire.closed or not wire.queued():
            return
        now, unsent = time.monotonic(), self.transport.get_write_buffer_size()
        state = (wire.arrivals(), unsent)
        # While the transport does not read, nothing can be received.
        if state != self._seen or not self.transport.is_reading():
            self._seen, self._since = state, now
        silence = wire.silence(bool(unsent))
        if silence is not None and now - self._since >= silence[0]:
            wire.give_up(silence[1])
            return
        self._handle = asyncio.get_running_loop().call_later(self._pause, self._look)


def watch_over(wire: Wire) -> Watch | None:
    """A watch where the options that ``wire`` was made with have a timeout. It needs the transport before it starts."""
    limits = [silence[0] for silence in (wire.silence(False), wire.silence(True)) if silence is not None]
    return Watch(wire, min(limits) / LOOKS) if limits else None
