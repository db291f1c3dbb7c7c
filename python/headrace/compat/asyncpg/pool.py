"""Pools with asyncpg's methods."""

from __future__ import annotations

import asyncio
import warnings
from collections.abc import Awaitable, Callable, Generator, Iterable
from types import TracebackType
from typing import Any, Final

from ...aio._shared.within import taken_within
from . import exceptions
from .connection import Connection, connect
from .exceptions import InterfaceError
from .lease import PoolConnectionHolder, PoolConnectionProxy
from .record import Record

Hook = Callable[[Any], Awaitable[Any]]
CLOSE_WARNING_SECONDS: Final = 60
"""After so long a close that waits for borrowers logs a warning."""


FIRST_PAUSE_SECONDS: Final = 0.1
"""After an attempt to open a connection that has failed; twice as long after the next."""
LAST_PAUSE_SECONDS: Final = 10.0


class _Idle(asyncio.LifoQueue[PoolConnectionHolder]):
    """The places that nobody uses: the one that was used last comes first, and those without a connection last."""

    def _init(self, maxsize: int) -> None:
        self._queue: list[PoolConnectionHolder] = []

    def _get(self) -> PoolConnectionHolder:
        places = self._queue
        found = next((n for n in range(len(places) - 1, -1, -1) if places[n].is_connected()), -1)
        return places.pop(found)


class PoolAcquireContext:
    """What ``acquire()`` returns: awaited a connection, or a block in which there is one."""

    __slots__ = ("_connection", "_done", "_pool", "_timeout")

    def __init__(self, pool: Pool, timeout: float | None) -> None:
        self._pool = pool
        self._timeout = timeout
        self._connection: Any = None
        self._done = False

    async def __aenter__(self) -> Any:
        if self._connection is not None or self._done:
            raise InterfaceError("a connection is already acquired")
        self._connection = await self._pool._acquire(self._timeout)
        return self._connection

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._done = True
        connection, self._connection = self._connection, None
        await self._pool.release(connection)

    def __await__(self) -> Generator[Any, None, Any]:
        self._done = True
        return self._pool._acquire(self._timeout).__await__()


