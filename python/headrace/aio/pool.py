"""A pool of asyncio connections."""

from __future__ import annotations

import asyncio
import contextlib
import functools
from collections.abc import AsyncGenerator, Awaitable, Callable
from types import TracebackType
from typing import Any

from .. import defaults
from .._pool_core import PoolCore, PoolStats, Settings
from ..errors import Error, PoolClosed, ProgrammingError
from .connection import AsyncConnection, connect


class AsyncConnectionPool:
    """The twin of :class:`headrace.pool.ConnectionPool`. Open it inside the loop: ``async with`` or ``await open()``.

    A task that is cancelled while it waits, or in the moment it is handed a connection, loses none.
    """

    def __init__(
        self,
        conninfo: str = "",
        *,
        kwargs: dict[str, Any] | None = None,
        connect: Callable[..., Awaitable[AsyncConnection[Any]]] = connect,
        min_size: int = defaults.POOL_MIN_SIZE,
        max_size: int = defaults.POOL_MAX_SIZE,
        timeout: float = defaults.POOL_TIMEOUT,
        max_lifetime: float = defaults.POOL_MAX_LIFETIME,
        max_idle: float = defaults.POOL_MAX_IDLE,
        max_waiting: int = defaults.POOL_MAX_WAITING,
        reset: str = "rollback",
        configure: Callable[[AsyncConnection[Any]], Awaitable[None]] | None = None,
        check: Callable[[AsyncConnection[Any]], Awaitable[None]] | None = None,
        name: str = "headrace-pool",
        open: bool = False,
    ) -> None:
        self.name = name
        self._connect_with = functools.partial(connect, conninfo, **(kwargs or {}))
        self._configure = configure
        self._check = check
        settings = Settings(min_size, max_size, timeout, max_lifetime, max_idle, max_waiting, reset)
        self._core: PoolCore[AsyncConnection[Any], asyncio.Future[AsyncConnection[Any]]] = PoolCore(settings)
        self._tasks: set[asyncio.Task[None]] = set()
        self._changed: asyncio.Event | None = None
        if open:
            self._begin()

    async def open(self) -> None:
        """Opens the pool; connections are made in the background."""
        self._begin()

    def _begin(self) -> None:
        if self._core.closed:
            self._loop = asyncio.get_running_loop()
            self._changed = asyncio.Event()
            self._core.closed = False
            self._spawn(self._maintain())
            self._grow()

    def _spawn(self, work: Any) -> None:
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _notify(self) -> None:
        if self._changed is not None:
            changed, self._changed = self._changed, asyncio.Event()
            changed.set()

    # connecting

    def _grow(self) -> None:
        for _ in range(self._core.missing()):
            self._core.connecting_one()
            self._spawn(self._open_one())

    async def _open_one(self) -> None:
        connection: AsyncConnection[Any] | None = None
        try:
            connection = await self._connect_with()
            if self._configure is not None:
                await self._configure(connection)
                if connection._core.in_transaction():
                    await connection.rollback()
        except asyncio.CancelledError:
            self._core.connecting -= 1
            if connection is not None:
                await connection.close()
            raise
        except Exception as error:
            if connection is not None:
                await connection.close()
            delay = self._core.failed(error)
            self._notify()
            await asyncio.sleep(delay)
            self._core.backing_off -= 1
            self._grow()
            return
        if self._core.closed:
            self._core.connecting -= 1
            await connection.close()
            return
        self._hand(self._core.connected(connection, self._loop.time()), connection)
        self._notify()

    def _hand(self, waiter: asyncio.Future[AsyncConnection[Any]] | None, connection: AsyncConnection[Any]) -> None:
        if waiter is None:
            return
        if waiter.done():
            # Cancelled a moment ago: the next in the queue gets it.
            self._return(connection, fit=True)
        else:
            waiter.set_result(connection)

    async def _maintain(self) -> None:
        while not self._core.closed:
            await asyncio.sleep(defaults.POOL_MAINTENANCE)
            for connection in self._core.stale(self._loop.time()):
                await connection.close()
            self._grow()

    # lending

    async def getconn(self, timeout: float | None = None) -> AsyncConnection[Any]:
        """Lends a connection; give it back with :meth:`putconn`.

        Raises PoolTimeout after ``timeout`` seconds, PoolClosed, TooManyRequests.
        """
        while True:
            connection = await self._getconn(timeout)
            if self._check is None:
                return connection
            try:
                await self._check(connection)
            except Error:
                self._return(connection, fit=False)
                continue
            except BaseException:
                self._return(connection, fit=False)
                raise
            return connection

    async def _getconn(self, timeout: float | None) -> AsyncConnection[Any]:
        core = self._core
        core.check_usable()
        if self._loop is not asyncio.get_running_loop():
            raise ProgrammingError("the pool was opened on another event loop")
        started = self._loop.time()
        connection, unfit = core.checkout(started)
        for one in unfit:
            one.wire.close()
        if connection is not None:
            if unfit:
                self._grow()
            return connection
        waiter: asyncio.Future[AsyncConnection[Any]] = self._loop.create_future()
        core.enqueue(waiter)
        self._grow()
        limit = core.settings.timeout if timeout is None else timeout
        timer = self._loop.call_later(limit, self._time_out, waiter, limit)
        try:
            return await waiter
        except asyncio.CancelledError:
            if waiter.done() and not waiter.cancelled() and waiter.exception() is None:
                self._return(waiter.result(), fit=True)
            else:
                core.forget(waiter)
            raise
        finally:
            timer.cancel()
            core.waited_for(self._loop.time() - started)

    def _time_out(self, waiter: asyncio.Future[AsyncConnection[Any]], limit: float) -> None:
        if not waiter.done():
            self._core.forget(waiter)
            waiter.set_exception(self._core.timed_out(limit))

    async def putconn(self, connection: AsyncConnection[Any]) -> None:
        """Takes a connection back: resets it, or closes it when it is in doubt."""
        if not self._core.owns(connection):
            raise ProgrammingError("the connection does not belong to this pool, or was given back already")
        reset = self._core.settings.reset
        fit = not connection.closed
        if fit and (connection.wire.status() != 0 or reset == "discard"):
            fit = False
            try:
                await asyncio.wait_for(connection.reset(reset), defaults.CANCEL_TIMEOUT)
                fit = connection.wire.status() == 0 or reset == "none"
            except (Error, asyncio.TimeoutError, TimeoutError):
                pass
            except BaseException:
                self._return(connection, fit=False)
                raise
        self._return(connection, fit)

    def _return(self, connection: AsyncConnection[Any], fit: bool) -> None:
        kept, waiter = self._core.give_back(connection, self._loop.time(), fit)
        self._hand(waiter, connection)
        if not kept:
            connection.wire.close()
            self._grow()
        self._notify()

    @contextlib.asynccontextmanager
    async def connection(self, timeout: float | None = None) -> AsyncGenerator[AsyncConnection[Any]]:
        """Lends a connection for a block: commits at its end, rolls back when it raises."""
        connection = await self.getconn(timeout)
        try:
            yield connection
            if not connection.closed and connection.wire.last_status() != 0:
                await connection.commit()
        finally:
            # An error, or a cancellation, leaves the transaction open: the reset rolls it back.
            await self.putconn(connection)

    # looking after

    async def wait(self, timeout: float = defaults.POOL_TIMEOUT) -> None:
        """Waits until ``min_size`` connections are there. Raises PoolTimeout with the last connect error."""
        deadline = self._loop.time() + timeout
        while self._core.size < self._core.settings.min_size:
            self._core.check_usable()
            assert self._changed is not None
            try:
                await asyncio.wait_for(self._changed.wait(), max(0.0, deadline - self._loop.time()))
            except (asyncio.TimeoutError, TimeoutError):
                raise self._core.timed_out(timeout) from None

    def resize(self, min_size: int, max_size: int | None = None) -> None:
        """Changes the size."""
        old = self._core.settings
        self._core.settings = Settings(
            min_size, max_size or max(min_size, old.max_size), old.timeout, old.max_lifetime, old.max_idle,
            old.max_waiting, old.reset,
        )  # fmt: skip
        self._grow()

    async def drain(self) -> None:
        """Replaces every connection: the idle ones at once, those in use when they come back."""
        for connection in self._core.drain():
            await connection.close()
        self._grow()

    def stats(self) -> PoolStats:
        """A snapshot of the pool."""
        return self._core.stats()

    @property
    def closed(self) -> bool:
        """True for a pool that is not open."""
        return self._core.closed

    async def close(self, timeout: float = defaults.POOL_CLOSE_TIMEOUT) -> None:
        """Closes the pool: waits up to ``timeout`` seconds for connections in use, then closes them too."""
        if self._core.closed:
            return
        gone, waiters = self._core.close()
        for waiter in waiters:
            if not waiter.done():
                waiter.set_exception(PoolClosed("the pool was closed while the request waited"))
        for task in list(self._tasks):
            task.cancel()
        for connection in gone:
            await connection.close()
        deadline = self._loop.time() + timeout
        while self._core.in_use and (left := deadline - self._loop.time()) > 0:
            assert self._changed is not None
            with contextlib.suppress(asyncio.TimeoutError, TimeoutError):
                await asyncio.wait_for(self._changed.wait(), left)
        for entry in list(self._core.in_use.values()):
            await entry.connection.close()

    async def __aenter__(self) -> AsyncConnectionPool:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
