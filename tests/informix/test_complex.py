"""Collections, rows, and types that are made of others: parameters of Python's own types, results as text."""

from __future__ import annotations

import datetime as dt
import enum
from decimal import Decimal
from typing import Any

import pytest

import headrace.informix
from headrace import errors
from headrace.informix import Opaque
from headrace.types import Interval

Connection = headrace.informix.Connection[Any]


@pytest.mark.parametrize(
    ("kind", "value", "text"),
    [
        ("set(int not null)", {1, 2}, "SET{1,2}"),
        ("set(int not null)", frozenset([3]), "SET{3}"),
        ("set(int not null)", [1, 2], "SET{1,2}"),
        ("set(int not null)", (1, 2), "SET{1,2}"),
        ("set(int not null)", set(), "SET{}"),
        ("multiset(int not null)", [1, 1, 2], "MULTISET{1,1,2}"),
        ("multiset(int not null)", {1}, "MULTISET{1}"),
        ("list(int not null)", [2, 1, 2], "LIST{2,1,2}"),
        ("list(varchar(20) not null)", ["it's", 'a "b"', "", "ä,}"], "LIST{'it''s','a \"b\"','','ä,}'}"),
        ("list(decimal(8,2) not null)", [Decimal("1.50"), 2, Decimal("-0.25")], "LIST{1.50,2.00,-0.25}"),
        ("list(float not null)", [1.5, -2.25], "LIST{1.5,-2.25}"),
        ("list(date not null)", [dt.date(2024, 2, 29)], "LIST{'2024-02-29'}"),
        ("list(boolean not null)", [True, False], "LIST{'t','f'}"),
        (
            "list(datetime year to fraction(5) not null)",
            [dt.datetime(2024, 1, 2, 3, 4, 5, 123450)],
            "LIST{'2024-01-02 03:04:05.12345'}",
        ),
        # Cut to ten microseconds, as in a column of its own.
        (
            "list(datetime year to fraction(5) not null)",
            [dt.datetime(2024, 12, 31, 23, 59, 59, 123457), dt.datetime(2024, 12, 31, 23, 59, 59, 999999)],
            "LIST{'2024-12-31 23:59:59.12345','2024-12-31 23:59:59.99999'}",
        ),
        ("list(datetime hour to fraction(5) not null)", [dt.time(23, 59, 59, 999999)], "LIST{'23:59:59.99999'}"),
        ("list(interval day to second not null)", [dt.timedelta(3, 14706)], "LIST{'3 04:05:06'}"),
        ("list(interval year to month not null)", [Interval(months=63)], "LIST{'5-03'}"),
        ("row(x int, y varchar(9))", (4, "four"), "ROW(4,'four')"),
        ("row(x int, y varchar(9))", [4, None], "ROW(4,NULL)"),
        ("list(row(x int, y varchar(9)) not null)", [(1, "a"), (2, "b")], "LIST{ROW(1,'a'),ROW(2,'b')}"),
        ("row(x int, y set(int not null))", (1, {7}), "ROW(1,SET{7})"),
    ],
)
def test_pythons_own_types_fill_them(conn: Connection, table: str, kind: str, value: Any, text: str) -> None:
    conn.execute(f"create table {table} (n int, v {kind})")
    conn.execute(f"insert into {table} values (?, ?)", (1, value))
    conn.executemany(f"insert into {table} values (?, ?)", [(2, value), (3, None), (4, text)])
    assert conn.fetch(f"select v from {table} order by n") == [(text,), (text,), (None,), (text,)]
    # The value of a column can be sent as a parameter.
    conn.execute(f"update {table} set v = ? where n = 3", (text,))
    assert conn.fetchval(f"select v from {table} where n = 3") == text


