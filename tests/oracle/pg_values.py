"""PostgreSQL's values: what goes into columns of each type, and what the oracle makes of the text that comes out.

Base types are psycopg's to decode, from their text. What is built of them (arrays, composites, ranges, multiranges) is
taken apart here, by the current catalogue: neither shares anything with headrace.
"""

from __future__ import annotations

import datetime
import ipaddress
import math
import re
import struct
import uuid
from collections.abc import Callable
from decimal import Decimal
from typing import Any, NamedTuple

from psycopg import Connection
from psycopg.adapt import Transformer
from psycopg.pq import Format

from headrace import types

UTC = datetime.timezone.utc


class Kind(NamedTuple):
    """A type as pg_type has it."""

    name: str
    kind: str
    """typtype, and ``a`` for arrays."""
    inner: int
    """Of the elements, the base type, the subtype, the range."""
    attributes: tuple[int, ...] = ()
    """The types of a composite's attributes."""


KIND = """
select t.typname, case when t.typcategory = 'A' and t.typlen = -1 and t.typelem <> 0 then 'a' else t.typtype::text end,
    coalesce(nullif(t.typbasetype, 0), r.rngsubtype, m.rngtypid, t.typelem, 0)::int8,
    array(select a.atttypid::int8 from pg_catalog.pg_attribute a
        where a.attrelid = nullif(t.typrelid, 0) and a.attnum > 0 and not a.attisdropped order by a.attnum)
from pg_catalog.pg_type t left join pg_catalog.pg_range r on r.rngtypid = t.oid
    left join pg_catalog.pg_range m on m.rngmultitypid = t.oid
where t.oid = %s
"""
INTEGERS = {"oid", "xid", "cid", "xid8"}
INTERVAL = re.compile(
    r"(?:(-?\d+) years? ?)?(?:([-+]?\d+) mons? ?)?(?:([-+]?\d+) days? ?)?(?:([-+]?)(\d+):(\d+):(\d+)(?:\.(\d+))?)?$"
)


class Decoder:
    """Decodes the text of values as the session sees their types now."""

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection
        self._base = Transformer.from_context(connection)
        self._kinds: dict[int, Kind] = {}

    def kind(self, oid: int) -> Kind:
        """What a type is."""
        if oid not in self._kinds:
            row = self._connection.execute(KIND, (oid,)).fetchone()
            assert row is not None, f"no type has the oid {oid}"
            self._kinds[oid] = Kind(row[0], row[1], row[2], tuple(row[3]))
        return self._kinds[oid]

    def value(self, oid: int, text: bytes | None) -> Any:
        """A value, in the form that :func:`canonical` returns for headrace's."""
        if text is None:
            return None
        kind = self.kind(oid)
        if kind.kind == "d":
            return self.value(kind.inner, text)
        if kind.kind == "a":
            return self._array(kind.inner, text)
        if kind.kind == "c":
            return tuple(self.value(o, t) for o, t in zip(kind.attributes, parts(text), strict=True))
        if kind.kind == "r":
            return self._range(kind.inner, text)
        if kind.kind == "m":
            found = re.findall(rb'[\[(](?:"(?:[^"\\]|\\.|"")*"|[^"\[\]()])*[\])]', text)
            return ("multirange", tuple(self._range(self.kind(kind.inner).inner, one) for one in found))
        if kind.name in INTEGERS:
            return ("int", int(text))
        if kind.name == "interval":
            return interval(text.decode())
        if kind.name == "float4":
            # Its text is the shortest one of this float4; as a float it is another number.
            return canonical(struct.unpack("f", struct.pack("f", float(text)))[0])
        loader = self._base.get_loader(oid, Format.TEXT)
        return canonical(loader.load(text))

    def _array(self, oid: int, text: bytes) -> Any:
        delimiter = b";" if self.kind(oid).name == "box" else b","
        found, end = self._elements(oid, text, 1, delimiter)
        assert end == len(text), text
        return found

    def _elements(self, oid: int, text: bytes, at: int, delimiter: bytes) -> tuple[list[Any], int]:
        out: list[Any] = []
        while text[at : at + 1] != b"}":
            if text[at : at + 1] == b"{":
                inner, at = self._elements(oid, text, at + 1, delimiter)
                out.append(inner)
            else:
                word, quoted, at = token(text, at, delimiter + b"}")
                out.append(None if word == b"NULL" and not quoted else self.value(oid, word))
            if text[at : at + 1] == delimiter:
                at += 1
        return out, at + 1

    def _range(self, oid: int, text: bytes) -> Any:
        if text == b"empty":
            return ("range", "empty")
        lower, _, at = token(text, 1, b",")
        upper, _, end = token(text, at + 1, b"])")
        assert end == len(text) - 1, text
        bounds = [self.value(oid, bound) if bound else None for bound in (lower, upper)]
        closing = chr(text[0]) + chr(text[-1])
        return ("range", bounds[0], bounds[1], closing)


