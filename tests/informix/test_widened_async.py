"""What was described before a table changed, and queries for many rows of parameters."""

from __future__ import annotations

import itertools
from typing import Any

import pytest

import headrace
from headrace import errors

FAILS = "select no_such_column from systables where tabid = ?"
FINDS = "select first 1 tabid from systables where tabid = ?"


async def test_a_parameter_follows_a_column_that_became_longer(aconn: Any, table: str) -> None:
    insert = f"insert into {table} values (?)"
    await aconn.set_autocommit(True)
    await aconn.execute(f"create table {table} (v char(3))")
    await aconn.execute(insert, ("abc",))
    await aconn.executemany(insert, [("abc",)])
    with pytest.raises(errors.DataError, match="does not fit CHAR"):
        await aconn.execute(insert, ("abcdef",))
    await aconn.execute(f"drop table {table}")
    await aconn.execute(f"create table {table} (v varchar(9))")
    await aconn.execute(insert, ("abcdef",))
    await aconn.executemany(insert, [("abcdef",)])
    assert await aconn.fetch(f"select v from {table}") == [("abcdef",)] * 2
    await aconn.execute(f"drop table {table}")


@pytest.mark.parametrize("autocommit", [False, True])
@pytest.mark.parametrize("sql", ["insert into {} values (?)", "update {} set v = ?"])
@pytest.mark.parametrize("first", ["abc", "abcdef"])
async def test_a_batch_follows_a_column_that_another_session_made_longer(
    aconn: Any, url: str, table: str, first: str, sql: str, autocommit: bool
) -> None:
    change = sql.format(table)
    await aconn.set_autocommit(True)
    await aconn.execute(f"create table {table} (v varchar(3))")
    await aconn.executemany(change, [("abc",)])
    await aconn.set_autocommit(autocommit)
    async with await headrace.aio.connect(url, autocommit=True) as other:
        await other.execute(f"alter table {table} modify (v varchar(9))")
    await aconn.executemany(change, iter([(first,), ("abcdefghi",)]))
    with pytest.raises(errors.DataError, match="does not fit VARCHAR"):
        await aconn.executemany(change, [("abcdefghij",)])


async def test_many_rows_of_parameters_are_taken_as_they_are_sent(aconn: Any) -> None:
    with pytest.raises(errors.ProgrammingError):
        await aconn.fetchmany(FAILS, itertools.repeat((1,)))
    assert await aconn.fetchmany(FINDS, ((1,) for _ in range(300))) == [(1,)] * 300
