"""A Python object means one value, whichever way a statement takes it to the server."""

from __future__ import annotations

import datetime as dt
import enum
import math
import uuid
from collections.abc import Callable, Iterator
from decimal import Decimal as D
from typing import Any

import pymysql
import pytest

import headrace.mysql
from headrace import errors
from headrace.types import BitString, Json
from served import Served, fresh

Conn = headrace.mysql.Connection[Any]
Way = Callable[[Conn, Any], object]
INSERT = "insert into meant (id, v) values (%s, %s)"
UPDATE = "update meant set v = %s where id = %s"
ASK = "select id from meant where v = %s"
DAY, MOMENT = dt.date(2020, 1, 2), dt.datetime(2020, 1, 2, 3, 4, 5)
FRACTION, LONGEST = MOMENT.replace(microsecond=678_901), dt.timedelta(hours=838, minutes=59, seconds=58, microseconds=5)


class Color(enum.Enum):
    RED = "red"


class Number(enum.Enum):
    FIVE = 5


# A column's type, what is sent, and what the column has then: None where it is the same.
MEANT: list[tuple[str, Any, Any]] = [
    ("tinyint", -128, None), ("tinyint", True, 1), ("bigint", 2**63 - 1, None), ("bigint", -(2**63), None),
    ("bigint unsigned", 2**64 - 1, None), ("decimal(65,0)", 10**64, D(10**64)), ("bigint", 2.5, 2),
    ("bigint", -3.5, -4), ("int", Number.FIVE, 5), ("double", -0.0, None),
    ("double", 1e308, None), ("double", 5e-324, None),
    ("double", 0.1, None), ("float", 0.5, None), ("varchar(40)", 1.5, "1.5"), ("varchar(40)", 1e15, "1e15"),
    ("varchar(40)", 1e14, "100000000000000"), ("varchar(40)", 0.00001, "0.00001"), ("varchar(40)", D("-0.00"), "0.00"),
    ("varchar(90)", 10**80, str(10**80)), ("varchar(90)", D(10**80), str(10**80)),
    ("decimal(40,10)", D("12345678901234567890.0123456789"), None), ("decimal(10,1)", D("2.25"), D("2.3")),
    ("decimal(10,1)", D("1E+5"), D("100000.0")), ("double", D("-0.0"), 0.0), ("varchar(40)", "😀é", None),
    ("varchar(40)", "a\0b\\n'\"\\ %s ?", None), ("varchar(40)", "", None), ("varchar(40)", Color.RED, "red"),
    ("enum('red','blue')", Color.RED, "red"), ("set('a','b')", "a,b", None), ("varbinary(40)", b"\xff\0\\'\t\n", None),
    ("longblob", bytearray(b"x"), b"x"), ("varbinary(40)", 1.5, b"1.5"), ("date", DAY, None), ("date", MOMENT, DAY),
    ("date", dt.date(1, 1, 1), None), ("datetime(6)", FRACTION, None), ("datetime", DAY, dt.datetime(2020, 1, 2)),
    ("timestamp(6) null", FRACTION, None), ("varchar(40)", FRACTION, "2020-01-02 03:04:05.678901"),
    ("varchar(40)", dt.time(3, 4, 5, 600_000), "03:04:05.600000"), ("varchar(40)", dt.time(3, 4, 5), "03:04:05"),
    ("blob", dt.timedelta(hours=-30, microseconds=-700_000), b"-30:00:00.700000"),
    ("varchar(40)", DAY, "2020-01-02"), ("time(6)", dt.time(3, 4, 5, 600_000), dt.timedelta(0, 11045, 600_000)),
    ("time(6)", dt.timedelta(hours=-30, microseconds=-1), None), ("time(6)", LONGEST, None), ("year", 2155, None),
    ("bigint", DAY, 20200102), ("decimal(20,0)", dt.time(3, 4, 5), D(30405)), ("char(36)", uuid.UUID(int=5), None),
    ("json", Json({"a": [1, "é\\\0", None]}), {"a": [1, "é\\\0", None]}), ("json", {"a": 1.5}, None),
    ("bit(13)", BitString("1010000000001"), None), ("bigint", None, None),
    ("year", 1.5, 2001), ("year", "0", 2000), ("year", 70, 1970), ("bit(9)", 1.5, BitString("000000001")),
    ("bit(9)", 300, BitString("100101100")), ("date", 20200102, DAY), ("date", 200102, DAY),
    ("datetime", 200102030405, MOMENT), ("datetime", 20200102030405.0, MOMENT),
    ("datetime(6)", D("20200102030405.678901"), FRACTION), ("time", 30405, dt.timedelta(0, 11045)),
]  # fmt: skip
# PyMySQL has no type for these, or sends the server a text for a number, a date or a float.
OTHER_IN_PYMYSQL = (Number.FIVE, Color.RED, BitString("1010000000001"))
REFUSED: list[tuple[str, Any, type[errors.Error]]] = [
    ("double", math.nan, errors.DataError), ("double", -math.inf, errors.DataError),
    ("decimal(9,2)", D("NaN"), errors.DataError), ("decimal(9,2)", D("Infinity"), errors.DataError),
    ("datetime", MOMENT.replace(tzinfo=dt.UTC if hasattr(dt, "UTC") else dt.timezone.utc), errors.ProgrammingError),
    ("time", dt.time(3, tzinfo=dt.timezone.utc), errors.ProgrammingError), ("text", {1}, errors.ProgrammingError),
    ("time", dt.timedelta(hours=839), errors.DataError), ("bigint", 2**63, errors.DataError),
    ("decimal(20,5)", 10**66, errors.DataError), ("decimal(20,5)", "2020-01-02", errors.DatabaseError),
    # Of these the server makes 65 nines.
    ("varchar(90)", 10**81, errors.DataError), ("text", D("1E+81"), errors.DataError),
    ("decimal(20,5)", uuid.UUID(int=5), errors.DatabaseError), ("varchar(3)", "long", errors.DataError),
]  # fmt: skip


