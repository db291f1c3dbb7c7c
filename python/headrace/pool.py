"""A pool of blocking connections, for threads."""

from __future__ import annotations

import contextlib
import functools
import threading
import time
from collections.abc import Callable, Generator
from types import TracebackType
from typing import Any

from . import defaults
from ._pool_core import PoolCore, PoolStats, Settings
from ._postgres.connection import Connection, connect
from .errors import Error, PoolClosed, ProgrammingError


class _Waiter:
    """A thread that waits for a connection."""

    __slots__ = ("connection", "error", "event")

    def __init__(self) -> None:
        self.event = threading.Event()
        self.connection: Connection[Any] | None = None
        self.error: BaseException | None = None


class ConnectionPool:
    """Lends connections to threads, the longest waiting first.

    ``with pool.connection() as conn:`` commits at the end of the block and rolls back when it raises. A connection is
    checked before it is lent (its age, and a look at its socket; no round trip), and reset when it comes back: with
    ``reset="rollback"`` an open transaction is rolled back, with ``"discard"`` all session state is discarded. One
    that is in doubt is closed, never lent again.

    ``configure`` is called with each new connection, ``check`` with each one before it is lent; raising discards it.
    Times are seconds; see :mod:`headrace.defaults`.
    """

    def __init__(
        self,
        conninfo: str = "",
        *,
        kwargs: dict[str, Any] | None = None,
        connect: Callable[..., Connection[Any]] = connect,
        min_size: int = defaults.POOL_MIN_SIZE,
        max_size: int = defaults.POOL_MAX_SIZE,
        timeout: float = defaults.POOL_TIMEOUT,
        max_lifetime: float = defaults.POOL_MAX_LIFETIME,
        max_idle: float = defaults.POOL_MAX_IDLE,
        max_waiting: int = defaults.POOL_MAX_WAITING,
        reset: str = "rollback",
        configure: Callable[[Connection[Any]], None] | None = None,
        check: Callable[[Connection[Any]], None] | None = None,
        name: str = "headrace-pool",
        open: bool = True,
    ) -> None:
        self.name = name
        self._connect_with = functools.partial(connect, conninfo, **(kwargs or {}))
        self._configure = configure
        self._check = check
        settings = Settings(min_size, max_size, timeout, max_lifetime, max_idle, max_waiting, reset)
        self._core: PoolCore[Connection[Any], _Waiter] = PoolCore(settings)
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._stop = threading.Event()
        if open:
            self.open()

    def open(self) -> None:
        """Opens the pool; connections are made in the background."""
        with self._lock:
            if not self._core.closed:
                return
            self._core.closed = False
            self._stop.clear()
            threading.Thread(target=self._maintain, name=f"{self.name}-maintenance", daemon=True).start()
            self._grow()

    # connecting; called with the lock held

    def _grow(self) -> None:
        for _ in range(self._core.missing()):
            self._core.connecting_one()
            threading.Thread(target=self._open_one, name=f"{self.name}-connect", daemon=True).start()

    def _open_one(self) -> None:
        connection: Connection[Any] | None = None
        try:
            connection = self._connect_with()
            if self._configure is not None:
                self._configure(connection)
                if connection._core.in_transaction():
                    connection.rollback()
        except BaseException as error:
            if connection is not None:
                connection.close()
            with self._lock:
                delay = self._core.failed(error)
                self._changed.notify_all()
            if not self._stop.wait(delay):
                with self._lock:
                    self._core.backing_off -= 1
                    self._grow()
            return
        with self._lock:
            if self._core.closed:
                self._core.connecting -= 1
                connection.close()
                return
            self._hand(self._core.connected(connection, time.monotonic()), connection)
            self._changed.notify_all()

    def _hand(self, waiter: _Waiter | None, connection: Connection[Any]) -> None:
        if waiter is not None:
            waiter.connection = connection
            waiter.event.set()

    def _maintain(self) -> None:
        while not self._stop.wait(defaults.POOL_MAINTENANCE):
            with self._lock:
                gone = self._core.stale(time.monotonic())
                self._grow()
            for connection in gone:
                connection.close()

    # lending

    def getconn(self, timeout: float | None = None) -> Connection[Any]:
        """Lends a connection; give it back with :meth:`putconn`.

        Raises PoolTimeout after ``timeout`` seconds, PoolClosed, TooManyRequests.
        """
        while True:
            connection = self._getconn(timeout)
            if self._check is None:
                return connection
            try:
                self._check(connection)
            except Error:
                self._return(connection, fit=False)
                continue
            return connection

    def _getconn(self, timeout: float | None) -> Connection[Any]:
        core = self._core
        with self._lock:
            core.check_usable()
            now = time.monotonic()
            connection, unfit = core.checkout(now)
            waiter = None
            if connection is None:
                waiter = _Waiter()
                core.enqueue(waiter)
            if unfit or waiter is not None:
                self._grow()
        for one in unfit:
            one.close()
        if connection is not None:
            return connection
        assert waiter is not None
        limit = core.settings.timeout if timeout is None else timeout
        try:
            waiter.event.wait(limit)
        except BaseException:
            with self._lock:
                core.forget(waiter)
            if waiter.connection is not None:
                self._return(waiter.connection, fit=True)
            raise
        with self._lock:
            core.waited_for(time.monotonic() - now)
            if waiter.connection is not None:
                return waiter.connection
            core.forget(waiter)
            raise waiter.error or core.timed_out(limit)

    def putconn(self, connection: Connection[Any]) -> None:
        """Takes a connection back: resets it, or closes it when it is in doubt."""
        if not self._core.owns(connection):
            raise ProgrammingError("the connection does not belong to this pool, or was given back already")
        fit = not connection.closed
        if fit and (connection.wire.status() != 0 or self._core.settings.reset == "discard"):
            try:
                connection.reset(self._core.settings.reset)
                fit = connection.wire.status() == 0 or self._core.settings.reset == "none"
            except Error:
                fit = False
        self._return(connection, fit)

    def _return(self, connection: Connection[Any], fit: bool) -> None:
        with self._lock:
            kept, waiter = self._core.give_back(connection, time.monotonic(), fit)
            self._hand(waiter, connection)
            if not kept:
                self._grow()
            self._changed.notify_all()
        if not kept:
            connection.close()

    @contextlib.contextmanager
    def connection(self, timeout: float | None = None) -> Generator[Connection[Any]]:
        """Lends a connection for a block: commits at its end, rolls back when it raises."""
        connection = self.getconn(timeout)
        try:
            yield connection
            if not connection.closed and connection.wire.last_status() != 0:
                connection.commit()
        except BaseException:
            if not connection.closed:
                with contextlib.suppress(Error):
                    connection.reset("rollback")
            raise
        finally:
            self.putconn(connection)

    # looking after

    def wait(self, timeout: float = defaults.POOL_TIMEOUT) -> None:
        """Waits until ``min_size`` connections are there. Raises PoolTimeout with the last connect error."""
        deadline = time.monotonic() + timeout
        with self._lock:
            while self._core.size < self._core.settings.min_size:
                self._core.check_usable()
                left = deadline - time.monotonic()
                if left <= 0:
                    raise self._core.timed_out(timeout)
                self._changed.wait(left)

    def resize(self, min_size: int, max_size: int | None = None) -> None:
        """Changes the size."""
        old = self._core.settings
        new = Settings(
            min_size, max_size or max(min_size, old.max_size), old.timeout, old.max_lifetime, old.max_idle,
            old.max_waiting, old.reset,
        )  # fmt: skip
        with self._lock:
            self._core.settings = new
            self._grow()

    def drain(self) -> None:
        """Replaces every connection: the idle ones at once, those in use when they come back."""
        with self._lock:
            gone = self._core.drain()
            self._grow()
        for connection in gone:
            connection.close()

    def stats(self) -> PoolStats:
        """A snapshot of the pool."""
        with self._lock:
            return self._core.stats()

    @property
    def closed(self) -> bool:
        """True for a pool that is not open."""
        return self._core.closed

    def close(self, timeout: float = defaults.POOL_CLOSE_TIMEOUT) -> None:
        """Closes the pool: waits up to ``timeout`` seconds for connections in use, then closes them too."""
        with self._lock:
            if self._core.closed:
                return
            gone, waiters = self._core.close()
            self._stop.set()
        for waiter in waiters:
            waiter.error = PoolClosed("the pool was closed while the request waited")
            waiter.event.set()
        for connection in gone:
            connection.close()
        deadline = time.monotonic() + timeout
        with self._lock:
            while self._core.in_use and (left := deadline - time.monotonic()) > 0:
                self._changed.wait(left)
            late = [entry.connection for entry in self._core.in_use.values()]
        for connection in late:
            connection.close()

    def __enter__(self) -> ConnectionPool:
        self.open()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
