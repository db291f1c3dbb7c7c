"""Statements of rare kinds and of great length."""

from __future__ import annotations

from typing import Any

import pytest

import headrace.cubrid
from headrace import errors

MANY = [500, 1000, 3000]


@pytest.mark.parametrize("count", MANY)
def test_many_parameters_in_one_condition(conn: headrace.cubrid.Connection[Any], numbers: str, count: int) -> None:
    values = range(0, 2 * count, 2)
    listed = conn.fetchval(f"select count(*) from {numbers} where n in ({', '.join('?' * count)})", *values)
    joined = conn.fetchval(f"select count(*) from {numbers} where {' or '.join(['n = ?'] * count)}", *values)
    assert listed == joined == sum(value < 1000 for value in values)


@pytest.mark.parametrize(
    ("sql", "rowcount"),
    [
        ("update statistics on {}", 0),
        ("update statistics on all classes", 0),
        ("do 1 + 1", 0),
        ("get transaction isolation level", 1),
        ("get transaction lock timeout", 1),
        ("get optimization level", 1),
    ],
)
def test_statements_without_rows(conn: headrace.cubrid.Connection[Any], numbers: str, sql: str, rowcount: int) -> None:
    cursor = conn.execute(sql.format(numbers))
    assert (cursor.description, cursor.rowcount) == (None, rowcount)


def test_a_cross_reference_is_between_two_tables(conn: headrace.cubrid.Connection[Any], numbers: str) -> None:
    with pytest.raises(errors.ProtocolViolation, match="-10004"):
        conn.schema_info("cross_reference", numbers)
    assert conn.schema_info("cross_reference", numbers, numbers).fetchall() == []
