"""A value means the same wherever it stands: as a parameter, inside of a list, an attribute, a bound, in a row that is
copied."""

from __future__ import annotations

import datetime
import decimal
import enum
import ipaddress
import uuid
import zoneinfo
from collections.abc import Iterator
from typing import Any

import pytest

import headrace
from headrace.types import Box, Circle, Json, Line, LSeg, Multirange, Path, Point, Polygon, Range
from servers import PostgreSQL
from values.matrix import REFUSED, Matrix
from values.values import KINDS, Value
from values.ways import Usual

from .conftest import Connect


class Id:
    """Has a dumper that returns text."""

    def __init__(self, number: int) -> None:
        self.number = number


class Day(enum.Enum):
    LEAP = datetime.date(2020, 2, 29)


class Shown(uuid.UUID):
    def __str__(self) -> str:
        return "shown otherwise"


class ShownAddress(ipaddress.IPv4Interface):
    def __str__(self) -> str:
        return "shown otherwise"


LONG = "é" * 40
CHARACTERS = "".join(map(chr, range(1, 300)))
ZONE = zoneinfo.ZoneInfo("Europe/Berlin")
D = decimal.Decimal

# A type, a value, and its text; None where it is refused.
CASES: list[tuple[str, Any, str | None]] = [
    ("int", Id(1234), "1234"),
    ("bigint", Id(12345678), "12345678"),
    ("smallint", Id(12), "12"),
    ("numeric", Id(7), "7"),
    ("text", Id(7), "7"),
    ("date", Day.LEAP, "2020-02-29"),
    ("uuid", Shown(int=5), "00000000-0000-0000-0000-000000000005"),
    ("inet", ShownAddress("10.1.2.3/8"), "10.1.2.3/8"),
    ("inet", ipaddress.ip_address("fe80::1%eth0"), None),
    ("int", D("1E+2"), "100"),
    ("int", D("100.00"), "100"),
    ("int", D("1.5"), None),
    ("bigint", 1e16, "10000000000000000"),
    ("bigint", 2.0**60, "1152921504606846976"),
    ("bigint", 2.0**63, None),
    ("bigint", float("nan"), None),
    ("double precision", D("1E+400"), None),
    ("double precision", D("-1E-400"), None),
    ("double precision", D("Infinity"), "Infinity"),
    ("double precision", D("0E-999"), "0"),
    ("real", 1e-60, None),
    ("real", 1e39, None),
    ("timetz", datetime.time(1, 2, tzinfo=ZONE), None),
    ("jsonb", '{"a": 1}', '{"a": 1}'),
    ("json", '{"a": 1}', '{"a": 1}'),
    ("jsonb", Json("text"), '"text"'),
    ("jsonb", {"a": [1, None]}, '{"a": [1, null]}'),
    ("polygon", Polygon((Point(1, 2), Point(3, 4))), "((1,2),(3,4))"),
    ("polygon", ((1, 2), (3, 4)), "((1,2),(3,4))"),
    ("polygon", [[8.5, 47.4, 400], [8.6, 47.4, 410]], None),
    ("polygon", [(1, 2, 3), (4, 5, 6)], None),
    ("polygon", [(1, 2), (3,)], None),
    ("polygon", [1, 2, 3, 4], None),
    ("path", Path((Point(1, 2), Point(3, 4)), closed=False), "[(1,2),(3,4)]"),
    ("path", Path((Point(1, 2), Point(3, 4)), closed=True), "((1,2),(3,4))"),
    ("path", ((1, 2), (3, 4)), "((1,2),(3,4))"),
    ("path", [(0, 1, 2)], None),
    ("point", {"x": 1.0, "y": 2.0}, None),
    ("point", {1.0, 2.0}, None),
    ("point", (1, 2, 3), None),
    ("point", ("1", "2"), None),
    ("circle", ((1, 2), 3), "<(1,2),3>"),
    ("box", ((3, 4), (1, 2)), "(3,4),(1,2)"),
    ("name", LONG, "é" * 31),
    ("text", LONG, LONG),
    ("text", D("0E-9"), "0.000000000"),
    ("text", D("-1.5E+2"), "-150"),
    ("text", D("-0.0"), "0.0"),
    ("text", D("1E+999999999"), None),
    ("text[]", [D("1E+2"), D("1.50")], "{100,1.50}"),
    ("text", CHARACTERS, CHARACTERS),
    ("text", "\\N", "\\N"),
    ("text", "\\.", "\\."),
    ("text", "", ""),
    ("text", "NULL", "NULL"),
]


