"""COPY on an asyncio connection."""

from __future__ import annotations

from collections.abc import AsyncIterable, AsyncIterator, Iterable, Sequence
from itertools import islice
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, cast

from ... import defaults
from ..._native import CopyBuffer, PostgresWire, Result, Transfer
from ..._shared.core import Opened
from ..._shared.limits import Limit, until
from ...errors import ProgrammingError
from ...postgres.copy import copy_in_statement, copy_of_rows, copy_statement, is_bytes
from ...postgres.core import CopyOfRows
from ...postgres.streams import COPYING
from .._shared.opened import TaskGate

if TYPE_CHECKING:
    from .copying import AsyncCopying
    from .cursor import AsyncCursor


class AsyncCopy:
    """The asyncio form of :class:`headrace.postgres.copy.Copy`."""

    def __init__(
        self,
        connection: AsyncCopying[Any],
        statement: str | CopyOfRows,
        cursor: AsyncCursor[Any] | None = None,
        opened: Opened | None = None,
        *,
        limit: Limit = None,
    ) -> None:
        self._connection = connection
        self._limit = limit
        self._wire: PostgresWire = connection._core.wire
        self._statement = statement
        self._cursor = cursor
        self._ticket: Any = None
        self._buffer = CopyBuffer()
        self._written = 0
        self._header_sent = False
        self._opened = opened or Opened()
        self._gate: TaskGate | None = None
        self.rowcount = -1

    async def __aenter__(self) -> AsyncCopy:
        self._ticket, self._buffer = await self._connection._run(
            self._connection._core.copy_begin(self._statement), self._limit
        )
        # Also of a COPY out: what a statement of its reader waits for is after data that only the reader takes.
        self._gate = TaskGate(self._opened, COPYING)
        self._wire.occupy(self._gate)
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._opened.ended = True
        if self._gate is not None and not self._wire.closed:
            self._wire.vacate(self._gate)
        if error is not None:
            await self._connection._abandon_copy(self._ticket, f"{type(error).__name__} in the client")
            return
        if self._header_sent and self._is_binary() and not self._wire.closed:
            self._wire.copy_write(self._ticket, PostgresWire.copy_trailer())
        self._wire.copy_leave(self._ticket, self._buffer)
        self._wire.copy_end(self._ticket)
        results: list[Result] = await self._connection._wait(self._ticket, self._limit)
        self.rowcount = results[-1].rowcount if results else -1
        if self._cursor is not None:
            self._cursor._set_all(results)

    def _is_binary(self) -> bool:
        return self._buffer.shape is not None and self._buffer.shape[0]

    async def _sent(self, taken: bool) -> None:
        if not taken:
            await self._connection._wait(self._ticket, self._limit)
            raise ProgrammingError("the COPY is over")
        await self._connection._wait(self._wire.drained(), self._limit)

    def _passed_on(self) -> None:
        """Another task may have gone on with it."""
        if self._gate is not None:
            self._gate.pass_on()

    async def write(self, data: bytes | bytearray | memoryview | str) -> None:
        """Sends a block of data of any size, unchanged.

        Args:
            data: bytes, or text, which is sent as UTF-8.

        Raises:
            ProgrammingError: the COPY has ended.
            DatabaseError: the server refused the data.
            TimeoutError: the server did not read in time.
        """
        self._passed_on()
        await self._sent(self._wire.copy_write(self._ticket, data.encode() if isinstance(data, str) else bytes(data)))

    async def write_row(self, row: Sequence[Any]) -> None:
        """Sends a row. The class of each value decides its text form, as for ``%s``.

        Args:
            row: the values.

        Raises:
            ProgrammingError: the COPY has ended, or a value cannot be sent.
            DatabaseError: the server refused the data.
            TimeoutError: the server did not read in time.
        """
        await self.write_rows([row])

    async def write_rows(self, rows: Iterable[Sequence[Any]]) -> int:
        """Sends rows, as :meth:`write_row` does.

        Args:
            rows: any iterable of rows.

        Returns:
            The number of rows.

        Raises:
            ProgrammingError: the COPY has ended, or a value cannot be sent.
            DatabaseError: the server refused the data.
            TimeoutError: the server did not read in time.
        """
        self._passed_on()
        iterator = iter(rows)
        total = 0
        while True:
            count, ended = self._wire.copy_rows(
                self._ticket, iterator, self._buffer, not self._header_sent, self._written
            )
            self._header_sent = True
            self._written += count
            total += count
            await self._sent(not (ended and self._wire.copy_state(self._ticket) != Transfer.STREAMING))
            if ended:
                return total

    async def read(self) -> bytes:
        """Reads the next block of data.

        Returns:
            The bytes; empty at the end.

        Raises:
            DatabaseError: the server ended the COPY with an error.
            TimeoutError: the server sent nothing in time.
        """
        self._passed_on()
        while not len(self._buffer):
            if self._wire.copy_state(self._ticket) == Transfer.ENDED:
                return b""
            await self._step()
        return self._wire.copy_take(self._ticket, self._buffer)

    async def _step(self) -> None:
        await self._connection._wait(self._wire.copy_step(self._ticket), self._limit)

    def __aiter__(self) -> AsyncIterator[bytes]:
        return self.blocks()

    async def blocks(self) -> AsyncIterator[bytes]:
        """Returns the blocks of data as they are received.

        Yields:
            Blocks of bytes.

        Raises:
            DatabaseError: the server ended the COPY with an error.
            TimeoutError: the server sent nothing in time.
        """
        while block := await self.read():
            yield block

    async def rows(self) -> AsyncIterator[tuple[Any, ...]]:
        """Returns the rows of a COPY that ``copy_out`` began.

        Yields:
            Rows as tuples.

        Raises:
            DatabaseError: the server ended the COPY with an error.
            TimeoutError: the server sent nothing in time.
        """
        async for block in self.row_blocks():
            rows = iter(block)
            for row in islice(rows, 1):
                yield row
            self._passed_on()
            for row in rows:
                yield row

    async def row_blocks(self) -> AsyncIterator[list[tuple[Any, ...]]]:
        """Returns the rows of a COPY that ``copy_out`` began in lists, as they are received.

        Yields:
            Lists of tuples.

        Raises:
            DatabaseError: the server ended the COPY with an error.
            TimeoutError: the server sent nothing in time.
        """
        while True:
            self._passed_on()
            if not len(self._buffer):
                if self._wire.copy_state(self._ticket) == Transfer.ENDED:
                    return
                await self._step()
                continue
            yield self._wire.copy_take_rows(self._ticket, self._buffer)


