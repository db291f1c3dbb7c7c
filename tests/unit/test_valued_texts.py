"""Parameters of SQLAlchemy's texts on PostgreSQL: what is one, and what only looks like one."""

from __future__ import annotations

import pytest

from headrace.sqlalchemy._valued import valued_row, valued_text


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        ("select $1, $10::text", "select %(p1)s, %(p10)s::text"),
        ("select 5 % $1", "select 5 %% %(p1)s"),
        ("select '$1', 'it''s $2', \"$3\", $4", "select '$1', 'it''s $2', \"$3\", %(p4)s"),
        (r"select E'\'$1', e'\\', $2", r"select E'\'$1', e'\\', %(p2)s"),
        ("select $1 -- $2\n, $3 /* $4 \n */", "select %(p1)s -- $2\n, %(p3)s /* $4 \n */"),
        ("select $$ $1 $$, $a$ $$ $2 $a$, $3", "select $$ $1 $$, $a$ $$ $2 $a$, %(p3)s"),
        ("select a$1, $2 from t$3", "select a$1, %(p2)s from t$3"),
        ("select b like '%s' or b = $1", "select b like '%%s' or b = %(p1)s"),
    ],
)
def test_parameters_get_names(statement: str, expected: str) -> None:
    assert valued_text(statement) == expected


def test_values_have_the_names() -> None:
    assert valued_row(("a", None)) == {"p1": "a", "p2": None}
