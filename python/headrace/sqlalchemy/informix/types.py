"""Informix' own types, and how SQLAlchemy's are sent and received."""

# pyright: basic, reportIncompatibleMethodOverride=false

from __future__ import annotations

import datetime
from collections.abc import Callable
from typing import Any

from sqlalchemy.sql import sqltypes
from sqlalchemy.sql.type_api import NativeForEmulated
from sqlalchemy.types import (
    BIGINT,
    BLOB,
    BOOLEAN,
    CHAR,
    CLOB,
    DATE,
    DECIMAL,
    FLOAT,
    INTEGER,
    JSON,
    NCHAR,
    NVARCHAR,
    SMALLINT,
    TEXT,
    VARCHAR,
    UserDefinedType,
)

from .._values import Zoneless, day

__all__ = [
    "BIGINT",
    "BIGSERIAL",
    "BLOB",
    "BOOLEAN",
    "BYTE",
    "CHAR",
    "CLOB",
    "COLLECTION",
    "DATE",
    "DATETIME",
    "DECIMAL",
    "FLOAT",
    "INT8",
    "INTEGER",
    "INTERVAL",
    "JSON",
    "LVARCHAR",
    "MONEY",
    "NCHAR",
    "NVARCHAR",
    "SERIAL",
    "SERIAL8",
    "SMALLFLOAT",
    "SMALLINT",
    "TEXT",
    "VARCHAR",
]

FINEST = "FRACTION(5)"
"""The finest unit of time, ten microseconds."""


class LVARCHAR(sqltypes.String):
    """A text of up to 32,739 bytes, by default 2,048."""

    __visit_name__ = "LVARCHAR"


class BYTE(sqltypes.LargeBinary):
    """Bytes of any number, whole in memory."""

    __visit_name__ = "BYTE"


class INT8(sqltypes.BigInteger):
    """A whole number of 64 bits as servers before 11.50 have it, which stores it in ten bytes."""

    __visit_name__ = "INT8"


class SERIAL(sqltypes.Integer):
    """A whole number that the server generates. ``start`` is the first of them."""

    __visit_name__ = "SERIAL"

    def __init__(self, start: int | None = None) -> None:
        self.start = start


class SERIAL8(SERIAL, INT8):
    """The same of 64 bits, in ten bytes."""

    __visit_name__ = "SERIAL8"


class BIGSERIAL(SERIAL, sqltypes.BigInteger):
    """The same of 64 bits."""

    __visit_name__ = "BIGSERIAL"


class MONEY(sqltypes.Numeric[Any]):
    """A DECIMAL that the server's own programs print as an amount of money; two decimals by default."""

    __visit_name__ = "MONEY"


class SMALLFLOAT(sqltypes.Float[Any]):
    """A floating-point number of 32 bits."""

    __visit_name__ = "SMALLFLOAT"


class DATETIME(Zoneless, sqltypes.DateTime):
    """A point in time, from its largest to its smallest unit.

    Args:
        largest: ``YEAR``, ``MONTH``, ``DAY``, ``HOUR``, ``MINUTE`` or ``SECOND``.
        smallest: one of these, or ``FRACTION(1)`` to ``FRACTION(5)``.
    """

    __visit_name__ = "DATETIME"

    def __init__(self, largest: str = "YEAR", smallest: str = FINEST) -> None:
        super().__init__()
        self.largest = largest
        self.smallest = smallest


class INTERVAL(NativeForEmulated, sqltypes._AbstractInterval):
    """A span of time, from its largest to its smallest unit: of years and months, or of days and what is smaller.

    Args:
        largest: ``YEAR``, ``MONTH``, ``DAY``, ``HOUR``, ``MINUTE`` or ``SECOND``.
        smallest: one of these, or ``FRACTION(1)`` to ``FRACTION(5)``.
        digits: of the largest unit, 1 to 9.
    """

    __visit_name__ = "INTERVAL"
    native = True

    def __init__(self, largest: str = "DAY", smallest: str = FINEST, digits: int = 9) -> None:
        self.largest = largest
        self.smallest = smallest
        self.digits = digits

    @classmethod
    def adapt_emulated_to_native(cls, impl: Any, **keywords: Any) -> INTERVAL:
        return cls()

    @property
    def python_type(self) -> type[datetime.timedelta]:
        return datetime.timedelta

    @property
    def _type_affinity(self) -> type[sqltypes.Interval]:
        return sqltypes.Interval

    def as_generic(self, allow_nulltype: bool = False) -> sqltypes.Interval:
        return sqltypes.Interval(native=True)


class COLLECTION(UserDefinedType[Any]):
    """``SET``, ``MULTISET``, ``LIST`` or ``ROW``, which is received as text.

    Args:
        declaration: as in CREATE TABLE, ``SET(INTEGER NOT NULL)``.
    """

    cache_ok = True

    def __init__(self, declaration: str) -> None:
        self.declaration = declaration

    def get_col_spec(self, **keywords: Any) -> str:
        return self.declaration


