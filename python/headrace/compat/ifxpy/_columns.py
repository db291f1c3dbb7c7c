"""A column as ODBC describes it: the numbers of "Informix SQL data types" and of "ODBC SQL data types", IBM Informix
ODBC Driver Programmer's Manual, which IfxPy hands on."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

SQL_CHAR: Final = 1
SQL_NUMERIC: Final = 2
SQL_DECIMAL: Final = 3
SQL_INTEGER: Final = 4
SQL_SMALLINT: Final = 5
SQL_FLOAT: Final = 6
SQL_REAL: Final = 7
SQL_DOUBLE: Final = 8
SQL_VARCHAR: Final = 12
SQL_TYPE_DATE: Final = 91
SQL_TYPE_TIME: Final = 92
SQL_TYPE_TIMESTAMP: Final = 93
SQL_INTERVAL: Final = 110
SQL_LONGVARCHAR: Final = -1
SQL_BINARY: Final = -2
SQL_VARBINARY: Final = -3
SQL_LONGVARBINARY: Final = -4
SQL_BIGINT: Final = -5
SQL_TINYINT: Final = -6
SQL_BIT: Final = -7
SQL_WCHAR: Final = -8
SQL_WVARCHAR: Final = -9
SQL_WLONGVARCHAR: Final = -10
SQL_INFX_UDT_FIXED: Final = -100
SQL_INFX_UDT_VARYING: Final = -101
SQL_INFX_RC_ROW: Final = -105
SQL_INFX_RC_COLLECTION: Final = -106
SQL_INFX_RC_LIST: Final = -107
SQL_INFX_RC_SET: Final = -108
SQL_INFX_RC_MULTISET: Final = -109
MOST: Final = 2**31 - 1
"""The length of what has none."""
_WRITTEN: Final = re.compile(r"([A-Z0-9 ]+?)(?:\((\d+)(?:,(\d+))?\))?(?: ((?:YEAR|MONTH|DAY|HOUR|MINUTE|SECOND).*))?$")
_NAMES: Final = {
    SQL_SMALLINT: "int",
    SQL_INTEGER: "int",
    SQL_BIGINT: "bigint",
    SQL_REAL: "real",
    SQL_DOUBLE: "real",
    SQL_DECIMAL: "decimal",
    SQL_TYPE_DATE: "date",
    SQL_TYPE_TIME: "time",
    SQL_TYPE_TIMESTAMP: "timestamp",
    SQL_INTERVAL: "interval",
}
# Number, precision, bytes in the program, characters when it is shown.
_FIXED: Final = {
    "SMALLINT": (SQL_SMALLINT, 5, 2, 6),
    "INTEGER": (SQL_INTEGER, 10, 4, 11),
    "SERIAL": (SQL_INTEGER, 10, 4, 11),
    "INT8": (SQL_BIGINT, 19, 20, 20),
    "SERIAL8": (SQL_BIGINT, 19, 20, 20),
    "BIGINT": (SQL_BIGINT, 19, 20, 20),
    "BIGSERIAL": (SQL_BIGINT, 19, 20, 20),
    "SMALLFLOAT": (SQL_REAL, 7, 4, 14),
    "FLOAT": (SQL_DOUBLE, 15, 8, 24),
    "DATE": (SQL_TYPE_DATE, 10, 6, 10),
    "BOOLEAN": (SQL_BIT, 1, 1, 1),
    "BYTE": (SQL_LONGVARBINARY, MOST, MOST, MOST),
    "TEXT": (SQL_LONGVARCHAR, MOST, MOST, MOST),
    "BLOB": (SQL_INFX_UDT_FIXED, MOST, MOST, MOST),
    "CLOB": (SQL_INFX_UDT_FIXED, MOST, MOST, MOST),
    "ROW": (SQL_INFX_RC_ROW, MOST, MOST, MOST),
    "COLLECTION": (SQL_INFX_RC_COLLECTION, MOST, MOST, MOST),
    "LIST": (SQL_INFX_RC_LIST, MOST, MOST, MOST),
    "SET": (SQL_INFX_RC_SET, MOST, MOST, MOST),
    "MULTISET": (SQL_INFX_RC_MULTISET, MOST, MOST, MOST),
}
_TEXTS: Final = {
    "CHAR": SQL_CHAR,
    "NCHAR": SQL_CHAR,
    "VARCHAR": SQL_VARCHAR,
    "NVARCHAR": SQL_VARCHAR,
    "LVARCHAR": SQL_LONGVARCHAR,
}


@dataclass(frozen=True)
class Described:
    """A column, or a parameter of a catalog function's result."""

    name: str
    type: str
    """As it is declared, without a length."""
    number: int
    """The SQL type of ODBC."""
    precision: int
    scale: int
    width: int
    """Bytes that a program reserves for it."""
    display_size: int
    """Characters of the longest value."""
    nullable: bool

    @property
    def field_type(self) -> str:
        """The name that IfxPy has for the type."""
        return _NAMES.get(self.number, "string")


def described(name: str, declared: str, nullable: bool | None, size: int | None) -> Described:
    """A column as ODBC describes it.

    Args:
        name: of the column.
        declared: its type as ``Cursor.description`` has it.
        nullable: likewise, None counts as true.
        size: likewise, bytes.
    """
    found = _WRITTEN.match(declared)
    kind, digits, scale, fields = found.groups() if found else (declared, None, None, None)

    def made(number: int, precision: int, scale: int, width: int, shown: int) -> Described:
        return Described(name, kind, number, precision, scale, width, shown, nullable is not False)

    if kind in _FIXED:
        number, precision, width, shown = _FIXED[kind]
        return made(number, precision, 0, width, shown)
    if kind in ("DECIMAL", "MONEY"):
        precision = int(digits or 16)
        return made(SQL_DECIMAL, precision, int(scale or 0), precision + 2, precision + 2)
    if kind in _TEXTS:
        length = int(digits or size or 0)
        return made(_TEXTS[kind], length, 0, length, length)
    if kind == "DATETIME":
        digits = re.search(r"FRACTION\((\d)\)", fields or "")
        fraction = int(digits[1]) if digits else 0
        shown = fraction + 1 if fraction else 0
        if (fields or "").startswith("HOUR"):
            return made(SQL_TYPE_TIME, 8 + shown, fraction, 6, 8 + shown)
        return made(SQL_TYPE_TIMESTAMP, 19 + shown, fraction, 16, 19 + shown)
    if kind == "INTERVAL":
        return made(SQL_INTERVAL, 25, 0, 28, 25)
    return made(SQL_INFX_UDT_VARYING, size or MOST, 0, size or MOST, size or MOST)
