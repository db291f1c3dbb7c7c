"""What was described before a table changed, and queries for many rows of parameters."""

# Made by tools/async_to_sync.py of test_widened_async.py: edit that file, and run the tool.

from __future__ import annotations

import itertools
from typing import Any

import pytest

import headrace
from headrace import errors

FAILS = "select no_such_column from systables where tabid = ?"
FINDS = "select first 1 tabid from systables where tabid = ?"


def test_a_parameter_follows_a_column_that_became_longer(conn: Any, table: str) -> None:
    insert = f"insert into {table} values (?)"
    conn.autocommit = True
    conn.execute(f"create table {table} (v char(3))")
    conn.execute(insert, ("abc",))
    conn.executemany(insert, [("abc",)])
    with pytest.raises(errors.DataError, match="does not fit CHAR"):
        conn.execute(insert, ("abcdef",))
    conn.execute(f"drop table {table}")
    conn.execute(f"create table {table} (v varchar(9))")
    conn.execute(insert, ("abcdef",))
    conn.executemany(insert, [("abcdef",)])
    assert conn.fetch(f"select v from {table}") == [("abcdef",)] * 2
    conn.execute(f"drop table {table}")


@pytest.mark.parametrize("autocommit", [False, True])
@pytest.mark.parametrize("sql", ["insert into {} values (?)", "update {} set v = ?"])
@pytest.mark.parametrize("first", ["abc", "abcdef"])
def test_a_batch_follows_a_column_that_another_session_made_longer(
    conn: Any, url: str, table: str, first: str, sql: str, autocommit: bool
) -> None:
    change = sql.format(table)
    conn.autocommit = True
    conn.execute(f"create table {table} (v varchar(3))")
    conn.executemany(change, [("abc",)])
    conn.autocommit = autocommit
    with headrace.connect(url, autocommit=True) as other:
        other.execute(f"alter table {table} modify (v varchar(9))")
    conn.executemany(change, iter([(first,), ("abcdefghi",)]))
    with pytest.raises(errors.DataError, match="does not fit VARCHAR"):
        conn.executemany(change, [("abcdefghij",)])


def test_many_rows_of_parameters_are_taken_as_they_are_sent(conn: Any) -> None:
    with pytest.raises(errors.ProgrammingError):
        conn.fetchmany(FAILS, itertools.repeat((1,)))
    assert conn.fetchmany(FINDS, ((1,) for _ in range(300))) == [(1,)] * 300
