"""Each type both ways, with NULL."""

from __future__ import annotations

import datetime as dt
import json
from decimal import Decimal
from typing import Any

import pytest

import headrace.cubrid
from headrace import errors

Connection = headrace.cubrid.Connection[Any]
NINE = dt.timezone(dt.timedelta(hours=9))

TYPES: list[tuple[str, list[Any]]] = [
    ("short", [0, -32768, 32767]),
    ("int", [0, -(2**31), 2**31 - 1]),
    ("bigint", [-(2**63), 2**63 - 1]),
    ("float", [0.0, 1.5, -0.25, 2.0**100]),
    ("double", [0.0, -0.0, 1 / 3, 2 / 3, 1.7976931348623157e308, 2.2250738585072014e-308]),
    ("numeric(38,0)", [Decimal("9" * 38), Decimal("-" + "9" * 38), Decimal(0)]),
    ("numeric(38,38)", [Decimal("." + "9" * 38)]),
    ("numeric(15,4)", [Decimal("-123.4500"), Decimal("0.0001")]),
    ("monetary", [0.0, 12.5]),
    ("char(5)", ["abcde", "é    "]),
    ("varchar(100)", ["", "a", "한국어 🙂", 'it\'s \\ "q"']),
    ("string", ["x" * 100_000]),
    ("bit(16)", [b"\x00\xff"]),
    ("bit varying(800)", [b"\x00", b"\xff" * 100]),
    ("date", [dt.date(1, 1, 1), dt.date(2024, 2, 29), dt.date(9999, 12, 31)]),
    ("time", [dt.time(0, 0), dt.time(23, 59, 59)]),
    ("timestamp", [dt.datetime(1970, 1, 2), dt.datetime(2024, 2, 29, 13, 45, 59)]),
    ("datetime", [dt.datetime(1, 1, 1), dt.datetime(9999, 12, 31, 23, 59, 59, 999_000)]),
    ("timestamptz", [dt.datetime(2024, 2, 29, 13, 45, 59, tzinfo=NINE)]),
    ("timestampltz", [dt.datetime(2024, 2, 29, 13, 45, 59, tzinfo=dt.timezone.utc)]),
    ("datetimetz", [dt.datetime(2024, 2, 29, 13, 45, 59, 123_000, tzinfo=NINE)]),
    ("datetimeltz", [dt.datetime(2024, 2, 29, 13, 45, 59, 123_000, tzinfo=dt.timezone.utc)]),
    ("enum('red', 'green')", ["red", "green"]),
    ("set(int)", [[], [1, 2, 3]]),
    ("multiset(varchar(10))", [["a", "a", "b"]]),
    ("list(int)", [[3, 1, 3, None]]),
    ("list(double)", [[0.5, 1 / 3]]),
]


@pytest.fixture
def table(conn: Connection) -> str:
    conn.execute("drop table if exists hr_types")
    return "hr_types"


@pytest.mark.parametrize(("name", "values"), TYPES, ids=[name for name, _ in TYPES])
def test_a_value_comes_back_as_it_went(conn: Connection, table: str, name: str, values: list[Any]) -> None:
    conn.execute(f"create table {table} (n int primary key, v {name})")
    rows = [(n, value) for n, value in enumerate([*values, None])]
    for row in rows[::2]:
        conn.execute(f"insert into {table} values (?, ?)", row)
    conn.executemany(f"insert into {table} values (?, ?)", rows[1::2])
    got = conn.fetch(f"select n, v from {table} order by n")
    if not isinstance(values[0], list):
        assert got == rows
        assert [type(value) for _, value in got] == [type(value) for _, value in rows]
    else:
        # The server sorts sets.
        assert [(n, value and list(value)) for n, value in got] == rows
    conn.rollback()


