"""The asyncio connection to MySQL and MariaDB."""

from __future__ import annotations

from typing import Any, Literal, TypeVar, overload

from ..._native import shortcut
from ..._shared.arguments import checked_callable, checked_text
from ..._shared.modes import IsolationLevel
from ...mysql.core import MySqlCore, ServerWarning
from ...rows import RowFactory
from .._shared.scripts import LoopScripts
from .._shared.two_phase import LoopTwoPhase
from .cursor import AsyncCursor, AsyncStreamCursor
from .loading import AsyncLoading
from .streaming import AsyncStreaming

R = TypeVar("R")
T = TypeVar("T")


class AsyncConnection(AsyncStreaming[R], AsyncLoading[R], LoopTwoPhase[R], LoopScripts[R]):
    """A connection to MySQL or MariaDB. Tasks may share it: their requests are queued.

    As a context manager it commits at the end of the block, rolls back when the block raises an exception, and closes.
    """

    _core: MySqlCore  # pyright: ignore[reportIncompatibleVariableOverride]
    _cursor_class = AsyncCursor
    _cursor_type: type[AsyncCursor[R]]  # pyright: ignore[reportIncompatibleVariableOverride]

    @overload
    def cursor(
        self, *, row_factory: None = None, stream: Literal[True], on_server: bool = False
    ) -> AsyncStreamCursor[R]: ...
    @overload
    def cursor(
        self, *, row_factory: RowFactory[T], stream: Literal[True], on_server: bool = False
    ) -> AsyncStreamCursor[T]: ...
    @overload
    def cursor(
        self, *, row_factory: None = None, stream: bool = False, on_server: Literal[True]
    ) -> AsyncStreamCursor[R]: ...
    @overload
    def cursor(
        self, *, row_factory: RowFactory[T], stream: bool = False, on_server: Literal[True]
    ) -> AsyncStreamCursor[T]: ...
    @overload
    def cursor(self, *, row_factory: None = None, stream: bool = False, on_server: bool = False) -> AsyncCursor[R]: ...
    @overload
    def cursor(
        self, *, row_factory: RowFactory[T], stream: bool = False, on_server: bool = False
    ) -> AsyncCursor[T]: ...
    @shortcut
    def cursor(
        self, *, row_factory: RowFactory[Any] | None = None, stream: bool = False, on_server: bool = False
    ) -> AsyncCursor[Any]:
        """Opens a cursor. It is for one thread or task at a time.

        Args:
            row_factory: converts rows, see :mod:`headrace.rows`; None for the connection's.
            stream: receive rows while they are fetched, in bounded memory, as :meth:`stream` does. The connection is
                occupied until the last row is fetched or the cursor is closed.
            on_server: the same, with the result in a cursor on the server. Other statements can be executed in between.

        Returns:
            A cursor; with ``stream`` or ``on_server`` an :class:`AsyncStreamCursor`.

        Raises:
            ConnectionClosed: the connection is closed or was lost.
        """
        if self._core.wire.closed:
            raise self._core.why_closed()
        factory = self.row_factory if row_factory is None else checked_callable(row_factory, "row_factory")
        if stream or on_server:
            return AsyncStreamCursor(self, factory, on_server)
        make = self._cursor_type
        return make(self, factory)

    # the session

    @property
    def isolation_level(self) -> IsolationLevel | None:
        """The isolation level of later transactions, such as ``read committed``; None for the server's default. It can
        be changed between transactions only."""
        return self._core.isolation_level

    async def set_isolation_level(
        self, value: IsolationLevel | None, *, timeout: float | None = None
    ) -> None:  # asyncio only
        """Sets the isolation level of later transactions.

        Args:
            value: ``read uncommitted``, ``read committed``, ``repeatable read`` or ``serializable``; None for the
                server's default.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            ProgrammingError: a transaction is open, or there is no such level.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        await self._run(self._core.set_isolation_level(value), timeout)

    # blocking: @isolation_level.setter
    # blocking: def isolation_level(self, value: IsolationLevel | None) -> None:
    # blocking:     self._run(self._core.set_isolation_level(value))

    @property
    def read_only(self) -> bool | None:
        """True if later transactions are read-only; None for the server's default. It can be changed between
        transactions only."""
        return self._core.read_only

    async def set_read_only(self, value: bool | None, *, timeout: float | None = None) -> None:  # asyncio only
        """Makes later transactions read-only, or not.

        Args:
            value: True or False; None for the server's default.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            ProgrammingError: a transaction is open.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        await self._run(self._core.set_read_only(value), timeout)

    # blocking: @read_only.setter
    # blocking: def read_only(self, value: bool | None) -> None:
    # blocking:     self._run(self._core.set_read_only(value))

    async def show_warnings(self, *, timeout: float | None = None) -> list[ServerWarning]:
        """Returns the warnings of the last statement.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The warnings, each with its level, the server's code and the message.

        Raises:
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        results = await self._wait(self._core.wire.query("SHOW WARNINGS"), timeout)
        return [ServerWarning(*row) for row in results[0].rows or ()]

    async def select_db(self, database: str, *, timeout: float | None = None) -> None:
        """Changes the current schema (COM_INIT_DB).

        Args:
            database: name of the schema.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        core = self._core
        try:
            await self._wait(core.wire.select_db(checked_text(database, "the name of a database")), timeout)
        except BaseException as error:
            core.withdraw(error)
            raise
