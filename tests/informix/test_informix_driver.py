"""The test server with informix-driver, an independent client that shares no code with IBM's."""

from __future__ import annotations

import asyncio
import datetime
import math
import ssl
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import informix_db
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from headrace.testing import InformixServer, informix
from long import times

FIELDS = ["year", "month", "day", "hour", "minute", "second", "fraction"]


@pytest.fixture
def connection(server: InformixServer) -> Iterator[Any]:
    opened = informix_db.connect(**server.parameters())
    yield opened
    opened.close()


def both_ways(connection: Any, column: str, value: Any, shown: Any = None) -> None:
    """A value and a NULL go in by parameter, and come back between two other columns."""
    cursor = connection.cursor()
    cursor.execute(f"create temp table d_ways (n int, v {column}, z int)")
    for number, given_value in ((1, value), (2, None)):
        cursor.execute("insert into d_ways values (?, ?, ?)", (number, given_value, number * 11))
    cursor.execute("select n, v, z from d_ways order by n")
    assert cursor.fetchall() == [(1, value if shown is None else shown, 11), (2, None, 22)]
    cursor.execute("drop table d_ways")


@pytest.mark.parametrize(
    ("column", "values"),
    [
        ("smallint", [0, 1, -1, 32767, -32767]),
        ("int", [0, 2**31 - 1, -(2**31) + 1]),
        ("bigint", [0, 2**63 - 1, -(2**63) + 1]),
        ("int8", [0, 1, -1, 2**40, -(2**40), 2**63 - 1]),
        ("float", [0.0, 1.5, -2.25e300, 5e-300]),
        ("smallfloat", [0.0, 1.5, -2.25]),
        ("decimal(10,2)", [Decimal("0"), Decimal("1234.56"), Decimal("-0.01")]),
        ("decimal(32)", [Decimal("1E+90"), Decimal("-1E-90"), Decimal("0.123456789012345678901234567890")]),
        ("decimal(32,10)", [Decimal("-1234567890123456789012.0123456789")]),
        ("money(16,2)", [Decimal("99.95"), Decimal("-1")]),
        ("varchar(255)", ["", "a", "odd", "even", "Grüße", "x" * 255, "it's ? :1 \\"]),
        ("nvarchar(40)", ["", "a", "Grüße"]),
        ("lvarchar(3000)", ["", "a", "odd", "Grüße", "x" * 2999]),
        ("date", [datetime.date(1899, 12, 31), datetime.date(1, 1, 1), datetime.date(2024, 2, 29)]),
        ("datetime year to second", [datetime.datetime(2024, 2, 29, 23, 59, 58), datetime.datetime(1, 1, 1)]),
        ("datetime year to fraction(5)", [datetime.datetime(2024, 1, 2, 3, 4, 5, 123450)]),
        ("interval day(5) to fraction(5)", [datetime.timedelta(days=3, seconds=14706, microseconds=120)]),
        ("interval day to second", [datetime.timedelta(days=-3, seconds=-14706)]),
        ("interval year(4) to month", [informix_db.IntervalYM(63), informix_db.IntervalYM(-63)]),
        ("boolean", [True, False]),
        ("byte", [b"", b"\x00\x01\xff", b"x" * 5000]),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_values_come_back_as_they_went(connection: Any, column: str, values: list[Any]) -> None:
    for value in values:
        both_ways(connection, column, value)


def test_texts_of_fixed_width_are_padded(connection: Any) -> None:
    for column in ("char(7)", "nchar(7)"):
        for value in ("", "a", "sieben7"):
            # The driver takes the blanks away again; the server has them.
            both_ways(connection, column, value)
    cursor = connection.cursor()
    cursor.execute("create temp table d_fixed (c char(7))")
    cursor.execute("insert into d_fixed values ('a')")
    cursor.execute("select c || '|' from d_fixed")
    assert cursor.fetchone() == ("a      |",)


def test_serials_count_for_themselves(connection: Any) -> None:
    cursor = connection.cursor()
    for kind in ("serial", "serial8", "bigserial"):
        cursor.execute(f"create temp table d_{kind} (a {kind}, b int)")
        for number in range(3):
            cursor.execute(f"insert into d_{kind} values (0, ?)", (number,))
        cursor.execute(f"insert into d_{kind} values (70, 3)")
        cursor.execute(f"insert into d_{kind} (b) values (4)")
        cursor.execute(f"select a from d_{kind} order by b")
        assert [a for (a,) in cursor.fetchall()] == [1, 2, 3, 70, 71]


LITERALS = ["2024", "02", "28", "23", "59", "58", "12345"]
SEPARATORS = "--- ::."


@pytest.mark.parametrize("start", range(7))
def test_every_range_of_datetime(connection: Any, start: int) -> None:
    cursor = connection.cursor()
    ends = [(field, FIELDS[field]) for field in range(start, 6)]
    ends += [(6, f"fraction({digits})") for digits in range(1, 6)]
    for end, word in ends:
        digits = int(word[9]) if end == 6 else 0
        text = LITERALS[start][: digits or None] if start == 6 else LITERALS[start]
        for field in range(start + 1, end + 1):
            text += SEPARATORS[field] + (LITERALS[6][:digits] if field == 6 else LITERALS[field])
        words = f"{FIELDS[start]} to {word}"
        cursor.execute(
            f"select datetime ({text}) {words}, 7, (datetime ({text}) {words})::lvarchar from systables where tabid = 1"
        )
        value, seven, shown = cursor.fetchone()
        assert (seven, shown) == (7, text)
        assert isinstance(value, datetime.datetime | datetime.date | datetime.time | str | int)


@pytest.mark.parametrize("start", range(6))
def test_every_range_of_interval(connection: Any, start: int) -> None:
    cursor = connection.cursor()
    last = 1 if start < 2 else 5
    for end in range(start, last + 1):
        for leading in (1, 2, 5, 9):
            for sign in ("", "-"):
                text = sign + "123456789"[:leading]
                for field in range(start + 1, end + 1):
                    text += SEPARATORS[field] + "11"
                words = f"{FIELDS[start]}({leading}) to {FIELDS[end]}"
                cursor.execute(
                    f"select interval ({text}) {words}, 7, (interval ({text}) {words})::lvarchar"
                    " from systables where tabid = 1"
                )
                value, seven, shown = cursor.fetchone()
                assert (seven, shown.strip()) == (7, text)
                assert isinstance(value, datetime.timedelta | informix_db.IntervalYM)


def test_rows_collections_and_types_that_users_make(connection: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("create row type d_address (street varchar(20), number int)")
    cursor.execute("create distinct type d_price as decimal(10,2)")
    cursor.execute(
        "create table d_made (a d_address, b row(x int), s set(int not null), m multiset(varchar(9) not null),"
        " l list(int not null), p d_price, n int)"
    )
    cursor.execute(
        "insert into d_made values (row('main', 3)::d_address, row(7)::row(x int), set{1, 2, 2}, multiset{'a', 'a'},"
        " list{3, 1}, 12.5, 9)"
    )
    cursor.execute("insert into d_made values (null, null, null, null, null, null, 10)")
    cursor.execute("select * from d_made order by n")
    (address, row, numbers, texts, ordered, price, nine), nulls = cursor.fetchall()
    assert (address.raw, row.raw) == (b"ROW('main',3)", b"ROW(7)")
    assert (numbers.raw, texts.raw, ordered.raw) == (b"SET{1,2}", b"MULTISET{'a','a'}", b"LIST{3,1}")
    assert (numbers.kind, texts.kind, ordered.kind) == ("set", "multiset", "list")
    assert (price, nine) == (Decimal("12.50"), 9)
    assert nulls == (None,) * 6 + (10,)
    cursor.execute("select a.street, b.x, cardinality(m) from d_made where 2 in s")
    assert cursor.fetchall() == [("main", 7, 2)]


@pytest.mark.parametrize("size", [0, 1, 1023, 1024, 1025, 100_000])
def test_smart_large_objects_go_through_the_clients_files(connection: Any, size: int) -> None:
    cursor = connection.cursor()
    data = bytes(n * 7 % 256 for n in range(size))
    cursor.execute("create temp table d_smart (n int, b blob, z int)")
    cursor.write_blob_column("insert into d_smart values (?, BLOB_PLACEHOLDER, ?)", data, (1, 5))
    assert cursor.read_blob_column("select b from d_smart where n = ?", (1,)) == data
    cursor.execute("select n, b, z from d_smart")
    number, locator, last = cursor.fetchone()
    assert (number, type(locator).__name__, last) == (1, "BlobLocator", 5)
    cursor.execute("drop table d_smart")


def test_simple_large_objects(connection: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("create temp table d_simple (n int, b byte, t text)")
    text = "long text, " * 500
    cursor.execute("insert into d_simple values (1, ?, ?)", (b"\x00\xff" * 3000, text.encode()))
    cursor.execute("select b, t from d_simple")
    data, found = cursor.fetchone()
    assert data == b"\x00\xff" * 3000
    assert found in (text, text.encode())


def test_a_batch_in_a_transaction_is_rolled_back(connection: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("create table d_batch (a int primary key, b varchar(30))")
    connection.commit()
    cursor.executemany("insert into d_batch values (?, ?)", [(n, f"row {n}") for n in range(3000)])
    connection.commit()
    cursor.execute("insert into d_batch values (9999, 'gone')")
    connection.rollback()
    cursor.execute("select a, b from d_batch order by a")
    assert cursor.fetchall() == [(n, f"row {n}") for n in range(3000)]


@pytest.mark.parametrize(
    ("bad", "sqlcode"),
    [
        ((7, 1, "x"), -268),
        ((None, 1, "x"), -391),
        ((999, 2, "x"), -691),
        ((999, 1, "bad"), -530),
        (("?", 1, "x"), -1213),
    ],
)
def test_constraints_in_the_middle_of_a_batch(connection: Any, bad: tuple[Any, ...], sqlcode: int) -> None:
    cursor = connection.cursor()
    name = f"d_middle_{-sqlcode}"
    cursor.execute(f"create table {name}_p (id int primary key)")
    cursor.execute(f"insert into {name}_p values (1)")
    cursor.execute(
        f"create table {name} (a int not null unique, b int references {name}_p, c char(5) check (c <> 'bad'))"
    )
    connection.commit()
    rows: list[tuple[Any, ...]] = [(n, 1, "x") for n in range(100)]
    with pytest.raises(informix_db.Error) as caught:
        cursor.executemany(f"insert into {name} values (?, ?, ?)", [*rows[:50], bad, *rows[50:]])
    assert caught.value.sqlcode == sqlcode
    connection.rollback()
    cursor.execute(f"select count(*) from {name}")
    assert cursor.fetchall() == [(0,)]


@pytest.mark.parametrize(
    ("sql", "sqlcode", "isamcode"),
    [
        ("select * from d_nowhere", -206, -111),
        ("slect 1 from systables", -201, 0),
        ("select nothing from systables", -217, 0),
        ("select 1 from systables where tabid = (select tabid from systables)", -284, 0),
        ("select nosuch(1) from systables", -674, 0),
        ("select 'open from systables", -282, 0),
        ("select 1 / 0 from systables", -1202, 0),
        ("select 'x'::int from systables", -1213, 0),
        ("select 70000::smallint from systables", -1214, 0),
        ("select '2024-13-01'::date from systables", -1205, 0),
        ("select mdy(2, 30, 2024) from systables", -1206, 0),
        ("create table systables (a int)", -310, 0),
    ],
)
def test_errors(connection: Any, sql: str, sqlcode: int, isamcode: int) -> None:
    cursor = connection.cursor()
    with pytest.raises(informix_db.Error) as caught:
        cursor.execute(sql)
        cursor.fetchall()
    assert caught.value.sqlcode == sqlcode
    assert (caught.value.isamcode or 0) == isamcode
    cursor = connection.cursor()
    cursor.execute("select first 1 tabname from systables")
    assert cursor.fetchone() == ("systables",)


def test_scroll_cursors(connection: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("create table d_scroll (a int)")
    cursor.executemany("insert into d_scroll values (?)", [(n,) for n in range(50)])
    connection.commit()
    scrolling = connection.cursor(scrollable=True)
    scrolling.execute("select a from d_scroll order by a")
    assert scrolling.fetch_last() == (49,)
    assert scrolling.fetch_first() == (0,)
    assert scrolling.fetch_absolute(17) == (17,)
    assert scrolling.fetch_relative(3) == (20,)
    assert scrolling.fetch_prior() == (19,)
    assert scrolling.fetch_absolute(-1) == (49,)
    assert scrolling.fetch_absolute(50) is None
    scrolling.close()


def test_fast_path_calls(connection: Any) -> None:
    cursor = connection.cursor()
    cursor.execute("create function d_add(a int, b int) returning int; return a + b; end function")
    assert connection.fast_path_call("function d_add(int, int)", 3, 4) == [7]
    with pytest.raises(informix_db.Error) as caught:
        connection.fast_path_call("function d_nowhere(int)", 1)
    assert caught.value.sqlcode == -674


def test_wrong_password_and_unknown_database_are_refused(server: InformixServer) -> None:
    with pytest.raises(informix_db.Error):
        informix_db.connect(**{**server.parameters(), "password": "wrong"})
    with pytest.raises(informix_db.Error) as caught:
        informix_db.connect(**{**server.parameters(), "database": "nowhere"})
    assert caught.value.sqlcode == -329


def test_unlogged_database_has_no_transactions() -> None:
    with informix(mode="unlogged") as server:
        # Only so does this driver keep from asking for a transaction that there cannot be.
        connection = informix_db.connect(**server.parameters(), autocommit=True)
        cursor = connection.cursor()
        cursor.execute("create table t (a int)")
        cursor.execute("insert into t values (1)")
        connection.rollback()
        cursor.execute("select a from t")
        assert cursor.fetchall() == [(1,)]
        connection.close()


def test_utf8_database() -> None:
    with informix(locale="en_US.utf8") as server:
        connection = informix_db.connect(**server.parameters(), client_locale="en_US.utf8")
        for value in ("Grüße", "日本語", "Ω" * 20):
            both_ways(connection, "varchar(60)", value)
            both_ways(connection, "lvarchar(600)", value)
        connection.close()


def test_tls(server: InformixServer) -> None:
    with informix(tls=True) as server:
        context = ssl.create_default_context(cafile=str(server.authority))
        connection = informix_db.connect(
            **{**server.parameters(), "port": server.tls_port}, tls=context, tls_server_hostname="localhost"
        )
        both_ways(connection, "int", 7)
        connection.close()


async def test_sessions_side_by_side(server: InformixServer) -> None:
    def work(number: int) -> int:
        connection = informix_db.connect(**server.parameters())
        cursor = connection.cursor()
        cursor.execute("set lock mode to wait 60")
        cursor.execute(f"create table d_side_{number} (a int)")
        cursor.executemany(f"insert into d_side_{number} values (?)", [(n,) for n in range(200)])
        connection.commit()
        cursor.execute(f"select count(*) from d_side_{number}")
        (count,) = cursor.fetchone()
        connection.close()
        return int(count)

    assert await asyncio.gather(*(asyncio.to_thread(work, number) for number in range(8))) == [200] * 8


def test_cut_connection_is_an_error_and_the_server_goes_on(server: InformixServer) -> None:
    connection = informix_db.connect(**server.parameters(), read_timeout=10)
    cursor = connection.cursor()
    cursor.execute("set environment headrace_fault 'cut=20'")
    with pytest.raises(Exception):  # noqa: B017 - the class is that of informix-driver
        cursor.execute("select * from systables")
        cursor.fetchall()
    again = informix_db.connect(**server.parameters())
    again.close()


def test_replies_in_single_bytes_are_read() -> None:
    with informix(faults=["split=1"]) as server:
        connection = informix_db.connect(**server.parameters())
        cursor = connection.cursor()
        cursor.execute("select first 3 tabname, tabid from systables order by tabid")
        assert cursor.fetchall() == [("systables", 1), ("syscolumns", 2), ("sysindices", 3)]
        connection.close()


ROWS = st.tuples(
    st.none() | st.integers(-(2**31) + 1, 2**31 - 1),
    st.none() | st.text(st.characters(min_codepoint=32, max_codepoint=255, exclude_characters="\x7f"), max_size=60),
    st.none() | st.decimals(-99_999_999, 99_999_999, places=2),
    st.none()
    | st.datetimes(datetime.datetime(1, 1, 1), datetime.datetime(9999, 12, 31)).map(lambda t: t.replace(microsecond=0)),
    st.none() | st.integers(-(2**63) + 1, 2**63 - 1),
    st.none() | st.floats(allow_nan=False, allow_infinity=False),
    st.none() | st.dates(datetime.date(1, 1, 1), datetime.date(9999, 12, 31)),
    st.none() | st.booleans(),
)


@settings(max_examples=times(20), deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(ROWS, min_size=1, max_size=20))
def test_any_rows_come_back(connection: Any, rows: list[tuple[Any, ...]]) -> None:
    cursor = connection.cursor()
    cursor.execute(
        "create temp table d_any (n int, a int, b varchar(120), c decimal(10,2), d datetime year to second, e bigint,"
        " f float, g date, h boolean)"
    )
    cursor.executemany("insert into d_any values (?,?,?,?,?,?,?,?,?)", [(n, *row) for n, row in enumerate(rows)])
    cursor.execute("select a, b, c, d, e, f, g, h from d_any order by n")
    for found, row in zip(cursor.fetchall(), rows, strict=True):
        for value, expected in zip(found, row, strict=True):
            same = value == expected or (isinstance(expected, float) and math.isclose(value, expected))
            assert same, (value, expected)
    cursor.execute("drop table d_any")
