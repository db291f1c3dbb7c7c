"""COPY, blocking."""

# Made by tools/async_to_sync.py of aio/postgres/copy.py: edit that file, and run the tool.

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from copy import copy as copied
from itertools import islice
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any

from .. import defaults
from .._native import PostgresWire, Result, Transfer
from .._shared.arguments import checked_data
from .._shared.core import ExclusiveUse
from .._shared.limits import until
from ..errors import Error, ProgrammingError
from ..types import ParameterRows
from .copy_base import CopyBase, check_options, copy_in_statement, is_bytes, opened_source, row_source
from .core import CopyOfRows
from .streams import COPYING

if TYPE_CHECKING:
    from .copying import Copying


class Copy(CopyBase):
    """A COPY in progress; used as a context manager, whose end ends the COPY, and whose error makes it
    fail."""

    _connection: Copying[Any]

    def __enter__(self) -> Copy:
        core = self._connection._core
        asked: list[Any] = []
        try:
            self._connection._run(core.copy_begin(self._statement, self._buffer, asked), self._limit)
            self._ticket = asked[0]
            # Also of a COPY out: what a statement of its reader waits for is after data that only the reader takes.
            self._exclusive = self._connection._exclusive_guard(self._opened, COPYING)
            self._wire.occupy(self._exclusive)
        except BaseException as error:
            if asked and not self._wire.closed and self._wire.request_id(asked[0]) is not None:
                # Nobody leaves a block that was not entered, and the server waits for data.
                self._ticket = asked[0]
                self.__exit__(type(error), error, None)
            raise
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._exclusive is not None and not self._wire.closed:
            self._wire.vacate(self._exclusive)
        if error is not None:
            self._connection._abandon_copy(self._ticket, f"{type(error).__name__} in the client")
            self._opened.ended = True
            return
        if self._header_sent and self._is_binary() and not self._wire.closed:
            self._wire.copy_write(self._ticket, PostgresWire.copy_trailer())
        self._wire.copy_leave(self._ticket, self._buffer)
        self._wire.copy_end(self._ticket)
        results = self._answer()
        self._opened.ended = True
        self.rowcount = results[-1].rowcount if results else -1
        if self._cursor is not None:
            self._cursor._set_all(results)

    def __del__(self) -> None:
        # An interrupt may come before the first step of the block, or of its end. Nothing reads or feeds
        # it then, and the connection would be kept for it.
        if self._ticket is None or self._opened.ended or self._wire.closed:
            return
        with contextlib.suppress(Error):
            if self._exclusive is not None:
                self._wire.vacate(self._exclusive)
            self._wire.discard(self._ticket)

    # into the server

    def _answer(self) -> list[Result]:
        """The server's answer to the whole COPY. A block that goes on after it has raised that as an error
        raises it again at its end: of a ticket it comes once."""
        if self._failure is not None:
            raise copied(self._failure)
        if self._results is not None:
            return self._results
        try:
            results: list[Result] = self._connection._wait(self._ticket, self._limit)
        except Exception as error:
            # Its traceback would keep the connection alive.
            self._failure = copied(error)
            raise
        self._results = results
        return results

    def _sent(self, taken: bool) -> None:
        if not taken:
            self._answer()
            raise ProgrammingError("the COPY is over")
        if self._wire.backlog() > defaults.COPY_BLOCK:
            self._connection._push(defaults.COPY_BLOCK, self._limit)

    def write(self, data: bytes | bytearray | memoryview | str) -> None:
        """Sends a block of data of any size, unchanged.

        Args:
            data: bytes, or text, which is sent as UTF-8.

        Raises:
            TypeError: the data are neither.
            ProgrammingError: the COPY has ended.
            DatabaseError: the server refused the data.
            TimeoutError: the server did not read in time.
        """
        self._passed_on()
        self._sent(self._wire.copy_write(self._ticket, checked_data(data)))

    def write_row(self, row: Sequence[Any]) -> None:
        """Sends a row. The class of each value decides its text form, as for ``%s``.

        Args:
            row: the values.

        Raises:
            ProgrammingError: the COPY has ended, a value cannot be sent, or the statement has options, as those of CSV,
                with which the row would be taken for another.
            DatabaseError: the server refused the data.
            TimeoutError: the server did not read in time.
        """
        if not self._has_rows:
            self._write(iter((row,)))
            return
        # For each row, so that nothing is asked that the first row has answered.
        if self._exclusive is not None:
            self._exclusive.pass_on()
        has_room = self._wire.copy_row(self._ticket, row, self._buffer, defaults.COPY_BLOCK)
        if not has_room:
            self._make_room()

    def _make_room(self) -> None:
        """Sends what was written, or raises the error that has ended the COPY."""
        if self._wire.copy_state(self._ticket) != Transfer.STREAMING:
            self._sent(False)
        if self._wire.backlog() > defaults.COPY_BLOCK:
            self._connection._push(defaults.COPY_BLOCK, self._limit)

    def write_rows(self, rows: ParameterRows) -> int:
        """Sends rows, as :meth:`write_row` does.

        Args:
            rows: any iterable of rows, or Arrow data.

        Returns:
            The number of rows.

        Raises:
            ProgrammingError: the COPY has ended, a value cannot be sent, or the statement has options, as those of CSV,
                with which the rows would be taken for others.
            DatabaseError: the server refused the data.
            TimeoutError: the server did not read in time.
        """
        self._passed_on()
        return self._write(row_source(rows))

    def _write(self, rows: Any) -> int:
        """Writes the rows of an iterator or of an Arrow stream. It calls next to nothing: that would take longer than
        a single row."""
        if self._exclusive is not None:
            self._exclusive.pass_on()
        first = not self._header_sent
        if first and isinstance(self._statement, str):
            check_options(self._statement)
        wire, ticket, buffer, total = self._wire, self._ticket, self._buffer, 0
        while True:
            count, ended = wire.copy_rows(ticket, rows, buffer, first)
            first, self._header_sent = False, True
            total += count
            if ended and wire.copy_state(ticket) != Transfer.STREAMING:
                self._sent(False)
            if wire.backlog() > defaults.COPY_BLOCK:
                self._connection._push(defaults.COPY_BLOCK, self._limit)
            if ended:
                self._has_rows = isinstance(self._statement, str)
                return total

    # out of the server

    def read(self) -> bytes:
        """Reads the next block of data.

        Returns:
            The bytes; empty at the end.

        Raises:
            DatabaseError: the server ended the COPY with an error.
            TimeoutError: the server sent nothing in time.
        """
        return self._wire.copy_take(self._ticket, self._buffer) if self._has_more() else b""

    def _has_more(self) -> bool:
        """Waits for data; false at the end."""
        self._passed_on()
        while True:
            # In this order: between the two looks another thread may bring the last blocks and the end.
            ended = self._wire.copy_state(self._ticket) == Transfer.ENDED
            if len(self._buffer):
                return True
            if ended:
                return False
            if self._wire.copy_state(self._ticket) == Transfer.STREAMING:
                raise ProgrammingError("a COPY FROM STDIN has nothing to read: write() or write_row() sends its data")
            self._connection._wait(self._wire.copy_step(self._ticket), self._limit)

    def __iter__(self) -> Iterator[bytes]:
        return self.blocks()

    def blocks(self) -> Iterator[bytes]:
        """Returns the blocks of data as they are received.

        Yields:
            Blocks of bytes.

        Raises:
            DatabaseError: the server ended the COPY with an error.
            TimeoutError: the server sent nothing in time.
        """
        while block := self.read():
            yield block

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """Returns the rows of a COPY that ``copy_out`` began.

        Yields:
            Rows as tuples.

        Raises:
            DatabaseError: the server ended the COPY with an error.
            TimeoutError: the server sent nothing in time.
        """
        for block in self.row_blocks():
            rows = iter(block)
            yield from islice(rows, 1)
            self._passed_on()
            yield from rows

    def row_blocks(self) -> Iterator[list[tuple[Any, ...]]]:
        """Returns the rows of a COPY that ``copy_out`` began in lists, as they are received.

        Yields:
            Lists of tuples.

        Raises:
            DatabaseError: the server ended the COPY with an error.
            TimeoutError: the server sent nothing in time.
        """
        while self._has_more():
            yield self._wire.copy_take_rows(self._ticket, self._buffer)


