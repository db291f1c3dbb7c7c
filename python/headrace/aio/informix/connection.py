"""The asyncio connection to Informix."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar, overload

from ... import defaults
from ..._native import ArrowBatch, ArrowSink, Result, shortcut
from ..._shared.arguments import checked_callable
from ..._shared.cursor_base import Params
from ..._shared.modes import LobKind
from ..._shared.received import batches_of, lists_of
from ...informix.connection_base import InformixBase
from ...informix.core import InformixCore
from ...informix.lobs import LobMode, Locator, creating, opening
from ...informix.settings import InformixIsolation
from ...informix.streams import Stream
from ...rows import RowFactory
from .._shared.connection import LoopConnection
from .cursor import AsyncCursor, AsyncServerCursor
from .largeobject import AsyncLargeObject

if TYPE_CHECKING:
    from ...sql import Statement

R = TypeVar("R")
T = TypeVar("T")


class AsyncConnection(InformixBase[R], LoopConnection[R]):
    """A connection to Informix. Tasks may share it: their requests are queued."""

    _core: InformixCore  # pyright: ignore[reportIncompatibleVariableOverride]
    _cursor_class = AsyncCursor
    _cursor_type: type[AsyncCursor[R]]  # pyright: ignore[reportIncompatibleVariableOverride]

    # executing

    @overload
    def cursor(self, name: None = None, *, row_factory: None = None) -> AsyncCursor[R]: ...
    @overload
    def cursor(self, name: None = None, *, row_factory: RowFactory[T]) -> AsyncCursor[T]: ...
    @overload
    def cursor(
        self, name: str, *, row_factory: None = None, scrollable: bool = False, withhold: bool = False
    ) -> AsyncServerCursor[R]: ...
    @overload
    def cursor(
        self, name: str, *, row_factory: RowFactory[T], scrollable: bool = False, withhold: bool = False
    ) -> AsyncServerCursor[T]: ...
    @shortcut
    def cursor(
        self,
        name: str | None = None,
        *,
        row_factory: RowFactory[Any] | None = None,
        scrollable: bool = False,
        withhold: bool = False,
    ) -> AsyncCursor[Any] | AsyncServerCursor[Any]:
        """Opens a cursor. It is for one thread or task at a time.

        Args:
            name: opens a cursor on the server with this name, whose rows are fetched on demand.
            row_factory: converts rows, see :mod:`headrace.rows`; None for the connection's.
            scrollable: for a cursor with a name, fetch rows by number, in any order.
            withhold: for a cursor with a name, keep it open after its transaction (``WITH HOLD``).

        Returns:
            A cursor; with a name, a server cursor.

        Raises:
            ConnectionClosed: the connection is closed or was lost.
            ProgrammingError: the name is not a valid identifier.
        """
        if self._core.wire.closed:
            raise self._core.why_closed()
        factory = self.row_factory if row_factory is None else checked_callable(row_factory, "row_factory")
        if name is not None:
            return AsyncServerCursor(self, factory, name, scrollable, withhold)
        make = self._cursor_type
        return make(self, factory)

    async def stream(
        self,
        sql: Statement,
        params: Params = None,
        *,
        fetch_bytes: int = defaults.INFORMIX_FETCH_BYTES,
        timeout: float | None = None,
    ) -> AsyncIterator[R]:
        """Executes a query and returns its rows one by one, in bounded memory.

        The stream ends with its transaction; in autocommit it stays open when other statements commit, and ends with a
        rollback.

        Args:
            sql: the query.
            params: a sequence of values; None for a statement without parameters.
            fetch_bytes: bytes of rows for each block, at least 1; one row may be larger. The next block is requested
                while one is used.
            timeout: seconds until each wait is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Yields:
            Rows, as the row factory makes them.

        Raises:
            ProgrammingError: the statement returns no rows, or ``fetch_bytes`` is less than 1.
            InterfaceError: the connection is occupied by another stream or COPY of the same thread or task.
            InvalidCursorName: the transaction in which it reads has ended.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: a wait was cancelled after ``timeout`` seconds.
        """
        async with contextlib.aclosing(
            self.stream_blocks(sql, params, fetch_bytes=fetch_bytes, timeout=timeout)
        ) as blocks:
            async for block in blocks:
                for row in block:  # asyncio only
                    yield row
                # blocking: yield from block

    def stream_blocks(
        self,
        sql: Statement,
        params: Params = None,
        *,
        fetch_bytes: int = defaults.INFORMIX_FETCH_BYTES,
        timeout: float | None = None,
    ) -> AsyncGenerator[list[R]]:
        """Executes a query and returns its rows in lists, in bounded memory: :meth:`stream` without the cost of a step
        for each row.

        The stream ends with its transaction; in autocommit it stays open when other statements commit, and ends with a
        rollback.

        Args:
            sql: the query.
            params: a sequence of values; None for a statement without parameters.
            fetch_bytes: bytes of rows for each block, at least 1; one row may be larger. The next block is requested
                while one is used.
            timeout: seconds until each wait is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Yields:
            Lists of rows, of about ``fetch_bytes`` each.

        Raises:
            ProgrammingError: the statement returns no rows, or ``fetch_bytes`` is less than 1.
            InterfaceError: the connection is occupied by another stream or COPY of the same thread or task.
            InvalidCursorName: the transaction in which it reads has ended.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: a wait was cancelled after ``timeout`` seconds.
        """
        return self._declared(sql, params, fetch_bytes, timeout, partial(lists_of, self._core, self.row_factory))

    def _arrow_batches(
        self, sql: Statement, params: Params, sink: ArrowSink, timeout: float | None
    ) -> AsyncGenerator[ArrowBatch]:
        return self._declared(sql, params, defaults.INFORMIX_FETCH_BYTES, timeout, partial(batches_of, sink), sink)

    async def _declared(
        self,
        sql: Statement,
        params: Params,
        fetch_bytes: int,
        timeout: float | None,
        taking: Callable[[Result], Callable[[Result], Iterable[T]]],
        sink: ArrowSink | None = None,
    ) -> AsyncGenerator[T]:
        """What is read from a cursor on the server, as what ``taking`` returns for the first result takes it of
        each."""
        stream = Stream(self._core, fetch_bytes, sink)
        result = await self._run(stream.open(sql, params), timeout)
        try:
            taken_of = taking(result)
            while True:
                stream.ask(result)
                # blocking: if stream.ahead is not None:
                # blocking:     self._push(0, timeout)
                for taken in taken_of(result):
                    yield taken
                    del taken
                if stream.ahead is None:
                    return
                result = await self._run(stream.following(), timeout)
        finally:
            await self._run(stream.close(), timeout)

    # routines and large objects

    async def fastpath(self, routine: str, *arguments: Any, timeout: float | None = None) -> tuple[Any, ...]:
        """Calls a routine over the fast path: no statement is prepared, and its handle is requested only once.

        Args:
            routine: its signature, such as ``f(integer, lvarchar)``; the types decide how the arguments are sent.
            arguments: one for each type of the signature.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            What the routine returns, as one row.

        Raises:
            ProgrammingError: it is not a signature, the number of arguments differs, or there is no such routine.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return await self._run(self._core.fastpath(routine, arguments), timeout)

    async def open_lob(
        self, locator: Locator, mode: LobMode = "rb", *, timeout: float | None = None
    ) -> AsyncLargeObject:
        """Opens a BLOB or CLOB as a binary file. It has to be used in the transaction in which it was opened.

        Args:
            locator: the value of a BLOB or CLOB column.
            mode: ``rb`` to read, ``r+b`` to read and write, ``wb`` to truncate and write.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The open large object.

        Raises:
            ProgrammingError: it is not a locator, or there is no such mode.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return AsyncLargeObject(self, await self._run(opening(self._core, locator, mode), timeout))

    async def create_lob(
        self, kind: LobKind = "blob", *, column: str | None = None, timeout: float | None = None
    ) -> AsyncLargeObject:
        """Creates a large object, open for reading and writing.

        Its ``locator`` is the parameter that stores it in a row. The server removes an object that no row refers to.

        Args:
            kind: ``blob`` or ``clob``.
            column: ``table.column`` whose storage settings it gets; None for those of the server.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The open large object.

        Raises:
            ProgrammingError: there is no such kind.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return AsyncLargeObject(self, await self._run(creating(self._core, kind, column), timeout))

    # the session

    @property
    def isolation_level(self) -> InformixIsolation | None:
        """The isolation level that was set for the session; None for the server's default."""
        return self._core.isolation_level

    async def set_isolation_level(
        self, value: InformixIsolation, *, timeout: float | None = None
    ) -> None:  # asyncio only
        """Sets the isolation level of the session.

        Args:
            value: a level of Informix (``dirty read``, ``committed read``, ``last committed``, ``cursor stability``,
                ``repeatable read``) or of the SQL standard.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            ProgrammingError: there is no such level.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        await self._run(self._core.set_isolation(value), timeout)

    # blocking: @isolation_level.setter
    # blocking: def isolation_level(self, value: InformixIsolation) -> None:
    # blocking:     self._run(self._core.set_isolation(value))

    @property
    def lock_wait(self) -> int | None:
        """Seconds that the session waits for a lock, as set here: 0 not to wait, -1 for no limit; None for the server's
        default."""
        return self._core.lock_wait

    async def set_lock_wait(self, value: int, *, timeout: float | None = None) -> None:  # asyncio only
        """Sets how long the session waits for a lock.

        Args:
            value: seconds; 0 not to wait, -1 for no limit.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        await self._run(self._core.set_lock_wait(value), timeout)

    # blocking: @lock_wait.setter
    # blocking: def lock_wait(self, value: int) -> None:
    # blocking:     self._run(self._core.set_lock_wait(value))
