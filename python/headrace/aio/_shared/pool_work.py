"""What an asyncio pool does in the background: it executes what its core decided, in tasks of its own.

Written for each shell: tasks, and the loop's clock, here; threads, locks and a clock of their own in a blocking pool.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import warnings
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from typing import Any, Generic, Protocol, TypeVar

from ..._shared.modes import ResetMode
from ..._shared.pool_actions import Connect, Fail, Hand, Pooled, Sever
from ..._shared.pool_checks import check_mode, is_configured_again, remember
from ..._shared.pool_core import PoolCore
from ..._shared.pool_settings import Settings
from ...types import TransactionStatus


class AsyncPoolConnection(Pooled, Protocol):
    """The part of an asyncio connection, of any database, that a pool uses."""

    async def commit(self) -> object:
        """Commits the open transaction, if there is one."""
        ...

    async def reset(self, mode: ResetMode, /) -> object:
        """Resets the session.

        Args:
            mode: ``rollback`` rolls an open transaction back, ``discard`` also resets all state of the session.
        """
        ...

    async def close(self) -> object:
        """Closes the connection."""
        ...


C = TypeVar("C", bound=AsyncPoolConnection)
_ENDING: set[asyncio.Task[None]] = set()
"""What closes the connections of dropped pools: a loop itself does not hold its tasks."""


class LoopPoolWork(Generic[C]):
    """The part of a pool that opens and closes connections, and passes them to those who wait."""

    def __init__(
        self,
        name: str,
        connect: Callable[[], Awaitable[C]],
        configure: Callable[[C], Awaitable[object]] | None,
        settings: Settings,
    ) -> None:
        self.name = name
        self._connect = connect
        self._configure = configure
        self._core: PoolCore[C, asyncio.Future[C]] = PoolCore(settings)
        self._loop: asyncio.AbstractEventLoop | None = None
        self._pid = os.getpid()
        self._tasks: set[asyncio.Task[Any]] = set()
        self._connecting: set[asyncio.Task[C]] = set()
        self._resets: dict[int, asyncio.Task[bool]] = {}
        self._watchers: list[asyncio.Future[None]] = []
        self._timer: asyncio.TimerHandle | None = None
        self._due = 0.0
        """When the timer is due: uvloop's handle of one that is due at once does not say it."""
        self._dropped: weakref.finalize[..., Any] | None = None
        self._ref: weakref.ref[Any] = weakref.ref(self)

    def _settle(self) -> None:
        """Does what the core decided, until nothing is left. A loop, no recursion: thousands of waiters can be
        cancelled at once, and each connection handed to one of them comes back here."""
        core, loop = self._core, self._loop
        assert loop is not None
        while core.actions:
            actions, core.actions = core.actions, []
            for action in actions:
                if isinstance(action, Hand):
                    if action.waiter.done():
                        core.refuse(action.connection, loop.time())
                    else:
                        action.waiter.set_result(action.connection)
                elif isinstance(action, Fail):
                    if not action.waiter.done():
                        action.waiter.set_exception(action.error)
                elif isinstance(action, Connect):
                    self._start_connect(action.attempt)
                else:
                    if isinstance(action, Sever) and (reset := self._resets.get(id(action.connection))) is not None:
                        reset.cancel()
                    self._spawn(close(action.connection))
        if self._watchers:
            watchers, self._watchers = self._watchers, []
            for watcher in watchers:
                if not watcher.done():
                    watcher.set_result(None)
        if self._timer is not None and (core.closed or core.wakeup < self._due):
            self._timer.cancel()
            self._timer = None
        if self._timer is None and not core.closed:
            self._due = core.wakeup
            self._timer = loop.call_at(self._due, _tick_of, self._ref)

    def _tick(self) -> None:
        assert self._loop is not None
        self._timer = None
        self._core.tick(self._loop.time())
        self._settle()

    def _spawn(self, work: Coroutine[Any, Any, Any]) -> asyncio.Task[Any]:
        assert self._loop is not None
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task

    def _start_connect(self, attempt: int) -> None:
        task: asyncio.Task[C] = self._spawn(self._connect_one())
        self._connecting.add(task)

        # A callback, not the end of the coroutine: it comes even where the task is cancelled before it has begun.
        def over(task: asyncio.Task[C]) -> None:
            assert self._loop is not None
            self._connecting.discard(task)
            now = self._loop.time()
            if task.cancelled():
                self._core.connect_abandoned(attempt, now)
            elif (error := task.exception()) is not None:
                self._core.connect_failed(attempt, error, now)
            else:
                self._core.connected(attempt, task.result(), now)
            self._settle()

        task.add_done_callback(over)

    async def _connect_one(self) -> C:
        connection = await self._connect()
        try:
            check_mode(connection, self._core.settings.reset)
            await self._set_up(connection)
        except BaseException:
            await close(connection)
            raise
        return connection

    async def _set_up(self, connection: C) -> None:
        """Calls ``configure``; a reset goes back to what it has set."""
        if self._configure is not None:
            await self._configure(connection)
            await commit(connection)
            remember(connection)

    async def _reset(self, connection: C, mode: ResetMode) -> bool:
        """Resets a connection; returns true if it can be lent again."""
        await connection.reset(mode)
        if is_configured_again(mode):
            await self._set_up(connection)
        return connection.transaction_status == TransactionStatus.IDLE


def _tick_of(ref: weakref.ref[Any]) -> None:
    pool = ref()
    if pool is not None:
        pool._tick()


def end_dropped(idle: list[Any], loop: asyncio.AbstractEventLoop, pid: int, name: str) -> None:
    """Closes the idle connections of a pool that was collected, in any thread. Lent ones are closed by their users, and
    on a closed loop each connection ends by itself."""
    if pid != os.getpid():
        return

    def end() -> None:
        for entry in idle:
            task = loop.create_task(close(entry.connection))
            _ENDING.add(task)
            task.add_done_callback(_ENDING.discard)
        idle.clear()

    with contextlib.suppress(RuntimeError):
        loop.call_soon_threadsafe(end)
    warnings.warn(f"an asyncio pool ({name}) was dropped without close()", ResourceWarning, stacklevel=2)


async def commit(connection: AsyncPoolConnection) -> None:
    if connection.transaction_status != TransactionStatus.IDLE:
        await connection.commit()


async def close(connection: AsyncPoolConnection) -> None:
    # It is gone for the pool, whatever its end is like.
    with contextlib.suppress(Exception):
        await connection.close()
