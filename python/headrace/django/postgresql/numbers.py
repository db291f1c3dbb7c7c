"""Whole numbers that are sent as one type of PostgreSQL, whatever their size: those of Django's fields.

A plain ``int`` is a ``smallint`` if it fits, so that ``1 * 40000`` of two parameters would be out of range.
"""

from __future__ import annotations

from typing import Any, ClassVar, cast


class Sized(int):
    """A number of a field."""

    sql_type: ClassVar[str]
    bits: ClassVar[int]

    def fitting_type(self) -> str:
        """The type of the field, or a wider one that the number fits, as that of the literal that Django writes
        with psycopg."""
        for bits, kind in ((self.bits, self.sql_type), (31, "integer"), (63, "bigint")):
            if -(1 << bits) <= self < 1 << bits:
                return kind
        return "numeric"

    def __reduce__(self) -> Any:
        return int, (int(self),)


class Int2(Sized):
    """``smallint``"""

    sql_type = "smallint"
    bits = 15


class Int4(Sized):
    """``integer``"""

    sql_type = "integer"
    bits = 31


class Int8(Sized):
    """``bigint``"""

    sql_type = "bigint"
    bits = 63


def array_type(value: Any) -> str | None:
    """The type of a list, at any depth, whose first item is a number of a field; None for every other value."""
    for item in cast(Any, value if isinstance(value, list | tuple) else ()):
        if isinstance(item, Sized):
            return item.sql_type + "[]"
        if item is not None:
            # An array has one type, whatever the number of its dimensions.
            return array_type(item)
    return None