def test_a_time_without_a_zone_is_the_clock_of_one_with_a_zone(conn: Connection) -> None:
    noon, morning = dt.datetime(2024, 2, 3, 12), dt.datetime(2024, 2, 3, 4, 5, 6, 7_000)
    for expression, expected in (
        ("cast(datetimetz'2024-02-03 04:05:06.007 +09:00' as datetime)", morning),
        ("cast(timestamptz'2024-02-03 04:05:06 +09:00' as datetime)", morning.replace(microsecond=0)),
        ("cast(datetimetz'2024-02-03 04:05:06.007 +09:00' as date)", morning.date()),
        ("cast(datetimetz'2024-02-03 04:05:06.007 +09:00' as time)", dt.time(4, 5, 6)),
        ("new_time(datetime'2024-02-03 12:00:00', 'UTC', 'Asia/Seoul')", noon.replace(hour=21)),
        ("new_time(datetime'2024-02-03 12:00:00', '+09:00', '-03:30')", dt.datetime(2024, 2, 2, 23, 30)),
    ):
        assert conn.fetchval(f"select {expression}") == expected, expression


def test_json_is_a_value(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (v json)")
    value = {"a": [1, 2.5, None, "한"]}
    conn.execute(f"insert into {table} values (?)", (headrace.types.Json(value),))
    conn.execute(f"insert into {table} values (?)", (json.dumps(value),))
    assert conn.fetch(f"select v from {table}") == [(value,), (value,)]
    conn.rollback()


def test_parameters_without_a_column(conn: Connection) -> None:
    values = (5, 2**40, 0.5, "é", b"\x01", Decimal("1.50"), dt.date(2024, 2, 29), None)
    marks = ", ".join("?" * len(values))
    assert conn.fetchrow(f"select {marks}", *values) == values


@pytest.mark.parametrize("value", [float("nan"), float("inf"), Decimal("NaN"), Decimal("1e40"), [b""]])
def test_what_the_server_would_store_as_something_else_is_refused(conn: Connection, value: Any) -> None:
    with pytest.raises(errors.DataError):
        conn.fetch("select ?", value)
    assert conn.fetchval("select 1") == 1


def test_empty_bytes_are_the_literal(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (n int, v bit varying)")
    conn.execute(f"insert into {table} values (?, ?), (?, ?)", (1, b"", 2, b"x"))
    conn.execute(f"insert into {table} values (?, ?)", (3, b"y"))
    conn.execute(f"insert into {table} values (?, ?)", (3, b""))
    conn.execute(f"insert into {table} values (?, ?)", (4, None))
    rows = f"select n, case when n = 2 then ? else v end from {table} where v = ? order by n"
    assert conn.fetch(rows, bytearray(), b"") == [(1, b""), (3, b"")]
    assert conn.fetchrow(f"select ?, bit_length(v) from {table} where n = ?", b"", 1) == (b"", 0)
    assert [row[0] for row in conn.stream(f"select n from {table} where v > ? order by n", (b"",))] == [2, 3]
    conn.execute(f"alter table {table} add column i int")
    with pytest.raises(errors.DatabaseError):
        conn.execute(f"update {table} set i = ?", (b"",))
    conn.rollback()


def test_large_objects_are_files_and_values(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (n int, b blob, c clob)")
    content = bytes(range(256)) * 1500
    with conn.create_lob("blob") as lob:
        assert lob.write(content[:200_000]) == 200_000
        assert lob.write(content[200_000:]) == len(content) - 200_000
        blob = lob.locator
        with pytest.raises(errors.ProgrammingError, match="append"):
            lob.seek(0)
            lob.write(b"x")
    clob = conn.store_lob("한국어 " * 20_000)
    conn.execute(f"insert into {table} values (1, ?, ?)", (blob, clob))
    conn.execute(f"insert into {table} values (2, ?, ?)", (None, None))
    conn.commit()
    _, blob, clob = conn.fetchrow(f"select * from {table} where n = 1")
    assert conn.read_lob(blob) == content
    assert conn.read_lob(clob) == "한국어 " * 20_000
    with conn.open_lob(blob) as lob:
        assert (lob.size, lob.seek(100_000), lob.read(90_000)) == (len(content), 100_000, content[100_000:190_000])
        assert lob.read() == content[190_000:]
        assert lob.read() == b""
    assert conn.fetchrow(f"select b, c from {table} where n = 2") == (None, None)
    conn.execute(f"drop table {table}")
    conn.commit()


def test_a_large_object_needs_a_transaction(url: str) -> None:
    with headrace.cubrid.connect(url, autocommit=True) as conn:
        with pytest.raises(errors.ProgrammingError, match="transaction"):
            conn.create_lob()
        with conn.transaction():
            assert conn.create_lob().size == 0
