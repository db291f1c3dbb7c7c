"""Errors of the server that only a driver can cure have a hint."""

from __future__ import annotations

import re
from typing import Any

import pytest

import headrace


@pytest.mark.parametrize(
    ("sql", "params", "hint"),
    [
        ("SELECT 1 WHERE 1 IN %s", ([1, 2],), "= ANY(%s)"),
        ("SELECT 1 WHERE 1 NOT IN %(ids)s", {"ids": [1, 2]}, "<> ALL(%s)"),
        ("SELECT 1 WHERE 1 IN $1", ([1, 2],), "= ANY(%s)"),
        ("SELECT 1 WHERE 1 IN (%s)", ([1, 2],), "= ANY(%s)"),
        ("SELECT 1 WHERE %s IS NULL", (None,), "%s::text"),
        ("SELECT 1 WHERE 'abc' LIKE 'a%b' AND 1 = %s", (1,), "%%"),
        ("INSERT INTO pg_temp.documents VALUES (%s)", ([1, 2],), "headrace.types.Json or Jsonb"),
        ("SELECT %s::jsonb", ([1, 2],), "headrace.types.Json or Jsonb"),
        ("SELECT '%s'", (1,), "without quotes"),
        ("SELECT * FROM pg_class WHERE relname = '%(name)s'", {"name": "pg_class"}, "without quotes"),
        ("CREATE TABLE x%s (n int)", (1,), "within a string or a name"),
        ("SELECT now() - interval %s", ("1 day",), "%s::interval"),
        ("SELECT * FROM %s", ("pg_class",), "names of tables and columns"),
        ("SET search_path = %s", ("x",), "set_config('name', %s, false)"),
        ("CREATE USER bob PASSWORD %(word)s", {"word": "x"}, "CREATE takes no parameters"),
    ],
)
def test_hints(conn: Any, sql: str, params: Any, hint: str) -> None:
    conn.execute("CREATE TEMP TABLE IF NOT EXISTS documents (body jsonb)")
    with pytest.raises(headrace.ProgrammingError, match=re.escape(hint)):
        conn.execute(sql, params)


def test_other_errors_have_no_hint(conn: Any) -> None:
    with pytest.raises(headrace.ProgrammingError) as raised:
        conn.execute("SELECT 1 FROM WHERE 1 IN (%s)", (1,))
    assert raised.value.hint is None


def test_a_replication_connection_takes_scripts(url: str) -> None:
    with (
        headrace.connect(url, replication="database", autocommit=True) as conn,
        pytest.raises(headrace.Error, match="executescript"),
    ):
        conn.execute("SELECT 1")
    # With a BEGIN before it, it is a statement of SQL.
    with (
        headrace.connect(url, replication="database") as conn,
        pytest.raises(headrace.ProgrammingError, match="in autocommit"),
    ):
        conn.executescript("IDENTIFY_SYSTEM")
    with headrace.connect(url, replication="database", autocommit=True) as conn:
        assert conn.executescript("IDENTIFY_SYSTEM").fetchone()


def test_what_the_hints_say_works(conn: Any) -> None:
    assert conn.fetchval("SELECT 1 WHERE 1 = ANY(%s)", [1, 2]) == 1
    assert conn.fetchval("SELECT 1 WHERE 3 <> ALL(%s)", [1, 2]) == 1
    assert conn.fetchval("SELECT %s::text IS NULL", None) is True
    assert conn.fetchval("SELECT %s::interval = interval '1 day'", "1 day") is True
    assert conn.fetchval("SELECT set_config('search_path', %s, true)", "pg_catalog") == "pg_catalog"
