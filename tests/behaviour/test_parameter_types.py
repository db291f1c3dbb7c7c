"""One parameter, one type: whichever way a statement with %s goes, the same object becomes the same value."""

from __future__ import annotations

import datetime
import decimal
import enum
import ipaddress
import itertools
import uuid
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import psycopg
import pytest

import headrace
from headrace.types import Jsonb, Range

Conn = headrace.Connection[Any]
numbers = itertools.count()
Way = Callable[[Any, str, Any], Any]


class Level(enum.Enum):
    LOW = "low"
    HIGH = "high"


MOMENT = datetime.datetime(2020, 1, 1, 12)
AWARE = MOMENT.replace(tzinfo=datetime.timezone.utc)
VALUES: list[Any] = [
    1, 40_000, 2**40, 2**70, True, 2.0, 1.5, 1e300, float("nan"), "7", "text", None, b"\0\xff",
    decimal.Decimal("1E+5"), decimal.Decimal("1.50"), MOMENT, AWARE, MOMENT.date(), MOMENT.time(), AWARE.timetz(),
    datetime.timedelta(days=1, seconds=5), uuid.UUID(int=7), Level.HIGH, ipaddress.ip_address("::1"),
    ipaddress.ip_network("10.0.0.0/8"), [1, 2], [2**40], ["7", None], [], [None], [1.5], [MOMENT],
    Range(1, 5), Range(MOMENT.date(), None), {"a": 1}, Jsonb([1]),
]  # fmt: skip
OTHERS: list[Any] = [5, 2**33, None, "9", 2.5, MOMENT]
COLUMNS = [
    "smallint", "int", "bigint", "numeric", "numeric(6)", "real", "float8", "text", "varchar", "char(9)", "bytea",
    "bool", "date", "time", "timetz", "timestamp", "timestamptz", "interval", "uuid", "inet", "cidr", "json", "jsonb",
    "int[]", "bigint[]", "numeric[]", "text[]", "uuid[]", "date[]", "timestamptz[]", "int4range", "int8range",
    "numrange", "daterange", "small", "level", "level[]",
]  # fmt: skip
EXPRESSIONS = [
    "7/%(v)s", "%(v)s", "coalesce(%(v)s, %(v)s)", "greatest(%(v)s, 3)", "date '2020-01-02' - %(v)s",
    "timestamptz '2020-01-02' - %(v)s", "concat('x', %(v)s)", "jsonb_build_object('a', %(v)s)", "to_jsonb(%(v)s)",
    "pg_typeof(%(v)s)", "2.5 * %(v)s", "%(v)s = any(array[1, 2])", "(select q.x from (values (%(v)s)) q(x))",
]  # fmt: skip


def by_pipeline(conn: Conn, sql: str, row: Any) -> None:
    with conn.pipeline():
        conn.execute(sql, row)


def by_stream(conn: Conn, sql: str, row: Any) -> None:
    stream: Any = conn.stream(sql + " returning 1", row)
    with closing(stream) as rows:
        list(rows)


def by_server_cursor(conn: Conn, sql: str, row: Any) -> None:
    insert, _, expression = sql.partition(") ")
    if not expression.startswith("select"):
        conn.execute(sql, row)
        return
    with conn.cursor("looking") as cursor:
        cursor.execute(expression, row)
        conn.execute(insert + ") values (%s)", (cursor.fetchall()[0][0],))


def execute(conn: Any, sql: str, row: Any) -> None:
    conn.execute(sql, row)


def executemany(conn: Any, sql: str, row: Any) -> None:
    with conn.cursor() as cursor:
        cursor.executemany(sql, [row])


WAYS: dict[str, Way] = {
    "executemany": executemany,
    "generator": lambda conn, sql, row: conn.executemany(sql, iter([row])),
    "twice": lambda conn, sql, row: conn.executemany(sql, [row, row]),
    "returning": lambda conn, sql, row: conn.executemany(sql + " returning v", [row], returning=True),
    "fetchmany": lambda conn, sql, row: conn.fetchmany(sql + " returning v", [row]),
    "server cursor": by_server_cursor,
    "pipeline": by_pipeline,
    "stream": by_stream,
}


