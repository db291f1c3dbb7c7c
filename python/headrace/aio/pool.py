"""A pool of asyncio connections."""

from __future__ import annotations

import asyncio
import contextlib
import os
import weakref
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, overload

from .. import defaults
from .._shared.arguments import checked_callable, checked_mapping
from .._shared.limits import FOREVER, checked_seconds
from .._shared.modes import ResetMode
from .._shared.pool_checks import IS_OPEN, check_connection, copy_of_error
from .._shared.pool_settings import PoolStats, Settings
from ..errors import PoolClosed, ProgrammingError
from ..types import TransactionStatus
from ._shared.pool_queries import AsyncPoolQueries
from ._shared.pool_work import AsyncPoolConnection, LoopPoolWork, commit, end_dropped

if TYPE_CHECKING:
    # What type checkers alone need: the default of a type variable (PEP 696), and keywords with their types (PEP 692).
    from typing import Generic

    from typing_extensions import Protocol, TypedDict, TypeVar, Unpack

    from ..rows import Row, RowFactory
    from .postgres.connection import AsyncConnection

__all__ = ["AsyncConnectionPool", "AsyncPoolConnection", "PoolStats"]


if TYPE_CHECKING:
    C = TypeVar("C", bound=AsyncPoolConnection, default=AsyncConnection[Any])
    C_co = TypeVar("C_co", bound=AsyncPoolConnection, covariant=True)
    R = TypeVar("R")
    R_contra = TypeVar("R_contra", contravariant=True)

    class Connects(Protocol[R_contra, C_co]):
        """A ``connect`` whose connections return the rows that a row factory makes."""

        def __call__(self, conninfo: str, /, *, row_factory: RowFactory[R_contra]) -> Awaitable[C_co]:
            """Opens a connection."""
            ...

    class PoolOptions(TypedDict, Generic[C], total=False):
        """The other keywords of a pool."""

        kwargs: dict[str, Any] | None
        min_size: int
        max_size: int
        timeout: float
        max_lifetime: float | None
        max_idle: float | None
        max_waiting: int
        reset: ResetMode
        configure: Callable[[C], Awaitable[object]] | None
        check: Callable[[C], Awaitable[object]] | None
        on_checkout: Callable[[C], Awaitable[object]] | None
        reconnect_timeout: float | None
        backoff: float
        backoff_max: float
        name: str
        open: bool
else:
    from typing import TypeVar

    C = TypeVar("C", bound=AsyncPoolConnection)

_IDLE = TransactionStatus.IDLE


