"""COPY on a blocking connection."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, cast

from .. import defaults
from .._native import CopyBuffer, PostgresWire, Result, Transfer
from .._shared.core import Gate
from .._shared.limits import Limit, until
from ..errors import Error, ProgrammingError
from .core import CopyOfRows, quote_identifier, quote_literal, quote_table
from .streams import COPYING

if TYPE_CHECKING:
    from .copying import Copying
    from .cursor import Cursor


_QUERY = re.compile(
    r"(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*(?:select|values|with|table|insert|update|delete|merge)\b\s*\S", re.I | re.S
)
"""How a text begins that is a query, and not a table's name: a word of SQL, followed by something."""


def copy_statement(table: str | Sequence[str], columns: Sequence[str] | None, format: str, *, out: bool) -> str:
    """The COPY statement."""
    if format not in ("binary", "text", "csv"):
        raise ProgrammingError(f"the COPY format {format!r} is not one of binary, text, csv")
    if out and isinstance(table, str) and _QUERY.match(table):
        # A comment at the end of the query ends with the line.
        return f"COPY ({table}\n) TO STDOUT (FORMAT {format})"
    names = f" ({_listed(columns)})" if columns else ""
    direction = "TO STDOUT" if out else "FROM STDIN"
    return f"COPY {quote_table(table)}{names} {direction} (FORMAT {format})"


def copy_of_rows(table: str | Sequence[str], columns: Sequence[str] | None, format: str, *, out: bool) -> CopyOfRows:
    """A COPY of rows, in the binary format where ``format`` is that and the columns have it."""
    binary = copy_statement(table, columns, "binary", out=out) if format == "binary" else None
    text = copy_statement(table, columns, "text", out=out)
    if out and isinstance(table, str) and _QUERY.match(table):
        return CopyOfRows(table, None, binary, text, False)
    target = quote_table(table)
    query = f"SELECT {_listed(columns) if columns else '*'} FROM {target}"
    left_out = (
        "SELECT attnum FROM pg_catalog.pg_attribute WHERE attrelid OPERATOR(pg_catalog.=)"
        f"{quote_literal(target)}::pg_catalog.regclass::pg_catalog.oid"
        " AND attgenerated OPERATOR(pg_catalog.<>) ''::pg_catalog.\"char\""
    )
    return CopyOfRows(query, None if columns else left_out, binary, text, not out)


def _listed(columns: Sequence[str]) -> str:
    return ", ".join(quote_identifier(column) for column in columns)


def is_bytes(value: Any) -> bool:
    """Returns true if a value is bytes or a buffer of them."""
    return isinstance(value, (bytes, bytearray, memoryview))


