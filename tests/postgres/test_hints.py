"""Errors of the server whose cure only a driver knows have a hint."""

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
    ],
)
def test_hints(conn: Any, sql: str, params: Any, hint: str) -> None:
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
    with headrace.connect(url, replication="database", autocommit=True) as conn:
        assert conn.executescript("IDENTIFY_SYSTEM").fetchone()


def test_what_the_hints_say_works(conn: Any) -> None:
    assert conn.fetchval("SELECT 1 WHERE 1 = ANY(%s)", [1, 2]) == 1
    assert conn.fetchval("SELECT 1 WHERE 3 <> ALL(%s)", [1, 2]) == 1
    assert conn.fetchval("SELECT %s::text IS NULL", None) is True