def in_pipeline(conn: Conn, value: Any) -> None:
    with conn.pipeline():
        cursors = [conn.execute(INSERT, (number, value)) for number in (1, 2)]
    assert [cursor.rowcount for cursor in cursors] == [1, 1]


def updated(conn: Conn, value: Any, many: bool) -> None:
    conn.execute("insert into meant (id) values (1), (2)")
    if many:
        conn.executemany(UPDATE, [(value, 1), (value, 2)])
    else:
        conn.execute(UPDATE, (value, 1))


WAYS: dict[str, Way] = {
    "execute": lambda conn, value: conn.execute(INSERT, (1, value)),
    "rows": lambda conn, value: conn.executemany(INSERT, [(1, value), (2, value)]),
    "function": lambda conn, value: conn.executemany(INSERT.replace(", %s)", ", coalesce(%s, null))"), [(1, value)]),
    "update": lambda conn, value: updated(conn, value, many=False),
    "updates": lambda conn, value: updated(conn, value, many=True),
    "pipeline": in_pipeline,
    "procedure": lambda conn, value: conn.cursor().callproc("mean", (1, value)),
    "load": lambda conn, value: conn.load_rows("meant", [(1, value), (2, value)], columns=["id", "v"]),
}
ASKED: dict[str, Callable[[Conn, Any], Any]] = {
    "execute": lambda conn, value: conn.fetch(ASK, value),
    "stream": lambda conn, value: list(conn.stream(ASK, (value,))),
    "on server": lambda conn, value: list(conn.stream(ASK, (value,), on_server=True)),
    "batch": lambda conn, value: conn.fetchmany(ASK, [(value,)]),
}


@pytest.fixture(params=[True, False], ids=["binary", "text"])
def conn(my_url: str, request: pytest.FixtureRequest) -> Iterator[Conn]:
    with headrace.mysql.connect(
        my_url, autocommit=True, local_infile=True, prepared=request.param, sql_mode="STRICT_ALL_TABLES"
    ) as connection:
        yield connection


def prepare(conn: Conn, kind: str) -> None:
    fresh(conn, f"table meant (id int primary key, v {kind}) character set utf8mb4")
    parameter = kind.replace(" null", "")
    fresh(conn, f"procedure mean(in i int, in x {parameter}) insert into meant values (i, x)")


def stored(conn: Conn) -> set[str]:
    """What the rows have; the sign of zero counts."""
    return {repr(value) for (value,) in conn.fetch("select v from meant")}


@pytest.mark.parametrize(
    ("kind", "value", "wanted"), MEANT, ids=[f"{kind} {str(value)[:20]!r}" for kind, value, _ in MEANT]
)
def test_every_way_stores_the_same(my_server: Served, conn: Conn, kind: str, value: Any, wanted: Any) -> None:
    prepare(conn, kind)
    wanted = value if wanted is None else wanted
    expected = repr(str(wanted) if isinstance(wanted, uuid.UUID) else wanted)
    if expected == "-0.0" and my_server.is_mariadb:
        expected = "0.0"  # It keeps no sign of zero.
    number_of_moment = kind.startswith(("bigint", "decimal")) and isinstance(value, (dt.date, dt.time))
    for way, store in WAYS.items():
        # A function may convert its argument in its own way; and a variable holds a timestamp as text.
        if (way == "function" and isinstance(value, (float, dict, D, Json, BitString, dt.time, dt.timedelta))) or (
            way in ("function", "procedure") and number_of_moment
        ):
            continue
        conn.execute("delete from meant")
        store(conn, value)
        assert (way, stored(conn) - {"None"} or {"None"}) == (way, {expected})
    if value not in OTHER_IN_PYMYSQL and not number_of_moment and not isinstance(value, (Json, dict)):
        conn.execute("delete from meant")
        by_pymysql(my_server, conn, value)
        assert stored(conn) == {expected}


