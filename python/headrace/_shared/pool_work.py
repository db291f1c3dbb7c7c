"""What a blocking pool does in the background: it executes what its core decided, in threads of its own.

Written for each shell: threads, locks and a clock of their own here; tasks, and the loop's clock, on asyncio.
"""

from __future__ import annotations

import contextlib
import math
import os
import threading
import time
import warnings
import weakref
from collections.abc import Callable
from typing import Any, Generic, Protocol, TypeVar

from ..types import TransactionStatus
from .modes import ResetMode
from .pool_actions import Connect, Discard, Fail, Hand, Pooled, Sever
from .pool_checks import check_mode, is_configured_again, remember
from .pool_core import PoolCore
from .pool_settings import Settings


class PoolConnection(Pooled, Protocol):
    """The part of a blocking connection, of any database, that a pool uses."""

    def commit(self) -> object:
        """Commits the open transaction, if there is one."""
        ...

    def reset(self, mode: ResetMode, /) -> object:
        """Resets the session.

        Args:
            mode: ``rollback`` rolls an open transaction back, ``discard`` also resets all state of the session.
        """
        ...

    def close(self) -> object:
        """Closes the connection."""
        ...


C = TypeVar("C", bound=PoolConnection)


class Waiter(Generic[C]):
    """A thread that waits for a connection: on a lock, which is all that it needs."""

    __slots__ = ("connection", "error", "ready")

    def __init__(self) -> None:
        self.ready = threading.Lock()
        self.ready.acquire()
        self.connection: C | None = None
        self.error: Exception | None = None


Work = list["Connect | Discard[C] | Sever[C]"]


class PoolWork(Generic[C]):
    """The part of a pool that opens and closes connections, and passes them to those who wait."""

    def __init__(
        self, name: str, connect: Callable[[], C], configure: Callable[[C], object] | None, settings: Settings
    ) -> None:
        self.name = name
        self._connect = connect
        self._configure = configure
        self._core: PoolCore[C, Waiter[C]] = PoolCore(settings)
        self._lock = threading.Lock()
        self._changed = threading.Condition(self._lock)
        self._watchers = 0  # threads in wait() or close()
        self._wake = threading.Event()
        self._dropped: weakref.finalize[..., Any] | None = None
        self._threads: set[threading.Thread] = set()
        self._starting = threading.Lock()
        self._pid = os.getpid()

    def _settle(self) -> Work[C] | None:
        """Passes connections to waiters, with the lock held; returns the actions that are done without it."""
        core = self._core
        if self._watchers:
            self._changed.notify_all()
        if not core.actions:
            return None
        actions, core.actions = core.actions, []
        work: Work[C] = []
        for action in actions:
            if isinstance(action, Hand):
                action.waiter.connection = action.connection
                action.waiter.ready.release()
            elif isinstance(action, Fail):
                action.waiter.error = action.error
                action.waiter.ready.release()
            else:
                work.append(action)
        return work

    def _report(self, event: Callable[..., object], *what: Any) -> None:
        """Reports an event to the core, with the lock held, and performs what it decides, without it."""
        with self._lock:
            event(*what, time.monotonic())
            work = self._settle()
        self._perform(work)

    def _perform(self, work: Work[C] | None) -> None:
        for action in work or ():
            if isinstance(action, Connect):
                self._start("connect", self._connect_one, action.attempt)
            elif isinstance(action, Discard):
                close(action.connection)
            else:
                # Another thread may be inside a request, and close() wait for it.
                self._start("close", close, action.connection)

    def _start(self, what: str, function: Callable[[Any], None], argument: Any) -> None:
        def run() -> None:
            try:
                function(argument)
            finally:
                self._threads.discard(thread)

        thread = threading.Thread(target=run, name=f"{self.name}-{what}", daemon=True)
        try:
            with self._starting:  # close() joins what it finds, and must not find what is not started
                self._threads.add(thread)
                thread.start()
        except RuntimeError as error:
            # No thread to be had: out of resources, or the interpreter is going down.
            self._threads.discard(thread)
            if what == "connect":
                self._connect_failed(argument, error)

    def _connect_one(self, attempt: int) -> None:
        connection: C | None = None
        try:
            connection = self._connect()
            check_mode(connection, self._core.settings.reset)
            self._set_up(connection)
        except BaseException as error:
            if connection is not None:
                close(connection)
            self._connect_failed(attempt, error)
            return
        self._report(self._core.connected, attempt, connection)

    def _set_up(self, connection: C) -> None:
        """Calls ``configure``; a reset goes back to what it has set."""
        if self._configure is not None:
            self._configure(connection)
            commit(connection)
            remember(connection)

    def _reset(self, connection: C, mode: ResetMode) -> bool:
        """Resets a connection; returns true if it can be lent again."""
        connection.reset(mode)
        if is_configured_again(mode):
            self._set_up(connection)
        return connection.transaction_status == TransactionStatus.IDLE

    def _connect_failed(self, attempt: int, error: BaseException) -> None:
        self._report(self._core.connect_failed, attempt, error)
        self._wake.set()

    def _tick(self) -> float | None:
        """Does the periodic work of the pool; returns the seconds until the next time, None when it is closed."""
        self._report(self._core.tick)
        with self._lock:
            return None if self._core.closed else max(0.0, self._core.wakeup - time.monotonic())


def commit(connection: PoolConnection) -> None:
    if connection.transaction_status != TransactionStatus.IDLE:
        connection.commit()


def close(connection: PoolConnection) -> None:
    # It is gone for the pool, whatever its end is like.
    with contextlib.suppress(Exception):
        connection.close()


def end_dropped(idle: list[Any], pid: int, name: str) -> None:
    """Closes the idle connections of a pool that was collected. Lent ones are closed by their users."""
    if pid != os.getpid():
        return
    for entry in idle:
        close(entry.connection)
    idle.clear()
    warnings.warn(f"a pool ({name}) was dropped without close()", ResourceWarning, stacklevel=2)


def maintain(ref: weakref.ref[PoolWork[Any]], wake: threading.Event) -> None:
    """Runs in a thread that does not keep the pool alive."""
    while True:
        pool = ref()
        if pool is None or pool._wake is not wake:
            return
        wake.clear()
        left = pool._tick()
        if left is None:
            return
        del pool
        wake.wait(None if left == math.inf else left)
