"""COPY: its statements, and what blocking and asyncio forms of it share that never waits."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from .._native import ArrowSource, CopyBuffer, PostgresWire, Result
from .._shared.arguments import checked_names, checked_rows
from .._shared.core import ExclusiveUse
from .._shared.limits import Limit
from ..errors import ProgrammingError
from .core import CopyOfRows, quote_literal
from .names import quote_name, quote_table

_QUERY = re.compile(
    r"(?:\s|\(|--[^\n]*\n|/\*.*?\*/)*(?:select|values|with|table|insert|update|delete|merge)\b\s*\S", re.I | re.S
)
"""How a text begins that is a query, and not a table's name: a word of SQL, followed by something."""
_OPTIONS = re.compile(r".*\bfrom\s+stdin\b(.*?)(?:\bwhere\b.*)?", re.I | re.S)
"""The options of a COPY into the server."""
_DEFAULTS = re.compile(
    r"""\b(?:delimiters?\s+(?:as\s+)?e?'(?:\t|\\t)'|null\s+(?:as\s+)?(?:'\\N'|e'\\\\N')|encoding\s+'utf-?8'|"""
    r"""header\s+(?:'(?:false|off)'|false\b|off\b|0))""",
    re.I,
)
"""Options whose value is what holds without them."""
_OTHER_TEXT = re.compile(r"\b(csv|delimiters?|null|encoding|header)\b", re.I)
"""Options with which the server reads a row in the text format as another one, or the first row as names."""


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
    return ", ".join(quote_name(column) for column in checked_names(columns) or ())


def copy_in_statement(
    table: str | Sequence[str], source: Any, columns: Sequence[str] | None, format: str
) -> str | CopyOfRows:
    """The COPY for a source: bytes and files go as they are, rows by what the table's columns are."""
    if isinstance(source, ArrowSource):
        if columns:
            source.pair(checked_names(columns) or [])
        else:
            columns = source.column_names
    if is_bytes(source) or hasattr(source, "read"):
        return copy_statement(table, columns, format, out=False)
    if format == "csv":
        raise ProgrammingError("rows are copied in the binary or the text format; csv takes bytes or a file")
    return copy_of_rows(table, columns, format, out=False)


def opened_source(source: Any) -> Any:
    """A source of ``copy_in``, or its Arrow stream if it has one."""
    return source if is_bytes(source) else ArrowSource.of(source) or source


def row_source(rows: Any) -> Any:
    """An iterator of rows, or their Arrow stream."""
    return rows if isinstance(rows, ArrowSource) else ArrowSource.of(rows) or iter(checked_rows(rows, "rows"))


def is_bytes(value: Any) -> bool:
    """Returns true if a value is bytes or a buffer of them."""
    return isinstance(value, (bytes, bytearray, memoryview))


def check_options(statement: str) -> None:
    """Raises ProgrammingError if the server would take the rows of a COPY, which are written in the text format, for
    others: as it does in the format CSV, or with another text for NULL."""
    options = _OPTIONS.fullmatch(statement)
    if options and (found := _OTHER_TEXT.search(_DEFAULTS.sub("", options[1]))):
        raise ProgrammingError(
            f"rows are written in the binary format or in the text format as it is by default, which the option "
            f"{found[0].upper()} of this COPY changes: leave it out, or write() the data yourself"
        )


class CopyBase:
    """A COPY in progress, as far as it has nothing to wait for."""

    _ticket: Any = None

    def __init__(
        self,
        connection: Any,
        statement: str | CopyOfRows,
        cursor: Any = None,
        opened: ExclusiveUse | None = None,
        *,
        limit: Limit = None,
    ) -> None:
        self._connection = connection
        self._limit = limit
        self._wire: PostgresWire = connection._core.wire
        self._statement = statement
        self._cursor = cursor
        self._buffer = CopyBuffer()
        self._header_sent = False
        self._has_rows = False
        """Its statement is one to which rows are written as text, and the first were written."""
        self._opened = opened or ExclusiveUse()
        self._exclusive: Any = None
        self._results: list[Result] | None = None
        self._failure: Exception | None = None
        """What the server has answered, once the block has got it."""
        self.rowcount = -1

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

    def _is_binary(self) -> bool:
        return self._buffer.shape is not None and self._buffer.shape[0]

    def _passed_on(self) -> None:
        """Another thread or task may have gone on with it."""
        if self._exclusive is not None:
            self._exclusive.pass_on()
