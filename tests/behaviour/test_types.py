"""Every type both ways, compared with psycopg: each reads what the other writes as the same value."""

from __future__ import annotations

import collections
import copy
import dataclasses
import datetime as dt
import decimal
import enum
import gc
import ipaddress
import math
import pickle
import sys
import uuid
from collections.abc import Iterator
from typing import Any

import psycopg
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headrace
from headrace import _native, errors
from headrace.types import (
    BitString,
    Box,
    Circle,
    Interval,
    Json,
    Jsonb,
    Line,
    LSeg,
    Multirange,
    Path,
    Point,
    Polygon,
    Range,
)
from long import times

Conn = headrace.Connection[Any]
UTC = dt.timezone.utc
THEIR_JSON = psycopg.types.json.Json

text = st.text(st.characters(exclude_characters="\0", exclude_categories=["Cs"]), max_size=40)
timestamps = st.datetimes(dt.datetime(1, 1, 2), dt.datetime(9999, 12, 30))
VALUES: dict[str, st.SearchStrategy[Any]] = {
    "boolean": st.booleans(),
    "smallint": st.integers(-(2**15), 2**15 - 1),
    "integer": st.integers(-(2**31), 2**31 - 1),
    "bigint": st.integers(-(2**63), 2**63 - 1),
    "oid": st.integers(0, 2**32 - 1),
    "real": st.floats(width=32, allow_nan=False),
    "double precision": st.floats(allow_nan=False),
    "numeric": st.decimals(allow_nan=False, allow_infinity=False, places=None).filter(
        lambda d: abs(d.adjusted()) < 300 and abs(int(d.as_tuple().exponent)) < 300
    ),
    "text": text,
    "varchar(50)": text,
    "bytea": st.binary(max_size=60),
    "date": st.dates(),
    "time": st.times(),
    "timestamp": timestamps,
    "timestamptz": timestamps.map(lambda m: m.replace(tzinfo=UTC)),
    "uuid": st.uuids(),
    "inet": st.ip_addresses(),
    "cidr": st.ip_addresses().map(ipaddress.ip_network),
    "json": st.recursive(
        st.none() | st.booleans() | st.integers(-(2**50), 2**50) | text,
        lambda c: st.lists(c, max_size=4) | st.dictionaries(text, c, max_size=4), max_leaves=8,
    ),
    "integer[]": st.lists(st.none() | st.integers(-(2**31), 2**31 - 1), max_size=6),
    "text[]": st.lists(st.none() | text, max_size=6),
    "timestamptz[]": st.lists(timestamps.map(lambda m: m.replace(tzinfo=UTC)), max_size=4),
}  # fmt: skip
QUICK = settings(max_examples=times(15), deadline=None, suppress_health_check=list(HealthCheck))


@pytest.fixture(scope="module")
def pair(url: str) -> Iterator[tuple[Conn, psycopg.Connection[Any]]]:
    with headrace.connect(url, autocommit=True) as tested, psycopg.connect(url, autocommit=True) as reference:
        reference.execute("set timezone to 'UTC'")
        yield tested, reference


def sent(kind: str, value: Any, wrap: Any) -> Any:
    return wrap(value) if kind == "json" else value


def same(a: Any, b: Any) -> bool:
    if isinstance(a, decimal.Decimal):
        return a == b and a.as_tuple().exponent == b.as_tuple().exponent
    if isinstance(a, list) and isinstance(b, list):
        return len(a) == len(b) and all(map(same, a, b))
    return type(a) is type(b) and a == b


@pytest.mark.parametrize("kind", VALUES)
def test_both_ways_against_psycopg(pair: tuple[Conn, psycopg.Connection[Any]], kind: str) -> None:
    tested, reference = pair

    @QUICK
    @given(VALUES[kind])
    def check(value: Any) -> None:
        if kind == "json" and value is None:
            return
        # Written by us, read by both; and written by psycopg, read by us in binary and in text.
        echoed = tested.fetchval(f"select $1::{kind}", sent(kind, value, Json))
        shown = tested.fetchval(f"select ($1::{kind})::text", sent(kind, value, Json))
        reference_shown = reference.execute(f"select (%s::{kind})::text", (sent(kind, value, THEIR_JSON),)).fetchone()
        assert reference_shown is not None
        if kind != "json":
            assert shown == reference_shown[0], value
        read = reference.execute(f"select %s::{kind}", (shown,), binary=kind != "cidr").fetchone()
        assert read is not None
        assert same(echoed, read[0]), (value, echoed, read[0])
        hinted = tested.execute(f"select %s::{kind}", (sent(kind, value, Json),)).fetchone()
        assert hinted is not None
        assert same(hinted[0], echoed)
        assert shown is not None
        literal = shown.replace("'", "''").replace("\\", "\\\\")
        in_text = tested.executescript(f"select E'{literal}'::{kind}").fetchone()
        assert in_text is not None
        assert same(in_text[0], echoed) or kind == "cidr", (value, in_text[0], echoed)

    check()


