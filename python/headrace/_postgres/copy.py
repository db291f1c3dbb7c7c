"""COPY on a blocking connection."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from types import TracebackType
from typing import IO, TYPE_CHECKING, Any, cast

from .. import defaults
from .._native import CopyBuffer, PgColumns, PgResult, Wire
from ..errors import InterfaceError, ProgrammingError
from .core import quote_table
from .streams import COPYING

if TYPE_CHECKING:
    from .connection import Connection
    from .cursor import Cursor


def copy_statement(
    table: str | Sequence[str], columns: Sequence[str] | None, format: str, *, out: bool
) -> tuple[str, str]:
    """The COPY statement, and the query whose columns are those copied."""
    from .core import quote_identifier

    if format not in ("binary", "text", "csv"):
        raise ProgrammingError(f"the COPY format {format!r} is not one of binary, text, csv")
    names = ", ".join(quote_identifier(c) for c in columns) if columns else ""
    if out and isinstance(table, str) and " " in table.strip():
        return f"COPY ({table}) TO STDOUT (FORMAT {format})", table
    target = quote_table(table)
    direction = "TO STDOUT" if out else "FROM STDIN"
    listed = f" ({names})" if names else ""
    return f"COPY {target}{listed} {direction} (FORMAT {format})", f"SELECT {names or '*'} FROM {target}"


def is_bytes(value: Any) -> bool:
    """Whether a value is bytes or a buffer of them."""
    return isinstance(value, (bytes, bytearray, memoryview))


_ESCAPES = {ord("\\"): "\\\\", ord("\n"): "\\n", ord("\r"): "\\r", ord("\t"): "\\t"}


def text_row(row: Sequence[Any]) -> bytes:
    """A row in COPY's text format."""
    fields: list[str] = []
    for value in row:
        if value is None:
            fields.append("\\N")
        elif isinstance(value, bool):
            fields.append("t" if value else "f")
        elif is_bytes(value):
            fields.append("\\\\x" + bytes(value).hex())
        else:
            fields.append(str(value).translate(_ESCAPES))
    return ("\t".join(fields) + "\n").encode()


class Copy:
    """A COPY in progress; used as a context manager, whose end ends the COPY, and whose error makes it fail."""

    def __init__(self, connection: Connection[Any], sql: str, cursor: Cursor[Any] | None = None) -> None:
        self._connection = connection
        self._wire: Wire = connection._core.wire
        self._sql = sql
        self._cursor = cursor
        self._ticket: Any = None
        self._buffer = CopyBuffer()
        self._columns: PgColumns | None = None
        self._written = 0
        self._header_sent = False
        self._gate: Callable[[], None] | None = None
        self.rowcount = -1

    def __enter__(self) -> Copy:
        core = self._connection._core
        self._ticket, self._buffer = self._connection._run(core.copy_begin(self._sql))
        mine = core.me()

        def gate() -> None:
            if core.me() == mine:
                raise InterfaceError(COPYING)

        if self._wire.copy_state(self._ticket) == 1:
            self._gate = gate
            self._wire.occupy(gate)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._gate is not None and not self._wire.closed:
            self._wire.vacate(self._gate)
        if error is not None:
            self._connection._abandon_copy(self._ticket, f"{type(error).__name__} in the client")
            return
        if self._header_sent and not self._wire.closed:
            self._wire.copy_write(self._ticket, Wire.copy_trailer())
        self._wire.copy_end(self._ticket)
        results: list[PgResult] = self._connection._wait(self._ticket, None)
        self.rowcount = results[-1].rowcount if results else -1
        if self._cursor is not None:
            self._cursor._set_all(results)

    # into the server

    def _sent(self, taken: bool) -> None:
        if not taken:
            self._connection._wait(self._ticket, None)
            raise ProgrammingError("the COPY is over")
        self._wire.push(0 if self._wire.backlog() < defaults.COPY_BLOCK else defaults.COPY_BLOCK)

    def write(self, data: bytes | bytearray | memoryview | str) -> None:
        """Sends a block, of any size, as it stands."""
        block = data.encode() if isinstance(data, str) else bytes(data)
        taken = self._wire.copy_write(self._ticket, block)
        if not taken or self._wire.backlog() > defaults.COPY_BLOCK:
            self._sent(taken)

    def write_row(self, row: Sequence[Any]) -> None:
        """Sends a row: in the binary format after :meth:`set_types`, else in the text format."""
        if self._columns is None:
            self.write(text_row(row))
        else:
            self.write_rows([row])

    def set_types(self, types: Sequence[str]) -> None:
        """Names the SQL types of the columns: needed to send or read rows in the binary format."""
        raise ProgrammingError(
            "set_types() has to be called on the connection's copy_in() or copy_out(): give columns="
        )

    def write_rows(self, rows: Iterable[Sequence[Any]]) -> int:
        """Sends rows in the binary format, and gives how many there were."""
        if self._columns is None:
            raise ProgrammingError("rows in the binary format need the table's columns: use conn.copy_in()")
        iterator = iter(rows)
        total = 0
        while True:
            count, ended = self._wire.copy_rows(
                self._ticket, iterator, self._columns, not self._header_sent, self._written
            )
            self._header_sent = True
            self._written += count
            total += count
            if ended and self._wire.copy_state(self._ticket) != 1:
                self._sent(False)
            self._wire.push(defaults.COPY_BLOCK)
            if ended:
                return total

    # out of the server

    def read(self) -> bytes:
        """The next block, empty at the end."""
        while not len(self._buffer):
            if self._wire.copy_state(self._ticket) == 2:
                return b""
            self._connection._wait(self._wire.copy_step(self._ticket), None)
        return self._buffer.take()

    def __iter__(self) -> Iterator[bytes]:
        while block := self.read():
            yield block

    def rows(self) -> Iterator[tuple[Any, ...]]:
        """The rows of a binary COPY that :meth:`Connection.copy_out` began."""
        if self._columns is None:
            raise ProgrammingError("rows need the columns: use conn.copy_out(format='binary')")
        while True:
            if not len(self._buffer):
                if self._wire.copy_state(self._ticket) == 2:
                    return
                self._connection._wait(self._wire.copy_step(self._ticket), None)
                continue
            yield from self._wire.copy_take_rows(self._buffer, self._columns)