# What SQLAlchemy's types become


class _Date(sqltypes.Date):
    def bind_processor(self, dialect: Any) -> Callable[[Any], Any]:
        return day

    def literal_processor(self, dialect: Any) -> Callable[[Any], str]:
        # MDY() depends on no setting of the session.
        return lambda value: f"MDY({value.month}, {value.day}, {value.year})"


class _DateTime(Zoneless, sqltypes.DateTime):
    def literal_processor(self, dialect: Any) -> Callable[[Any], str]:
        def process(value: datetime.datetime) -> str:
            text = value.strftime("%Y-%m-%d %H:%M:%S.%f")[:-1]
            return f"DATETIME({text.rjust(25, '0')}) YEAR TO {FINEST}"

        return process


class _Time(Zoneless, sqltypes.Time):
    def literal_processor(self, dialect: Any) -> Callable[[Any], str]:
        return lambda value: f"DATETIME({value.strftime('%H:%M:%S.%f')[:-1]}) HOUR TO {FINEST}"


class _Boolean(sqltypes.Boolean):
    def literal_processor(self, dialect: Any) -> Callable[[Any], str]:
        return lambda value: "'t'" if value else "'f'"


class _Json(sqltypes.JSON):
    """The driver has read it."""

    def result_processor(self, dialect: Any, coltype: Any) -> None:
        return None


class _Null(Zoneless, sqltypes.NullType):
    pass


COLSPECS: dict[Any, Any] = {
    sqltypes.NullType: _Null,
    sqltypes.Date: _Date,
    sqltypes.DateTime: _DateTime,
    sqltypes.Time: _Time,
    sqltypes.Boolean: _Boolean,
    sqltypes.Interval: INTERVAL,
    sqltypes.JSON: _Json,
}

# syscolumns.coltype, in the "SYSCOLUMNS" page of IBM's Guide to SQL: Reference.
UNITS = {0: "YEAR", 2: "MONTH", 4: "DAY", 6: "HOUR", 8: "MINUTE", 10: "SECOND", 11: "FRACTION(1)", 12: "FRACTION(2)",
         13: "FRACTION(3)", 14: "FRACTION(4)", 15: "FRACTION(5)"}  # fmt: skip
_NAMED = {
    "boolean": sqltypes.BOOLEAN,
    "blob": sqltypes.BLOB,
    "clob": sqltypes.CLOB,
    "json": sqltypes.JSON,
}
_SIMPLE: dict[int, Callable[[], Any]] = {
    1: sqltypes.SMALLINT,
    2: sqltypes.INTEGER,
    3: sqltypes.FLOAT,
    4: SMALLFLOAT,
    6: sqltypes.INTEGER,
    7: sqltypes.DATE,
    11: BYTE,
    12: sqltypes.TEXT,
    17: INT8,
    18: INT8,
    45: sqltypes.BOOLEAN,
    52: sqltypes.BIGINT,
    53: sqltypes.BIGINT,
}
_TEXTS: dict[int, Callable[[int], Any]] = {0: sqltypes.CHAR, 15: sqltypes.NCHAR, 43: LVARCHAR}
# The length of these is in the lower byte, the space that is reserved at least in the upper.
_SHORT: dict[int, Callable[[int], Any]] = {13: sqltypes.VARCHAR, 16: sqltypes.NVARCHAR}
_COLLECTIONS = {19: "SET", 20: "MULTISET", 21: "LIST", 22: "ROW"}


def reflected(number: int, length: int, name: str | None) -> Any:
    """The type of a column in the catalog.

    Args:
        number: ``syscolumns.coltype``, of which the upper byte is flags.
        length: ``syscolumns.collength``.
        name: of an extended type.

    Returns:
        An instance, or None for a type that is not known.
    """
    number, length = number & 0xFF, length & 0xFFFF
    if number in _SIMPLE:
        return _SIMPLE[number]()
    if number in _TEXTS:
        return _TEXTS[number](length)
    if number in _SHORT:
        return _SHORT[number](length & 0xFF)
    if number in (5, 8):
        precision, scale = length >> 8, length & 0xFF
        make = sqltypes.DECIMAL if number == 5 else MONEY
        return make(precision, None if scale == 0xFF else scale)
    if number in (10, 14):
        largest, smallest = length >> 4 & 0xF, length & 0xF
        if number == 14:
            return INTERVAL(UNITS[largest], UNITS[smallest], (length >> 8) - (smallest - largest))
        if (largest, smallest) == (0, 15):
            return sqltypes.DATETIME()
        if (largest, smallest) == (6, 15):
            return sqltypes.TIME()
        return DATETIME(UNITS[largest], UNITS[smallest])
    if number in _COLLECTIONS:
        return COLLECTION(name or _COLLECTIONS[number])
    if name == "lvarchar":
        return LVARCHAR(length)
    return _NAMED[name]() if name in _NAMED else None
