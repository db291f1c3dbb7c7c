"""Batches of statements that were prepared before another session has altered a column, with values that only the
altered column takes: each batch is applied at the first attempt, whichever strategy sends it."""

from __future__ import annotations

import dataclasses
import datetime as dt
import uuid
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from headrace import errors

from .conftest import Connect

Row = tuple[Any, ...]

LATE = 150
"""Rows with the late value."""


@dataclasses.dataclass(frozen=True)
class Case:
    """A column that becomes another one."""

    old: str
    new: str
    early: Any
    """A value for both."""
    late: Any
    """A value for the new one."""
    stored: Any = None
    """The early value as the new column returns it, if it is another."""
    refused_by: str = "client"
    """Which side finds out that the late value is not one of the old column."""

    def __str__(self) -> str:
        return f"{self.old} to {self.new}"


CASES = [
    Case("int", "bigint", 1, 2**40),
    Case("int", "numeric", 1, Decimal("1.5"), Decimal(1)),
    Case("int", "float8", 1, 1.5, 1.0),
    Case("date", "timestamp", dt.date(2020, 1, 1), dt.datetime(2020, 1, 1, 5), dt.datetime(2020, 1, 1)),
    Case("int", "text", 1, "abc", "1", refused_by="server"),
    Case("text", "int", "1", 3, 1, refused_by="server"),
]


@dataclasses.dataclass(frozen=True)
class Way:
    """How a batch is sent."""

    strategy: str
    rows: int
    """Rows before the late value."""
    clause: str = ""
    iterates: bool = False


WAYS = {
    "pipelined": Way("pipelined", 2000),
    "pipelined from an iterator": Way("pipelined", 2000, iterates=True),
    "copied after many rows": Way("auto", 1300),
    "copied after many rows of an iterator": Way("auto", 1300, iterates=True),
    "copied": Way("copy", 300),
    "copied from an iterator": Way("copy", 300, iterates=True),
    "joined": Way("joined", 333, " on conflict do nothing"),
    "few": Way("auto", 2),
}


def rows_of(case: Case, way: Way) -> list[Row] | Iterator[Row]:
    """The rows, the late value among them."""
    count = way.rows
    if way.iterates and case.new == "text":
        count = min(count, 500)  # The server takes these, and more could not be read again after it.
    rows = [(n, case.early) for n in range(count)] + [(n, case.late) for n in range(count, count + LATE)]
    return iter(rows) if way.iterates else rows


def altered(connect: Connect, dba: Any, case: Case, table: str, sql: str, **options: Any) -> Any:
    """A connection that has prepared this INSERT before the column became another one."""
    dba.executescript(f"drop table if exists {table}; create table {table} (n int, v {case.old})")
    conn = connect(autocommit=True, **options)
    conn.executemany(sql, [(-1, case.early)] * 2)
    dba.execute(f"alter table {table} alter v type {case.new} using v::text::{case.new}")
    return conn


def assert_applied(conn: Any, case: Case, table: str) -> None:
    """The table has all rows."""
    early = case.early if case.stored is None else case.stored
    stored = dict(conn.fetch(f"select v, count(*) from {table} where n >= 0 group by v"))
    assert stored.keys() == {early, case.late}, case
    assert stored[case.late] == LATE, case


@pytest.mark.parametrize("mark", ["$1, $2", "%s, %s"], ids=["server", "values"])
@pytest.mark.parametrize("way", WAYS)
def test_a_batch_is_applied_at_once(connect: Connect, dba: Any, schema: str, way: str, mark: str) -> None:
    table = f"{schema}.t"
    sql = f"insert into {table} values ({mark}){WAYS[way].clause}"
    for case in CASES:
        conn = altered(connect, dba, case, table, sql, batch_strategy=WAYS[way].strategy)
        conn.executemany(sql, rows_of(case, WAYS[way]))
        assert_applied(conn, case, table)
        conn.close()


@pytest.mark.parametrize("way", WAYS)
def test_a_batch_is_applied_in_an_open_transaction(connect: Connect, dba: Any, schema: str, way: str) -> None:
    """What the server refuses ends the transaction; what does not fit is found before it is sent."""
    table = f"{schema}.t"
    sql = f"insert into {table} values ($1, $2){WAYS[way].clause}"
    for case in CASES:
        if case.refused_by == "client":
            conn = altered(connect, dba, case, table, sql, batch_strategy=WAYS[way].strategy)
            with conn.transaction():
                assert conn.fetchval("select 1") == 1
                conn.executemany(sql, rows_of(case, WAYS[way]))
            assert_applied(conn, case, table)
            conn.close()