def by_pymysql(my_server: Served, conn: Conn, value: Any) -> None:
    database = conn.fetchval("select database()")
    with pymysql.connect(**my_server.where, database=database, autocommit=True) as other, other.cursor() as cursor:
        cursor.execute(INSERT, (1, value))


@pytest.mark.parametrize(
    ("kind", "value", "error"), REFUSED, ids=[f"{kind} {str(value)[:20]!r}" for kind, value, _ in REFUSED]
)
def test_every_way_refuses_the_same(conn: Conn, kind: str, value: Any, error: type[errors.Error]) -> None:
    prepare(conn, kind)
    for store in (WAYS[way] for way in ("execute", "rows", "update", "updates", "pipeline", "procedure", "load")):
        conn.execute("delete from meant")
        with pytest.raises(error):
            store(conn, value)
        assert stored(conn) <= {"None"}


@pytest.mark.parametrize(
    "kind", ["datetime(6)", "date", "time(6)", "bigint", "double", "decimal(40,10)", "varchar(40)"]
)
def test_every_way_compares_the_same(my_url: str, conn: Conn, kind: str) -> None:
    prepare(conn, kind)
    for value in [DAY, MOMENT, FRACTION, 5, 0.5, D("2.5")] if kind != "time(6)" else [dt.time(3, 4, 5), LONGEST]:
        conn.execute("delete from meant")
        with headrace.mysql.connect(my_url, autocommit=True, sql_mode="") as loose:
            loose.execute(INSERT.replace("insert", "insert ignore"), (1, value))
            answers = {way: ask(loose, value) for way, ask in ASKED.items()}
        answers |= {f"this {way}": ask(conn, value) for way, ask in ASKED.items()}
        assert len({repr(answer) for answer in answers.values()}) == 1, (value, answers)


def test_dates_and_times_come_back_as_such(conn: Conn) -> None:
    for value in (DAY, MOMENT, FRACTION, dt.timedelta(hours=30)):
        assert conn.fetchval("select %s", value) == value


@pytest.mark.parametrize("mode", ["NO_BACKSLASH_ESCAPES", "ANSI_QUOTES", ""])
def test_sql_modes_change_no_value(conn: Conn, mode: str) -> None:
    prepare(conn, "varchar(40)")
    conn.execute("set sql_mode = %s", (mode,))
    for store in WAYS.values():
        conn.execute("delete from meant")
        store(conn, "a\\b\\'\"\n\0😀")
        assert stored(conn) - {"None"} == {repr("a\\b\\'\"\n\0😀")}


@pytest.mark.parametrize(
    ("kind", "value", "reason"),
    [
        ("date", 1e10, "of dates"), ("date", 101, "of dates"),
        ("timestamp null", D("20200102.5"), "of dates"), ("datetime", 1_020_304_050_607, "of dates"),
        ("bit(9)", "5", "BitString"),
    ],
)  # fmt: skip
def test_a_load_refuses_what_its_text_would_change(conn: Conn, kind: str, value: Any, reason: str) -> None:
    prepare(conn, kind)
    conn.execute("set sql_mode = ''")
    with pytest.raises(errors.ProgrammingError, match=reason) as caught:
        conn.load_rows("meant", [(1, None), (2, value)])
    assert caught.value.row == 1
    assert stored(conn) == set()


def test_a_load_takes_zero_for_the_date_that_is_none(my_url: str, conn: Conn) -> None:
    prepare(conn, "date")
    conn.execute("set sql_mode = ''")
    for store in (WAYS["execute"], WAYS["load"]):
        conn.execute("delete from meant")
        store(conn, 0)
        assert conn.fetch("select distinct cast(v as char) from meant") == [("0000-00-00",)]


def test_a_load_refuses_a_time_for_a_column_of_dates(conn: Conn) -> None:
    prepare(conn, "datetime")
    with pytest.raises(errors.ProgrammingError, match="the column is of dates") as caught:
        conn.load_rows("meant", [(1, MOMENT), (2, dt.time(3, 4, 5))])
    assert caught.value.row == 1
    assert stored(conn) == set()