def copy_in(
    connection: Connection[Any],
    table: str | Sequence[str],
    source: Iterable[Sequence[Any]] | bytes | IO[bytes] | IO[str],
    columns: Sequence[str] | None,
    format: str,
) -> int:
    """See :meth:`Connection.copy_in`."""
    sql, query = copy_statement(table, columns, format, out=False)
    # One name for all the kinds that a source may be of; which it is, is found out below.
    given = cast("Any", source)
    raw = is_bytes(given) or hasattr(given, "read")
    described: PgColumns | None = None
    if not raw and format == "binary":
        described = connection._run(connection._core.copy_columns(query))
        if not connection._core.wire.copy_can_be_binary(described):
            sql, query = copy_statement(table, columns, "text", out=False)
            described = None
    with Copy(connection, sql) as copy:
        if is_bytes(given):
            copy.write(given)
        elif hasattr(given, "read"):
            while block := given.read(defaults.COPY_BLOCK):
                copy.write(block)
        elif described is not None:
            copy._columns = described
            copy.write_rows(given)
        elif format == "csv":
            raise ProgrammingError("rows are copied in the binary or the text format; csv takes bytes or a file")
        else:
            for row in given:
                copy.write(text_row(row))
    return copy.rowcount


def copy_out(
    connection: Connection[Any],
    source: str | Sequence[str],
    columns: Sequence[str] | None,
    format: str,
    to: IO[bytes] | None,
) -> Iterator[Any] | int:
    """See :meth:`Connection.copy_out`."""
    sql, query = copy_statement(source, columns, format, out=True)
    if to is not None:
        with Copy(connection, sql) as copy:
            for block in copy:
                to.write(block)
        return copy.rowcount
    return _rows_out(connection, sql, query) if format == "binary" else _blocks_out(connection, sql)


def _rows_out(connection: Connection[Any], sql: str, query: str) -> Iterator[tuple[Any, ...]]:
    described = connection._run(connection._core.copy_columns(query))
    with Copy(connection, sql) as copy:
        copy._columns = described
        yield from copy.rows()


def _blocks_out(connection: Connection[Any], sql: str) -> Iterator[bytes]:
    with Copy(connection, sql) as copy:
        yield from copy
