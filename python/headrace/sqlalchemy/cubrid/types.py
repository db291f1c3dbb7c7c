"""CUBRID's own types, and how SQLAlchemy's are sent and received."""

# pyright: basic, reportIncompatibleMethodOverride=false

from __future__ import annotations

import datetime
import json
import re
import struct
from collections.abc import Callable
from typing import Any

from sqlalchemy.sql import functions, sqltypes
from sqlalchemy.types import UserDefinedType

from ...types import Opaque
from .._values import Zoneless, clock, day


class BIT(UserDefinedType[bytes]):
    """Bits of a fixed number, received as bytes."""

    cache_ok = True

    def __init__(self, length: int = 1) -> None:
        self.length = length

    def get_col_spec(self, **keywords: Any) -> str:
        return f"BIT({self.length})"


class MONETARY(sqltypes.Float[float]):
    """An amount of money, which is a floating-point number of 64 bits."""

    __visit_name__ = "MONETARY"


class DATETIMETZ(sqltypes.DateTime):
    """A point in time with its zone, to milliseconds; received in UTC."""

    __visit_name__ = "DATETIMETZ"

    def __init__(self) -> None:
        super().__init__(timezone=True)


class DATETIMELTZ(DATETIMETZ):
    """The same in the session's time zone."""

    __visit_name__ = "DATETIMELTZ"


class COLLECTION(UserDefinedType[list[Any]]):
    """``SET``, ``MULTISET`` or ``LIST`` of a type.

    Args:
        kind: one of these.
        element: the type of its elements.
    """

    cache_ok = True

    def __init__(self, kind: str, element: Any) -> None:
        self.kind = kind
        self.element = sqltypes.to_instance(element)

    def get_col_spec(self, **keywords: Any) -> str:
        from .engine import CubridDialect_headrace

        return f"{self.kind}({self.element.compile(dialect=CubridDialect_headrace())})"


class _Date(sqltypes.Date):
    def bind_processor(self, dialect: Any) -> Callable[[Any], Any]:
        return day

    def literal_processor(self, dialect: Any) -> Callable[[Any], str]:
        return lambda value: f"DATE'{day(value).isoformat()}'"


class _DateTime(sqltypes.DateTime):
    def bind_processor(self, dialect: Any) -> Callable[[Any], Any] | None:
        return None if self.timezone else Zoneless().bind_processor(dialect)

    def literal_processor(self, dialect: Any) -> Callable[[Any], str]:
        def literal(value: Any) -> str:
            if not self.timezone:
                return f"DATETIME'{clock(value).isoformat(' ', 'milliseconds')}'"
            if value.utcoffset() is None:
                return f"DATETIMETZ'{value.isoformat(' ', 'milliseconds')}'"
            # With a blank before the zone, as the manual has it: the test server reads none without it.
            instant = value.astimezone(datetime.timezone.utc).replace(tzinfo=None)
            return f"DATETIMETZ'{instant.isoformat(' ', 'milliseconds')} +00:00'"

        return literal


class _Time(Zoneless, sqltypes.Time):
    def literal_processor(self, dialect: Any) -> Callable[[Any], str]:
        return lambda value: f"TIME'{value.strftime('%H:%M:%S')}'"