async def copy_in(
    connection: AsyncCopying[Any],
    table: str | Sequence[str],
    source: Iterable[Sequence[Any]] | AsyncIterable[Sequence[Any]] | bytes | IO[bytes] | IO[str],
    columns: Sequence[str] | None,
    format: str,
    timeout: float | None,
) -> int:
    """See :meth:`AsyncConnection.copy_in`."""
    # One name for all the kinds that a source may be of; which it is, is found out below.
    given = cast("Any", source)
    async with AsyncCopy(connection, copy_in_statement(table, given, columns, format), limit=until(timeout)) as copy:
        if is_bytes(given):
            await copy.write(given)
        elif hasattr(given, "read"):
            while block := given.read(defaults.COPY_BLOCK):
                await copy.write(block)
        elif hasattr(given, "__aiter__"):
            await _copy_async_rows(copy, given)
        else:
            await copy.write_rows(given)
    return copy.rowcount


async def _copy_async_rows(copy: AsyncCopy, rows: AsyncIterable[Sequence[Any]]) -> None:
    block: list[Sequence[Any]] = []
    async for row in rows:
        block.append(row)
        if len(block) == defaults.COPY_ROWS:
            await copy.write_rows(block)
            block.clear()
    # Without rows the header of the binary format is still to be sent.
    await copy.write_rows(block)


async def copy_out(
    connection: AsyncCopying[Any],
    source: str | Sequence[str],
    columns: Sequence[str] | None,
    format: str,
    opened: Opened,
    timeout: float | None,
) -> AsyncIterator[Any]:
    """See :meth:`AsyncConnection.copy_out`."""
    if format != "binary":
        statement = copy_statement(source, columns, format, out=True)
        async with AsyncCopy(connection, statement, opened=opened, limit=timeout) as copy:
            async for item in copy.blocks():
                yield item
        return
    of_rows = copy_of_rows(source, columns, format, out=True)
    async with AsyncCopy(connection, of_rows, opened=opened, limit=timeout) as copy:
        # Not rows(): a generator in a generator costs as much again for each row.
        async for block in copy.row_blocks():
            rows = iter(block)
            for row in islice(rows, 1):
                yield row
            copy._passed_on()
            for row in rows:
                yield row