@pytest.mark.parametrize(
    ("kind", "value"),
    [
        ("interval", dt.timedelta(days=-3, microseconds=5)),
        ("interval", Interval(14, -3, 42)),
        ("timetz", dt.time(12, 30, tzinfo=dt.timezone(dt.timedelta(hours=-5)))),
        ("numeric", decimal.Decimal("NaN")),
        ("numeric", decimal.Decimal("-Infinity")),
        ("double precision", math.inf),
        ("point", Point(1.5, -2.0)),
        ("line", Line(1.0, 2.0, 3.0)),
        ("lseg", LSeg(Point(0.0, 0.0), Point(1.0, 1.0))),
        ("box", Box(Point(3.0, 4.0), Point(1.0, 2.0))),
        ("path", Path((Point(0.0, 0.0), Point(1.0, 1.0)), True)),
        ("path", Path((Point(0.0, 0.0), Point(1.0, 1.0)), False)),
        ("polygon", Polygon((Point(0.0, 0.0), Point(1.0, 1.0), Point(1.0, 0.0)))),
        ("circle", Circle(Point(1.0, 2.0), 3.0)),
        ("bit(5)", BitString("10110")),
        ("varbit", BitString("1")),
        ("macaddr", "08:00:2b:01:02:03"),
        ("money", "$1,234.50"),
        ("jsonb", {"a": [1, 2.5, None, "x"]}),
        ("inet", ipaddress.ip_interface("10.1.2.3/8")),
        ("int4range", Range(1, 5)),
        ("int4range", Range(None, 5)),
        ("int4range", Range(empty=True)),
        ("numrange", Range(decimal.Decimal("1.5"), decimal.Decimal("2.5"), "[]")),
        ("tstzrange", Range(dt.datetime(2020, 1, 1, tzinfo=UTC), None)),
        ("daterange", Range(dt.date(2020, 1, 1), dt.date(2021, 1, 1))),
        ("int4multirange", Multirange([Range(1, 3), Range(7, 9)])),
        ("int[]", [[1, 2], [3, 4]]),
        ("int[]", []),
        ("text[]", ['a "quoted"', "back\\slash", "", "NULL", None]),
        ("int4range[]", [Range(1, 2), None]),
        ("uuid[]", [uuid.UUID(int=5)]),
        ("jsonb[]", [{"a": 1}, [1]]),
        ("point[]", [Point(1.0, 2.0)]),
    ],
)
def test_values_come_back_as_they_were_sent(conn: Conn, kind: str, value: Any) -> None:
    given_value = [Jsonb(v) for v in value] if kind == "jsonb[]" else value
    for sql in (f"select $1::{kind}", f"select %s::{kind}"):
        back = conn.execute(sql, (given_value,)).fetchone()
        assert back is not None
        if isinstance(value, decimal.Decimal) and value.is_nan():
            assert back[0].is_nan()
        else:
            assert back[0] == value
            assert type(back[0]) is type(value)


def test_composites_enums_domains_and_arrays_of_them(conn: Conn) -> None:
    conn.executescript(
        "create type mood as enum ('sad', 'ok');"
        "create domain positive as int check (value > 0);"
        "create type pair as (n positive, t text, m mood);"
        "create table made (p pair, ps pair[], m mood[], d positive)"
    )
    conn.execute("insert into made values ($1, $2, $3, $4)", ((1, "a,b", "ok"), [(2, None, "sad")], ["ok", "sad"], 5))
    row = conn.execute("select * from made").fetchone()
    assert row == ((1, "a,b", "ok"), [(2, None, "sad")], ["ok", "sad"], 5)
    conn.execute("insert into made (p) values ($1)", ({"n": 3, "t": "x", "m": "sad"},))
    assert conn.fetchval("select p from made where d is null") == (3, "x", "sad")
    with pytest.raises(errors.CheckViolation):
        conn.execute("insert into made (d) values ($1)", (-1,))


