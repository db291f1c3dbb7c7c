"""OUT parameters of stored procedures and the CURSOR that one returns, which only a genuine server with Java has.

They are collected if HEADRACE_CUBRID_PROCEDURES is set: the database has ``java_stored_procedure=yes``, its Java server
runs (``cubrid javasp start``), and ``loadjava`` has loaded procedures/HeadraceProcedures.java into it.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import headrace.aio.cubrid
import headrace.cubrid
from headrace import errors
from headrace.types import TransactionStatus

TWICE = (
    "create or replace function hr_twice(n int) return int as language java "
    "name 'HeadraceProcedures.twice(int) return int'"
)
CHANGES = (
    "create or replace procedure hr_changes(n in int, o out int, b inout varchar) as language java "
    "name 'HeadraceProcedures.changes(int, int[], java.lang.String[])'"
)

BELOW = (
    "create or replace function hr_below(n int) return cursor as language java "
    "name 'HeadraceProcedures.below(int) return java.sql.ResultSet'"
)


@pytest.fixture
def calls(url: str, numbers: str) -> Iterator[headrace.cubrid.Connection[Any]]:
    """A connection to a database with the procedures."""
    with headrace.cubrid.connect(url, autocommit=True) as conn:
        conn.execute(TWICE)
        conn.execute(CHANGES)
        conn.execute(BELOW)
        yield conn


def test_out_parameters_are_returned(calls: headrace.cubrid.Connection[Any]) -> None:
    cursor = calls.cursor()
    for _ in range(2):
        assert cursor.callproc("hr_changes", (5, None, "한글")) == [5, 10, "한글!"]
        assert cursor.fetchall() == [(None, 5, 10, "한글!")]
    assert calls.transaction_status is TransactionStatus.IDLE


def test_a_function_returns_its_value(calls: headrace.cubrid.Connection[Any]) -> None:
    cursor = calls.cursor()
    assert cursor.callproc("hr_twice", (21,)) == [21]
    assert cursor.fetchone() == (42, 21)


def test_a_call_that_fails_leaves_the_connection_usable(calls: headrace.cubrid.Connection[Any]) -> None:
    cursor = calls.cursor()
    with pytest.raises(errors.DatabaseError):
        cursor.callproc("hr_no_such_procedure", (1,))
    assert cursor.callproc("hr_twice", (1,)) == [1]


def test_a_cursor_that_is_returned_is_read(calls: headrace.cubrid.Connection[Any]) -> None:
    cursor = calls.cursor()
    found = 0
    with calls.transaction():
        for count in (3, 1000, 0):
            cursor.callproc("hr_below", (count,))
            ((found, _),) = cursor.fetchall()
            rows = calls.returned_rows(found)
            assert [column.type_code for column in rows.description or ()] == ["INT", "VARCHAR"]
            assert rows.fetchall() == [(n, f"row {n}") for n in range(count)]
    with pytest.raises(errors.ProgrammingError, match="in the transaction"):
        calls.returned_rows(found)
    assert calls.fetchval("select 1") == 1


def test_a_cursor_that_is_not_there_is_an_error(calls: headrace.cubrid.Connection[Any]) -> None:
    with calls.transaction():
        with pytest.raises(errors.DatabaseError):
            calls.returned_rows(12345)
        assert calls.fetchval("select 1") == 1


async def test_out_parameters_on_a_loop(calls: headrace.cubrid.Connection[Any], url: str) -> None:
    async with await headrace.aio.cubrid.connect(url) as conn:
        cursor = conn.cursor()
        assert await cursor.callproc("hr_changes", (6, None, "x")) == [6, 12, "x!"]
        assert await cursor.fetchall() == [(None, 6, 12, "x!")]
        async with conn.transaction():
            await cursor.callproc("hr_below", (2,))
            (found, _) = (await cursor.fetchall())[0]
            assert await (await conn.returned_rows(found)).fetchall() == [(0, "row 0"), (1, "row 1")]