class AsyncConnectionPool(AsyncPoolQueries, LoopPoolWork[C]):
    """Lends connections to tasks, the longest waiting first: the asyncio form of :class:`headrace.pool.ConnectionPool`.

    It belongs to the loop on which it is opened: with ``open=True`` if it is created inside one, else at its first use.

    A task may be cancelled at any time: no connection is lost, and the reset of a connection that it returns continues
    in the background.

    Defaults are in :mod:`headrace.defaults`. A pool that was opened before a fork raises PoolClosed in the child.
    Changes that ``configure``, ``check`` and ``on_checkout`` leave uncommitted are committed.

    Args:
        conninfo: passed to ``connect``.
        kwargs: keywords for ``connect``.
        connect: a callable that returns an awaitable :class:`AsyncPoolConnection`; None for
            :func:`headrace.aio.connect`. It is called for every connection to the server, and so is a password
            function.
        row_factory: passed to ``connect``: converts rows, see :mod:`headrace.rows`; None for tuples.
        min_size: connections that are kept open.
        max_size: connections that are opened at most.
        timeout: seconds that a request waits.
        max_lifetime: seconds after which a connection is replaced; checked when it is lent and every few seconds. None
            for no limit.
        max_idle: seconds after which an idle connection is closed, if ``min_size`` does not need it; None for no limit.
        max_waiting: requests that may wait; 0 for any number.
        reconnect_timeout: seconds of failed attempts after which the pool stops connecting until the next request, and
            waiting requests raise PoolTimeout; None for no limit.
        backoff: seconds of the first pause between attempts to connect.
        backoff_max: seconds of the longest pause.
        reset: what is reset when a connection is returned: ``rollback``, ``discard`` or ``none``.
        configure: an asynchronous function, called with each new connection.
        check: an asynchronous function, called with each connection before it is lent; if it raises an exception,
            another connection is tried.
        on_checkout: an asynchronous function, called with each connection before it is lent; its exception is raised by
            :meth:`connection`.
        name: the name in errors and warnings.
        open: open the pool now, and not in :meth:`open` or ``with``.

    Raises:
        ProgrammingError: a setting is not valid.
    """

    @overload
    def __init__(
        self: AsyncConnectionPool[AsyncConnection[Row]],
        conninfo: str = "",
        *,
        connect: None = None,
        row_factory: None = None,
        **options: Unpack[PoolOptions[AsyncConnection[Row]]],
    ) -> None: ...
    @overload
    def __init__(
        self: AsyncConnectionPool[AsyncConnection[R]],
        conninfo: str = "",
        *,
        connect: None = None,
        row_factory: RowFactory[R],
        **options: Unpack[PoolOptions[AsyncConnection[R]]],
    ) -> None: ...
    @overload
    def __init__(
        self,
        conninfo: str = "",
        *,
        connect: Callable[..., Awaitable[C]],
        row_factory: None = None,
        **options: Unpack[PoolOptions[C]],
    ) -> None: ...
    @overload
    def __init__(
        self,
        conninfo: str = "",
        *,
        connect: Connects[R, C],
        row_factory: RowFactory[R],
        **options: Unpack[PoolOptions[C]],
    ) -> None: ...
    def __init__(
        self,
        conninfo: str = "",
        *,
        kwargs: dict[str, Any] | None = None,
        connect: Callable[..., Awaitable[Any]] | None = None,
        row_factory: RowFactory[Any] | None = None,
        min_size: int = defaults.POOL_MIN_SIZE,
        max_size: int = defaults.POOL_MAX_SIZE,
        timeout: float = defaults.POOL_TIMEOUT,
        max_lifetime: float | None = defaults.POOL_MAX_LIFETIME,
        max_idle: float | None = defaults.POOL_MAX_IDLE,
        max_waiting: int = defaults.POOL_MAX_WAITING,
        reset: ResetMode = "rollback",
        configure: Callable[[Any], Awaitable[object]] | None = None,
        check: Callable[[Any], Awaitable[object]] | None = None,
        on_checkout: Callable[[Any], Awaitable[object]] | None = None,
        reconnect_timeout: float | None = defaults.POOL_RECONNECT_TIMEOUT,
        backoff: float = defaults.POOL_BACKOFF_FIRST,
        backoff_max: float = defaults.POOL_BACKOFF_MAX,
        name: str = "headrace-pool",
        open: bool = True,
    ) -> None:
        make: Callable[..., Any] = checked_callable(connect or _connect, "connect")
        for called, what in ((configure, "configure"), (check, "check"), (on_checkout, "on_checkout")):
            checked_callable(called or make, what)
        settings = Settings(
            min_size,
            max_size,
            timeout,
            max_lifetime,
            max_idle,
            max_waiting,
            reset,
            reconnect_timeout,
            backoff,
            backoff_max,
        )
        keywords = {
            **checked_mapping(kwargs, "kwargs"),
            **({} if row_factory is None else {"row_factory": row_factory}),
        }
        super().__init__(name, lambda: make(conninfo, **keywords), configure, settings)
        self._check = check
        self._on_checkout = on_checkout
        self._hooked = check is not None or on_checkout is not None
        self._lazy = open
        if open:
            with contextlib.suppress(RuntimeError):  # no loop yet
                self._open(asyncio.get_running_loop())

    # opening

    async def open(self) -> None:
        """Opens the pool. Connections are opened in the background. Does nothing if it is open.

        Raises:
            PoolClosed: it was opened before a fork, of which this process is the child.
        """
        if self._core.closed:
            self._open(asyncio.get_running_loop())

    def _open(self, loop: asyncio.AbstractEventLoop) -> None:
        self._loop = loop
        self._pid = os.getpid()
        self._lazy = False
        self._core.open(loop.time())
        # Nothing that survives a call may hold the pool: a loop would keep it, and its connections, for ever.
        self._dropped = weakref.finalize(self, end_dropped, self._core.idle, loop, self._pid, repr(self.name))
        self._dropped.atexit = False
        self._settle()

    def _here(self) -> asyncio.AbstractEventLoop:
        """The loop, if this is the pool's. Opens a pool that waits for its first use."""
        loop = asyncio.get_running_loop()
        if self._lazy:
            self._open(loop)
        if self._pid != os.getpid():
            raise PoolClosed("the pool was opened before a fork; every process needs a pool of its own")
        if self._loop is not loop:
            if self._loop is None:
                raise PoolClosed("the pool is not open: call open(), or use it as a context manager")
            closed = ", which is closed" if self._loop.is_closed() else ""
            raise ProgrammingError(
                f"the pool belongs to another event loop{closed}: it can be used only on the loop that it was opened "
                "on (each asyncio.run() makes a loop of its own)"
            )
        return loop

    # lending

    async def getconn(self, timeout: float | None = None) -> C:
        """Lends a connection, which :meth:`putconn` returns. Safe for threads or tasks.

        Args:
            timeout: seconds to wait; None for the pool's ``timeout``.

        Returns:
            A connection.

        Raises:
            PoolTimeout: no connection within ``timeout`` seconds; the message has the last error of connecting.
            PoolClosed: the pool is closed.
            TooManyRequests: ``max_waiting`` requests wait already.
            Error: the error of connecting, at once, if the pool never had a connection and waiting does not help (a
                wrong keyword, password, database or host).
        """
        if timeout is not None:
            timeout = checked_seconds(timeout)
        if self._hooked:
            return await self._getconn_hooked(timeout)
        return await self._getconn(timeout)

    async def _getconn(self, timeout: float | None, said: float | None = None) -> C:
        core = self._core
        loop = self._here()
        now = loop.time()
        connection = core.checkout(now)
        if connection is not None:
            if core.actions:
                self._settle()
            return connection
        waiter: asyncio.Future[C] = loop.create_future()
        core.enqueue(waiter, now)
        self._settle()
        limit = core.settings.timeout if timeout is None else timeout
        timer = (
            loop.call_at(now + limit, self._expire, waiter, limit if said is None else said)
            if limit < FOREVER
            else None
        )
        try:
            return await waiter
        except BaseException:
            now = loop.time()
            if not core.cancel(waiter, now) and waiter.done() and not waiter.cancelled() and not waiter.exception():
                # It was lent just as the task was cancelled.
                core.refuse(waiter.result(), now)
            self._settle()
            raise
        finally:
            if timer is not None:
                timer.cancel()

    def _expire(self, waiter: asyncio.Future[C], limit: float) -> None:
        assert self._loop is not None
        if not waiter.done():
            error = self._core.expire(waiter, self._loop.time(), limit)
            if error is not None:
                waiter.set_exception(error)

    async def _getconn_hooked(self, timeout: float | None) -> C:
        loop = self._here()
        limit = self._core.settings.timeout if timeout is None else timeout
        deadline = loop.time() + limit
        while True:
            connection = await self._getconn(max(0.0, deadline - loop.time()), limit)
            try:
                if self._check is not None:
                    await self._check(connection)
                    await commit(connection)
            except Exception as error:
                self._discard(connection, error)
                if loop.time() >= deadline:
                    raise self._core.timed_out(limit, error) from error
                continue
            except BaseException:
                self._give_back(connection, "rollback")
                raise
            try:
                if self._on_checkout is not None:
                    await self._on_checkout(connection)
                    await commit(connection)
            except Exception as error:
                self._discard(connection, error)
                raise
            except BaseException:
                self._give_back(connection, "rollback")
                raise
            return connection

    def _discard(self, connection: C, error: BaseException) -> None:
        assert self._loop is not None
        self._core.discard(connection, error, self._loop.time())
        self._settle()

    async def putconn(self, connection: C) -> None:
        """Takes a connection back: resets it, or closes it if its state is unknown.

        Args:
            connection: one that this pool has lent.

        Raises:
            ProgrammingError: this pool has not lent it, or it was returned already.
        """
        self._here()
        check_connection(connection)
        reset = self._give_back(connection, "none")
        if reset is not None:
            await asyncio.wait((reset,))

    def _give_back(self, connection: C, at_least: ResetMode) -> asyncio.Task[bool] | None:
        """Takes a connection back without waiting for anything; returns the task that resets it, if it needs that."""
        core, loop = self._core, self._loop
        assert loop is not None
        mode = core.checkin(connection, connection.transaction_status, loop.time(), at_least)
        if core.actions or self._watchers:
            self._settle()
        if mode is None:
            return None
        whole = core.to_reset(connection)
        task: asyncio.Task[bool] = self._spawn(self._reset(whole, mode))
        self._resets[id(whole)] = task

        def over(task: asyncio.Task[bool]) -> None:
            self._resets.pop(id(whole), None)
            fit = None if task.cancelled() else task.exception() is None and task.result()
            core.reset_done(connection, fit, loop.time())
            self._settle()

        task.add_done_callback(over)
        return task

    def connection(self, timeout: float | None = None) -> AbstractAsyncContextManager[C]:
        """Opens a block with a connection: commits at its end, and rolls back when it raises an exception.

        Args:
            timeout: seconds to wait; None for the pool's ``timeout``.

        Returns:
            A context manager; its value is the connection.

        Raises:
            PoolTimeout: no connection within ``timeout`` seconds; the message has the last error of connecting.
            PoolClosed: the pool is closed.
            TooManyRequests: ``max_waiting`` requests wait already.
            Error: the error of connecting, at once, if the pool never had a connection and waiting does not help (a
                wrong keyword, password, database or host).
        """
        return _Lease(self, timeout)

    # looking after

    async def wait(self, timeout: float = defaults.POOL_TIMEOUT) -> None:
        """Waits until ``min_size`` connections are open.

        Args:
            timeout: seconds to wait.

        Raises:
            PoolTimeout: they were not open in time; the message has the last error of connecting.
            PoolClosed: the pool is closed.
            Error: the error of connecting, as for :meth:`getconn`.
        """
        core = self._core
        loop = self._here()
        deadline = loop.time() + checked_seconds(timeout)
        core.encourage(loop.time())
        self._settle()
        while not core.full:
            if core.closed:
                raise PoolClosed("the pool is not open")
            if core.mistake is not None:
                raise copy_of_error(core.mistake)
            if not await self._watch(deadline):
                raise core.timed_out(timeout)

    async def _watch(self, deadline: float) -> bool:
        """Waits until something has changed. False if it is too late."""
        assert self._loop is not None
        left = deadline - self._loop.time()
        if left <= 0:
            return False
        watcher: asyncio.Future[None] = self._loop.create_future()
        self._watchers.append(watcher)
        await asyncio.wait((watcher,), timeout=left if left < FOREVER else None)
        return True

    def resize(self, min_size: int, max_size: int | None = None) -> None:
        """Changes the number of connections. Those that are too many are closed when they are not in use.

        Args:
            min_size: connections that are kept open, at least 0.
            max_size: connections at most; None to keep it, or to raise it to ``min_size``.

        Raises:
            ProgrammingError: the numbers are not valid.
        """
        loop = self._here()
        self._core.resize(self._core.settings.resized(min_size, max_size), loop.time())
        self._settle()

    async def drain(self) -> None:
        """Replaces every connection, for example after a failover: idle ones at once, others when they are returned."""
        loop = self._here()
        self._core.drain(loop.time())
        self._settle()

    def stats(self) -> PoolStats:
        """Returns a snapshot of the pool.

        Returns:
            Counts of connections and requests.
        """
        return self._core.stats()

    @property
    def closed(self) -> bool:
        """True if the pool is not open."""
        return self._core.closed

    async def close(self, timeout: float = defaults.POOL_CLOSE_TIMEOUT) -> None:
        """Closes the pool. Waiting requests raise PoolClosed.

        It raises no error but ProgrammingError, on another event loop than the pool's. In the child of a fork it does
        nothing: the sockets belong to the parent.

        Args:
            timeout: seconds for lent connections to be returned; then they are closed, too.
        """
        self._lazy = False
        if self._core.closed or self._pid != os.getpid():
            return
        loop = self._here()
        deadline = loop.time() + checked_seconds(timeout)
        if self._dropped is not None:
            self._dropped.detach()
        self._core.close(loop.time())
        self._settle()
        for task in list(self._connecting):
            task.cancel()
        try:
            while self._core.in_use and await self._watch(deadline):
                pass
        finally:
            self._core.sever()
            self._settle()
        # What ends meanwhile, for example an attempt to connect, can begin to close a connection.
        last = max(loop.time() + defaults.POOL_SEVER_TIMEOUT, deadline)
        while self._tasks and (left := last - loop.time()) > 0:
            await asyncio.wait(self._tasks, timeout=left)

    async def __aenter__(self) -> AsyncConnectionPool[C]:
        await self.open()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        s = self._core.stats()
        state = "closed" if self.closed else f"{s.in_use} of {s.size} in use, at most {s.max_size}, {s.waiting} waiting"
        return f"<{type(self).__module__}.{type(self).__name__} {self.name!r} [{state}]>"


