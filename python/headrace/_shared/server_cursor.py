"""The blocking cursor that stays open on the server, whatever the database."""

# Made by tools/async_to_sync.py of aio/_shared/server_cursor.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ..errors import NotSupportedError
from ..types import ParameterRows
from .arguments import checked_whole
from .cursor import BlockingCursor
from .cursor_base import Params
from .modes import ScrollMode
from .server_cursor_base import ServerCursorBase

if TYPE_CHECKING:
    from ..sql import Statement

R = TypeVar("R")
Self = TypeVar("Self", bound="BlockingServerCursor[Any]")


class BlockingServerCursor(ServerCursorBase, BlockingCursor[R]):
    """A cursor that stays open on the server: its rows are fetched on demand."""

    _has_arrow = False

    def execute(self: Self, sql: Statement, params: Params = None, *, timeout: float | None = None) -> Self:
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
        self, sql: Statement, rows: ParameterRows, *, returning: bool = False, timeout: float | None = None
    ) -> NoReturn:
        """Raises NotSupportedError: a cursor that stays open on the server cannot execute batches.

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
        raise NotSupportedError("a cursor that stays open on the server cannot execute batches")

    def callproc(self, name: str, params: Sequence[Any] = (), *, timeout: float | None = None) -> NoReturn:
        """Raises NotSupportedError: a cursor that stays open on the server cannot call procedures.

        Args:
            name: of the procedure.
            params: ignored.
            timeout: ignored.

        Returns:
            Nothing.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("a cursor that stays open on the server cannot call procedures")

    def fetchone(self, *, timeout: float | None = None) -> R | None:
        rows = self._connection._run(self._taking(1), timeout)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None, *, timeout: float | None = None) -> list[R]:
        return self._connection._run(self._taking(self._wanted(size)), timeout)  # type: ignore[no-any-return]

    def fetchall(self, *, timeout: float | None = None) -> list[R]:
        return self._connection._run(self._taking(None), timeout)  # type: ignore[no-any-return]

    def __next__(self) -> R:
        rows = self._connection._run(self._taking(1))
        if not rows:
            raise StopIteration
        return rows[0]  # type: ignore[no-any-return]

    def scroll(self, value: int, mode: ScrollMode = "relative", *, timeout: float | None = None) -> None:
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
        return self._connection._run(self._landing(checked_whole(row, "the number of a row")), timeout)  # type: ignore[no-any-return]

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
        row = self.current + checked_whole(rows, "the number of rows")
        return self._connection._run(self._landing(row), timeout)  # type: ignore[no-any-return]

    def close(self, *, timeout: float | None = None) -> None:
        if not self._closed:
            self._connection._run(self._closing(), timeout)
        super().close()
