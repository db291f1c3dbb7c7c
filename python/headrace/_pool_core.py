"""The decisions of a connection pool, for threads and for asyncio alike: no clock, no lock, no I/O.

A shell calls these methods one at a time (under its lock, or on its loop) with the time in seconds, and does what
they say. A connection is in exactly one place: idle, in use, or gone.
"""

from __future__ import annotations

import os
import random
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Generic, Protocol, TypeVar

from . import defaults
from .errors import PoolClosed, PoolTimeout, ProgrammingError, TooManyRequests


class Pooled(Protocol):
    """What a pool needs of a connection."""

    @property
    def closed(self) -> bool:
        """True when it is closed, by whomever."""
        ...

    def check_alive(self) -> bool:
        """Whether it is still there, without a round trip."""
        ...


C = TypeVar("C", bound=Pooled)
W = TypeVar("W")


@dataclass(frozen=True)
class PoolStats:
    """A snapshot. ``waited_ms`` is the sum over all requests that had to wait; ``lost`` counts connections by why
    they went: ``closed`` by the server or the user, ``lifetime``, ``idle``, ``doubt`` (given back out of step)."""

    size: int
    idle: int
    in_use: int
    connecting: int
    waiting: int
    requests: int
    waits: int
    waited_ms: float
    timeouts: int
    connects: int
    connect_errors: int
    lost: dict[str, int]


@dataclass
class Settings:
    """What the user asked for; times are seconds."""

    min_size: int = defaults.POOL_MIN_SIZE
    max_size: int = defaults.POOL_MAX_SIZE
    timeout: float = defaults.POOL_TIMEOUT
    max_lifetime: float = defaults.POOL_MAX_LIFETIME
    max_idle: float = defaults.POOL_MAX_IDLE
    max_waiting: int = defaults.POOL_MAX_WAITING
    reset: str = "rollback"

    def __post_init__(self) -> None:
        if not 0 <= self.min_size <= self.max_size or self.max_size < 1:
            raise ProgrammingError(
                f"a pool needs 0 <= min_size <= max_size and max_size >= 1, not {self.min_size} and {self.max_size}"
            )
        if self.reset not in ("none", "rollback", "discard"):
            raise ProgrammingError(f"reset={self.reset!r} is not one of none, rollback, discard")


@dataclass
class _Entry(Generic[C]):
    connection: C
    expires: float
    idle_since: float = 0.0