@pytest.mark.parametrize("new", ["numeric", "text"])
def test_whole_numbers_keep_their_digits_in_a_column_that_had_fewer(
    connect: Connect, dba: Any, schema: str, new: str
) -> None:
    table = f"{schema}.t"
    sql = f"insert into {table} values (%s, %s)"
    numbers = [7, 2**53 + 1, -(2**63), 10**30]
    dba.execute(f"create table {table} (n int, v float8)")
    conn = connect(autocommit=True)
    conn.executemany(sql, [(-1, 1.5), (-1, 2)])
    dba.execute(f"alter table {table} alter v type {new}")
    conn.executemany(sql, list(enumerate(numbers)))
    assert conn.fetch(f"select v::text from {table} where n >= 0 order by n") == [(str(number),) for number in numbers]


def test_updates_from_an_iterator_are_applied_at_once(connect: Connect, dba: Any, schema: str) -> None:
    table = f"{schema}.t"
    sql = f"update {table} set v = $1 where n = $2"
    dba.executescript(f"create table {table} (n int, v int); insert into {table} select generate_series(1, 3000), 0")
    conn = connect(autocommit=True)
    conn.executemany(sql, [(1, 1)] * 2)
    dba.execute(f"alter table {table} alter v type bigint")
    conn.executemany(sql, ((2**40 if n > 2900 else n, n) for n in range(1, 3001)))
    assert conn.fetchval(f"select count(*) from {table} where v = {2**40}") == 100


def test_rows_of_arrow_data_are_applied_at_once(connect: Connect, dba: Any, schema: str) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    table = f"{schema}.t"
    sql = f"insert into {table} values ($1, $2)"
    conn = altered(connect, dba, CASES[0], table, sql)
    values = pyarrow.array([1] * 1500 + [2**40] * LATE, pyarrow.int64())
    conn.executemany(sql, pyarrow.table({"n": pyarrow.array(range(1500 + LATE)), "v": values}))
    assert_applied(conn, CASES[0], table)


U = uuid.UUID(int=7)


@pytest.mark.parametrize(
    ("old", "new", "before", "after"),
    [
        ("text", "int", "3", [3, None]),
        ("text", "uuid", str(U), [U, str(U)]),
        ("text", "bool", None, [True, None]),
        ("numeric", "jsonb", None, [{"a": 1}, None]),
        ("text", "timestamptz", None, [dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc), None]),
    ],
)
def test_the_statement_of_a_later_row_is_prepared_again(
    connect: Connect, dba: Any, schema: str, old: str, new: str, before: Any, after: list[Any]
) -> None:
    """The types of the first row are new to the connection, those of the second one are not."""
    table = f"{schema}.t"
    sql = f"insert into {table} values (%s, %s)"
    dba.execute(f"create table {table} (n int, v {old})")
    conn = connect(autocommit=True)
    for _ in range(2):  # After the second time it is known that there is no pooler between.
        conn.executemany(sql, [(1, before)])
    dba.execute(f"alter table {table} alter v type {new} using null")
    conn.executemany(sql, [(2, value) for value in after])
    expected = [uuid.UUID(value) if new == "uuid" and isinstance(value, str) else value for value in after]
    assert [row[0] for row in conn.fetch(f"select v from {table} where n = 2")] == expected


@pytest.mark.parametrize(("old", "new"), [("int", "real"), ("bigint", "float8"), ("smallint", "bigint")])
def test_a_value_is_never_read_as_one_of_the_altered_column(
    connect: Connect, dba: Any, schema: str, old: str, new: str
) -> None:
    """The second row has other types, with which the statement is prepared without asking what the column is by now:
    its value has the form of the old column."""
    table = f"{schema}.t"
    sql = f"insert into {table} values (%s, %s)"
    dba.execute(f"create table {table} (n numeric, v {old})")
    conn = connect(autocommit=True)
    conn.executemany(sql, [(1, 1)])
    dba.execute(f"alter table {table} alter v type {new}")
    conn.executemany(sql, [(2, 5), (2.5, 5), (Decimal("2.75"), 5)])
    assert conn.fetch(f"select v from {table} where n > 1") == [(5,)] * 3


@pytest.mark.parametrize("way", WAYS)
def test_a_value_that_no_column_takes_is_named_and_nothing_is_applied(
    connect: Connect, dba: Any, schema: str, way: str
) -> None:
    table = f"{schema}.t"
    sql = f"insert into {table} values ($1, $2){WAYS[way].clause}"
    case = Case("int", "bigint", 1, 2**80)
    conn = altered(connect, dba, case, table, sql, batch_strategy=WAYS[way].strategy)
    for _ in range(2):
        with pytest.raises(errors.DataError) as caught:
            conn.executemany(sql, rows_of(case, WAYS[way]))
        assert caught.value.row == WAYS[way].rows
        assert conn.fetchval(f"select count(*) from {table} where n >= 0") == 0
