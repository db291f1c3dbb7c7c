"""One value, one meaning: each way to read returns the same Python value, and each way to write stores the same one."""

from __future__ import annotations

import datetime as dt
import enum
import uuid
from decimal import Decimal
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Any

import pytest

from headrace import errors
from headrace.types import BitString, Box, Circle, Interval, Line, LSeg, Multirange, Path, Point, Polygon, Range

from .conftest import Connect

UTC = dt.timezone.utc
TEXTUAL = [
    "'a:1 b'::tsvector",
    "'a & b'::tsquery",
    "'-1.50'::money",
    "'0/1'::pg_lsn",
    "'(0,1)'::tid",
    "'pg_class'::regclass",
    "'1:2:'::pg_snapshot",
    "'$.a'::jsonpath",
    "'postgres=r/postgres'::aclitem",
    "'int4'::regtype",
    "array['a:1', null]::tsvector[]",
    "array['pg_class']::regclass[]",
    "'{{1,2},{3,NULL}}'::money[]",
    "array['postgres=r/postgres']::aclitem[]",
    "row(1, 'a:1')::s_one.mixed",
    "array[row(1, 'a:1')]::s_one.mixed[]",
]
BOTH = [
    "true",
    "(-2)::int2",
    "3",
    "4::int8",
    "5::oid",
    "'18446744073709551615'::xid8",
    "1.5::float4",
    "0.1::float8",
    "'NaN'::float8",
    "'-Infinity'::float8",
    "1.50::numeric",
    "'NaN'::numeric",
    "'a\tb\nc\\d\"e'::text",
    "''::text",
    "'\\x00ff5c'::bytea",
    "'x'::\"char\"",
    "'\\303'::\"char\"",
    "date '2020-02-29'",
    "date '0044-03-15' + 800000",
    "time '23:59:59.000001'",
    "timetz '12:00:00+05:30'",
    "timestamp '2020-12-31 23:59:59.999999'",
    "timestamptz '2020-12-31 23:59:59.5+00'",
    "interval '1 year 2 mons -3 days 04:05:06.7'",
    "interval '-3 days -4 hours'",
    "interval '0'",
    "interval '-1 mon'",
    "'6fa459ea-ee8a-3ca4-894e-db77e160355e'::uuid",
    '\'{"a": [1, "b"]}\'::json',
    "'{\"a\": null}'::jsonb",
    "inet '10.0.0.1'",
    "inet '10.0.0.1/8'",
    "cidr '10.0.0.0/8'",
    "cidr '10.0.0.1/32'",
    "inet '::1'",
    "b'10110'",
    "b'1'::varbit",
    "'08:00:2b:01:02:03'::macaddr",
    "point '(1.5,-2)'",
    "line '{1,2,3}'",
    "lseg '[(0,0),(1,1)]'",
    "box '(3,4),(1,2)'",
    "path '((0,0),(1,1))'",
    "path '[(0,0),(1,1)]'",
    "polygon '((0,0),(1,1),(2,0))'",
    "circle '<(1,2),3>'",
    "array[1, null, 3]",
    "array[[1,2],[3,4]]",
    "'[0:1]={7,8}'::int4[]",
    "array['a,b', 'c\"d', null, 'NULL', '']",
    "array[box '(3,4),(1,2)', box '(1,1),(0,0)']",
    "'{}'::int4[]",
    "'1 2 3'::int2vector",
    "'1 2'::oidvector",
    "''::oidvector",
    "int4range(1, 5)",
    "'empty'::int4range",
    "numrange(null, 1.5, '(]')",
    "tsrange('2020-01-01', null)",
    "daterange('2020-01-01', '2020-02-01')",
    "'{[1,3),[5,7)}'::int4multirange",
    "'{}'::int4multirange",
    "row(1, 'a \"b\", (c)', null, date '2020-01-01')::s_one.pair",
    "array[row(1, 'x', null, null), null]::s_one.pair[]",
    "row(row(1, 'x', 1.5, null), array[1,2])::s_one.outer_pair",
    "'ok'::s_one.mood",
    "array['ok', 'sad']::s_one.mood[]",
    "null::int4",
]
STYLES = ["ISO, MDY", "SQL, DMY", "SQL, MDY", "Postgres, DMY", "Postgres, MDY", "German, DMY"]


