"""A value means the same sent as a parameter and written by hand, also where the server would take the type from what
is beside it."""

from __future__ import annotations

import datetime as dt
import decimal
from typing import Any

import pytest

import headrace.aio.cubrid
from headrace import errors

D = decimal.Decimal
INSTANT = dt.datetime(2024, 2, 29, 13, 14, 15, 678000)
VALUES: list[Any] = [
    1, -7, 2**40, True, 1.5, -0.25, 0.1 + 0.2, D("1.50"), D("-0.5"), D("123456789.123456789"), "abc", "2024-02-29",
    "12", "it's", "", b"\x01\xff", INSTANT.date(), INSTANT.time().replace(microsecond=0), INSTANT,
    INSTANT.replace(tzinfo=dt.timezone.utc), None,
]  # fmt: skip
EXPRESSIONS = [
    "if(1 = 1, ?, 5)", "if(1 = 2, 'a', ?)", "if(1 = 1, ?, ?)", "case when 1 = 1 then ? else 5 end",
    "case when 1 = 2 then date'2024-01-01' else ? end", "case when 1 = 2 then ? when 1 = 1 then ? end",
    "decode(1, 1, ?, 5)", "decode(?, 1, 'one', 'other')", "greatest(?, 1)", "nullif(?, 1)",
]  # fmt: skip


def literal(value: Any) -> str:
    """A value as a user writes it."""
    match value:
        case None:
            return "null"
        case bool():
            return str(int(value))
        case int() | D():
            return f"({value})" if value < 0 else str(value)
        case float():
            return f"({value!r}e0)"
        case str():
            return "'" + value.replace("'", "''") + "'"
        case bytes():
            return f"X'{value.hex()}'"
        case dt.datetime() if value.tzinfo:
            return f"datetimetz'{value:%Y-%m-%d %H:%M:%S}.{value.microsecond // 1000:03} +00:00'"
        case dt.datetime():
            return f"datetime'{value:%Y-%m-%d %H:%M:%S}.{value.microsecond // 1000:03}'"
        case dt.date():
            return f"date'{value}'"
        case dt.time():
            return f"time'{value}'"
    raise AssertionError(value)


def outcome(conn: Any, sql: str, values: tuple[Any, ...] = ()) -> Any:
    """The value of an expression with its type, or that there is none."""
    try:
        value = conn.fetchval(f"select {sql}", *values)
    except errors.DatabaseError:
        return "an error"
    return type(value), value


@pytest.mark.parametrize("sql", EXPRESSIONS)
def test_value_means_what_its_literal_means(conn: Any, sql: str) -> None:
    conn.autocommit = True
    differing = []
    for value in VALUES:
        bound = outcome(conn, sql, (value,) * sql.count("?"))
        written = outcome(conn, sql.replace("?", literal(value)))
        if bound != written:
            differing.append((value, bound, written))
    assert not differing


CASES = [
    ("d double", [0.1 + 0.2, 1e20, -1.5]),
    ("n numeric(30, 10)", [D("123456789.123456789"), D("0.1"), D("-7")]),
    ("b bigint", [2**60 + 1, -1, 7]),
    ("t datetime", [INSTANT, INSTANT.replace(microsecond=0), INSTANT.replace(year=1904)]),
    ("v bit varying(64)", [b"\x01\xff", b"a", b"\0"]),
]


@pytest.mark.parametrize(("column", "values"), CASES, ids=[column for column, _ in CASES])
def test_results_of_case_that_are_all_parameters_are_stored_exactly(conn: Any, column: str, values: list[Any]) -> None:
    conn.execute("drop table if exists hr_case")
    conn.execute(f"create table hr_case (id int primary key, {column})")
    conn.executemany("insert into hr_case (id) values (?)", [(n,) for n in range(3)])
    name = column.split()[0]
    pairs = [part for pair in enumerate(values) for part in pair]
    conn.execute(f"update hr_case set {name} = case id when ? then ? when ? then ? when ? then ? end", pairs)
    assert [value for (value,) in conn.fetch(f"select {name} from hr_case order by id")] == values
    conn.rollback()


def test_batch_has_the_type_of_all_its_rows(conn: Any) -> None:
    conn.execute("drop table if exists hr_if")
    conn.execute("create table hr_if (id int primary key, d double)")
    rows = [(1, 1), (2, 2.5), (3, None), (4, D("3.25"))]
    conn.executemany("insert into hr_if values (?, if(1 = 1, ?, 0))", rows)
    conn.executemany("update hr_if set d = if(d is null, d, ?) where id = ?", [(value, n) for n, value in rows])
    assert conn.fetch("select d from hr_if order by id") == [(1.0,), (2.5,), (None,), (3.25,)]
    conn.rollback()


@pytest.mark.parametrize("column", ["json", "varchar(99)"])
@pytest.mark.parametrize("last", [None, {"b": "é"}, '{"c": 2}'], ids=["null", "json", "text"])
def test_batch_of_json_stores_what_statements_do(conn: Any, column: str, last: Any) -> None:
    values = [{"a": [1, 1.5, None, "x"]}, {}, last]
    conn.execute("drop table if exists hr_json")
    conn.execute(f"create table hr_json (id int primary key, one {column}, many {column})")
    for number, value in enumerate(values):
        conn.execute("insert into hr_json (id, one) values (?, ?)", (number, value))
    conn.executemany("insert into hr_json (id, many) values (?, ?)", [(n + 100, v) for n, v in enumerate(values)])
    stored = conn.fetch("select one, many from hr_json order by id")
    assert [many for _, many in stored[3:]] == [one for one, _ in stored[:3]]
    conn.rollback()


def test_values_of_other_types_are_not_converted_to_those_before(conn: Any) -> None:
    found = [conn.fetchval("select if(1 = 1, ?, 5)", value) for value in (None, 1, 1.5, D("2.50"), None, "x", 2)]
    assert found == [None, 1, 1.5, D("2.50"), None, "x", 2]


async def test_streams_and_tasks_send_the_types_too(url: str) -> None:
    conn = await headrace.aio.cubrid.connect(url)
    assert await conn.fetchval("select case when 1 = 1 then ? else 0 end", D("1.25")) == D("1.25")
    async with conn.transaction():
        rows = [row async for row in conn.stream("select if(1 = 1, ?, 0)", (0.5,))]
    assert rows == [(0.5,)]
    await conn.close()
