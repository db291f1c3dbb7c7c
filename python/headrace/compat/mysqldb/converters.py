"""Python values as literals of SQL, and the columns' texts as Python values."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from datetime import date, datetime, time, timedelta
from decimal import Decimal
from typing import Any, Final

from ._exceptions import ProgrammingError
from .constants import FIELD_TYPE, FLAG
from .times import (
    Date2literal,
    Date_or_None,
    DateTime2literal,
    DateTime_or_None,
    DateTimeDelta2literal,
    Time2literal,
    TimeDelta_or_None,
)

NoneType = type(None)
_ESCAPES: Final = {
    "\0": "\\0",
    "\n": "\\n",
    "\r": "\\r",
    "\x1a": "\\Z",
    '"': '\\"',
    "'": "\\'",
    "\\": "\\\\",
}
_TABLE: Final = str.maketrans(_ESCAPES)
_INTRODUCED: Final = re.compile(r"(?<![\w$@.`'\"])(_[a-z][a-z0-9]*)\s*_binary (?=x'[0-9a-f]+')", re.IGNORECASE)
"""The introducer of a binary literal after one of the statement."""


def escape_string(value: Any) -> bytes:
    """Text or bytes with what ends or changes a string escaped; for servers with backslash escapes."""
    if isinstance(value, str):
        # What a subclass is, and not what it prints.
        return str.translate(value, _TABLE).encode()
    # No byte of UTF-8 that is part of a longer character is one of those that are escaped.
    return bytes(value).decode("latin-1").translate(_TABLE).encode("latin-1")


def string_literal(value: Any) -> bytes:
    """A string literal."""
    return b"'" + escape_string(value if isinstance(value, (str, bytes, bytearray, memoryview)) else str(value)) + b"'"


def Bool2Str(value: bool, conversions: Any) -> bytes:
    """0 or 1."""
    return b"1" if value else b"0"


def Thing2Str(value: Any, conversions: Any) -> str:
    """What ``str`` returns, as it is."""
    return str(value)


def Float2Str(value: float, conversions: Any) -> str:
    """A literal of DOUBLE: without an exponent it would be one of DECIMAL. Raises ProgrammingError for inf and nan."""
    text = repr(value)
    if text in ("inf", "-inf", "nan"):
        raise ProgrammingError(f"{text} can not be used with MySQL")
    return text if "e" in text else f"{text}e0"


def None2NULL(value: None, conversions: Any) -> str:
    """NULL."""
    return "NULL"


def Decimal2Literal(value: Decimal, conversions: Any) -> str:
    """A literal of DECIMAL: with an exponent it would be one of DOUBLE."""
    return f"{value:f}"


def Set2Str(value: set[Any], conversions: Any) -> bytes:
    """The members of a SET, with commas. Raises TypeError for members that are no text."""
    for member in value:
        if not isinstance(member, str):
            raise TypeError("set elements must be strings")
    return string_literal(",".join(value))


def char_array(value: Any) -> Any:
    """An array of characters."""
    return value


def array2Str(value: Any, conversions: Any) -> bytes:
    """The bytes of an array."""
    return string_literal(value.tobytes())


def quote_tuple(value: Any, conversions: Any) -> Any:
    """Values in parentheses: for ``IN %s``."""
    return b"(" + b",".join(map(literal_bytes, escape_sequence(value, conversions))) + b")"


def introduced_once(statement: str) -> str:
    """Leaves out the introducers of hexadecimal literals whose place in the statement has one: Django writes
    `_binary %s`. No other literal has such a text in it, as its quotes are escaped."""
    return _INTRODUCED.sub(r"\1 ", statement) if "_binary x'" in statement else statement


def literal_bytes(value: Any) -> bytes:
    """A literal as bytes."""
    return value if isinstance(value, bytes) else str(value).encode()


def escape(value: Any, conversions: Mapping[Any, Any]) -> Any:
    """The literal of a value, by the conversions of its class or of the nearest of its classes."""
    for kind in type(value).__mro__:
        convert = conversions.get(kind)
        if convert is not None and kind is not object:
            return convert(value, conversions)
    return string_literal(value)


def escape_sequence(values: Any, conversions: Mapping[Any, Any]) -> tuple[Any, ...]:
    """The literals of several values."""
    return tuple(escape(value, conversions) for value in values)


def escape_dict(values: Mapping[str, Any], conversions: Mapping[Any, Any]) -> dict[str, Any]:
    """The literals of the values of a mapping."""
    return {name: escape(value, conversions) for name, value in values.items()}


def _text(value: Any, conversions: Any) -> bytes:
    return string_literal(value)


conversions: Final[dict[Any, Any]] = {
    int: Thing2Str,
    float: Float2Str,
    NoneType: None2NULL,
    bool: Bool2Str,
    str: _text,
    bytes: _text,
    bytearray: _text,
    memoryview: _text,
    date: Date2literal,
    datetime: DateTime2literal,
    time: Time2literal,
    timedelta: DateTimeDelta2literal,
    Decimal: Decimal2Literal,
    set: Set2Str,
    tuple: quote_tuple,
    list: quote_tuple,
    FIELD_TYPE.TINY: int,
    FIELD_TYPE.SHORT: int,
    FIELD_TYPE.LONG: int,
    FIELD_TYPE.FLOAT: float,
    FIELD_TYPE.DOUBLE: float,
    FIELD_TYPE.DECIMAL: Decimal,
    FIELD_TYPE.NEWDECIMAL: Decimal,
    FIELD_TYPE.LONGLONG: int,
    FIELD_TYPE.INT24: int,
    FIELD_TYPE.YEAR: int,
    FIELD_TYPE.TIMESTAMP: DateTime_or_None,
    FIELD_TYPE.DATETIME: DateTime_or_None,
    FIELD_TYPE.TIME: TimeDelta_or_None,
    FIELD_TYPE.DATE: Date_or_None,
    FIELD_TYPE.TINY_BLOB: bytes,
    FIELD_TYPE.MEDIUM_BLOB: bytes,
    FIELD_TYPE.LONG_BLOB: bytes,
    FIELD_TYPE.BLOB: bytes,
    FIELD_TYPE.STRING: bytes,
    FIELD_TYPE.VAR_STRING: bytes,
    FIELD_TYPE.VARCHAR: bytes,
    FIELD_TYPE.JSON: bytes,
}
"""What a new connection uses unless it is given others: by class what makes a literal, by column type what is made of
the text."""

_BINARY_COLLATION: Final = 63
_ANY_DECIMALS: Final = 31


def _span_text(value: timedelta) -> str:
    sign = "-" if value < timedelta(0) else ""
    seconds, micros = divmod(abs(value) // timedelta(microseconds=1), 1_000_000)
    text = f"{sign}{seconds // 3600:02}:{seconds // 60 % 60:02}:{seconds % 60:02}"
    return f"{text}.{micros:06}" if micros else text


def as_sent(value: Any) -> Any:
    """The text that the server sends for a value that was decoded; bytes stay what they are."""
    if isinstance(value, (bytes, str)):
        return value
    if isinstance(value, timedelta):
        return _span_text(value)
    if isinstance(value, datetime):
        return value.isoformat(" ")
    if isinstance(value, date):
        return value.isoformat()
    return str(value)


def _single(value: float, decimals: int) -> str:
    """What the server prints of a FLOAT: the digits that the column was declared with, or the six that are certain."""
    return f"{value:.6g}" if decimals >= _ANY_DECIMALS else f"{value:.{decimals}f}"


def reader(field: Any, conversions: Mapping[Any, Any], use_unicode: bool, charset: str) -> Callable[[Any], Any] | None:
    """What turns the decoded values of a column into what its user has asked for; None where they are that already."""
    _name, kind, base, flags, collation, length, decimals, *_ = field
    asked = conversions.get(kind)
    if not callable(asked) and asked is not None:
        asked = next((make for flag, make in asked if flag is None or flag & flags), None)
    if kind == FIELD_TYPE.BIT:
        size = (length + 7) // 8
        return lambda bits: int(str(bits) or "0", 2).to_bytes(size, "big")
    if kind == FIELD_TYPE.FLOAT:
        return lambda value: _single(value, decimals) if asked is None else asked(_single(value, decimals))
    if asked is not None and asked is not _DEFAULTS.get(kind):
        return lambda value: asked(as_sent(value))
    if asked is None and kind in _DEFAULTS and kind not in _TEXTS:
        return as_sent
    if base in ("uuid", "inet4", "inet6"):
        return str
    if kind in _TEXTS and not use_unicode and collation != _BINARY_COLLATION:
        return lambda value: value.encode(charset)
    return None


_DEFAULTS: Final = {key: value for key, value in conversions.items() if isinstance(key, int)}
_TEXTS: Final = frozenset((FIELD_TYPE.STRING, FIELD_TYPE.VAR_STRING, FIELD_TYPE.VARCHAR, FIELD_TYPE.JSON)) | {
    FIELD_TYPE.TINY_BLOB,
    FIELD_TYPE.MEDIUM_BLOB,
    FIELD_TYPE.LONG_BLOB,
    FIELD_TYPE.BLOB,
}

__all__ = ["FLAG", "conversions", "escape", "escape_dict", "escape_sequence", "escape_string", "string_literal"]