@pytest.fixture(scope="module", autouse=True)
def types(url: str) -> None:
    """The types that the values are of."""
    import headrace

    with headrace.connect(url, autocommit=True) as conn:
        conn.executescript("""
            CREATE SCHEMA s_one; CREATE TYPE s_one.pair AS (a int, b text, c numeric, d date);
            CREATE TYPE s_one.outer_pair AS (p s_one.pair, q int[]); CREATE TYPE s_one.mood AS ENUM ('sad', 'ok');
            CREATE TYPE s_one.mixed AS (a int, b tsvector)""")


def same(a: Any, b: Any) -> bool:
    """Returns true if two values are alike, their classes and NaN too."""
    return repr(a) == repr(b) and type(a) is type(b)


@pytest.mark.parametrize("sql", BOTH + TEXTUAL)
def test_each_way_out_gives_the_same_value(connect: Connect, sql: str) -> None:
    conn = connect()
    query = f"SELECT {sql} AS v"
    value = conn.fetchval(query)
    with conn.cursor("c") as cursor:
        declared = cursor.execute(query).fetchone()[0]
    ways = {
        "stream": next(iter(list(conn.stream(query))))[0],
        "cursor": declared,
        "script": conn.executescript(query).fetchone()[0],
        "copy": next(iter(list(conn.copy_out(query))))[0],
        "copy as text": next(iter(list(conn.copy_out(f"{query}, 'a:1'::tsvector"))))[0],
    }
    assert {way: found for way, found in ways.items() if not same(found, value)} == {}, value


@pytest.mark.parametrize("style", STYLES)
@pytest.mark.parametrize("intervals", ["postgres", "postgres_verbose", "sql_standard", "iso_8601"])
def test_no_setting_changes_a_value(connect: Connect, style: str, intervals: str) -> None:
    conn = connect(autocommit=True)
    query = (
        "SELECT date '2020-02-03', date '0044-03-15 BC' - date '0044-03-14 BC', timestamp '2020-02-03 04:05:06.7',"
        " timestamptz '2020-02-03 04:05:06.7+00', interval '1 year 2 mons -3 days 04:05:06.7',"
        " interval '-1 day -2 hours', interval '-1 year', '\\x005c41'::bytea, array[date '2020-02-03']"
    )
    expected = conn.fetch(query)
    conn.executescript(
        f"SET DateStyle TO {style}; SET IntervalStyle TO {intervals}; SET bytea_output TO escape; SET TimeZone TO 'UTC'"
    )
    assert conn.executescript(query).fetchall() == expected
    assert next(iter(list(conn.copy_out(f"{query}, 'a:1'::tsvector"))))[:-1] == expected[0]
    assert conn.fetch(query) == expected


def test_a_date_that_cannot_be_read_for_sure_is_refused(connect: Connect) -> None:
    conn = connect(autocommit=True)
    with pytest.raises(errors.DataError, match="DateStyle"):
        conn.executescript("SET DateStyle TO 'SQL, DMY'; SELECT date '2020-02-03'")
    conn.executescript("SET DateStyle TO 'SQL, DMY'")
    assert conn.executescript("SELECT date '2020-02-03'").fetchone() == (dt.date(2020, 2, 3),)
    conn.executescript("SET TimeZone TO 'America/New_York'")
    with pytest.raises(errors.DataError, match="DateStyle"):
        conn.executescript("SELECT timestamptz '2020-02-03 00:00+00'")


def test_an_anonymous_record_as_text_is_refused(conn: Any) -> None:
    assert conn.fetchval("SELECT (1, 'a')") == (1, "a")
    with pytest.raises(errors.DataError, match="record"):
        conn.executescript("SELECT (1, 'a')")
    assert conn.fetchval("SELECT (1, 'a:1'::tsvector)") == (1, conn.fetchval("SELECT 'a:1'::tsvector"))


