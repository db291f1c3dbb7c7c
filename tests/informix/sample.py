"""The rows that tests of SQL ask for, and how they ask."""

from __future__ import annotations

from typing import Any

TABLE = "create table q (n int, t varchar(20), c char(8), d decimal(8,2), f float, w date, i interval day to hour)"
ROWS = (
    "1, 'one', 'eins', 1.5, 0.5, '2024-01-31', interval (1 02) day to hour",
    "2, 'two', 'zwei', -2.25, 1e10, '2024-02-29', interval (0 12) day to hour",
    "3, null, null, null, null, null, null",
    "4, 'four ', 'vier', 10, -3, '1999-12-31', null",
)


def rows(connection: Any, sql: str, *parameters: Any) -> list[tuple[Any, ...]]:
    cursor = connection.cursor()
    cursor.execute(sql, parameters)
    found = cursor.fetchall()
    cursor.close()
    return found