class Pool:
    """Connections that are lent. :func:`create_pool` makes it; it is ready once it was awaited or its block entered."""

    def __init__(
        self,
        *connect_args: Any,
        init_size: int | None = None,
        min_size: int,
        max_size: int,
        max_queries: int,
        max_inactive_connection_lifetime: float,
        connect: Callable[..., Awaitable[Any]] | None = None,
        setup: Hook | None = None,
        init: Hook | None = None,
        reset: Hook | None = None,
        loop: asyncio.AbstractEventLoop | None = None,
        connection_class: Any = Connection,
        record_class: Any = Record,
        **connect_kwargs: Any,
    ) -> None:
        initial = min_size if init_size is None else init_size
        _check_sizes(initial, min_size, max_size, max_queries, max_inactive_connection_lifetime)
        if not (isinstance(connection_class, type) and issubclass(connection_class, Connection)):
            raise TypeError(
                f"connection_class is expected to be a subclass of asyncpg.Connection, got {connection_class!r}"
            )
        if not (isinstance(record_class, type) and issubclass(record_class, Record)):
            raise TypeError(f"record_class is expected to be a subclass of asyncpg.Record, got {record_class!r}")
        self._minsize = min_size
        self._maxsize = max_size
        self._initsize = initial
        self._max_queries = max_queries
        self._max_inactive_connection_lifetime = max_inactive_connection_lifetime
        self._connect = connect
        self._setup = setup
        self._init = init
        self._reset = reset
        self._connection_class: Any = connection_class
        self._record_class: Any = record_class
        self._connect_args = connect_args
        self._connect_kwargs = connect_kwargs
        self._loop: Any = loop
        self._holders: list[PoolConnectionHolder] = []
        self._queue = _Idle()
        self._generation = 0
        self._initialized = self._initializing = False
        self._closing = self._closed = False
        self._tasks: set[asyncio.Task[Any]] = set()
        self._maintenance_task: asyncio.Task[None] | None = None

    # opening

    async def _async__init__(self) -> Pool:
        if self._initialized:
            return self
        if self._initializing:
            raise InterfaceError("pool is being initialized in another task")
        if self._closed:
            raise InterfaceError("pool is closed")
        self._initializing = True
        self._loop = asyncio.get_running_loop()
        try:
            self._holders = [PoolConnectionHolder(self) for _ in range(self._maxsize)]
            # The queue lends what was put there last.
            for holder in reversed(self._holders):
                self._queue.put_nowait(holder)
            first = self._holders[: self._initsize]
            if first:
                # If one fails the others are not begun.
                await first[0].connect()
                await asyncio.gather(*(holder.connect() for holder in first[1:]))
                for holder in first:
                    holder._start_timer()
            self._initialized = True
        finally:
            self._initializing = False
        return self

    def __await__(self) -> Generator[Any, None, Pool]:
        return self._async__init__().__await__()

    async def __aenter__(self) -> Pool:
        return await self._async__init__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _new_connection(self) -> Any:
        keywords = {"connection_class": self._connection_class, "record_class": self._record_class}
        opening = self._connect or connect
        con = await opening(*self._connect_args, loop=self._loop, **{**keywords, **self._connect_kwargs})
        if not isinstance(con, self._connection_class):
            good: Any = self._connection_class
            made: Any = type(con)  # pyright: ignore[reportUnknownVariableType]
            raise InterfaceError(
                "expected pool connect callback to return an instance of "
                f"'{good.__module__}.{good.__name__}', got '{made.__module__}.{made.__name__}'"
            )
        if self._init is not None:
            try:
                await self._init(con)
            except BaseException as error:
                if isinstance(error, Exception):
                    con.terminate()
                else:
                    await con.close()
                raise
        return con

    def _start(self, work: Any) -> None:
        """Runs a coroutine beside."""
        task = self._loop.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _check_init(self) -> None:
        if not self._initialized:
            if self._initializing:
                raise InterfaceError(
                    "pool is being initialized, but not yet ready: likely there is a race between creating a pool and "
                    "using it"
                )
            raise InterfaceError("pool is not initialized")
        if self._closed:
            raise InterfaceError("pool is closed")

    # the connections that it keeps

    def _has_enough(self) -> bool:
        """Returns true if it has as many connections as it keeps."""
        return self.get_size() >= self._minsize

    def _keep_size(self) -> None:
        """Opens connections in place of those that were lost, beside."""
        if self._maintenance_task is None and self._initialized and not self.is_closing() and not self._has_enough():
            self._maintenance_task = self._loop.create_task(self._maintain_min_size())

    async def _maintain_min_size(self) -> None:
        pause = FIRST_PAUSE_SECONDS
        try:
            while not self.is_closing() and not self._has_enough():
                holder = next((each for each in self._holders if each.is_idle() and not each.is_connected()), None)
                if holder is None:
                    return
                try:
                    await holder.ensure_connected()
                    if not holder.is_connected():
                        raise exceptions.InternalClientError("it was closed before anybody could use it")
                    pause = FIRST_PAUSE_SECONDS
                except Exception as error:
                    # Imported here, since most programs never need it.
                    import logging

                    logging.getLogger("asyncpg.pool").warning("a connection of the pool cannot be opened: %s", error)
                    await asyncio.sleep(pause)
                    pause = min(2 * pause, LAST_PAUSE_SECONDS)
        finally:
            self._maintenance_task = None

    def _stop_maintenance(self) -> None:
        if self._maintenance_task is not None:
            self._maintenance_task.cancel()

    # what it is

    def is_closing(self) -> bool:
        """Returns true if it is closed, or being closed."""
        return self._closed or self._closing

    def get_size(self) -> int:
        """Returns the number of connections."""
        return sum(holder.is_connected() for holder in self._holders)

    def get_init_size(self) -> int:
        """Returns the number of connections that it opens at the start."""
        return self._initsize

    def get_min_size(self) -> int:
        """Returns the number of connections that it keeps open."""
        return self._minsize

    def get_max_size(self) -> int:
        """Returns the number of connections that it has at most."""
        return self._maxsize

    def get_idle_size(self) -> int:
        """Returns the number of connections that nobody has borrowed."""
        return sum(holder.is_connected() and holder.is_idle() for holder in self._holders)

    def set_connect_args(self, dsn: str | None = None, **connect_kwargs: Any) -> None:
        """Sets what new connections are opened with."""
        self._connect_args = (dsn,)
        self._connect_kwargs = connect_kwargs

    # lending

    def acquire(self, *, timeout: float | None = None) -> PoolAcquireContext:
        """Borrows a connection: ``await pool.acquire()``, or ``async with pool.acquire() as connection``.

        Args:
            timeout: seconds until a connection is there; None for no limit.
        """
        return PoolAcquireContext(self, timeout)

    async def _acquire(self, timeout: float | None) -> PoolConnectionProxy:
        self._check_init()
        if self._closing:
            raise InterfaceError("pool is closing")

        async def lent() -> PoolConnectionProxy:
            holder = await self._queue.get()
            proxy = await holder.acquire()
            holder._timeout = timeout
            return proxy

        def give_back(proxy: PoolConnectionProxy) -> None:
            if proxy._holder._proxy is proxy:
                proxy._holder._free()

        return await taken_within(timeout, lent(), give_back)

    def _put(self, holder: PoolConnectionHolder) -> None:
        self._queue.put_nowait(holder)

    async def release(self, connection: Any, *, timeout: float | None = None) -> None:
        """Gives a connection back.

        Args:
            connection: what :meth:`acquire` has returned.
            timeout: seconds for the reset; None for those of ``acquire``.
        """
        if not isinstance(connection, PoolConnectionProxy) or connection._holder._pool is not self:
            raise InterfaceError(
                f"Pool.release() received invalid connection: {connection!r} is not a member of this pool"
            )
        if connection._con is None:
            # It was given back before.
            return
        holder = connection._holder
        # A task that is cancelled gives it back all the same.
        await asyncio.shield(holder.release(connection, holder._timeout if timeout is None else timeout))

    # in one

    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> str:
        """Executes a statement on one of its connections: see :meth:`Connection.execute`."""
        async with self.acquire() as con:
            return await con.execute(query, *args, timeout=timeout)  # type: ignore[no-any-return]

    async def executemany(self, command: str, args: Iterable[Any], *, timeout: float | None = None) -> None:
        """Executes a statement for every row of arguments: see :meth:`Connection.executemany`."""
        async with self.acquire() as con:
            await con.executemany(command, args, timeout=timeout)

    async def fetch(
        self, query: str, *args: Any, timeout: float | None = None, record_class: type[Record] | None = None
    ) -> list[Any]:
        """Returns the rows of a query: see :meth:`Connection.fetch`."""
        async with self.acquire() as con:
            found: list[Any] = await con.fetch(query, *args, timeout=timeout, record_class=record_class)
            return found

    async def fetchval(self, query: str, *args: Any, column: int = 0, timeout: float | None = None) -> Any:
        """Returns a value of the first row of a query: see :meth:`Connection.fetchval`."""
        async with self.acquire() as con:
            return await con.fetchval(query, *args, column=column, timeout=timeout)

    async def fetchrow(
        self, query: str, *args: Any, timeout: float | None = None, record_class: type[Record] | None = None
    ) -> Any:
        """Returns the first row of a query: see :meth:`Connection.fetchrow`."""
        async with self.acquire() as con:
            return await con.fetchrow(query, *args, timeout=timeout, record_class=record_class)

    async def fetchmany(
        self,
        query: str,
        args: Iterable[Any],
        *,
        timeout: float | None = None,
        record_class: type[Record] | None = None,
    ) -> list[Any]:
        """Returns the rows of a query for every row of arguments: see :meth:`Connection.fetchmany`."""
        async with self.acquire() as con:
            found: list[Any] = await con.fetchmany(query, args, timeout=timeout, record_class=record_class)
            return found

    async def copy_from_table(self, table_name: str, **keywords: Any) -> str:
        """Copies a table out: see :meth:`Connection.copy_from_table`."""
        async with self.acquire() as con:
            return await con.copy_from_table(table_name, **keywords)  # type: ignore[no-any-return]

    async def copy_from_query(self, query: str, *args: Any, **keywords: Any) -> str:
        """Copies the rows of a query out: see :meth:`Connection.copy_from_query`."""
        async with self.acquire() as con:
            return await con.copy_from_query(query, *args, **keywords)  # type: ignore[no-any-return]

    async def copy_to_table(self, table_name: str, **keywords: Any) -> str:
        """Copies a file into a table: see :meth:`Connection.copy_to_table`."""
        async with self.acquire() as con:
            return await con.copy_to_table(table_name, **keywords)  # type: ignore[no-any-return]

    async def copy_records_to_table(self, table_name: str, **keywords: Any) -> str:
        """Copies rows into a table: see :meth:`Connection.copy_records_to_table`."""
        async with self.acquire() as con:
            return await con.copy_records_to_table(table_name, **keywords)  # type: ignore[no-any-return]

    # the end

    async def close(self) -> None:
        """Waits until every connection was given back, and closes them."""
        if self._closed:
            return
        self._check_init()
        self._closing = True
        self._stop_maintenance()
        try:
            warning = self._loop.call_later(CLOSE_WARNING_SECONDS, self._still_closing)
            try:
                await asyncio.gather(*(holder.wait_until_released() for holder in self._holders))
            finally:
                warning.cancel()
            await asyncio.gather(*(holder.close() for holder in self._holders))
        except (Exception, asyncio.CancelledError):
            self.terminate()
            raise
        finally:
            self._closed = True
            self._closing = False

    def _still_closing(self) -> None:
        warnings.warn(
            f"Pool.close() is taking over {CLOSE_WARNING_SECONDS} seconds to complete. Check if you have any "
            "unreleased connections left. Use asyncio.wait_for() to set a timeout for Pool.close().",
            exceptions.InterfaceWarning,
            stacklevel=2,
        )

    def terminate(self) -> None:
        """Closes every connection at once."""
        if self._closed:
            return
        self._closed = True
        self._stop_maintenance()
        for holder in self._holders:
            holder.terminate()

    async def expire_connections(self) -> None:
        """Has every connection closed when it is used next, or given back."""
        self._check_init()
        self._generation += 1