class _Lease(AbstractAsyncContextManager[C]):
    """The context manager of ``connection()``."""

    __slots__ = ("_connection", "_is_open", "_pool", "_timeout")

    def __init__(self, pool: AsyncConnectionPool[C], timeout: float | None) -> None:
        self._pool = pool
        self._timeout = timeout
        self._is_open = False

    async def __aenter__(self) -> C:
        if self._is_open:
            # Two tasks with one block: the end of the first would commit and return what the second works with.
            raise ProgrammingError(IS_OPEN)
        self._is_open = True
        try:
            self._connection = connection = await self._pool.getconn(self._timeout)
        except BaseException:
            self._is_open = False
            raise
        return connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None, /
    ) -> None:
        pool, connection = self._pool, self._connection
        del self._connection
        self._is_open = False
        at_least: ResetMode = "none" if kind is None else "rollback"
        if kind is None and connection.transaction_status != _IDLE:
            try:
                pool._core.check_severed(connection)
                if connection.lost or not connection.closed:
                    await connection.commit()
            except BaseException:
                pool._give_back(connection, "rollback")
                raise
        reset = pool._give_back(connection, at_least)
        # A task that is being cancelled is not held up: the reset goes on without it, within its own limit.
        if reset is not None and (kind is None or issubclass(kind, Exception)):
            await asyncio.wait((reset,))


async def _connect(conninfo: str, **kwargs: Any) -> Any:
    from . import connect

    return await connect(conninfo, **kwargs)