@dataclass
class PoolCore(Generic[C, W]):
    """See the module. ``W`` is what a shell waits with."""

    settings: Settings
    closed: bool = True
    idle: list[_Entry[C]] = field(default_factory=list[_Entry[C]])
    in_use: dict[int, _Entry[C]] = field(default_factory=dict[int, _Entry[C]])
    waiters: deque[W] = field(default_factory=deque[W])
    connecting: int = 0
    failures: int = 0
    backing_off: int = 0
    last_error: BaseException | None = None
    requests: int = 0
    waits: int = 0
    waited: float = 0.0
    timeouts: int = 0
    connects: int = 0
    connect_errors: int = 0
    lost: dict[str, int] = field(default_factory=dict[str, int])
    pid: int = field(default_factory=os.getpid)
    random: Callable[[], float] = random.random

    @property
    def size(self) -> int:
        """Connections that are there."""
        return len(self.idle) + len(self.in_use)

    def check_usable(self) -> None:
        """Raises PoolClosed for a closed pool, and after a fork: the sockets belong to the parent."""
        if self.closed:
            raise PoolClosed("the pool is closed")
        if self.pid != os.getpid():
            raise PoolClosed("the pool was made before a fork; every process needs a pool of its own")

    def _lose(self, why: str) -> None:
        self.lost[why] = self.lost.get(why, 0) + 1

    def checkout(self, now: float) -> tuple[C | None, list[C]]:
        """An idle connection that is fit to be used, the most recently used first, and those found unfit."""
        self.requests += 1
        unfit: list[C] = []
        while self.idle:
            entry = self.idle.pop()
            why = self._unfit(entry, now)
            if why is None:
                self.in_use[id(entry.connection)] = entry
                return entry.connection, unfit
            self._lose(why)
            unfit.append(entry.connection)
        return None, unfit

    def _unfit(self, entry: _Entry[C], now: float) -> str | None:
        if entry.connection.closed or not entry.connection.check_alive():
            return "closed"
        if now >= entry.expires:
            return "lifetime"
        if now - entry.idle_since > self.settings.max_idle and self.size >= self.settings.min_size:
            return "idle"
        return None

    def enqueue(self, waiter: W) -> None:
        """Puts a waiter at the end of the queue. Raises TooManyRequests when the queue is full."""
        limit = self.settings.max_waiting
        if limit and len(self.waiters) >= limit:
            raise TooManyRequests(f"{len(self.waiters)} requests wait for a connection already (max_waiting)")
        self.waits += 1
        self.waiters.append(waiter)

    def forget(self, waiter: W) -> None:
        """A waiter gave up."""
        if waiter in self.waiters:
            self.waiters.remove(waiter)

    def waited_for(self, seconds: float) -> None:
        """A waiter has stopped waiting."""
        self.waited += seconds

    def timed_out(self, seconds: float) -> PoolTimeout:
        """The error of a waiter whose time is up."""
        self.timeouts += 1
        reason = f"; the last connection attempt failed: {self.last_error}" if self.last_error else ""
        busy = f"{len(self.in_use)} of {self.settings.max_size} connections are in use"
        return PoolTimeout(f"no connection within {seconds:g} s ({busy}){reason}")

    def missing(self) -> int:
        """How many connections should be opened now."""
        if self.closed or self.backing_off:
            return 0
        wanted = max(self.settings.min_size - self.size, len(self.waiters)) - self.connecting
        return max(0, min(wanted, self.settings.max_size - self.size - self.connecting))

    def connecting_one(self) -> None:
        """A connection is being opened."""
        self.connecting += 1

    def connected(self, connection: C, now: float) -> W | None:
        """A connection is there: it belongs to the waiter that this gives, or is idle."""
        self.connecting -= 1
        self.connects += 1
        self.failures = 0
        self.last_error = None
        # Up to a tenth shorter, so that connections opened together do not end together.
        lifetime = self.settings.max_lifetime * (1 - 0.1 * self.random())
        return self._place(_Entry(connection, now + lifetime), now)

    def failed(self, error: BaseException) -> float:
        """A connection could not be made; gives the seconds to wait before the next attempt. Until the shell takes one
        from ``backing_off`` afterwards none is begun, whoever asks."""
        self.backing_off += 1
        self.connecting -= 1
        self.connect_errors += 1
        self.last_error = error
        self.failures += 1
        delay: float = min(defaults.POOL_BACKOFF_MAX, defaults.POOL_BACKOFF_FIRST * 2 ** min(self.failures - 1, 20))
        return delay * (0.5 + self.random() / 2)

    def _place(self, entry: _Entry[C], now: float) -> W | None:
        if self.waiters:
            self.in_use[id(entry.connection)] = entry
            return self.waiters.popleft()
        entry.idle_since = now
        self.idle.append(entry)
        return None

    def owns(self, connection: C) -> bool:
        """Whether the connection is one that this pool gave out."""
        return id(connection) in self.in_use

    def give_back(self, connection: C, now: float, fit: bool) -> tuple[bool, W | None]:
        """A connection comes back, reset where ``fit``. Says whether it is kept, and whose it is next."""
        entry = self.in_use.pop(id(connection), None)
        if entry is None:
            raise ProgrammingError("the connection does not belong to this pool, or was given back already")
        full = self.size >= self.settings.max_size
        if self.closed or not fit or connection.closed or full or now >= entry.expires:
            self._lose("doubt" if not fit else "closed" if connection.closed else "lifetime")
            return False, None
        return True, self._place(entry, now)

    def stale(self, now: float) -> list[C]:
        """Idle connections that are too old, idle for too long, or gone; they leave the pool."""
        kept: list[_Entry[C]] = []
        gone: list[C] = []
        for entry in self.idle:
            why = self._unfit(entry, now)
            if why is None:
                kept.append(entry)
            else:
                self._lose(why)
                gone.append(entry.connection)
        self.idle = kept
        return gone

    def drain(self) -> list[C]:
        """Replaces every connection: the idle ones at once, those in use when they come back."""
        gone = [entry.connection for entry in self.idle]
        self.idle = []
        for entry in self.in_use.values():
            entry.expires = 0.0
        return gone

    def close(self) -> tuple[list[C], list[W]]:
        """No more checkouts: gives the idle connections and the waiters, who are to get PoolClosed."""
        self.closed = True
        gone = self.drain()
        waiters = list(self.waiters)
        self.waiters.clear()
        return gone, waiters

    def stats(self) -> PoolStats:
        """A snapshot."""
        return PoolStats(
            size=self.size,
            idle=len(self.idle),
            in_use=len(self.in_use),
            connecting=self.connecting,
            waiting=len(self.waiters),
            requests=self.requests,
            waits=self.waits,
            waited_ms=self.waited * 1000,
            timeouts=self.timeouts,
            connects=self.connects,
            connect_errors=self.connect_errors,
            lost=dict(self.lost),
        )


Kwargs = dict[str, Any]
