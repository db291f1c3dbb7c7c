"""A result of the lower interface."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any, Final

from ... import _native
from ._exceptions import ProgrammingError
from .constants import FIELD_TYPE, FLAG
from .converters import reader

_NUMBERS: Final = frozenset(
    (
        FIELD_TYPE.DECIMAL,
        FIELD_TYPE.TINY,
        FIELD_TYPE.SHORT,
        FIELD_TYPE.LONG,
        FIELD_TYPE.FLOAT,
        FIELD_TYPE.DOUBLE,
        FIELD_TYPE.NULL,
        FIELD_TYPE.LONGLONG,
        FIELD_TYPE.INT24,
        FIELD_TYPE.YEAR,
        FIELD_TYPE.NEWDECIMAL,
    )
)
"""The types whose flags have NUM, which MySQL's client library sets (IS_NUM in its mysql.h), and not the server."""


class Result:
    """The rows of a statement, all of them received."""

    def __init__(self, connection: Any, raw: _native.Result) -> None:
        if not isinstance(raw, _native.Result):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise TypeError("a result is made by store_result() or use_result() of a connection")
        self._fields: list[Any] = raw.columns.fields if raw.columns is not None else []
        readers = [
            reader(field, connection.converter, connection.use_unicode, connection.encoding) for field in self._fields
        ]
        self._rows = converted(raw.rows or [], readers)
        self._position = 0

    def describe(self) -> tuple[tuple[Any, ...], ...]:
        """What PEP 249 calls the description."""
        # The length of a text column is in bytes, and a signed number of 32 bits: both as MySQLdb has it.
        return tuple(
            (name, kind, None, _signed(length), _signed(length), decimals, 0 if flags & 1 else 1)
            for name, kind, _base, flags, _collation, length, decimals, *_ in self._fields
        )

    def field_flags(self) -> tuple[int, ...]:
        """The flags of the columns."""
        return tuple(field[3] | (FLAG.NUM if field[1] in _NUMBERS else 0) for field in self._fields)

    def num_fields(self) -> int:
        """How many columns there are."""
        return len(self._fields)

    def num_rows(self) -> int:
        """How many rows there are."""
        return len(self._rows)

    def data_seek(self, position: int) -> None:
        """Goes to a row."""
        self._position = position

    def row_seek(self, offset: int) -> None:
        """Goes some rows on or back."""
        self._position += offset

    def row_tell(self) -> int:
        """The number of the next row."""
        return self._position

    def fetch_row(self, maxrows: int = 1, how: int = 0) -> tuple[Any, ...]:
        """Rows: ``maxrows`` at most, 0 for all that are left; as tuples (``how`` 0) or dicts (1, and 2 with the tables'
        names in front)."""
        if maxrows < 0 or how not in (0, 1, 2):
            raise ProgrammingError("maxrows is 0 or more, how is 0, 1 or 2")
        end = len(self._rows) if maxrows == 0 else self._position + maxrows
        taken = self._rows[self._position : end]
        self._position += len(taken)
        return tuple(taken if how == 0 else self.dicts(taken, how))

    def dicts(self, rows: list[Any], how: int = 1) -> Iterator[dict[str, Any]]:
        """Rows as dicts."""
        names = self.names(how)
        return (dict(zip(names, row, strict=True)) for row in rows)

    def names(self, how: int) -> list[str]:
        """The keys of such dicts: a column's name, with its table in front where there is another of that name before
        it, or everywhere (``how`` 2)."""
        seen: list[str] = []
        for name, _, _, _, _, _, _, table, *_ in self._fields:
            seen.append(f"{table}.{name}" if table and (how > 1 or name in seen) else name)
        return seen

    def __iter__(self) -> Iterator[Any]:
        return iter(self._rows)


def _signed(length: int) -> int:
    return length - (1 << 32) if length >> 31 else length


def converted(rows: list[Any], readers: list[Callable[[Any], Any] | None]) -> list[Any]:
    """Rows with the readers of their columns applied to what is not NULL."""
    changed = [(at, read) for at, read in enumerate(readers) if read is not None]
    if not changed:
        return rows
    out: list[Any] = []
    for row in rows:
        values = list(row)
        for at, read in changed:
            if values[at] is not None:
                values[at] = read(values[at])
        out.append(tuple(values))
    return out