def _check_sizes(init_size: int, min_size: int, max_size: int, max_queries: int, lifetime: float) -> None:
    if max_size <= 0:
        raise ValueError("max_size is expected to be greater than zero")
    if min_size < 0:
        raise ValueError("min_size is expected to be greater or equal to zero")
    if min_size > max_size:
        raise ValueError("min_size is greater than max_size")
    if init_size < 0:
        raise ValueError("init_size is expected to be greater or equal to zero")
    if init_size < min_size:
        raise ValueError("init_size is smaller than min_size")
    if init_size > max_size:
        raise ValueError("init_size is greater than max_size")
    if max_queries <= 0:
        raise ValueError("max_queries is expected to be greater than zero")
    if lifetime < 0:
        raise ValueError("max_inactive_connection_lifetime is expected to be greater or equal to zero")


def create_pool(
    dsn: str | None = None,
    *,
    init_size: int | None = None,
    min_size: int = 10,
    max_size: int = 10,
    max_queries: int = 50_000,
    max_inactive_connection_lifetime: float = 300.0,
    connect: Callable[..., Awaitable[Any]] | None = None,
    setup: Hook | None = None,
    init: Hook | None = None,
    reset: Hook | None = None,
    loop: asyncio.AbstractEventLoop | None = None,
    connection_class: Any = Connection,
    record_class: Any = Record,
    **connect_kwargs: Any,
) -> Pool:
    """Returns a pool, which is opened by ``await`` or as a block.

    Args:
        dsn: see :func:`connect`, as are all other keywords.
        init_size: connections that are opened at the start; None for ``min_size``.
        min_size: connections that are kept open; one that is lost is replaced.
        max_size: connections at most.
        max_queries: uses of a connection, after which it is replaced.
        max_inactive_connection_lifetime: seconds after which a connection is closed that nobody uses, unless it is one
            of ``min_size``; 0 for never.
        connect: a coroutine function that opens connections, in place of :func:`connect`.
        setup: a coroutine function that is called with a connection whenever it is lent.
        init: a coroutine function that is called with each new connection.
        reset: a coroutine function that is called with a connection that was given back, in place of ``reset()``.
        loop: ignored: the running loop is used.
        connection_class: Connection, or a subclass.
        record_class: Record, or a subclass.
        connect_kwargs: the keywords of :func:`connect`.
    """
    return Pool(
        dsn,
        init_size=init_size,
        min_size=min_size,
        max_size=max_size,
        max_queries=max_queries,
        max_inactive_connection_lifetime=max_inactive_connection_lifetime,
        connect=connect,
        setup=setup,
        init=init,
        reset=reset,
        loop=loop,
        connection_class=connection_class,
        record_class=record_class,
        **connect_kwargs,
    )
