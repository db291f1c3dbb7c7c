"""Informix on asyncio: same names as :mod:`headrace.informix`, awaited."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterable
from typing import Any, TypeVar

from .. import errors
from .._cursor_base import Params
from .._informix.connection import no_interrupt
from .._informix.core import InformixCore
from .._informix.opening import Resolve, attempts
from .._informix.settings import ConnectOptions, connect_options
from .._native import Wire
from ..errors import InterfaceError
from ..rows import RowFactory, tuple_row
from ._connection import LoopConnection
from ._cursor import LoopCursor
from ._opening import open_wire, resolve

R = TypeVar("R")
T = TypeVar("T")


class AsyncCursor(LoopCursor[R]):
    """The twin of :class:`headrace.informix.Cursor`."""

    @property
    def connection(self) -> AsyncConnection[Any]:
        """The connection it belongs to."""
        return self._connection  # type: ignore[no-any-return]


class AsyncConnection(LoopConnection[R]):
    """The twin of :class:`headrace.informix.Connection`."""

    _core: InformixCore  # pyright: ignore[reportIncompatibleVariableOverride]

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

    async def executemany(self, sql: str, rows: Iterable[Any]) -> AsyncCursor[R]:
        """Executes a batch on a new cursor, all rows or none, and gives the cursor."""
        return await AsyncCursor(self, self.row_factory).executemany(sql, rows)

    async def fetchmany(self, sql: str, rows: Iterable[Any]) -> list[R]:
        """The rows of a query for every row of parameters, one after the other in one list; pipelined."""
        cursor, out = AsyncCursor(self, self.row_factory), list[R]()
        for future in [self._core.submit(sql, row) for row in rows]:
            cursor._take(await self._wait(future, None))
            out += cursor._all()
        return out

    async def ping(self) -> None:
        """A round trip that does nothing else (SQ_VERSION). Raises OperationalError when the server is gone."""
        await self._wait(self._core.round_trip(), None)

    @property
    def server_version(self) -> str:
        """The server's banner."""
        return self._core.wire.sqli_session()[0]

    @property
    def encoding(self) -> str:
        """The code set of the database, in which text travels."""
        return self._core.wire.sqli_session()[2]

    @property
    def logging(self) -> str:
        """How the database treats transactions: ``none``, ``logged`` or ``ansi``."""
        return self._core.wire.sqli_session()[3]

    async def _send_cancel(self) -> None:
        if not self._core.send_urgent():
            raise no_interrupt()


async def connect(
    conninfo: str = "",
    /,
    *,
    autocommit: bool = False,
    row_factory: RowFactory[Any] | None = None,
    **keywords: Any,
) -> AsyncConnection[Any]:
    """Connects to Informix on the running loop: see :func:`headrace.informix.connect`."""
    started = time.perf_counter_ns()
    options = connect_options(conninfo, keywords)
    wire, transport = await _connect(options)
    core = InformixCore(wire, options)
    core.autocommit = autocommit
    if options.sslmode == "disable":
        core.socket = transport.get_extra_info("socket").fileno()
    if core.timing:
        wire.count(0, time.perf_counter_ns() - started)
    return AsyncConnection(core, row_factory or tuple_row)


async def _connect(options: ConnectOptions) -> tuple[Wire, asyncio.BaseTransport]:
    deadline = None if options.connect_timeout is None else time.monotonic() + options.connect_timeout
    plan = attempts(options)
    answer: Any = None
    transport: Any = None
    try:
        while True:
            step = plan.send(answer)
            if isinstance(step, Resolve):
                answer = await resolve(step.host, step.port)
                continue
            wire = Wire(step.options, asyncio.get_running_loop())
            left = None if deadline is None else max(0.0, deadline - time.monotonic())
            try:
                transport = await open_wire(wire, step.options, left)
            except errors.ConnectionTimeout:
                raise
            except errors.Error as failure:
                answer = wire, failure
            else:
                answer = wire, None
    except StopIteration as stop:
        return stop.value, transport
