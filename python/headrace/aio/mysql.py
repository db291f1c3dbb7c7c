"""MySQL and MariaDB on asyncio: same names as :mod:`headrace.mysql`, awaited."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from typing import Any, TypeVar

from .. import defaults, errors
from .._cursor_base import Params
from .._mysql.core import MySqlCore, checked_fetch_size, row_maker
from .._mysql.settings import ConnectOptions, connect_options
from .._native import PgResult, Wire
from .._opening import no_connection
from ..errors import InterfaceError
from ..rows import RowFactory, tuple_row
from ._connection import LoopConnection
from ._cursor import LoopCursor
from ._opening import any_password, open_wire, resolve

R = TypeVar("R")
T = TypeVar("T")


class AsyncCursor(LoopCursor[R]):
    """The twin of :class:`headrace.mysql.Cursor`."""

    @property
    def connection(self) -> AsyncConnection[Any]:
        """The connection it belongs to."""
        return self._connection  # type: ignore[no-any-return]

    @property
    def warning_count(self) -> int:
        """How many warnings SHOW WARNINGS would list of the last statement."""
        return 0 if self._result is None else self._result.warnings


class AsyncConnection(LoopConnection[R]):
    """The twin of :class:`headrace.mysql.Connection`."""

    _core: MySqlCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def _cursor(self, factory: RowFactory[T]) -> AsyncCursor[T]:
        return AsyncCursor(self, factory)

    def cursor(self, *, row_factory: RowFactory[Any] | None = None) -> AsyncCursor[Any]:
        """A new cursor."""
        if self._core.wire.closed:
            raise InterfaceError("the connection is closed")
        return AsyncCursor(self, row_factory or self.row_factory)

    async def execute(self, sql: str, params: Params = None, *, timeout: float | None = None) -> AsyncCursor[R]:
        """Executes one statement on a new cursor, and gives the cursor."""
        return await AsyncCursor(self, self.row_factory).execute(sql, params, timeout=timeout)

    async def executemany(self, sql: str, rows: Iterable[Any], *, returning: bool = False) -> AsyncCursor[R]:
        """Executes a batch on a new cursor, all rows or none, and gives the cursor."""
        return await AsyncCursor(self, self.row_factory).executemany(sql, rows, returning=returning)

    async def executescript(self, sql: str) -> AsyncCursor[R]:
        """Executes text as it is: see :meth:`headrace.mysql.Connection.executescript`."""
        cursor = AsyncCursor(self, self.row_factory)
        await self._script(cursor, sql)
        return cursor

    async def fetchmany(self, sql: str, rows: Iterable[Any]) -> list[R]:
        """The rows of a query for every row of parameters, one after the other in one list; pipelined."""
        cursor = AsyncCursor(self, self.row_factory)
        cursor._take(await self._wait(self._core.submit_flat(sql, rows), None))
        return cursor._all()

    async def stream(
        self, sql: str, params: Params = None, *, fetch_size: int = defaults.FETCH_SIZE
    ) -> AsyncIterator[R]:
        """The rows of a query one by one: see :meth:`headrace.mysql.Connection.stream`."""
        async with contextlib.aclosing(self.stream_blocks(sql, params, fetch_size=fetch_size)) as blocks:
            async for block in blocks:
                for row in block:
                    yield row

    async def stream_blocks(
        self, sql: str, params: Params = None, *, fetch_size: int = defaults.FETCH_SIZE
    ) -> AsyncGenerator[list[R]]:
        """The rows of a query in lists: see :meth:`headrace.mysql.Connection.stream_blocks`."""
        wire = self._core.wire
        first = wire.my_execute(sql, params, cursor=checked_fetch_size(fetch_size))
        number: Any = wire.my_request_id(first)
        result: PgResult = await self._wait(first, None)
        make = row_maker(result, self.row_factory)
        ahead: Any = None
        try:
            while True:
                ahead = wire.my_fetch(number, fetch_size) if result.suspended else None
                rows: Any = result.rows
                if rows:
                    yield rows if make is None else list(map(make, rows))
                del rows
                if ahead is None:
                    return
                result = await self._wait(ahead, None)
        finally:
            if ahead is not None and not wire.closed:
                if not ahead.done():
                    wire.discard(ahead)
                await asyncio.shield(wire.my_close_cursor(number))

    async def ping(self) -> None:
        """A round trip that does nothing else (COM_PING). Raises OperationalError when the server is gone."""
        await self._wait(self._core.round_trip(), None)

    @property
    def isolation_level(self) -> str | None:
        """Isolation level of transactions to come; ``None`` is the server's default."""
        return self._core.isolation_level

    async def set_isolation_level(self, value: str | None) -> None:
        """Changes the isolation level; only between transactions."""
        await self._run(self._core.set_isolation_level(value))

    @property
    def read_only(self) -> bool | None:
        """Whether transactions to come are read-only; ``None`` is the server's default."""
        return self._core.read_only

    async def set_read_only(self, value: bool | None) -> None:
        """Changes it; only between transactions."""
        await self._run(self._core.set_read_only(value))

    @property
    def server_version(self) -> str:
        """The server's version, as it words it."""
        return str(self._core.wire.my_session()["server_version"])

    @property
    def thread_id(self) -> int:
        """The connection's number, which KILL takes."""
        return self._core.thread_id

    async def _send_cancel(self) -> None:
        core = self._core
        wire = Wire(core.wire_options, asyncio.get_running_loop())
        await open_wire(wire, core.wire_options, defaults.CANCEL_TIMEOUT)
        try:
            await wire.my_query(f"KILL QUERY {core.thread_id}")
        finally:
            wire.close()


async def connect(
    conninfo: str = "",
    /,
    *,
    autocommit: bool = False,
    row_factory: RowFactory[Any] | None = None,
    **keywords: Any,
) -> AsyncConnection[Any]:
    """Connects to MySQL or MariaDB on the running loop: see :func:`headrace.mysql.connect`. A password callable may be
    asynchronous."""
    started = time.perf_counter_ns()
    core = await _connect(connect_options(conninfo, keywords))
    connection = AsyncConnection(core, row_factory or tuple_row)
    try:
        await connection._run(core.start(autocommit))
    except BaseException:
        core.wire.close()
        raise
    if core.timing:
        core.wire.count(0, time.perf_counter_ns() - started)
    return connection


async def _connect(options: ConnectOptions) -> MySqlCore:
    failures: list[errors.Error] = []
    for host, port in options.hosts or ((None, 0),):
        found: list[tuple[str, int] | None] = [None]
        if host is not None:
            try:
                found = [*await resolve(host, port)]
            except errors.Error as error:
                failures.append(error)
                continue
        for address in found:
            password = await any_password(options.password)
            wire_options = options.wire_options(address, host or "localhost", password)
            wire = Wire(wire_options, asyncio.get_running_loop())
            try:
                await open_wire(wire, wire_options, options.timeout)
            except errors.Error as error:
                failures.append(error)
            else:
                return MySqlCore(wire, options, wire_options)
    raise no_connection(failures)