def _dumped(conn: Any) -> Any:
    conn.register_adapters(dumpers={Id: lambda value: str(value.number)})
    return conn


@pytest.fixture(scope="module")
def matrix(url: str) -> Iterator[Matrix]:
    """Every way to store a value, with the dumper."""
    made = Matrix(PostgreSQL.at(url), unknown=KINDS)
    for way in made.ways:
        if not isinstance(way, Usual):
            _dumped(way.driver)
    yield made
    made.close()


@pytest.mark.parametrize(
    ("kind", "value", "expected"), CASES, ids=[f"{kind}-{value!r:.30}" for kind, value, _ in CASES]
)
def test_a_value_is_the_same_everywhere(matrix: Matrix, kind: str, value: Any, expected: str | None) -> None:
    column = next(column for column in matrix.columns if column.name == kind)
    for found in matrix.stored(column, [Value("str", value)]):
        # By value it has a type of its own, which the server converts by its rules; in a row's text none at all.
        if found.way.group == "by column" or (expected is not None and found.stored != REFUSED):
            assert found.stored == (REFUSED if expected is None else expected), found.way.name


def test_text_is_parsed_by_the_server_inside_of_others_too(connect: Connect) -> None:
    with connect(autocommit=True) as conn:
        conn.executescript("drop type if exists parsed; create type parsed as (a int, d date, n numeric)")
        for mark in ("$1", "%s"):
            for value in [(1, "2020-01-01", 2), ("1", "2020-01-01", "2.5")]:
                found = conn.execute(f"select ({mark}::parsed)::text", (value,)).fetchone()
                assert found == (f"(1,2020-01-01,{value[2]})",)
            bounds = Range("2020-01-01", "2020-02-01")
            found = conn.execute(f"select ({mark}::daterange)::text", (bounds,)).fetchone()
            assert found == ("[2020-01-01,2020-02-01)",)
        conn.execute("drop type parsed")


def test_text_in_composite_values_is_parsed_beside_null_and_in_every_dimension(connect: Connect, dba: Any) -> None:
    dba.executescript(
        "DROP TYPE IF EXISTS outing; DROP TYPE IF EXISTS stay; CREATE TYPE stay AS (place text, nights int);"
        "CREATE TYPE outing AS (day date, at stay)"
    )
    conn = connect()
    late = ("infinity", None)
    for kind, value, expected in (
        ("outing", late, "(infinity,)"),
        ("outing", ("infinity", ("x", None)), '(infinity,"(x,)")'),
        ("outing[]", [None, late], '{NULL,"(infinity,)"}'),
        ("outing[]", [[late], [None]], '{{"(infinity,)"},{NULL}}'),
        ("outing[]", [[[late, late]]], '{{{"(infinity,)","(infinity,)"}}}'),
    ):
        assert conn.fetchval(f"SELECT ($1::{kind})::text", value) == expected
    conn.rollback()
    dba.executescript("DROP TYPE outing; DROP TYPE stay")


@pytest.mark.parametrize("options", [{}, {"prepared": False}])
def test_null_of_a_type_without_binary_input_is_null(connect: Connect, options: dict[str, Any]) -> None:
    conn = connect(autocommit=True, **options)
    conn.execute("create temporary table granted (n int, c aclitem, a aclitem[])")
    conn.execute("create temporary table kinds (n int, c pg_node_tree)")
    rows = [(1, None, None), (2, "postgres=r/postgres", None), (3, None, ["postgres=r/postgres", None])]
    for row in rows:
        conn.execute("insert into granted values (%s, %s, %s)", row)
    conn.executemany("insert into granted values ($1, $2, $3)", rows)
    conn.executemany("insert into granted values (%s, %s, %s)", rows, returning=False)
    conn.copy_in("granted", rows)
    with conn.pipeline():
        for row in rows:
            conn.execute("insert into granted values ($1, $2, $3)", row)
    shown = conn.fetch("select n, c is null, a is null, count(*) from granted group by 1, 2, 3 order by 1")
    assert shown == [(1, True, True, 5), (2, False, True, 5), (3, True, False, 5)]
    assert conn.fetchval("select count(*) from granted where c is not distinct from $1", None) == 10
    conn.execute("insert into kinds values ($1, $2)", (1, None))
    assert conn.fetchval("select c from kinds where c is not distinct from %s", None) is None


