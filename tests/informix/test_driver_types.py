"""Every column type both ways with its NULL, and what an independent client makes of the same values."""

from __future__ import annotations

import datetime as dt
import itertools
from decimal import Decimal
from typing import Any

import informix_db
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import headrace.informix
from headrace import errors
from headrace.testing import InformixServer
from headrace.types import Interval
from live import PREFIX
from long import times

Connection = headrace.informix.Connection[Any]
_numbers = itertools.count(1)

D = Decimal
BIG = 2**63 - 1
CASES: list[tuple[str, list[Any]]] = [
    ("smallint", [0, 1, -1, 32767, -32767]),
    ("integer", [0, 1, -1, 2**31 - 1, -(2**31) + 1]),
    ("bigint", [0, 1, -1, BIG, -BIG]),
    ("int8", [0, 1, -1, 123456789012, -(2**40), BIG, -BIG]),
    ("smallfloat", [0.0, 1.5, -2.25, 2.0**40]),
    ("float", [0.0, 1.5, -0.1, 1e300, 5e-324]),
    ("decimal(10,2)", [D("0.00"), D("1234.56"), D("-1234.56"), D("99999999.99"), D("0.01")]),
    ("decimal(5,5)", [D("0.00001"), D("-0.12345")]),
    ("decimal(32,0)", [D("12345678901234567890123456789012"), D("-1")]),
    ("decimal(32,16)", [D("1234567890123456.1234567890123456"), D("-0.0000000000000001")]),
    ("decimal(16)", [D("0"), D("1E+20"), D("-1E-10"), D("1234.5678"), D("0.001")]),
    ("decimal(32)", [D("1234567890123456789012345678.9012"), D("7E-100"), D("7E+100")]),
    ("money(12,2)", [D("0.00"), D("-12.34"), D("9999999999.99")]),
    ("char(6)", ["abc   ", "abcdef", "äöüäöü"]),
    ("nchar(3)", ["a  ", "abc"]),
    ("varchar(20)", ["", "a", "ab", " lead", "it's", "{?}", "ÄÖ\xa0"]),
    ("nvarchar(20)", ["", "a", "ab"]),
    ("lvarchar(3000)", ["", "a", "ab", "x" * 2999, "y" * 3000]),
    ("boolean", [True, False]),
    (
        "date",
        [dt.date(1, 1, 1), dt.date(1899, 12, 31), dt.date(1970, 1, 1), dt.date(2020, 2, 29), dt.date(9999, 12, 31)],
    ),
    (
        "datetime year to second",
        [dt.datetime(1, 1, 1), dt.datetime(2024, 1, 2, 3, 4, 5), dt.datetime(9999, 12, 31, 23, 59, 59)],
    ),
    ("datetime year to fraction(5)", [dt.datetime(2024, 1, 2, 3, 4, 5, 123450), dt.datetime(2024, 1, 2)]),
    ("datetime year to fraction(3)", [dt.datetime(2024, 1, 2, 3, 4, 5, 123000)]),
    ("datetime year to fraction(1)", [dt.datetime(2024, 1, 2, 3, 4, 5, 900000)]),
    ("datetime year to minute", [dt.datetime(2024, 1, 2, 3, 4)]),
    ("datetime year to hour", [dt.datetime(2024, 1, 2, 3)]),
    ("datetime year to day", [dt.date(2024, 1, 2)]),
    ("datetime hour to second", [dt.time(0, 0), dt.time(23, 59, 58)]),
    ("datetime hour to fraction(5)", [dt.time(1, 2, 3, 123450), dt.time(23, 59, 59, 999990)]),
    ("datetime hour to minute", [dt.time(12, 30)]),
    (
        "interval day to second",
        [dt.timedelta(days=3, hours=4, minutes=5, seconds=6), dt.timedelta(days=-3, hours=-4), dt.timedelta(0)],
    ),
    (
        "interval day(9) to fraction(5)",
        [dt.timedelta(days=123456789, microseconds=120), dt.timedelta(microseconds=-10)],
    ),
    ("interval hour(4) to minute", [dt.timedelta(hours=1234, minutes=56)]),
    ("interval minute(5) to second", [dt.timedelta(minutes=54321, seconds=9)]),
    ("interval second(6) to fraction(3)", [dt.timedelta(seconds=654321, milliseconds=987)]),
    ("interval year to month", [Interval(months=63), Interval(months=-63), Interval(months=11), Interval()]),
    ("interval year(6) to year", [Interval(months=12 * 123456)]),
    ("interval month(4) to month", [Interval(months=1234)]),
    ("text", ["", "a", "long " * 5000, "äöü"]),
    ("byte", [b"", b"\0", b"ab", bytes(range(256)) * 100]),
]