def token(text: bytes, at: int, ends: bytes) -> tuple[bytes, bool, int]:
    """An element up to one of ``ends``, whether any of it was quoted, and where it ends."""
    out = bytearray()
    quoted = inside = False
    while at < len(text):
        here = text[at : at + 1]
        if here == b"\\":
            out += text[at + 1 : at + 2]
            at += 2
            continue
        if here == b'"':
            if inside and text[at + 1 : at + 2] == b'"':
                out += here
                at += 2
                continue
            inside = not inside
            quoted = True
        elif not inside and here in ends:
            break
        else:
            out += here
        at += 1
    return bytes(out), quoted, at


def parts(text: bytes) -> list[bytes | None]:
    """The attributes of a composite."""
    out: list[bytes | None] = []
    at = 1
    while True:
        word, quoted, at = token(text, at, b",)")
        out.append(word if word or quoted else None)
        if text[at : at + 1] == b")":
            return out
        at += 1


def interval(text: str) -> Any:
    """An interval in the style ``postgres``."""
    found = INTERVAL.match(text)
    assert found is not None, text
    years, months, days, sign, hours, minutes, seconds, fraction = found.groups()
    micros = (int(hours or 0) * 60 + int(minutes or 0)) * 60 + int(seconds or 0)
    micros = micros * 1_000_000 + int((fraction or "0").ljust(6, "0"))
    micros = -micros if sign == "-" else micros
    total = int(years or 0) * 12 + int(months or 0)
    if total:
        return ("interval", total, int(days or 0), micros)
    return ("timedelta", datetime.timedelta(int(days or 0), 0, micros))


def number(value: float) -> str:
    """A coordinate as PostgreSQL shows it."""
    return str(int(value)) if value == int(value) else repr(value)


def pairs(points: Any) -> str:
    """Points, one after the other."""
    return ",".join(f"({number(p[0])},{number(p[1])})" for p in points)


SHAPES: dict[type, Callable[[Any], str]] = {
    types.Point: lambda v: f"({number(v.x)},{number(v.y)})",
    types.Line: lambda v: "{" + ",".join(map(number, v)) + "}",
    types.LSeg: lambda v: f"[{pairs(v)}]",
    types.Box: pairs,
    types.Path: lambda v: f"({pairs(v.points)})" if v.closed else f"[{pairs(v.points)}]",
    types.Polygon: lambda v: f"({pairs(v.points)})",
    types.Circle: lambda v: f"<({number(v.center.x)},{number(v.center.y)}),{number(v.radius)}>",
}
"""psycopg has no types of its own for these."""


def canonical(value: Any) -> Any:
    """A value so that two that mean the same are equal, and no others: 1, 1.0, True and Decimal(1) all differ.

    What differs by design between psycopg and headrace, and is made equal here:

    | value | psycopg | headrace |
    |---|---|---|
    | timestamptz | in the zone of the session | in UTC |
    | geometric types | text | named tuples |
    | float4 | its text as a float (not used) | the float4 |
    | interval with months | timedelta of 30 days each (not used: its text is read) | Interval |
    | ranges, multiranges | its own classes (not used: their text is read) | Range, Multirange |
    | bit, varbit | str | BitString, which is a str |
    | oid, xid | int, str | int |
    | arrays, composites of types it does not know | str (not used: their text is read) | list, tuple |
    """
    shape = SHAPES.get(type(value))
    if shape is not None:
        return ("str", shape(value))
    if isinstance(value, float):
        return ("float", "nan" if math.isnan(value) else repr(value))
    if isinstance(value, Decimal):
        return ("decimal", str(value))
    if isinstance(value, str):
        return ("str", str(value))
    if isinstance(value, (bytes, bytearray, memoryview)):
        return ("bytes", bytes(value))
    if isinstance(value, datetime.datetime):
        return ("datetime", value if value.tzinfo is None else value.astimezone(UTC).isoformat())
    if isinstance(value, types.Interval):
        return ("interval", value.months, value.days, value.microseconds)
    if isinstance(value, types.Range):
        return (
            ("range", "empty")
            if value.isempty
            else ("range", *map(canonical, (value.lower, value.upper)), value.bounds)
        )
    if isinstance(value, types.Multirange):
        return ("multirange", tuple(map(canonical, value)))
    if isinstance(value, list):
        return [canonical(one) for one in value]
    if isinstance(value, tuple):
        return tuple(canonical(one) for one in value)
    if isinstance(value, dict):
        return ("json", repr(value))
    if value is None:
        return None
    return (type(value).__name__, value)


