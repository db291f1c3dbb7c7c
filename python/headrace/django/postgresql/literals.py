"""Values as literals of SQL: for statements that take no parameters (DDL), and for what is shown of a statement.

Text is written so that it has one meaning whatever ``standard_conforming_strings`` is: a backslash makes an
``E'...'`` string, as the manual's section "String Constants With C-Style Escapes" defines it.
"""

from __future__ import annotations

import datetime
import decimal
import enum
import ipaddress
import re
import uuid
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final, cast

from ...errors import DataError, ProgrammingError
from ...postgres.core import quote_literal
from ...postgres.hstore import quoted
from ...types import Interval, Json, Jsonb, Range
from . import hstore
from .numbers import array_type

_PLACE: Final = re.compile(r"%(?:%|s|\((?P<name>[^)]*)\)s|(?P<other>.?))", re.DOTALL)


def text_literal(text: str) -> str:
    """The literal of a text.

    Raises:
        DataError: it has a NUL, which no text of PostgreSQL has.
    """
    if "\0" in text:
        raise DataError(NUL)
    return quote_literal(text)


NUMERIC_DIGITS: Final = 131_072
"""Digits of a numeric before its point (manual, "Numeric Types"): a literal has all of them."""
NUL: Final = "PostgreSQL text cannot hold a NUL character (\\x00)"
"""The driver's message about such a value, in its parameters too."""


def _number(value: Any) -> str:
    # A space, so that two minus signs never become a comment.
    text = str(value)
    return " " + text if text.startswith("-") else text


def _typed(kind: str) -> Callable[[Any], str]:
    """Writes the text of a value, whatever is in it (an IPv6 address may have any text after its %), with its type."""
    return lambda value: f"{text_literal(str(value))}::{kind}"


def _decimal(value: decimal.Decimal) -> str:
    exponent = decimal.Decimal.as_tuple(value).exponent
    if not isinstance(exponent, int):
        return _typed("numeric")(decimal.Decimal.__str__(value))
    if abs(exponent) > NUMERIC_DIGITS:
        raise DataError(f"a number with exponent {exponent} does not fit numeric (up to {NUMERIC_DIGITS} digits)")
    return _number(decimal.Decimal.__format__(value, "f"))


def _float(value: float) -> str:
    # Not what a subclass, such as NumPy's, shows of itself.
    text = float.__repr__(value)
    return _number(text) if value - value == 0 else _typed("float8")(text)


def _timestamp(value: datetime.datetime) -> str:
    return _typed("timestamp" if value.tzinfo is None else "timestamptz")(value)


def _time(value: datetime.time) -> str:
    return _typed("time" if value.tzinfo is None else "timetz")(value)


def _interval(value: datetime.timedelta) -> str:
    # Every part has its sign: with IntervalStyle sql_standard that of the first would count for the others.
    return f"'{value.days:+} days {value.seconds:+}.{value.microseconds:06} seconds'::interval"


def _bytes(value: Any) -> str:
    # Read alike whatever standard_conforming_strings is.
    return f"decode('{bytes(value).hex()}', 'hex')"


def _json(value: Json) -> str:
    text = value.dumps()
    kind = "jsonb" if isinstance(value, Jsonb) else "json"
    return text_literal(text if isinstance(text, str) else text.decode()) + "::" + kind


def _range_type(value: Range[Any]) -> str:
    """The cast of a range; empty where the server chooses."""
    bounds = [bound for bound in (value.lower, value.upper) if bound is not None]
    if bounds and isinstance(bounds[0], datetime.datetime):
        # Django's naive times are those of the session's zone.
        return "::tstzrange"
    return "::daterange" if bounds and isinstance(bounds[0], datetime.date) else ""


def _range(value: Range[Any]) -> str:
    return text_literal(str(value)) + _range_type(value)