@pytest.mark.parametrize("kind", ["int[]", "text[]", "jsonb[]", "numeric[]"])
def test_lists_of_which_the_first_is_empty_are_no_empty_array(connect: Connect, kind: str) -> None:
    conn = connect(autocommit=True)
    conn.execute(f"create temporary table held (v {kind})")
    item = {"int[]": 1, "text[]": "a", "jsonb[]": {}}.get(kind, D(1))
    for value in ([[], [item]], [[], None, [item]], [[], None], [[], item], [[], [[]]], [[[], [item]]], [[], (item,)]):
        for way in (
            lambda value: conn.execute("insert into held values ($1)", (value,)),
            lambda value: conn.execute(f"insert into held values (%s::{kind})", (value,)),
            lambda value: conn.executemany("insert into held values ($1)", [([],), (value,)]),
            lambda value: conn.copy_in("held", [(value,)]),
            lambda value: conn.copy_in("held", [(value,)], format="text"),
        ):
            with pytest.raises(headrace.Error):
                way(value)
    assert conn.fetchval("select count(*) from held") == 0
    for value in ([], [[]], [[], []], [[[]], [[]]]):
        conn.execute("insert into held values ($1)", (value,))
    assert conn.fetch("select v, count(*) from held group by 1") == [([], 4)]


def test_lists_of_ranges_in_an_array_are_multiranges(connect: Connect) -> None:
    conn = connect(autocommit=True)
    conn.execute("create temporary table held (v int4multirange[])")
    for value, text in (
        ([[], None, [Range(1, 3)]], '{"{}",NULL,"{[1,3)}"}'),
        ([[Range(1, 3)], [Range(5, 6), Range(8, 9)]], '{"{[1,3)}","{[5,6),[8,9)}"}'),
        ([[[Range(1, 3)], []], [None, Multirange([])]], '{{"{[1,3)}","{}"},{NULL,"{}"}}'),
        ([Multirange([Range(1, 3)]), []], '{"{[1,3)}","{}"}'),
        ([], "{}"),
    ):
        conn.execute("insert into held values ($1)", (value,))
        conn.executemany("insert into held values ($1)", [(value,)] * 2)
        conn.copy_in("held", [(value,)])
        conn.copy_in("held", [(value,)], format="text")
        assert conn.fetch("select v::text, count(*) from held group by 1") == [(text, 5)]
        conn.execute("truncate held")


def test_a_dumpers_text_is_not_taken_for_bytes(connect: Connect) -> None:
    with _dumped(connect(autocommit=True)) as conn:
        conn.execute("create temp table flags (f bool, t text[])")
        with pytest.raises(headrace.ProgrammingError, match="text format"):
            conn.copy_in("flags", [(Id(1),)], columns=["f"])
        conn.copy_in("flags", [(Id(1),)], columns=["f"], format="text")
        with conn.cursor().copy("copy flags (t) from stdin") as copy:
            copy.write_row(([Id(5), None],))
        assert conn.fetch("select * from flags") == [(True, None), (None, ["5", None])]


def test_geometric_values_are_those_of_a_parameter_in_the_text_of_a_row(connect: Connect) -> None:
    a, b = Point(1, 2.5), Point(-3, 1e300)
    row = (
        a, Line(1, 2, 3), LSeg(a, b), Box(Point(3, 4), a), Path((a, b), True), Path((a, b)), Polygon((a, b)),
        Circle(a, 3), [a, None], [LSeg(a, b)], [None, Box(Point(3, 4), a), Box(a, a), None], [[Box(a, a)], [Box(b, b)]],
    )  # fmt: skip
    kinds = ["point", "line", "lseg", "box", "path", "path", "polygon", "circle", "point[]", "lseg[]", "box[]", "box[]"]
    with connect(autocommit=True) as conn:
        conn.execute(f"create temp table shapes ({', '.join(f'c{n} {kind}' for n, kind in enumerate(kinds))})")
        conn.execute(f"insert into shapes values ({', '.join(['%s'] * len(row))})", row)
        with conn.cursor().copy("copy shapes from stdin") as copy:
            copy.write_row(row)
        bound, written = conn.fetch("select * from shapes")
        assert bound == written == row


def test_a_time_that_the_clock_skipped_is_the_instant_that_python_makes_of_it(connect: Connect) -> None:
    skipped = datetime.datetime(2020, 3, 8, 2, 30)
    with connect(autocommit=True) as conn:
        for fold in (0, 1):
            naive = skipped.replace(fold=fold)
            assert conn.fetchval("select $1::timestamptz", naive) == naive.astimezone(datetime.timezone.utc)