def with_own_zone(value: Any) -> Any:
    """A datetime that is sent with its zone: a column without zones takes its clock, another one the instant."""
    if not isinstance(value, datetime.datetime) or value != value or (offset := value.utcoffset()) is None:
        return clock(value)
    minutes, rest = divmod(offset, datetime.timedelta(minutes=1))
    if rest:
        return value
    hours, minutes = divmod(abs(minutes), 60)
    fields = (*value.timetuple()[:6], value.microsecond // 1000)
    zone = f"{'-' if offset.days < 0 else '+'}{hours:02}:{minutes:02}"
    return Opaque("datetimetz", struct.pack(">7h", *fields) + zone.encode())


class _Null(sqltypes.NullType):
    def bind_processor(self, dialect: Any) -> Callable[[Any], Any]:
        return with_own_zone


class _Json(sqltypes.JSON):
    """The driver has read it."""

    def result_processor(self, dialect: Any, coltype: Any) -> None:
        return None


class _Blob(sqltypes.LargeBinary):
    """The bytes, where the server would send where they are.

    "LOB Functions" of the CUBRID manual.
    """

    def column_expression(self, column: Any) -> Any:
        return functions.func.blob_to_bit(column, type_=sqltypes.VARBINARY())

    def bind_expression(self, bindvalue: Any) -> Any:
        return functions.func.bit_to_blob(bindvalue, type_=self)


class _Clob(sqltypes.Text):
    """The text of a CLOB, as with :class:`_Blob`."""

    def column_expression(self, column: Any) -> Any:
        return functions.func.clob_to_char(column, type_=sqltypes.VARCHAR())

    def bind_expression(self, bindvalue: Any) -> Any:
        return functions.func.char_to_clob(bindvalue, type_=self)


def _path(*elements: int | str) -> str:
    """A path of JSON, as "JSON Functions" of the CUBRID manual has it.

    Raises:
        TypeError: a bool, which is an int to Python.
    """
    if any(isinstance(element, bool) for element in elements):
        raise TypeError(f"a path into JSON has names and numbers, and not {elements!r}")
    quoted = (json.dumps(element, ensure_ascii=False) for element in elements if isinstance(element, str))
    return "$" + "".join(f"[{element}]" if isinstance(element, int) else f".{next(quoted)}" for element in elements)


def quoted(text: str) -> str:
    """A text as a plain literal."""
    return "'" + text.replace("'", "''") + "'"


class _JsonIndex(sqltypes.JSON.JSONIndexType):
    def bind_processor(self, dialect: Any) -> Callable[[Any], str]:
        return _path

    def literal_processor(self, dialect: Any) -> Callable[[Any], str]:
        return lambda element: quoted(_path(element))


class _JsonPath(sqltypes.JSON.JSONPathType):
    def bind_processor(self, dialect: Any) -> Callable[[Any], str]:
        return lambda elements: _path(*elements)

    def literal_processor(self, dialect: Any) -> Callable[[Any], str]:
        return lambda elements: quoted(_path(*elements))


COLSPECS: dict[Any, Any] = {
    sqltypes.NullType: _Null,
    sqltypes.Date: _Date,
    sqltypes.DateTime: _DateTime,
    sqltypes.Time: _Time,
    sqltypes.JSON: _Json,
    sqltypes.BLOB: _Blob,
    sqltypes.CLOB: _Clob,
    sqltypes.JSON.JSONIndexType: _JsonIndex,
    sqltypes.JSON.JSONPathType: _JsonPath,
}

_SIMPLE: dict[str, Callable[[], Any]] = {
    "SHORT": sqltypes.SMALLINT,
    "SMALLINT": sqltypes.SMALLINT,
    "INTEGER": sqltypes.INTEGER,
    "INT": sqltypes.INTEGER,
    "BIGINT": sqltypes.BIGINT,
    "FLOAT": sqltypes.FLOAT,
    "DOUBLE": sqltypes.DOUBLE,
    "MONETARY": MONETARY,
    "DATE": sqltypes.DATE,
    "TIME": sqltypes.TIME,
    "TIMESTAMP": sqltypes.TIMESTAMP,
    "DATETIME": sqltypes.DATETIME,
    "TIMESTAMPTZ": lambda: sqltypes.TIMESTAMP(timezone=True),
    "TIMESTAMPLTZ": lambda: sqltypes.TIMESTAMP(timezone=True),
    "DATETIMETZ": DATETIMETZ,
    "DATETIMELTZ": DATETIMELTZ,
    "STRING": sqltypes.VARCHAR,
    "BLOB": sqltypes.BLOB,
    "CLOB": sqltypes.CLOB,
    "JSON": sqltypes.JSON,
}
_SIZED: dict[str, Callable[[int], Any]] = {
    "CHAR": sqltypes.CHAR,
    "VARCHAR": sqltypes.VARCHAR,
    "NCHAR": sqltypes.NCHAR,
    "NCHAR VARYING": sqltypes.NVARCHAR,
    "VARNCHAR": sqltypes.NVARCHAR,
    "BIT": BIT,
    "BIT VARYING": lambda length: sqltypes.VARBINARY((length + 7) // 8),
    "VARBIT": lambda length: sqltypes.VARBINARY((length + 7) // 8),
}
LONGEST = 1_073_741_823
"""Characters and bits of the longest VARCHAR and BIT VARYING."""


def reflected(declaration: str) -> Any:
    """The type that ``SHOW COLUMNS`` shows, or None if it is not known."""
    name, _, rest = declaration.strip().partition("(")
    name, inside = name.strip().upper(), rest.rpartition(")")[0]
    if name == "ENUM":
        # A quotation mark within a value is shown once.
        values = re.split(r"'\s*,\s*'", inside.strip()[1:-1])
        return sqltypes.Enum(*(value.replace("''", "'") for value in values))
    if name in ("NUMERIC", "DECIMAL"):
        precision, _, scale = (inside or "15").partition(",")
        return sqltypes.NUMERIC(int(precision), int(scale or 0))
    if name in _SIZED:
        length = int(inside) if inside else 1
        if length == LONGEST:
            return sqltypes.VARCHAR() if "BIT" not in name else sqltypes.VARBINARY()
        return _SIZED[name](length)
    if name in _SIMPLE:
        return _SIMPLE[name]()
    if match := re.match(r"(SET|MULTISET|LIST|SEQUENCE)(?:\s+OF\s+|\()(.*)", declaration.strip(), re.IGNORECASE):
        element = reflected(match[2].rstrip(")") if "(" not in match[2] else match[2])
        if element is not None:
            return COLLECTION(match[1].upper().replace("SEQUENCE", "LIST"), element)
    return None