OUT_OF_RANGE = [
    ("date", "infinity"),
    ("date", "0044-03-15 BC"),
    ("date", "10000-01-01"),
    ("timestamp", "-infinity"),
    ("timestamptz", "20000-01-01 00:00:00+00"),
    ("time", "24:00:00"),
]


@pytest.mark.parametrize(("kind", "shown"), OUT_OF_RANGE)
def test_the_policy_for_what_python_cannot_hold(url: str, kind: str, shown: str) -> None:
    sql = f"select 1, '{shown}'::{kind}, 'after' union all select 2, null, 'next'"
    with headrace.connect(url, autocommit=True) as conn:
        with pytest.raises(errors.DataError, match="unrepresentable"):
            conn.execute(sql)
        assert conn.fetchval("select 1") == 1
    with headrace.connect(url, unrepresentable="none") as conn:
        assert conn.execute(sql).fetchall() == [(1, None, "after"), (2, None, "next")]
    with headrace.connect(url, unrepresentable="text") as conn:
        assert conn.execute(sql).fetchall()[0] == (1, shown, "after")


def test_own_loaders_and_dumpers(conn: Conn) -> None:
    class Money:
        def __init__(self, cents: int) -> None:
            self.cents = cents

    conn.register_adapters(
        loaders={790: lambda data: Money(int(data.decode().replace("$", "").replace(",", "").replace(".", "")))},
        dumpers={Money: lambda m: f"{m.cents / 100:.2f}"},
    )
    back = conn.fetchval("select $1::money", Money(123456))
    assert isinstance(back, Money)
    assert back.cents == 123456


class Colour(enum.Enum):
    RED = "red"
    GREEN = "green"


class Mood(enum.Enum):
    sad = 1
    happy = 2


@dataclasses.dataclass
class Pixel:
    x: int
    colour: Colour


def test_composites_and_enumerations_as_classes(conn: Conn) -> None:
    conn.executescript("create type colour as enum ('red', 'green'); create type mood as enum ('sad', 'happy')")
    conn.executescript("create type pixel as (x int, colour colour); create type stroke as (a pixel, b pixel)")
    assert conn.fetchval("select row(1, 'red')::pixel") == (1, "red")
    stroke = collections.namedtuple("stroke", "a b")
    conn.register_enum("colour", Colour)
    conn.register_enum("public.mood", Mood)
    conn.register_composite("pixel", Pixel)
    conn.register_composite("stroke", stroke)
    assert conn.fetchval("select row(1, 'red')::pixel") == Pixel(1, Colour.RED)
    assert conn.fetchval("select row(row(1, 'red'), row(2, 'green'))::stroke") == stroke(
        Pixel(1, Colour.RED), Pixel(2, Colour.GREEN)
    )
    assert conn.fetchval("select array[row(1, null)::pixel, null]") == [Pixel(1, None), None]
    assert conn.fetchval("select array['red', 'green']::colour[]") == [Colour.RED, Colour.GREEN]
    for value, kind in [(Colour.GREEN, "colour"), (Mood.sad, "mood"), ([Mood.happy], "mood[]")]:
        assert conn.fetchval(f"select $1::{kind}", value) == value
        assert conn.fetchval(f"select $1::{kind}::text", value)
    for value, kind in [(Pixel(3, Colour.RED), "pixel"), ((4, "green"), "pixel"), ({"x": 5, "colour": "red"}, "pixel")]:
        assert isinstance(conn.fetchval(f"select $1::{kind}", value), Pixel)
    assert conn.fetchval("select ($1::stroke).b.x", stroke(Pixel(1, Colour.RED), (7, Colour.GREEN))) == 7

    def refuse(x: int, colour: Colour) -> None:
        raise LookupError(f"no pixel at {x}")

    conn.register_composite("pixel", refuse)
    with pytest.raises(LookupError, match="no pixel at 1"):
        conn.fetch("select row(1, 'red')::pixel")
    assert conn.fetchval("select 1") == 1
    with pytest.raises(errors.UndefinedObject):
        conn.register_enum("nothing", Colour)
    conn.rollback()