def copy_in(
    connection: Copying[Any],
    table: str | Sequence[str],
    source: ParameterRows | Iterable[Sequence[Any]] | bytes | IO[bytes] | IO[str],
    columns: Sequence[str] | None,
    format: str,
    timeout: float | None,
) -> int:
    """See :meth:`Connection.copy_in`."""
    # One name for all the kinds that a source may be of; which it is, is found out below.
    given = opened_source(source)
    with Copy(connection, copy_in_statement(table, given, columns, format), limit=until(timeout)) as copy:
        if is_bytes(given):
            copy.write(given)
        elif hasattr(given, "read"):
            while block := given.read(defaults.COPY_BLOCK):
                copy.write(block)
        else:
            # Also where there are none: the header of the binary format is still to be sent.
            copy.write_rows(given)
    return copy.rowcount


def blocks_out(
    connection: Copying[Any], statement: str, opened: ExclusiveUse, timeout: float | None
) -> Iterator[bytes]:
    """The blocks of a COPY out."""
    with Copy(connection, statement, opened=opened, limit=timeout) as copy:
        yield from copy.blocks()


def rows_out(
    connection: Copying[Any], statement: CopyOfRows, opened: ExclusiveUse, timeout: float | None
) -> Iterator[tuple[Any, ...]]:
    """The rows of a COPY out."""
    with Copy(connection, statement, opened=opened, limit=timeout) as copy:
        yield from copy.rows()
