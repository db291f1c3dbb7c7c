"""Statements of rare kinds and of great length."""

from __future__ import annotations

from typing import Any

import pytest

import headrace.cubrid
from headrace import errors
from live import CUBRID_URL

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


@pytest.mark.parametrize(
    "statement",
    [
        "select * from hr_nowhere",
        "insert into hr_nowhere values (1)",
        "insert into hr_nowhere (a) values (1)",
        "replace into hr_nowhere values (1)",
        "update hr_nowhere set a = 1",
        "delete from hr_nowhere",
        "drop table hr_nowhere",
        "truncate table hr_nowhere",
        "alter table hr_nowhere add column b int",
        "create index hr_i on hr_nowhere (a)",
    ],
)
def test_every_statement_on_a_table_that_is_not_there_says_so_by_its_class(conn: Any, statement: str) -> None:
    with pytest.raises(errors.UndefinedTable):
        conn.execute(statement)


@pytest.mark.parametrize("word", ["left", "order", "values"])
def test_a_reserved_word_is_no_variable(conn: Any, word: str) -> None:
    with pytest.raises(errors.SyntaxError):
        conn.execute(f"set @{word} = 1")
    conn.execute(f"set @{word}_ = 1")
    assert conn.fetchval(f"select @{word}_") == 1


@pytest.mark.parametrize("first", ["number", "parameter"])
@pytest.mark.parametrize(
    ("sql", "count"),
    [
        ("select n from {} limit {}", 3),
        ("select n from {} where n > 1 order by n limit {}", 2),
        ("select (select n from {} limit {}) from db_root", 1),
        ("update {} set n = n limit {}", 2),
    ],
)
def test_limit_by_a_parameter_beside_one_by_a_number(url: str, numbers: str, sql: str, count: int, first: str) -> None:
    # A genuine server keeps one plan for both.
    by_number, by_parameter = (sql.format(numbers, count), ()), (sql.format(numbers, "?"), (count,))
    both = [by_number, by_parameter] if first == "number" else [by_parameter, by_number]
    with headrace.cubrid.connect(url, autocommit=True) as one, headrace.cubrid.connect(url, autocommit=True) as other:
        for _ in range(2):
            for text, values in both:
                assert [conn.execute(text, values).rowcount for conn in (one, other)] == [count] * 2


@pytest.mark.parametrize("count", [1, 100, 101])
def test_rows_after_a_failed_batch_are_stored_as_they_are(url: str, count: int) -> None:
    sql = "insert into hr_raised (a, b) values (?, upper(?))"
    rows = [(f"a{n}", f"b{n}") for n in range(count)]
    with headrace.cubrid.connect(url, autocommit=True) as admin, headrace.cubrid.connect(url, autocommit=True) as conn:
        admin.execute("drop table if exists hr_raised")
        admin.execute("create table hr_raised (a varchar(30) primary key, b varchar(30))")
        if CUBRID_URL:
            # The test server has none.
            admin.execute("drop table if exists hr_noted")
            admin.execute("create table hr_noted (a varchar(30), b varchar(30))")
            admin.execute(
                "create trigger hr_raising after insert on hr_raised execute insert into hr_noted values (obj.a, obj.b)"
            )
        for _ in range(2):
            with pytest.raises(errors.Error):
                conn.executemany(sql, [*rows[:-1], ("a", "x" * 50)])
            conn.executemany(sql, rows)
            stored = admin.fetch("select a, b from hr_raised")
            assert sorted(stored) == sorted((a, b.upper()) for a, b in rows)
            admin.execute("delete from hr_raised")
        admin.execute("drop table hr_raised")
        admin.execute("drop table if exists hr_noted")