def test_registrations_that_make_no_sense(conn: Conn) -> None:
    conn.execute("create type size as enum ('s', 'm')")
    with pytest.raises(errors.ProgrammingError, match="int4 is not a composite type"):
        conn.register_composite("int4", tuple)
    with pytest.raises(errors.ProgrammingError, match="int4 is not an enumeration"):
        conn.register_enum("int4", Colour)
    with pytest.raises(errors.ProgrammingError, match="Colour has no member for the label 's' of size"):
        conn.register_enum("size", Colour)


def test_each_registration_adds_to_those_before(conn: Conn) -> None:
    conn.register_adapters(loaders={23: lambda data: f"int4 {data.decode()}"})
    conn.register_adapters(loaders={25: lambda data: b"text " + data}, binary=[25])
    assert conn.fetchrow("select 1::int4, 'a'::text") == ("int4 1", b"text a")


def test_what_does_not_fit_says_so(conn: Conn) -> None:
    for kind, value, message in [
        ("smallint", 40_000, "does not fit int2"),
        ("integer", 2.5, "not a whole number"),
        ("integer", object(), "cannot be sent as int4"),
        ("timestamp", dt.datetime(2020, 1, 1, tzinfo=UTC), "zone would be lost"),
        ("int[]", [[1], [2, 3]], "same length"),
        ("text", "nul\0", "NUL"),
    ]:
        with pytest.raises(errors.DatabaseError, match=message):
            conn.execute(f"select $1::{kind}", (value,))
        conn.rollback()
    assert conn.fetchval("select 1") == 1


def test_decimals_are_made_from_their_coefficients_and_are_like_any_other(conn: Conn) -> None:
    assert sys.implementation.name != "cpython" or _native.makes_decimals()
    texts = [
        "0",
        "0.00",
        "-0.5",
        "1234567890.123",
        "9999999999999999999",
        "10000000000000000000.0",
        "18446744073709551616",
    ]
    texts += ["9" * 38, "-" + "9" * 38, "1" + "0" * 38, "0." + "0" * 37 + "1", "0." + "0" * 38 + "1", "12345.678"]
    for text in texts:
        made, right = conn.fetchval(f"select '{text}'::numeric"), decimal.Decimal(text)
        assert (str(made), made.as_tuple(), hash(made)) == (str(right), right.as_tuple(), hash(right)), text
        assert made == right
        assert type(made) is decimal.Decimal
        assert (made + 1, -made, made * made, made.sqrt() if made > 0 else 0) == (
            right + 1, -right, right * right, right.sqrt() if right > 0 else 0,
        ), text  # fmt: skip
        assert pickle.loads(pickle.dumps(made)).as_tuple() == copy.deepcopy(made).as_tuple() == right.as_tuple()
        assert sys.getsizeof(made) == sys.getsizeof(right)
        assert gc.is_tracked(made) == gc.is_tracked(right)


@given(text=text)
@settings(max_examples=times(60), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_text_of_every_width(conn: Conn, text: str) -> None:
    for value in (text, text.encode("ascii", "ignore").decode(), "é" + text, "日" + text, "🚀" + text, "é", "🚀"):
        back = conn.fetchval("select $1::text", value)
        assert (back, hash(back), back.isascii(), sys.getsizeof(back)) == (
            value, hash(value), value.isascii(), sys.getsizeof("".join(list(value))),
        )  # fmt: skip


def test_whole_numbers_of_more_digits_than_python_shows(conn: Conn) -> None:
    """Python's str refuses them. Every driver that sends them needs another way."""
    for number in (10**5000 + 7, -(10**5000), 10**131_071):
        assert conn.fetchval("select $1::numeric", number) == number
        assert conn.fetchval("select %s", number) == number
        assert conn.fetchval("select $1::numeric[]", [number]) == [number]
        assert conn.fetchval("select $1::text::numeric", number) == number
    conn.execute("create temp table long_numbers (n numeric)")
    conn.executemany("insert into long_numbers values (%s)", [(1,), (10**5000,)])
    for format in ("binary", "text"):
        conn.copy_in("long_numbers", [(10**5000,)], format=format)
    assert [n for (n,) in conn.fetch("select n from long_numbers")] == [1, *3 * [10**5000]]
    with pytest.raises(errors.DataError, match="a number of 131073 digits does not fit numeric"):
        conn.execute("select $1::numeric", (10**131_072,))
    for kind, error in {"int8": "does not fit int8", "float8": "does not fit a floating-point number"}.items():
        with pytest.raises(errors.DataError, match=rf"^1000000\d+\.\.\. \(of type int\) {error}"):
            conn.execute(f"select $1::{kind}", (10**5000,))
