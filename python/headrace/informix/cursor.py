"""The blocking cursors of Informix: one that holds its result, and one that stays open on the server."""

# Made by tools/async_to_sync.py of aio/informix/cursor.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .._shared.cursor import BlockingCursor
from .._shared.cursor_base import Params
from ..errors import NotSupportedError
from ..rows import RowFactory
from ..types import ParameterRows
from .core import call_statement
from .declared import Declared

if TYPE_CHECKING:
    from .connection import Connection


R = TypeVar("R")


class Cursor(BlockingCursor[R]):
    """Executes statements and holds their results (PEP 249). Parameters are written ``?`` or ``:1``.

    A result is received whole. It is for one thread at a time.
    """

    @property
    def connection(self) -> Connection[Any]:
        """The connection to which the cursor belongs."""
        return self._connection  # type: ignore[no-any-return]

    def callproc(self, name: str, params: Sequence[Any] = (), *, timeout: float | None = None) -> Sequence[Any]:
        """Calls a procedure or function. What it returns is fetched as rows.

        Args:
            name: of the routine.
            params: the arguments.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            ``params``, unchanged.

        Raises:
            ProgrammingError: the name is not one of a routine.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        self.execute(call_statement(name, len(params)), tuple(params) if params else None, timeout=timeout)
        return params


class ServerCursor(Declared, BlockingCursor[R]):
    """A cursor that stays open on the server with a name: its rows are fetched on demand.

    With ``scrollable`` they are fetched by number, in any order; with ``withhold`` it stays open after its transaction.
    Rows of a query ``FOR UPDATE`` are fetched one by one, so that ``WHERE CURRENT OF`` is the row that was fetched
    last.
    """

    _has_arrow = False

    def __init__(
        self,
        connection: Connection[Any],
        row_factory: RowFactory[R],
        name: str,
        scrollable: bool = False,
        withhold: bool = False,
    ) -> None:
        super().__init__(connection, row_factory)
        self._declare(name, scrollable, withhold)

    @property
    def connection(self) -> Connection[Any]:
        """The connection to which the cursor belongs."""
        return self._connection  # type: ignore[no-any-return]

    def execute(self, sql: str, params: Params = None, *, timeout: float | None = None) -> Any:
        """Opens the cursor for a query.

        Args:
            sql: the query.
            params: a sequence of values; None for a statement without parameters.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The cursor itself.

        Raises:
            InterfaceError: the cursor is closed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        self._connection._run(self._opening(sql, params), timeout)
        return self

    def executemany(
        self, sql: str, rows: ParameterRows, *, returning: bool = False, timeout: float | None = None
    ) -> Any:
        """Raises NotSupportedError: a cursor with a name cannot execute batches.

        Args:
            sql: the statement.
            rows: ignored.
            returning: ignored.
            timeout: ignored.

        Returns:
            Nothing.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("a cursor with a name cannot execute batches")

    def fetchone(self, *, timeout: float | None = None) -> R | None:
        """Returns the next row.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The row, or None after the last.

        Raises:
            InterfaceError: the cursor is closed.
            ProgrammingError: the cursor was not executed.
            InvalidCursorName: the cursor has ended with its transaction.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        rows = self._connection._run(self._taking(1), timeout)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None, *, timeout: float | None = None) -> list[R]:
        """Returns the next rows.

        Args:
            size: number of rows, None for ``arraysize``; at the end there may be fewer.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            A list of rows, empty after the last.

        Raises:
            InterfaceError: the cursor is closed.
            ProgrammingError: the cursor was not executed.
            InvalidCursorName: the cursor has ended with its transaction.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return self._connection._run(self._taking(self.arraysize if size is None else size), timeout)  # type: ignore[no-any-return]

    def fetchall(self, *, timeout: float | None = None) -> list[R]:
        """Returns all remaining rows.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            A list of rows, empty after the last.

        Raises:
            InterfaceError: the cursor is closed.
            ProgrammingError: the cursor was not executed.
            InvalidCursorName: the cursor has ended with its transaction.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return self._connection._run(self._taking(None), timeout)  # type: ignore[no-any-return]

    def __next__(self) -> R:
        rows = self._connection._run(self._taking(1))
        if not rows:
            raise StopIteration
        return rows[0]  # type: ignore[no-any-return]

    def scroll(self, value: int, mode: str = "relative", *, timeout: float | None = None) -> None:
        """Moves a scroll cursor: the next fetch returns the row after the new position.

        Args:
            value: number of rows, from the current position or from the beginning.
            mode: ``relative`` or ``absolute``.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            IndexError: the position is outside of the result; the cursor is not moved.
            ProgrammingError: the mode is not one of these, or the cursor was not executed.
            NotSupportedError: the cursor is not scrollable.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        self._connection._run(self._moving(value, mode), timeout)

    def fetch_first(self, *, timeout: float | None = None) -> R | None:
        """Returns the first row, and moves to it.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The row, or None if there is none.

        Raises:
            NotSupportedError: the cursor is not scrollable.
            ProgrammingError: the cursor was not executed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return self._connection._run(self._landing(1), timeout)  # type: ignore[no-any-return]

    def fetch_last(self, *, timeout: float | None = None) -> R | None:
        """Returns the last row, and moves to it.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The row, or None if there is none.

        Raises:
            NotSupportedError: the cursor is not scrollable.
            ProgrammingError: the cursor was not executed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return self._connection._run(self._landing(None), timeout)  # type: ignore[no-any-return]

    def fetch_prior(self, *, timeout: float | None = None) -> R | None:
        """Returns the row before the current one, and moves to it.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The row, or None before the first.

        Raises:
            NotSupportedError: the cursor is not scrollable.
            ProgrammingError: the cursor was not executed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return self._connection._run(self._landing(self.current - 1), timeout)  # type: ignore[no-any-return]

    def fetch_absolute(self, row: int, *, timeout: float | None = None) -> R | None:
        """Returns a row by its number, and moves to it.

        Args:
            row: its number, from 1.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The row, or None outside of the result.

        Raises:
            NotSupportedError: the cursor is not scrollable.
            ProgrammingError: the cursor was not executed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return self._connection._run(self._landing(row), timeout)  # type: ignore[no-any-return]

    def fetch_relative(self, rows: int, *, timeout: float | None = None) -> R | None:
        """Returns a row by its distance from the current one, and moves to it.

        Args:
            rows: the distance; negative for earlier rows.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The row, or None outside of the result.

        Raises:
            NotSupportedError: the cursor is not scrollable.
            ProgrammingError: the cursor was not executed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return self._connection._run(self._landing(self.current + rows), timeout)  # type: ignore[no-any-return]

    def close(self, *, timeout: float | None = None) -> None:
        """Closes the cursor on the server, and frees its result.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            TimeoutError: the server did not answer within ``timeout`` seconds.
        """
        if not self._closed:
            self._connection._run(self._closing(), timeout)
        super().close()