BY_COLUMN = {
    *(
        "timestamptz",
        "json",
        "oidvector",
        "int2vector",
        "int",
        "line",
        "path",
        "box",
        "box[]",
        "lseg[]",
        "point",
        "point[]",
    ),
    *("polygon[]", "circle[]"),
}
"""Types whose values only the column distinguishes: a tuple, a whole float, a time without zone."""


class Level(enum.Enum):
    """An enumeration of Python's."""

    LOW = "low"


class Shape:
    """A class with a dumper."""


IN: list[tuple[str, Any]] = [
    ("int[]", [1, None, 2]),
    ("jsonb", {"a": 1}),
    ("json", [1, "x"]),
    ("text", Level.LOW),
    ("s_one.pair", (1, 'a "b"', None, None)),
    ("s_one.mixed", (1, "'a':1")),
    ("s_one.mixed[]", [(1, "'a':1"), None]),
    ("text", Shape()),
    ("point", Point(1.0, 2.0)),
    ("interval", Interval(14, -3, 5)),
    ("interval", dt.timedelta(days=-1, hours=2)),
    ("timestamptz", dt.datetime(2020, 1, 1, tzinfo=UTC)),
    ("timestamptz", dt.datetime(2020, 7, 1, 12)),
    ("bytea", b"\x00\\x"),
    ("numeric", Decimal("1E+5")),
    ("float8", float("nan")),
    ("bool", True),
    ("int", True),
    ("int", 2.0),
    ("uuid", uuid.UUID(int=5)),
    ("inet", IPv4Interface("10.0.0.1/8")),
    ("inet", IPv4Address("10.0.0.1")),
    ("cidr", IPv4Network("10.0.0.0/8")),
    ("bit(3)", BitString("101")),
    ("int4range", Range(1, 5)),
    ("daterange", Range(None, dt.date(2020, 1, 1))),
    ("int4multirange", Multirange([Range(1, 2), Range(4, 5)])),
    ("box", Box(Point(3.0, 4.0), Point(1.0, 2.0))),
    ("box[]", [Box(Point(3.0, 4.0), Point(1.0, 2.0))] * 2),
    ("lseg[]", [LSeg(Point(0.0, 0.0), Point(1.0, 1.0))]),
    ("point[]", [Point(1.0, 2.0), None]),
    ("point[]", [[Point(1.0, 2.0)], [Point(3.0, 4.0)]]),
    ("path", Path((Point(0.0, 0.0), Point(1.0, 1.0)), False)),
    ("polygon[]", [Polygon((Point(0.0, 0.0), Point(1.0, 1.0)))]),
    ("circle[]", [Circle(Point(0.0, 0.0), 1.0)]),
    ("line", Line(1.0, 2.0, 3.0)),
    ("tsvector[]", ["'a':1", None]),
    ("money[]", ["$1.50"]),
    ("tid[]", ["(0,1)"]),
    ("pg_lsn[]", ["0/1"]),
    ("macaddr[]", ["08:00:2b:01:02:03"]),
    ("macaddr", "08:00:2b:01:02:03"),
    ("oidvector", [1, 2]),
    ("int2vector", []),
    ("xid8", 2**64 - 1),
    ("text", "tab\t\\N\nline"),
    ("text", "\\N"),
    ("text", ""),
    ('"char"', ""),
    ('"char"', "a"),
    ('"char"[]', ["", "a", None]),
    ("time", dt.time(1, 2, 3, 4)),
    ("date", dt.date(1, 1, 1)),
    ("timetz", dt.time(1, tzinfo=dt.timezone(dt.timedelta(hours=-5, minutes=-30)))),
]