@pytest.mark.parametrize(("kind", "values"), CASES, ids=[kind for kind, _ in CASES])
def test_every_value_comes_back(conn: Connection, table: str, kind: str, values: list[Any]) -> None:
    conn.execute(f"create table {table} (n int, v {kind}, m int)")
    rows = [(n, value, -n) for n, value in enumerate([*values, None])]
    conn.execute(f"insert into {table} values (?, ?, ?)", rows[0])
    conn.executemany(f"insert into {table} values (?, ?, ?)", rows[1:])
    got = conn.fetch(f"select n, v, m from {table} order by n")
    assert got == rows
    assert [type(row[1]) for row in got] == [type(row[1]) for row in rows]
    for n, value, _ in rows[:-1]:
        if kind not in ("text", "byte") and "float" not in kind:
            found = conn.fetch(f"select n from {table} where v = ?", value)
            assert (n,) in found, value
    cursor = conn.execute(f"select v from {table}")
    assert cursor.description is not None
    assert cursor.description[0][0] == "v"
    # An update has no description of its columns: values go by the types they have.
    conn.execute(f"update {table} set v = ? where n = ?", (values[-1], 0))
    assert conn.fetchval(f"select v from {table} where n = 0") == values[-1]
    conn.execute(f"update {table} set v = ? where n = ?", (None, 0))
    assert conn.fetchval(f"select v from {table} where n = 0") is None


def test_interval_that_is_rounded_to_zero_has_no_sign(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (n int, v interval day(9) to fraction(5))")
    conn.execute(f"insert into {table} values (?, ?)", (0, dt.timedelta(microseconds=-1)))
    conn.executemany(f"insert into {table} values (?, ?)", [(n, dt.timedelta(microseconds=-n)) for n in range(1, 5)])
    assert {value for (value,) in conn.fetch(f"select v from {table}")} == {dt.timedelta(0)}


def test_exact_digits_of_decimals(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (a decimal(10,2), b decimal(16), c money)")
    conn.execute(f"insert into {table} values (?, ?, ?)", (5, D("5.10"), D("7")))
    assert [str(v) for v in conn.fetchrow(f"select a, b, c from {table}") or ()] == ["5.00", "5.1", "7.00"]


def test_integers_of_any_size_become_decimals(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (a decimal(32,0))")
    conn.execute(f"insert into {table} values (?)", (10**30,))
    conn.execute(f"insert into {table} values (?)", (-(2**63),))
    assert conn.fetch(f"select a from {table} order by a") == [(D(-(2**63)),), (D(10**30),)]
    with pytest.raises(errors.DataError):
        conn.execute(f"insert into {table} values (?)", (10**40,))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), D("NaN"), D("Infinity"), D(1) / D(7) * D("1E-200")])
def test_numbers_that_informix_has_not(conn: Connection, table: str, value: Any) -> None:
    conn.execute(f"create table {table} (a float, b decimal(16))")
    with pytest.raises(errors.DataError):
        conn.execute(f"insert into {table} values (?, ?)", (value, value))
    conn.ping()


def test_values_that_informix_has_no_type_for(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (a lvarchar(100))")
    zoned = dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)
    for value in (zoned, zoned.timetz(), [1, 2], object()):
        with pytest.raises((errors.ProgrammingError, errors.DataError, errors.InterfaceError)):
            conn.execute(f"insert into {table} values (?)", (value,))
    conn.ping()


@pytest.mark.parametrize("kind", ["char(9)", "nchar(9)", "varchar(9)", "nvarchar(9)", "lvarchar(9)"])
async def test_bytes_are_no_text(conn: Connection, aconn: Any, table: str, kind: str) -> None:
    conn.execute(f"create table {table} (v {kind})")
    conn.execute(f"insert into {table} values ('a')")
    conn.commit()
    for sql in (f"insert into {table} values (?)", f"update {table} set v = ?"):
        with pytest.raises(errors.ProgrammingError, match="decode it"):
            conn.execute(sql, (b"\xff\0",))
        with pytest.raises(errors.ProgrammingError, match="decode it"):
            await aconn.executemany(sql, [(b"abc",)])
        conn.rollback()
        await aconn.rollback()
    assert [row[0].strip() for row in conn.fetch(f"select v from {table}")] == ["a"]


