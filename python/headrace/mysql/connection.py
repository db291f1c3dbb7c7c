"""The blocking connection to MySQL and MariaDB."""

# Made by tools/async_to_sync.py of aio/mysql/connection.py: edit that file, and run the tool.

from __future__ import annotations

from typing import Any, Literal, TypeVar, overload

from .._native import shortcut
from .._shared.arguments import checked_callable, checked_text
from .._shared.modes import IsolationLevel
from .._shared.scripts import BlockingScripts
from .._shared.two_phase import BlockingTwoPhase
from ..rows import RowFactory
from .core import MySqlCore, ServerWarning
from .cursor import Cursor, StreamCursor
from .loading import Loading
from .streaming import Streaming

R = TypeVar("R")
T = TypeVar("T")


class Connection(Streaming[R], Loading[R], BlockingTwoPhase[R], BlockingScripts[R]):
    """A connection to MySQL or MariaDB. Threads may share it: their calls are queued.

    As a context manager it commits at the end of the block, rolls back when the block raises an exception, and closes.
    """

    _core: MySqlCore  # pyright: ignore[reportIncompatibleVariableOverride]
    _cursor_class = Cursor
    _cursor_type: type[Cursor[R]]  # pyright: ignore[reportIncompatibleVariableOverride]

    @overload
    def cursor(
        self, *, row_factory: None = None, stream: Literal[True], on_server: bool = False
    ) -> StreamCursor[R]: ...
    @overload
    def cursor(
        self, *, row_factory: RowFactory[T], stream: Literal[True], on_server: bool = False
    ) -> StreamCursor[T]: ...
    @overload
    def cursor(
        self, *, row_factory: None = None, stream: bool = False, on_server: Literal[True]
    ) -> StreamCursor[R]: ...
    @overload
    def cursor(
        self, *, row_factory: RowFactory[T], stream: bool = False, on_server: Literal[True]
    ) -> StreamCursor[T]: ...
    @overload
    def cursor(self, *, row_factory: None = None, stream: bool = False, on_server: bool = False) -> Cursor[R]: ...
    @overload
    def cursor(self, *, row_factory: RowFactory[T], stream: bool = False, on_server: bool = False) -> Cursor[T]: ...
    @shortcut
    def cursor(
        self, *, row_factory: RowFactory[Any] | None = None, stream: bool = False, on_server: bool = False
    ) -> Cursor[Any]:
        """Opens a cursor. It is for one thread or task at a time.

        Args:
            row_factory: converts rows, see :mod:`headrace.rows`; None for the connection's.
            stream: receive rows while they are fetched, in bounded memory, as :meth:`stream` does. The connection is
                occupied until the last row is fetched or the cursor is closed.
            on_server: the same, with the result in a cursor on the server. Other statements can be executed in between.

        Returns:
            A cursor; with ``stream`` or ``on_server`` an :class:`StreamCursor`.

        Raises:
            ConnectionClosed: the connection is closed or was lost.
        """
        if self._core.wire.closed:
            raise self._core.why_closed()
        factory = self.row_factory if row_factory is None else checked_callable(row_factory, "row_factory")
        if stream or on_server:
            return StreamCursor(self, factory, on_server)
        make = self._cursor_type
        return make(self, factory)

    # the session

    @property
    def isolation_level(self) -> IsolationLevel | None:
        """The isolation level of later transactions, such as ``read committed``; None for the server's default. It can
        be changed between transactions only."""
        return self._core.isolation_level

    @isolation_level.setter
    def isolation_level(self, value: IsolationLevel | None) -> None:
        self._run(self._core.set_isolation_level(value))

    @property
    def read_only(self) -> bool | None:
        """True if later transactions are read-only; None for the server's default. It can be changed between
        transactions only."""
        return self._core.read_only

    @read_only.setter
    def read_only(self, value: bool | None) -> None:
        self._run(self._core.set_read_only(value))

    def show_warnings(self, *, timeout: float | None = None) -> list[ServerWarning]:
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
        results = self._wait(self._core.wire.query("SHOW WARNINGS"), timeout)
        return [ServerWarning(*row) for row in results[0].rows or ()]

    def select_db(self, database: str, *, timeout: float | None = None) -> None:
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
            self._wait(core.wire.select_db(checked_text(database, "the name of a database")), timeout)
        except BaseException as error:
            core.withdraw(error)
            raise
