"""A percent sign in a statement with the server's own parameters."""

from __future__ import annotations

from typing import Any

import pytest

import headrace


@pytest.mark.parametrize(
    ("sql", "expected"),
    [
        ("select 'a%s' || $1", "a%sx"),
        ("select 'a%(n)s' || $1", "a%(n)sx"),
        ("select 'a%% %s' || $1 /* %s */", "a%% %sx"),
        ('select "%s" || $1 from (values (\'v\')) as t ("%s")', "vx"),
    ],
)
def test_a_percent_sign_in_a_string_or_name_is_itself(conn: headrace.Connection[Any], sql: str, expected: str) -> None:
    assert conn.fetchval(sql, "x") == expected


def test_styles_that_are_mixed_are_refused(conn: headrace.Connection[Any]) -> None:
    with pytest.raises(headrace.ProgrammingError, match=r"mixes \$1 and %s parameters"):
        conn.execute("select %s, $1", (1,))