def test_text_goes_where_the_server_converts_it(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (a int, b date, c decimal(8,2), d datetime year to second)")
    conn.execute(f"insert into {table} values (?, ?, ?, ?)", ("12", "2024-02-29", "1.5", "2024-01-02 03:04:05"))
    row = (12, dt.date(2024, 2, 29), D("1.50"), dt.datetime(2024, 1, 2, 3, 4, 5))
    assert conn.fetchrow(f"select a, b, c, d from {table}") == row


def test_collections_and_rows_are_text(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (a set(int not null), b list(int not null), c row(x int, y varchar(9)))")
    conn.execute(f"insert into {table} values (set{{1,2}}, list{{3}}, row(4, 'four'))")
    conn.execute(f"insert into {table} values (?, ?, ?)", (None, None, None))
    first, second = conn.fetch(f"select a, b, c from {table}")
    assert first[0].startswith("SET{")
    assert "3" in first[1]
    assert "four" in first[2]
    assert second == (None, None, None)


def test_description_tells_types(conn: Connection, table: str) -> None:
    conn.execute(
        f"create table {table} (a serial, b decimal(10,2), c varchar(30), d datetime year to second, e boolean)"
    )
    cursor = conn.execute(f"select * from {table}")
    assert cursor.description is not None
    names = [str(column[1]) for column in cursor.description]
    assert names[0].upper().startswith("SERIAL")
    assert names[1].upper() == "DECIMAL(10,2)"
    assert cursor.description[1][4:6] == (10, 2)
    assert cursor.description[0][1] == headrace.informix.NUMBER
    assert cursor.description[2][1] == headrace.informix.STRING
    assert cursor.description[3][1] == headrace.informix.DATETIME


# Two clients that know nothing of each other.

ROW = st.tuples(
    st.none() | st.integers(-(2**31) + 1, 2**31 - 1),
    st.none() | st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_categories=["Cc"]), max_size=40),
    st.none() | st.decimals(min_value=-(10**8), max_value=10**8, places=2, allow_nan=False),
    st.none() | st.dates(),
    st.none()
    | st.datetimes(min_value=dt.datetime(1, 1, 1)).map(lambda m: m.replace(microsecond=m.microsecond // 10 * 10)),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    st.none() | st.integers(-(2**63) + 1, 2**63 - 1),
    st.none() | st.text(st.characters(min_codepoint=32, max_codepoint=126), max_size=300),
    st.none() | st.integers(-99, 99).map(lambda d: dt.timedelta(days=d, seconds=d * 7)),
)
COLUMNS = (
    "n int, a int, b varchar(40), c decimal(12,2), d date, e datetime year to fraction(5), f float, g bigint,"
    " h lvarchar(300), i interval day to second"
)


@settings(max_examples=times(15), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(rows=st.lists(ROW, min_size=1, max_size=8))
def test_an_independent_client_agrees(ifx: InformixServer, rows: list[tuple[Any, ...]]) -> None:
    name = f"{PREFIX}agree_{next(_numbers)}"
    places = ", ".join("?" * 10)
    numbered = [(n, *row) for n, row in enumerate(rows)]
    tested = headrace.informix.connect(**ifx.parameters(), autocommit=True)
    reference = informix_db.connect(**ifx.parameters(), autocommit=True)
    try:
        tested.execute(f"create table {name} ({COLUMNS})")
        half = len(rows) // 2
        tested.executemany(f"insert into {name} values ({places})", numbered[:half])
        cursor = reference.cursor()
        for row in numbered[half:]:
            cursor.execute(f"insert into {name} values ({places})", row)
        mine = tested.fetch(f"select * from {name} order by n")
        cursor.execute(f"select * from {name} order by n")
        yours = cursor.fetchall()
        assert mine == yours
        assert mine[:half] == numbered[:half]
        tested.execute(f"drop table {name}")
    finally:
        reference.close()
        tested.close()
