"""Read and write timeouts on a loop: a connection that waits and hears nothing is given up."""

from __future__ import annotations

import asyncio
import time
from typing import Any, Final

from .._native import Wire

LOOKS: Final = 4
"""Looks at a connection within its timeout."""


class Watch:
    """Looks at a connection now and then while it has requests; times are in seconds, 0 is no limit."""

    def __init__(self, wire: Wire, transport: Any, read_timeout: float, write_timeout: float) -> None:
        self._wire = wire
        self._transport = transport
        self._read = read_timeout
        self._write = write_timeout
        self._pause = min(limit for limit in (read_timeout, write_timeout) if limit) / LOOKS
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
        now, unsent = time.monotonic(), self._transport.get_write_buffer_size()
        state = (wire.arrivals(), unsent)
        # While nobody reads, nothing can come.
        if state != self._seen or not self._transport.is_reading():
            self._seen, self._since = state, now
        name, limit = ("write_timeout", self._write) if unsent and self._write else ("read_timeout", self._read)
        if limit and now - self._since >= limit:
            wire.give_up(f"the connection was given up: nothing was heard of the server for {name}={limit} s")
            return
        self._handle = asyncio.get_running_loop().call_later(self._pause, self._look)


def watch_over(wire: Wire, transport: Any, options: Any) -> Watch | None:
    """A watch where the options have a timeout."""
    if not (options.read_timeout or options.write_timeout):
        return None
    return Watch(wire, transport, options.read_timeout, options.write_timeout)
