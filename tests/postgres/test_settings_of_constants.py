"""A constant in a statement is read by the settings of now, where the server keeps what it has read when the statement
was prepared."""

from __future__ import annotations

from typing import Any

import pytest

CONSTANTS = {
    "TimeZone": (
        "select extract(hour from '2020-01-01 05:00'::timestamptz at time zone 'UTC')::int",
        *("UTC", 5, "Asia/Tokyo", 20),
    ),
    "DateStyle": ("select extract(month from '02/01/2020'::date)::int", "ISO, MDY", 2, "ISO, DMY", 1),
    "IntervalStyle": (
        "select extract(epoch from '-1 2:00'::interval)::int",
        "postgres",
        -79200,
        "sql_standard",
        -93600,
    ),
    "standard_conforming_strings": (r"select length('\\')", "on", 2, "off", 1),
}
"""By setting: a query with a constant, and twice a value of the setting with what the query is then."""


@pytest.mark.parametrize("setting", CONSTANTS)
def test_constant_is_read_by_the_settings_of_now(conn: Any, setting: str) -> None:
    query, first, as_first, second, as_second = CONSTANTS[setting]
    conn.autocommit = True
    conn.execute("set escape_string_warning = off")
    for value, expected in ((first, as_first), (second, as_second)) * 2:
        conn.execute(f"set {setting} = '{value}'")
        assert [conn.fetchval(query) for _ in range(2)] == [expected] * 2
    with conn.transaction():
        conn.execute(f"set local {setting} = '{first}'")
        assert conn.fetchval(query) == as_first
    assert conn.fetchval(query) == as_second
    conn.execute(f"set {setting} = '{first}'")
    with conn.pipeline():
        cursors = [conn.execute(query) for _ in range(3)]
    assert [cursor.fetchone() for cursor in cursors] == [(as_first,)] * 3