class Copy:
    """A COPY in progress; used as a context manager, whose end ends the COPY, and whose error makes it fail."""

    def __init__(
        self,
        connection: Copying[Any],
        statement: str | CopyOfRows,
        cursor: Cursor[Any] | None = None,
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
        self._gate: Gate | None = None
        self._ended = False
        self.rowcount = -1

    def __enter__(self) -> Copy:
        core = self._connection._core
        self._ticket, self._buffer = self._connection._run(core.copy_begin(self._statement), self._limit)
        # Also of a COPY out: what a statement of its reader waits for is after data that only the reader takes.
        self._gate = Gate(core, COPYING)
        self._wire.occupy(self._gate)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._gate is not None and not self._wire.closed:
            self._wire.vacate(self._gate)
        if error is not None:
            self._connection._abandon_copy(self._ticket, f"{type(error).__name__} in the client")
            self._ended = True
            return
        if self._header_sent and self._is_binary() and not self._wire.closed:
            self._wire.copy_write(self._ticket, PostgresWire.copy_trailer())
        self._wire.copy_leave(self._ticket, self._buffer)
        self._wire.copy_end(self._ticket)
        results: list[Result] = self._connection._wait(self._ticket, self._limit)
        self._ended = True
        self.rowcount = results[-1].rowcount if results else -1
        if self._cursor is not None:
            self._cursor._set_all(results)

    def __del__(self) -> None:
        # An interrupt may come before the first step of the block, or of its end. Nothing reads or feeds it then, and
        # the connection would be kept for it.
        if self._ended or self._ticket is None or self._wire.closed:
            return
        with contextlib.suppress(Error):
            if self._gate is not None:
                self._wire.vacate(self._gate)
            self._wire.discard(self._ticket)

    def _is_binary(self) -> bool:
        return self._buffer.shape is not None and self._buffer.shape[0]

    def _passed_on(self) -> None:
        """Another thread may have gone on with it."""
        if self._gate is not None:
            self._gate.pass_on()

    # into the server

    def _sent(self, taken: bool) -> None:
        if not taken:
            self._connection._wait(self._ticket, self._limit)
            raise ProgrammingError("the COPY is over")
        most = 0 if self._wire.backlog() < defaults.COPY_BLOCK else defaults.COPY_BLOCK
        self._connection._push(most, self._limit)

    def write(self, data: bytes | bytearray | memoryview | str) -> None:
        """Sends a block of data of any size, unchanged.

        Args:
            data: bytes, or text, which is sent as UTF-8.

        Raises:
            ProgrammingError: the COPY has ended.
            DatabaseError: the server refused the data.
            TimeoutError: the server did not read in time.
        """
        self._passed_on()
        block = data.encode() if isinstance(data, str) else bytes(data)
        taken = self._wire.copy_write(self._ticket, block)
        if not taken or self._wire.backlog() > defaults.COPY_BLOCK:
            self._sent(taken)

    def write_row(self, row: Sequence[Any]) -> None:
        """Sends a row. The class of each value decides its text form, as for ``%s``.

        Args:
            row: the values.

        Raises:
            ProgrammingError: the COPY has ended, or a value cannot be sent.
            DatabaseError: the server refused the data.
            TimeoutError: the server did not read in time.
        """
        self.write_rows([row])

    def set_types(self, types: Sequence[str]) -> None:
        """Raises ProgrammingError: the types are known from ``copy_in(..., columns=...)``; psycopg needs this method.

        Args:
            types: ignored.

        Raises:
            ProgrammingError: always.
        """
        raise ProgrammingError(
            "set_types() has to be called on the connection's copy_in() or copy_out(): give columns="
        )

    def write_rows(self, rows: Iterable[Sequence[Any]]) -> int:
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
            if ended and self._wire.copy_state(self._ticket) != Transfer.STREAMING:
                self._sent(False)
            self._connection._push(defaults.COPY_BLOCK, self._limit)
            if ended:
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
            self._connection._wait(self._wire.copy_step(self._ticket), self._limit)

    def __iter__(self) -> Iterator[bytes]:
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
        while self._has_more():
            yield from self._wire.copy_take_rows(self._ticket, self._buffer)


def copy_in(
    connection: Copying[Any],
    table: str | Sequence[str],
    source: Iterable[Sequence[Any]] | bytes | IO[bytes] | IO[str],
    columns: Sequence[str] | None,
    format: str,
    timeout: float | None,
) -> int:
    """See :meth:`Connection.copy_in`."""
    # One name for all the kinds that a source may be of; which it is, is found out below.
    given = cast("Any", source)
    statement = copy_in_statement(table, given, columns, format)
    with Copy(connection, statement, limit=until(timeout)) as copy:
        if is_bytes(given):
            copy.write(given)
        elif hasattr(given, "read"):
            while block := given.read(defaults.COPY_BLOCK):
                copy.write(block)
        else:
            copy.write_rows(given)
    return copy.rowcount


def copy_in_statement(
    table: str | Sequence[str], source: Any, columns: Sequence[str] | None, format: str
) -> str | CopyOfRows:
    """The COPY for a source: bytes and files go as they are, rows by what the table's columns are."""
    if is_bytes(source) or hasattr(source, "read"):
        return copy_statement(table, columns, format, out=False)
    if format == "csv":
        raise ProgrammingError("rows are copied in the binary or the text format; csv takes bytes or a file")
    return copy_of_rows(table, columns, format, out=False)


def copy_out(
    connection: Copying[Any],
    source: str | Sequence[str],
    columns: Sequence[str] | None,
    format: str,
    to: IO[bytes] | None,
    timeout: float | None,
) -> Iterator[Any] | int:
    """See :meth:`Connection.copy_out`."""
    sql = copy_statement(source, columns, format, out=True)
    if to is not None:
        with Copy(connection, sql, limit=until(timeout)) as copy:
            for block in copy:
                to.write(block)
        return copy.rowcount
    if format == "binary":
        return _rows_out(connection, copy_of_rows(source, columns, format, out=True), timeout)
    return _blocks_out(connection, sql, timeout)


def _rows_out(connection: Copying[Any], statement: CopyOfRows, timeout: float | None) -> Iterator[tuple[Any, ...]]:
    with Copy(connection, statement, limit=timeout) as copy:
        yield from copy.rows()


def _blocks_out(connection: Copying[Any], sql: str, timeout: float | None) -> Iterator[bytes]:
    with Copy(connection, sql, limit=timeout) as copy:
        yield from copy