@pytest.mark.parametrize(("kind", "value"), IN, ids=[f"{kind}-{n}" for n, (kind, _) in enumerate(IN)])
def test_each_way_in_stores_the_same_value(connect: Connect, kind: str, value: Any) -> None:
    conn = connect()
    conn.register_adapters(dumpers={Shape: lambda shape: "a shape"})
    conn.execute(f"CREATE TEMP TABLE w (way text, v {kind}, z tsvector) ON COMMIT DROP")
    conn.execute("INSERT INTO w (way, v) VALUES ('execute', $1)", (value,))
    conn.executemany("INSERT INTO w (way, v) VALUES ($1, $2)", [("executemany", value)])
    if not kind.startswith(("macaddr", "oidv", "int2v")):
        conn.copy_in("w", [("copy", value)], columns=["way", "v"])
    conn.copy_in("w", [("copy as text", value, None)])
    conn.copy_in("w", [("copy told text", value)], columns=["way", "v"], format="text")
    if kind not in BY_COLUMN:
        with conn.cursor().copy("COPY w (way, v) FROM STDIN") as copy:
            copy.write_row(("write_row", value))
    stored = conn.fetch("SELECT v::text, array_agg(way ORDER BY way) FROM w GROUP BY 1")
    assert len(stored) == 1, stored


@pytest.mark.parametrize("value", [dt.datetime(2020, 1, 1, tzinfo=UTC), object(), {1, 2}])
def test_what_one_way_refuses_the_others_refuse(connect: Connect, value: Any) -> None:
    conn = connect()
    conn.execute("CREATE TEMP TABLE w (v timestamp, z tsvector)")
    conn.commit()
    for fails in (
        lambda: conn.execute("INSERT INTO w (v) VALUES ($1)", (value,)),
        lambda: conn.copy_in("w", [(value,)], columns=["v"]),
        lambda: conn.copy_in("w", [(value, None)]),
    ):
        with pytest.raises(errors.Error):
            fails()
        conn.rollback()


def test_one_character_is_not_cut_out_of_more(connect: Connect) -> None:
    conn = connect(autocommit=True)
    conn.execute('CREATE TEMP TABLE w (v "char", a "char"[], z tsvector)')
    for text in ("ab", "é"):
        for fails in (
            lambda text=text: conn.execute("INSERT INTO w (v) VALUES ($1)", (text,)),
            lambda text=text: conn.execute("INSERT INTO w (a) VALUES ($1)", ([text],)),
            lambda text=text: conn.copy_in("w", [(text,)], columns=["v"]),
            lambda text=text: conn.copy_in("w", [(text, [text], None)]),
        ):
            with pytest.raises(errors.DataError, match="does not fit char"):
                fails()
    assert conn.fetchval("SELECT count(*) FROM w") == 0
    byte = conn.fetchval("SELECT 'é'::\"char\"")
    assert byte == b"\xc3"
    assert conn.fetchval('SELECT $1::"char"', byte) == byte


def test_late_timestamps_are_themselves(connect: Connect) -> None:
    conn = connect(unrepresentable="text", autocommit=True)
    for sql in (
        "timestamp '294276-12-31 23:59:59.999999'",
        "timestamptz '294276-12-31 23:59:59+00'",
        "timetz '24:00+01'",
    ):
        value = conn.fetchval(f"SELECT {sql}")
        assert conn.executescript(f"SELECT {sql}").fetchone() == (value,)
        assert conn.fetchval(f"SELECT $1::{sql.split()[0]} = {sql}", value), value


def test_a_naive_datetime_without_time_in_utc_is_refused_with_its_reason(conn: Any) -> None:
    for value in (dt.datetime.min, dt.datetime.max):
        try:
            conn.fetchval("SELECT $1::timestamptz", value)
        except errors.DataError as error:
            assert "zone" in str(error)  # noqa: PT017


def test_catalogues_can_be_read(conn: Any) -> None:
    for table in ("pg_proc", "pg_type", "pg_index"):
        read = conn.fetch(f"SELECT * FROM {table} ORDER BY 1 LIMIT 50")
        assert list(conn.copy_out(f"SELECT * FROM {table} ORDER BY 1 LIMIT 50")) == read
