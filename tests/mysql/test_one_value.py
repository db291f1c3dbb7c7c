"""A column has the same value whichever way it is read, in the binary protocol and in text."""

from __future__ import annotations

import datetime
from collections.abc import Callable, Iterator
from decimal import Decimal
from typing import Any

import pytest

import headrace.mysql
from served import Served, fresh

Conn = headrace.mysql.Connection[Any]
pytestmark = pytest.mark.servers("mariadb", "mysql", "mysql80")
HOURS = datetime.timedelta(hours=1)
MICRO = datetime.timedelta(microseconds=1)

# A column's type, a literal, and its value in Python.
VALUES: list[tuple[str, str, Any]] = [
    ("tinyint", "-128", -128),
    ("tinyint unsigned", "255", 255),
    ("mediumint unsigned", "16777215", 16777215),
    ("int(8) zerofill", "42", 42),
    ("bigint", "-9223372036854775808", -(2**63)),
    ("bigint unsigned", "18446744073709551615", 2**64 - 1),
    ("bool", "1", 1),
    ("bit(1)", "b'1'", "1"),
    ("bit(11)", "b'10000000001'", "10000000001"),
    ("bit(64)", f"b'1{'0' * 62}1'", f"1{'0' * 62}1"),
    ("year", "2155", 2155),
    ("year", "0", 0),
    ("time", "'-838:59:59'", -839 * HOURS + 10**6 * MICRO),
    ("time(6)", "'838:59:58.999999'", 839 * HOURS - 1_000_001 * MICRO),
    ("time(3)", "'-00:00:00.001'", -1000 * MICRO),
    ("date", "'9999-12-31'", datetime.date(9999, 12, 31)),
    ("date", "'0000-00-00'", "0000-00-00"),
    ("date", "'2020-00-10'", "2020-00-10"),
    ("datetime(6)", "'0000-00-00 00:00:00'", "0000-00-00 00:00:00"),
    ("datetime(3)", "'2020-01-01 00:00:00.5'", datetime.datetime(2020, 1, 1, 0, 0, 0, 500_000)),
    ("timestamp null", "'2020-01-01 12:30:00'", datetime.datetime(2020, 1, 1, 12, 30)),
    ("timestamp null", "'0000-00-00 00:00:00'", "0000-00-00 00:00:00"),
    ("decimal(38,19)", f"'-{'12' * 9}.{'34' * 9}5'", Decimal(f"-{'12' * 9}.{'34' * 9}5")),
    ("decimal(10,2) zerofill", "1.5", Decimal("1.50")),
    ("float", "1.1", 1.100000023841858),
    ("float(10,2)", "1.1", 1.100000023841858),
    ("double", "1.7976931348623157e308", 1.7976931348623157e308),
    ("double", "-0.1", -0.1),
    ("char(10)", "'abc  '", "abc"),
    ("varchar(9) character set latin1", "'é'", "é"),
    ("varchar(9) character set utf8mb4 collate utf8mb4_bin", "'é'", "é"),
    ("varchar(9) character set binary", "x'ff'", b"\xff"),
    ("varchar(9) character set ucs2", "'é'", "é"),
    ("binary(4)", "x'ff00'", b"\xff\0\0\0"),
    ("longblob", "x'41'", b"A"),
    ("longtext", "'y'", "y"),
    ("enum('a','b''c','')", "'b''c'", "b'c"),
    ("set('a','b','c')", "'a,c'", "a,c"),
    ("json", "'{\"a\": [1, null, 1.5]}'", {"a": [1, None, 1.5]}),
    ("point", "ST_GeomFromText('POINT(1 2)')", bytes.fromhex("000000000101000000000000000000f03f0000000000000040")),
]  # fmt: skip


@pytest.fixture
def text(my_url: str) -> Iterator[Conn]:
    """A connection that prepares nothing."""
    with headrace.mysql.connect(my_url, autocommit=True, prepared=False, unrepresentable="text", sql_mode="") as conn:
        yield conn


@pytest.fixture
def binary(my_url: str) -> Iterator[Conn]:
    """One that prepares."""
    with headrace.mysql.connect(my_url, autocommit=True, unrepresentable="text", sql_mode="") as conn:
        yield conn


def ways(conn: Conn, sql: str) -> Iterator[tuple[str, Callable[[], Any]]]:
    """Each way to a query's only value."""
    asked = f"{sql} where 1 = %s"
    yield "execute", lambda: conn.fetchval(sql)
    yield "parameters", lambda: conn.fetchval(asked, 1)
    yield "script", lambda: conn.executescript(sql).fetchall()[0][0]
    yield "stream", lambda: list(conn.stream(sql)).pop()[0]
    yield "on server", lambda: list(conn.stream(asked, (1,), on_server=True)).pop()[0]
    yield "batch", lambda: conn.fetchmany(asked, [(1,)])[0][0]