def values_of_types() -> dict[str, list[tuple[str, Any]]]:
    """For each type, values as a literal and as what Python sends. NULL goes everywhere and is not among them."""
    day = datetime.date(2020, 2, 29)
    noon = datetime.datetime(2020, 1, 1, 12, 30, 0, 500)
    aware = datetime.datetime(2020, 7, 1, 12, tzinfo=UTC)
    span = datetime.timedelta(days=1, seconds=5)
    number_ = uuid.UUID(int=5)
    return {
        "int2": [("1", 1), ("-32768", -32768)],
        "int4": [("7", 7), ("-2147483648", -(2**31))],
        "int8": [("9007199254740993", 9007199254740993), ("3", 3)],
        "float4": [("0.5", 0.5), ("-3", -3.0)],
        "float8": [("1.1", 1.1), ("1e+300", 1e300)],
        "numeric": [("1.50", Decimal("1.50")), ("-12345678901234567890.5", Decimal("-12345678901234567890.5"))],
        "bool": [("true", True), ("false", False)],
        "text": [("'a,\"b\\ '", 'a,"b\\ '), ("''", ""), ("'{x}'", "{x}")],
        "varchar": [("'abc'", "abc"), ("'(1)'", "(1)")],
        "bpchar": [("'a'", "a")],
        "bytea": [("'\\x00ff5c'", b"\x00\xff\\"), ("''", b"")],
        "date": [("'2020-02-29'", day), ("'1999-12-31'", datetime.date(1999, 12, 31))],
        "time": [("'12:30:00.0005'", noon.time())],
        "timestamp": [("'2020-01-01 12:30:00.0005'", noon)],
        "timestamptz": [("'2020-07-01 12:00:00+00'", aware)],
        "interval": [("'1 day 00:00:05'", span), ("'14 mons -3 days'", types.Interval(14, -3, 0))],
        "uuid": [("'00000000-0000-0000-0000-000000000005'", number_)],
        "jsonb": [("'{\"a\": 1}'", {"a": 1}), ('\'{"b": [1, "x"]}\'', {"b": [1, "x"]})],
        "json": [("'{\"a\": 1}'", {"a": 1})],
        "inet": [
            ("'10.0.0.1'", ipaddress.ip_address("10.0.0.1")),
            ("'10.0.0.1/8'", ipaddress.ip_interface("10.0.0.1/8")),
        ],
        "cidr": [("'10.0.0.0/8'", ipaddress.ip_network("10.0.0.0/8"))],
        "macaddr": [("'08:00:2b:01:02:03'", "08:00:2b:01:02:03")],
        "varbit": [("'101'", types.BitString("101"))],
        "point": [("'(1,2.5)'", types.Point(1.0, 2.5))],
        "box": [("'(3,4),(1,2)'", types.Box(types.Point(3.0, 4.0), types.Point(1.0, 2.0)))],
        "circle": [("'<(1,2),3>'", types.Circle(types.Point(1.0, 2.0), 3.0))],
        "int4range": [("'[1,5)'", types.Range(1, 5)), ("'empty'", types.Range(empty=True))],
        "int4multirange": [("'{[1,3),[5,6)}'", types.Multirange([types.Range(1, 3), types.Range(5, 6)]))],
        "tsvector": [("'''a'':1 ''b'':2'", "'a':1 'b':2")],
        "money": [("'$1.50'", "$1.50")],
        "pg_lsn": [("'0/1F'", "0/1F")],
        "jsonpath": [("'$.\"a\"'", '$."a"')],
        "regclass": [("'pg_class'", "pg_class")],
        "citext": [("'A'", "A"), ("'b c'", "b c")],
        "hstore": [('\'"a"=>"1"\'', '"a"=>"1"')],
        "ltree": [("'a.b'", "a.b")],
        "mood": [("'sad'", "sad"), ("'ok'", "ok")],
        "posint": [("5", 5)],
        "label": [("'x y'", "x y")],
    }


VALUES = values_of_types()
EXTENSIONS = {"citext", "hstore", "ltree"}
NO_ARRAYS = {"money", "regclass", "jsonpath"}
