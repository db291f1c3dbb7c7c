"""OUT parameters of stored procedures, which only a genuine server with Java has.

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


@pytest.fixture
def calls(url: str) -> Iterator[headrace.cubrid.Connection[Any]]:
    """A connection to a database with the procedures."""
    with headrace.cubrid.connect(url, autocommit=True) as conn:
        conn.execute(TWICE)
        conn.execute(CHANGES)
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


async def test_out_parameters_on_a_loop(calls: headrace.cubrid.Connection[Any], url: str) -> None:
    async with await headrace.aio.cubrid.connect(url) as conn:
        cursor = conn.cursor()
        assert await cursor.callproc("hr_changes", (6, None, "x")) == [6, 12, "x!"]
        assert await cursor.fetchall() == [(None, 6, 12, "x!")]