def outcome(conn: Any, way: Way, table: tuple[str, str], values: list[Any]) -> list[Any]:
    """What the table holds after the way was gone with each value; or which class of error there was."""
    rows: list[Any] = []
    conn.execute("savepoint before")
    try:
        for value in values:
            way(conn, table[1], {"v": value})
        rows = [row[0] for row in conn.execute(f"select v::text from {table[0]} order by id").fetchall()]
    except (headrace.DataError, headrace.IntegrityError, psycopg.DataError, psycopg.IntegrityError):
        rows = ["data error"]
    except (headrace.ProgrammingError, psycopg.ProgrammingError, TypeError):
        rows = ["programming error"]
    conn.execute("rollback to savepoint before")
    return rows


@pytest.fixture(scope="module")
def conns(url: str) -> Iterator[tuple[Conn, Any]]:
    with headrace.connect(url) as conn, psycopg.connect(url) as other:
        conn.execute("create type level as enum ('low', 'high')")
        conn.execute("create domain small as int check (value < 100000)")
        conn.commit()
        for each in (conn, other):
            each.execute("set timezone = 'Asia/Tokyo'")
            each.commit()
        yield conn, other


def fresh(subject: str, *conns: Any) -> tuple[str, str]:
    """A table of its own for a column's type or for an expression: its name, and the statement that fills it."""
    name = f"stored_{next(numbers)}"
    for conn in conns:
        conn.rollback()
        kind = "text" if "%" in subject else subject
        conn.execute(f"create temp table {name} (id serial, v {kind}) on commit drop")
    return name, f"insert into {name} (v) " + (f"select ({subject})::text" if "%" in subject else "values (%(v)s)")


@pytest.mark.parametrize("subject", COLUMNS + EXPRESSIONS)
def test_every_way_stores_what_execute_stores(conns: tuple[Conn, Any], subject: str) -> None:
    conn, _ = conns
    table = fresh(subject, conn)
    for value in VALUES:
        expected = outcome(conn, execute, table, [value])
        for name, way in WAYS.items():
            got = outcome(conn, way, table, [value])
            assert got == (expected * 2 if name == "twice" and len(got) == 2 else expected), (name, subject, value)


@pytest.mark.parametrize("subject", COLUMNS + EXPRESSIONS)
def test_rows_of_other_types_change_no_row(conns: tuple[Conn, Any], subject: str) -> None:
    conn, _ = conns
    table = fresh(subject, conn)
    single = {repr(value): outcome(conn, execute, table, [value]) for value in VALUES + OTHERS}
    fit = [value for value in VALUES + OTHERS if "error" not in str(single[repr(value)])]
    expected = [single[repr(value)][0] for value in fit]
    batch: Way = lambda conn, sql, _: conn.executemany(sql, [{"v": value} for value in fit])  # noqa: E731
    returning: Way = lambda conn, sql, _: conn.fetchmany(sql + " returning v", [{"v": value} for value in fit])  # noqa: E731
    assert outcome(conn, batch, table, [None]) == expected
    assert outcome(conn, returning, table, [None]) == expected


# An array goes into text as the server writes it; what psycopg refuses, and headrace takes, is not compared.
PSYCOPG_REFUSES = (dict, list, Range, Jsonb, Level)


@pytest.mark.parametrize("subject", COLUMNS + EXPRESSIONS)
def test_psycopg_stores_the_same(conns: tuple[Conn, Any], subject: str) -> None:
    conn, other = conns
    table = fresh(subject, conn, other)
    for value in VALUES:
        if isinstance(value, PSYCOPG_REFUSES):
            continue
        expected = outcome(other, executemany, table, [value])
        if "error" not in str(expected):
            assert outcome(conn, executemany, table, [value]) == expected, (subject, value)
