"""Parameters of SQLAlchemy's texts on PostgreSQL: what is one, and what only looks like one."""

from __future__ import annotations

import datetime

import pytest

from headrace.sqlalchemy._valued import valued_row, valued_text
from headrace.types import Hstore, Vector


@pytest.mark.parametrize(
    ("statement", "count", "expected"),
    [
        ("select $2, $1::text", 2, "select %(p2)s, %(p1)s::text"),
        (
            "select $1, $2, $3, $4, $5, $6, $7, $8, $9, $10::text, $1",
            10,
            "select %(p1)s, %(p2)s, %(p3)s, %(p4)s, %(p5)s, %(p6)s, %(p7)s, %(p8)s, %(p9)s, %(p10)s::text, %(p1)s",
        ),
        ("select 5 % $1", 1, "select 5 %% %(p1)s"),
        ("select '$4', 'it''s $2', \"$3\", $1", 1, "select '$4', 'it''s $2', \"$3\", %(p1)s"),
        (r"select E'\'$3', e'\\', $1", 1, r"select E'\'$3', e'\\', %(p1)s"),
        (r"a like'\' and b = $1 and c = 'x'", 1, r"a like'\' and b = %(p1)s and c = 'x'"),
        ("select $1 -- $4\n, $2 /* $3 \n */", 2, "select %(p1)s -- $4\n, %(p2)s /* $3 \n */"),
        ("select $$ $3 $$, $a$ $$ $2 $a$, $1", 1, "select $$ $3 $$, $a$ $$ $2 $a$, %(p1)s"),
        ("select a$3, $1 from t$2", 1, "select a$3, %(p1)s from t$2"),
        ("select b like '%s' or b = $1", 1, "select b like '%%s' or b = %(p1)s"),
    ],
)
def test_parameters_get_names(statement: str, count: int, expected: str) -> None:
    assert valued_text(statement, count) == expected


@pytest.mark.parametrize(
    ("statement", "count"),
    [("values ($1, '$2')", 2), ("select a like '%$1%'", 1), ("select $1 -- $2", 2), ("select $2", 1), ("select $3", 2)],
)
def test_a_statement_that_does_not_have_all_parameters_gets_no_names(statement: str, count: int) -> None:
    assert valued_text(statement, count) is None


def test_values_have_the_names() -> None:
    assert valued_row(("a", None)) == {"p1": "a", "p2": None}


def test_the_server_chooses_the_types_of_mappings_and_lists() -> None:
    days = [datetime.date(2024, 1, 1)]
    sent = valued_row(({"a": 1}, [1, 2], [0.5], days, 1))
    assert list(map(type, sent.values())) == [Hstore, Vector, Vector, list, int]
    assert sent == {"p1": {"a": 1}, "p2": [1, 2], "p3": [0.5], "p4": days, "p5": 1}
