"""A constant in a statement is read by the settings of now, where the server keeps what it has read when the statement
was prepared, or computed when it was planned."""

from __future__ import annotations

from typing import Any

import pytest

CONSTANTS: dict[str, tuple[str, str, object, str, object]] = {
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
    # Those that the server does not report.
    "array_nulls": ("select ('{NULL}'::text[])[1]", "on", None, "off", "NULL"),
    "bytea_output": ("select '\\x41'::bytea::text", "hex", "\\x41", "escape", "A"),
    "extra_float_digits": ("select (1::float8 / 3)::text", "1", "0.3333333333333333", "-13", "0.33"),
    "timezone_abbreviations": (
        "select extract(hour from '2020-01-01 15:00 EST'::timestamptz at time zone 'UTC')::int",
        *("Default", 20, "Australia", 5),
    ),
    "transform_null_equals": ("select (1 is not null) = (null = null)", "off", None, "on", True),
}
"""By setting: a query with a constant, and twice a value of the setting with what the query is then."""
DAYS = "select extract(month from d)::int from days order by a"


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


@pytest.mark.parametrize("setting", CONSTANTS)
def test_setting_may_be_set_in_every_way(conn: Any, setting: str) -> None:
    query, first, as_first, second, as_second = CONSTANTS[setting]
    conn.autocommit = True
    conn.execute("set escape_string_warning = off")
    conn.execute(f"set {setting} = '{first}'")
    assert conn.fetchval(query) == as_first
    conn.fetchval("select set_config(%s, %s, false)", setting, second)
    assert conn.fetchval(query) == as_second
    conn.execute(f"do $$ begin set {setting} = '{first}'; end $$")
    assert conn.fetchval(query) == as_first
    conn.executescript(f"set {setting} = '{second}'; select 1")
    assert conn.fetchval(query) == as_second
    conn.execute(f"select set_config('{setting}', '{first}', false)")
    assert conn.fetchval(query) == as_first
    conn.execute("update pg_settings set setting = %s where name = %s", (second, setting))
    assert conn.fetchval(query) == as_second
    conn.execute(f"update pg_settings set setting = '{first}' where name = '{setting}'")
    assert conn.fetchval(query) == as_first
    with conn.transaction():
        with pytest.raises(ZeroDivisionError), conn.transaction():
            conn.execute(f"set {setting} = '{second}'")
            assert conn.fetchval(query) == as_second
            _ = 1 / 0
        assert conn.fetchval(query) == as_first
    with conn.pipeline():
        before = conn.execute(query)
        conn.execute(f"set {setting} = '{second}'")
        after = conn.execute(query)
    assert (before.fetchone(), after.fetchone()) == ((as_first,), (as_second,))
    conn.execute("begin")
    with conn.pipeline():
        conn.execute(f"set local {setting} = '{first}'")
        within = conn.execute(query)
        conn.execute("rollback")
        after = conn.execute(query)
    assert (within.fetchone(), after.fetchone()) == ((as_first,), (as_second,))


def test_constant_of_a_batch_is_read_by_the_settings_of_now(conn: Any) -> None:
    """The types of the rows' values need two statements, both of which were kept."""
    conn.autocommit = True
    conn.execute("create temporary table days (a text, d date)")
    insert = "insert into days values (%s || 'x'::text, '02/01/2020')"
    rows = [("x",), (1,), ("y",), (2,)]
    for style, month in (("MDY", 2), ("DMY", 1)) * 2:
        conn.execute(f"set datestyle = 'ISO, {style}'")
        conn.execute("delete from days")
        conn.executemany(insert, rows)
        assert conn.fetch(DAYS) == [(month,)] * 4
        for row in rows:
            conn.execute(insert, row)
        assert conn.fetch(DAYS) == [(month,)] * 8


def test_constant_that_is_stored_in_a_pipeline_is_read_by_the_settings_of_now(conn: Any) -> None:
    conn.autocommit = True
    conn.execute("create temporary table days (a text, d date)")
    insert = "insert into days values ('a', '02/01/2020')"
    conn.execute("set datestyle = 'ISO, MDY'")
    conn.execute(insert)
    with conn.pipeline():
        conn.execute("set datestyle = 'ISO, DMY'")
        conn.execute(insert)
    assert sorted(conn.fetch(DAYS)) == [(1,), (2,)]


@pytest.mark.parametrize("constant", ["'now'::timestamptz", "timestamptz $$now$$"])
def test_constant_of_the_moment_is_that_of_its_execution(conn: Any, constant: str) -> None:
    """The server reads `now` in a constant when it parses the text, and not again."""
    conn.autocommit = True
    conn.execute("create temporary table moments (a timestamptz, b int)")
    moments = [conn.fetchval(f"select {constant}") for _ in range(3)]
    assert moments == sorted(set(moments))
    for number in range(3):
        conn.execute(f"insert into moments values ({constant}, %s)", (number,))
    conn.executemany(f"insert into moments values ({constant}, %s)", [(3,), (4,)])
    stored = [moment for (moment,) in conn.fetch("select distinct a from moments order by a")]
    assert len(stored) == 4
    assert stored[0] > moments[-1]
    assert conn.fetchval(f"select {constant} = now()")