def test_without_a_known_column_the_type_is_pythons(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (n int, s set(int not null), l list(int not null), r row(a int, b int))")
    conn.execute(f"insert into {table} values (1, null, null, null)")
    conn.execute(f"update {table} set s = ?, l = ?, r = ? where n = ?", ({5}, [6, 7], (8, 9), 1))
    assert conn.fetchrow(f"select s, l, r from {table}") == ("SET{5}", "LIST{6,7}", "ROW(8,9)")


@pytest.mark.parametrize(
    "value", [[object()], [b"x"], [float("nan")], [dt.datetime(2024, 1, 1, tzinfo=dt.timezone.utc)]]
)
def test_what_has_no_text_is_refused(conn: Connection, table: str, value: Any) -> None:
    conn.execute(f"create table {table} (v list(int not null))")
    with pytest.raises((errors.ProgrammingError, errors.DataError)):
        conn.execute(f"insert into {table} values (?)", (value,))
    deep: Any = []
    for _ in range(100):
        deep = [deep]
    with pytest.raises(errors.ProgrammingError, match="nested"):
        conn.execute(f"insert into {table} values (?)", (deep,))
    with pytest.raises(errors.DataError, match="LVARCHAR"):
        conn.execute(f"insert into {table} values (?)", (list(range(100_000)),))
    conn.ping()


def test_members_of_enumerations_go_by_their_values(conn: Connection, table: str) -> None:
    class Colour(enum.Enum):
        RED = "red"

    conn.execute(f"create table {table} (v list(varchar(9) not null))")
    conn.execute(f"insert into {table} values (?)", ([Colour.RED],))
    assert conn.fetchval(f"select v from {table}") == "LIST{'red'}"


def test_distinct_types_are_as_their_source(conn: Connection, table: str) -> None:
    conn.execute(f"create distinct type {table}_price as decimal(8,2)")
    conn.execute(f"create distinct type {table}_label as lvarchar(50)")
    conn.execute(f"create distinct type {table}_flag as boolean")
    conn.execute(f"create table {table} (p {table}_price, l {table}_label, f {table}_flag)")
    rows = [(Decimal("1.50"), "one", True), (None, None, None)]
    conn.execute(f"insert into {table} values (?, ?, ?)", rows[0])
    conn.executemany(f"insert into {table} values (?, ?, ?)", rows[1:])
    assert conn.fetch(f"select * from {table} order by l") == [rows[1], rows[0]]


def test_json_and_bson(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (n int, j json, b bson)")
    document = {"a": [1, 2.5, None], "b": "ü'\""}
    binary = bytes.fromhex("0c0000001061000100000000")
    conn.execute(f"insert into {table} values (?, ?, ?)", (1, document, Opaque("bson", binary)))
    conn.executemany(f"insert into {table} values (?, ?, ?)", [(2, None, None), (3, '{"c": 1}', None)])
    conn.execute(f"insert into {table} values (?, ?, ?)", (4, [1, {"d": None}], None))
    got = conn.fetch(f"select j, b from {table} order by n")
    assert got == [(document, binary), (None, None), ({"c": 1}, None), ([1, {"d": None}], None)]
    cursor = conn.execute(f"select j, b from {table}")
    assert cursor.description is not None
    assert [str(column[1]).upper() for column in cursor.description] == ["JSON", "BSON"]


def test_opaque_values_travel_by_name(conn: Connection, table: str) -> None:
    assert repr(Opaque("point", b"abc")) == "<Opaque point, 3 bytes>"
    conn.execute(f"create table {table} (v lvarchar(40))")
    conn.execute(f"insert into {table} values (?)", (Opaque("lvarchar", b"odd"),))
    assert conn.fetchval(f"select v from {table}") == "odd"
    with pytest.raises(errors.Error):
        conn.execute(f"insert into {table} values (?)", (Opaque("point\0", b"x"),))
    conn.ping()


async def test_on_a_loop(aconn: Any, table: str) -> None:
    await aconn.execute(f"create table {table} (s set(int not null), r row(a int, b varchar(9)))")
    await aconn.execute(f"insert into {table} values (?, ?)", ({1}, (2, "two")))
    assert await aconn.fetch(f"select * from {table}") == [("SET{1}", "ROW(2,'two')")]