def _is_untyped(value: Any) -> bool:
    """True for a value whose literal has the type that the server chooses by where it stands, and for lists of them."""
    if isinstance(value, list | tuple):
        return all(map(_is_untyped, cast(Any, value)))
    if isinstance(value, enum.Enum):
        return _is_untyped(value.value)
    if isinstance(value, Range):
        return not _range_type(cast(Any, value))
    return value is None or isinstance(value, str)


def _element(value: Any) -> str:
    """An item in the text of an array, "Array Input and Output Syntax" of the manual."""
    if value is None:
        return "NULL"
    if isinstance(value, list | tuple):
        return _braces(cast(Any, value))
    return quoted(str(value.value if isinstance(value, enum.Enum) else value))


def _braces(value: Sequence[Any]) -> str:
    return "{" + ",".join(map(_element, value)) + "}"


def _array(value: Sequence[Any]) -> str:
    if _is_untyped(value):
        # ARRAY['a'] would be a text[], which no varchar[], enum or range is compared with.
        return text_literal(_braces(value))
    made = "ARRAY[" + ", ".join(map(literal, value)) + "]"
    kind = array_type(value)
    return f"{made}::{kind}" if kind else made


_WRITERS: Final[list[tuple[Any, Callable[[Any], str]]]] = [
    (bool, lambda value: "true" if value else "false"),
    (enum.Enum, lambda value: literal(value.value)),
    (str, text_literal),
    (int, lambda value: _number(int(value))),
    (float, _float),
    (decimal.Decimal, _decimal),
    (datetime.datetime, _timestamp),
    (datetime.date, _typed("date")),
    (datetime.time, _time),
    (datetime.timedelta, _interval),
    (Interval, _typed("interval")),
    (uuid.UUID, _typed("uuid")),
    ((bytes, bytearray, memoryview), _bytes),
    (Json, _json),
    (Range, _range),
    ((ipaddress.IPv4Address, ipaddress.IPv6Address), _typed("inet")),
    ((ipaddress.IPv4Interface, ipaddress.IPv6Interface), _typed("inet")),
    ((ipaddress.IPv4Network, ipaddress.IPv6Network), _typed("cidr")),
    (Mapping, lambda value: text_literal(hstore.dump(value)) + "::hstore"),
    ((list, tuple), _array),
]
"""By class, the first that fits: a bool is an int, a datetime a date, a TextChoices both an Enum and a str."""


def literal(value: Any) -> str:
    """The literal of a value, with its type where its text alone does not show it.

    Raises:
        ProgrammingError: there is none for its class.
        DataError: it is text with a NUL.
    """
    if value is None:
        return "NULL"
    for kinds, write in _WRITERS:
        if isinstance(value, kinds):
            return write(value)
    raise ProgrammingError(f"{type(value).__name__} cannot be written as a literal of SQL")


def mogrify(sql: str, params: Sequence[Any] | Mapping[str, Any] | None, connection: Any = None) -> str:
    """A statement with literals in the places of its parameters.

    Args:
        sql: the statement, with ``%s`` or ``%(name)s``.
        params: the values; None for a statement in which ``%`` is an ordinary character.
        connection: ignored, as the literals depend on none.

    Raises:
        ProgrammingError: parameters and places differ in number, or a value has no literal.
    """
    sql = str(sql)
    if params is None:
        return sql
    names: Mapping[str, Any] = params if isinstance(params, Mapping) else {}
    values: Iterator[Any] = iter(() if isinstance(params, Mapping) else params)

    def replaced(place: re.Match[str]) -> str:
        if place[0] == "%%":
            return "%"
        if place["other"] is not None:
            raise ProgrammingError(f"{place[0]!r} is not a parameter; a percent sign is written %%")
        if (name := place["name"]) is not None:
            if name not in names:
                raise ProgrammingError(f"there is no parameter {name!r}")
            return literal(names[name])
        try:
            return literal(next(values))
        except StopIteration:
            raise ProgrammingError("the statement has more places than parameters were given") from None

    made = _PLACE.sub(replaced, sql)
    if next(values, values) is not values:
        raise ProgrammingError("more parameters were given than the statement has places")
    return made
