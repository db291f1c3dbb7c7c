"""The asyncio cursor that stays open on the server, whatever the database."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ..._shared.arguments import checked_whole
from ..._shared.cursor_base import Params
from ..._shared.modes import ScrollMode
from ..._shared.server_cursor_base import ServerCursorBase
from ...errors import NotSupportedError
from ...types import ParameterRows
from .cursor import LoopCursor

if TYPE_CHECKING:
    from ...sql import Statement

R = TypeVar("R")
Self = TypeVar("Self", bound="LoopServerCursor[Any]")


class LoopServerCursor(ServerCursorBase, LoopCursor[R]):
    """A cursor that stays open on the server: its rows are fetched on demand."""

    _has_arrow = False

    async def execute(self: Self, sql: Statement, params: Params = None, *, timeout: float | None = None) -> Self:
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
        await self._connection._run(self._opening(sql, params), timeout)
        return self

    async def executemany(
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

    async def callproc(self, name: str, params: Sequence[Any] = (), *, timeout: float | None = None) -> NoReturn:
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

    async def fetchone(self, *, timeout: float | None = None) -> R | None:
        rows = await self._connection._run(self._taking(1), timeout)
        return rows[0] if rows else None

    async def fetchmany(self, size: int | None = None, *, timeout: float | None = None) -> list[R]:
        return await self._connection._run(self._taking(self._wanted(size)), timeout)  # type: ignore[no-any-return]

    async def fetchall(self, *, timeout: float | None = None) -> list[R]:
        return await self._connection._run(self._taking(None), timeout)  # type: ignore[no-any-return]

    async def __anext__(self) -> R:
        rows = await self._connection._run(self._taking(1))
        if not rows:
            raise StopAsyncIteration
        return rows[0]  # type: ignore[no-any-return]

    async def scroll(self, value: int, mode: ScrollMode = "relative", *, timeout: float | None = None) -> None:
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
        await self._connection._run(self._moving(value, mode), timeout)

    async def fetch_first(self, *, timeout: float | None = None) -> R | None:
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
        return await self._connection._run(self._landing(1), timeout)  # type: ignore[no-any-return]

    async def fetch_last(self, *, timeout: float | None = None) -> R | None:
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
        return await self._connection._run(self._landing(None), timeout)  # type: ignore[no-any-return]

    async def fetch_prior(self, *, timeout: float | None = None) -> R | None:
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
        return await self._connection._run(self._landing(self.current - 1), timeout)  # type: ignore[no-any-return]

    async def fetch_absolute(self, row: int, *, timeout: float | None = None) -> R | None:
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
        return await self._connection._run(self._landing(checked_whole(row, "the number of a row")), timeout)  # type: ignore[no-any-return]

    async def fetch_relative(self, rows: int, *, timeout: float | None = None) -> R | None:
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
        return await self._connection._run(self._landing(row), timeout)  # type: ignore[no-any-return]

    async def close(self, *, timeout: float | None = None) -> None:
        if not self._closed:
            await self._connection._run(self._closing(), timeout)
        await super().close()