@pytest.mark.parametrize(
    ("kind", "literal", "value"), VALUES, ids=[f"{kind} {at}" for at, (kind, *_) in enumerate(VALUES)]
)
def test_a_column_gives_one_value(
    my_server: Served, binary: Conn, text: Conn, kind: str, literal: str, value: Any
) -> None:
    fresh(binary, f"table one (v {kind})")
    binary.executescript(f"insert into one values ({literal})")
    binary.execute("drop procedure if exists ones")
    binary.execute("create procedure ones() select v from one")
    for conn in (binary, text):
        cursor = conn.cursor()
        cursor.callproc("ones")
        found = {"procedure": cursor.fetchall()[0][0], **{way: get() for way, get in ways(conn, "select v from one")}}
        if my_server.is_mariadb:
            inserted = conn.executemany(
                f"insert into one select {literal} where 1 = %s returning v", [(1,)], returning=True
            )
            found["returning"] = inserted.fetchall()[0][0]
            binary.execute("delete from one limit 1")
        assert {way: (type(one), one) for way, one in found.items()} == dict.fromkeys(
            found, (type(found["execute"]), value)
        )


@pytest.mark.parametrize("bits", [1, 8, 11, 16, 64])
@pytest.mark.parametrize(
    "computed", ["max(v)", "coalesce(v, v)", "ifnull(v, v)", "greatest(v, v)", "(select v from bits)"]
)
def test_computed_bits_are_the_bits(my_server: Served, binary: Conn, text: Conn, bits: int, computed: str) -> None:
    wanted = "1" + "0" * (bits - 1)
    fresh(binary, f"table bits (v bit({bits}))")
    binary.executescript(f"insert into bits values (b'{wanted}')")
    for conn in (binary, text):
        for way, get in ways(conn, f"select {computed} from bits"):
            if way == "on server" and my_server.name == "mysql80":
                # Its cursors keep rows in a table of their own, with a BIGINT for what was computed.
                assert get() in (wanted, int(wanted, 2))
            else:
                assert (way, get()) == (way, wanted)


def test_bits_that_may_be_digits_are_refused_where_the_server_does_not_say(my_server: Served, binary: Conn) -> None:
    fresh(binary, "table bits (v bit(16))")
    binary.execute("insert into bits values (12)")
    if my_server.is_mariadb:
        assert binary.fetchval("select coalesce(v, v) from bits") == f"{12:016b}"
        return
    with pytest.raises(headrace.mysql.DataError, match="add 0 to the expression"):
        binary.fetchval("select coalesce(v, v) from bits")
    assert binary.fetchval("select coalesce(v, v) + 0 from bits") == 12
    assert binary.fetchval("select v from bits") == f"{12:016b}"


COPIED = {
    "union all": "select v from bits union all select v from bits",
    "union all, limited": "(select v from bits) union all (select coalesce(v, v) from bits) limit 1",
    "window": "select first_value(v) over (order by v) from bits",
    "maximum of a window": "select max(v) over () from bits",
    "procedure": "call copied()",
}


@pytest.mark.parametrize("name", COPIED)
def test_bits_that_the_server_copies_are_right_or_refused(binary: Conn, text: Conn, name: str) -> None:
    if name == "procedure":
        fresh(binary, "procedure copied() select v from bits union all select v from bits")
    refused = 0
    for bits, number in ((1, 1), (5, 21), (8, 49), (16, 12594), (16, 513), (64, 2**64 - 1)):
        fresh(binary, f"table bits (v bit({bits}))")
        binary.execute("insert into bits values (?)", (number,))
        for conn in (binary, text):
            try:
                # MySQL 8.0 converts the result of a window function to a number, and describes it as one.
                assert conn.fetch(COPIED[name])[0] in ((f"{number:0{bits}b}",), (number,))
            except headrace.mysql.DataError:
                assert all(48 <= byte <= 57 for byte in number.to_bytes((bits + 7) // 8, "big"))
                refused += 1
    assert refused in (0, 2, 4)


def test_numbers_are_rounded_in_text_alone_as_the_server_prints_them(binary: Conn, text: Conn) -> None:
    fresh(binary, "table numbers (v float)")
    binary.execute("insert into numbers values (123456.789)")
    assert (binary.fetchval("select v from numbers"), text.fetchval("select v from numbers")) == (
        123456.7890625,
        123457.0,
    )
    assert text.fetchval("select v + 0e0 from numbers") == 123456.7890625
