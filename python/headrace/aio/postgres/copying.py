"""COPY of rows, bytes and files, asyncio."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterable, AsyncIterator, Sequence
from typing import IO, Any, Literal, TypeVar, overload

from ... import defaults
from ..._native import Transfer
from ..._shared.core import ExclusiveUse
from ..._shared.limits import until
from ..._shared.modes import CopyFormat
from ...postgres.connection_base import PostgresBase
from ...postgres.core import ConnectionCore
from ...types import ParameterRows
from .._shared.connection import LoopConnection
from .._shared.deadlines import look_at
from .._shared.within import within

# blocking: import contextlib
# blocking: from .. import errors

R = TypeVar("R")
T = TypeVar("T")


class AsyncCopying(PostgresBase[R], LoopConnection[R]):
    """A connection that copies."""

    _core: ConnectionCore  # pyright: ignore[reportIncompatibleVariableOverride]

    async def copy_in(
        self,
        table: str | Sequence[str],
        source: ParameterRows | AsyncIterable[Sequence[Any]] | bytes | IO[bytes] | IO[str],
        *,
        columns: Sequence[str] | None = None,
        format: CopyFormat = "binary",
        timeout: float | None = None,
    ) -> int:
        """Copies rows, bytes or a file into a table by COPY.

        A value must fit its column: COPY converts nothing. If the source raises an exception, no row is kept.

        Args:
            table: its name as written in SQL, where a part without double quotes is in lower case; or a tuple of
                schema and name, or of the name alone, which are taken as they are.
            source: an iterable of rows, also an asynchronous one, Arrow data, bytes, or an open file.
            columns: names of the columns; None for those that Arrow data has, or all that are not generated. Columns of
                Arrow data are paired with them by their names, and by position where they have none of these names.
            format: of bytes and files: ``binary``, ``text`` or ``csv``. Rows are sent in binary form where possible.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The number of rows.

        Raises:
            ProgrammingError: a value does not fit its column.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        from .copy import copy_in

        return await copy_in(self, table, source, columns, format, timeout)

    @overload
    async def copy_out(
        self,
        source: str | Sequence[str],
        *,
        columns: Sequence[str] | None = None,
        format: CopyFormat = "binary",
        to: IO[bytes],
        timeout: float | None = None,
    ) -> int: ...
    @overload
    async def copy_out(
        self,
        source: str | Sequence[str],
        *,
        columns: Sequence[str] | None = None,
        format: Literal["binary"] = "binary",
        to: None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[tuple[Any, ...]]: ...
    @overload
    async def copy_out(
        self,
        source: str | Sequence[str],
        *,
        columns: Sequence[str] | None = None,
        format: Literal["text", "csv"],
        to: None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[bytes]: ...
    async def copy_out(
        self,
        source: str | Sequence[str],
        *,
        columns: Sequence[str] | None = None,
        format: CopyFormat = "binary",
        to: IO[bytes] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Copies the rows of a table or a query out by COPY.

        Rows are received while they are read. Until the end, other statements of the same thread or task raise
        InterfaceError, and those of others wait.

        Args:
            source: a query without a semicolon at its end, the name of a table, or a tuple of schema and name.
            columns: names of the columns; None for all that are not generated.
            format: ``binary`` for rows; ``text`` or ``csv`` for blocks of bytes.
            to: a binary file, to which the bytes are written.
            timeout: seconds until each wait is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            An iterator of rows or blocks; with ``to`` the number of rows.

        Raises:
            TypeError: ``to`` is not a file.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        from ...postgres.copy_base import copy_of_rows, copy_statement
        from .copy import AsyncCopy, blocks_out, rows_out

        statement = copy_statement(source, columns, format, out=True)
        if to is not None:
            if not hasattr(to, "write"):
                raise TypeError(f"to is a file that was opened for writing bytes, not {type(to).__name__}")
            async with AsyncCopy(self, statement, limit=until(timeout)) as copy:
                async for block in copy.blocks():
                    to.write(block)
            return copy.rowcount
        opened = ExclusiveUse()
        rows: Any = (
            rows_out(self, copy_of_rows(source, columns, format, out=True), opened, timeout)
            if format == "binary"
            else blocks_out(self, statement, opened, timeout)
        )

        def gone(_: Any) -> None:  # asyncio only
            opened.ended = True

        opened.watch = weakref.ref(rows, gone)  # asyncio only
        return rows

    async def _abandon_copy(self, ticket: Any, reason: str) -> None:  # asyncio only
        """Ends a COPY: with ``reason`` as the client's failure where the server reads, by cancelling it otherwise."""
        wire = self._core.wire
        if wire.closed:
            return
        try:
            if wire.copy_state(ticket) == Transfer.STREAMING:
                # The server's error about it is expected, and not raised.
                ticket.add_done_callback(look_at)
                wire.copy_end(ticket, reason)
            else:
                self._abandon(ticket)
            ended: Any = wire.sync()
            await within(defaults.CANCEL_TIMEOUT, asyncio.shield(ended))
        except BaseException as error:
            wire.close()
            if not isinstance(error, Exception):
                raise

    # blocking: def _abandon_copy(self, ticket: Any, reason: str) -> None:
    # blocking:     """Ends a COPY: with ``reason`` as the client's failure where the server reads, by cancelling it
    # blocking:     otherwise."""
    # blocking:     wire = self._core.wire
    # blocking:     if wire.closed or wire.copy_state(ticket) != Transfer.STREAMING:
    # blocking:         return self._abandon(ticket)
    # blocking:     try:
    # blocking:         wire.copy_end(ticket, reason)
    # blocking:         with contextlib.suppress(errors.DatabaseError):
    # blocking:             wire.wait(ticket, defaults.CANCEL_TIMEOUT)
    # blocking:     except BaseException as error:
    # blocking:         # Out of step, or an interrupt: only a closed connection is safe now.
    # blocking:         wire.close()
    # blocking:         if not isinstance(error, Exception):
    # blocking:             raise
