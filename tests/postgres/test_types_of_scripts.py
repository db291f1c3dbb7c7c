"""Results of ``executescript``: the simple protocol describes the types of a result, and not their parts."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import errors

from .conftest import Connect

COMPOSITE = "SELECT ROW(7, 'x')::pair"
CASES = [
    ("CREATE TYPE pair AS (a int, b text)", COMPOSITE),
    ("CREATE TYPE pair AS (a int, b text)", "SELECT ARRAY[ROW(7, 'x')::pair, NULL]"),
    ("CREATE TYPE inner_pair AS (a int, b text); CREATE TYPE outer_pair AS (p inner_pair, q int[])", None),
    ("CREATE TYPE pair AS (a int, b text); CREATE DOMAIN some_pair AS pair", "SELECT ROW(7, 'x')::pair::some_pair"),
    ("CREATE TABLE lines (a int, b numeric)", "SELECT ROW(7, 1.50)::lines"),
    ("CREATE TYPE mood AS ENUM ('sad', 'ok')", "SELECT ARRAY['ok'::mood]"),
    ("CREATE TYPE spans AS RANGE (subtype = numeric)", "SELECT spans(1.5, 2)"),
    ("CREATE DOMAIN few AS int[]", "SELECT '{1,2}'::few"),
    ("CREATE DOMAIN small AS int", "SELECT ARRAY[1::small]"),
]


@pytest.mark.parametrize(("ddl", "sql"), CASES)
def test_a_type_met_first_in_a_script_has_its_value(
    connect: Connect, dba: Any, schema: str, ddl: str, sql: str
) -> None:
    sql = sql or "SELECT ROW(ROW(7, 'x'), '{1}')::outer_pair"
    dba.executescript(ddl)
    expected = dba.fetch(sql)
    for autocommit in (True, False):
        conn = connect(autocommit=autocommit, options=f"-c search_path={schema}")
        assert conn.executescript(sql).fetchall() == expected
        assert conn.executescript(f"SELECT 1; {sql}").nextset()


@pytest.mark.parametrize("ddl", ["ADD ATTRIBUTE c text", "DROP ATTRIBUTE b", "ALTER ATTRIBUTE a TYPE text"])
def test_a_composite_is_read_as_it_is_now(connect: Connect, dba: Any, schema: str, ddl: str) -> None:
    dba.execute("CREATE TYPE pair AS (a int, b int)")
    conn = connect(autocommit=True, options=f"-c search_path={schema}")
    sql = 'SELECT json_populate_record(NULL::pair, \'{"a": 7, "b": 8, "c": 9}\')'
    assert conn.executescript(sql).fetchone() == conn.fetchrow(sql) == (((7, 8)),)
    dba.execute(f"ALTER TYPE pair {ddl}")
    assert conn.executescript(sql).fetchone() == dba.fetchrow(sql) == conn.fetchrow(sql)


def test_results_of_a_script_stay_in_order(connect: Connect, dba: Any, schema: str) -> None:
    dba.execute("CREATE TYPE pair AS (a int, b text)")
    conn = connect(autocommit=True, options=f"-c search_path={schema}")
    cursor = conn.executescript(f"SELECT 1; {COMPOSITE}; CREATE TABLE t (a int); INSERT INTO t VALUES (1); TABLE t")
    found = [cursor.fetchall()]
    while cursor.nextset():
        found.append(cursor.fetchall() if cursor.description else cursor.statusmessage)
    assert found == [[(1,)], [((7, "x"),)], "CREATE TABLE", "INSERT 0 1", [(1,)]]


@pytest.mark.parametrize("rest", ["ALTER TYPE pair ALTER ATTRIBUTE a TYPE text", "DROP TYPE pair", "ROLLBACK"])
def test_a_type_that_is_gone_before_its_script_ends_is_refused(conn: Any, schema: str, rest: str) -> None:
    conn.execute(f"SET search_path = {schema}")
    with pytest.raises(errors.DataError, match="before it could be looked up"):
        conn.executescript(f"BEGIN; CREATE TYPE pair AS (a int, b text); {COMPOSITE}; {rest}")
    conn.executescript("ROLLBACK")
    assert conn.fetchval("SELECT 1") == 1


@pytest.mark.parametrize("autocommit", [True, False])
def test_types_are_looked_up_after_pipelined_statements(
    connect: Connect, dba: Any, schema: str, autocommit: bool
) -> None:
    dba.executescript("CREATE TYPE pair AS (a int, b text); CREATE TABLE t (a int primary key)")
    conn = connect(autocommit=autocommit, options=f"-c search_path={schema}")
    with conn.pipeline():
        script = conn.executescript(COMPOSITE)
        inserted = [conn.execute("INSERT INTO t VALUES (%s)", [i]) for i in range(5)]
        again = conn.executescript(f"{COMPOSITE}; SELECT 2")
    assert script.fetchall() == again.fetchall() == [((7, "x"),)]
    assert [cursor.rowcount for cursor in inserted] == [1] * 5


def test_a_failed_pipeline_keeps_what_a_script_has_given(connect: Connect, dba: Any, schema: str) -> None:
    dba.executescript("CREATE TYPE pair AS (a int, b text); CREATE TABLE t (a int primary key)")
    conn = connect(autocommit=True, options=f"-c search_path={schema}")
    script: Any = None
    with pytest.raises(errors.DivisionByZero), conn.pipeline():
        script = conn.executescript(COMPOSITE)
        conn.execute("INSERT INTO t VALUES (1)")
        conn.execute("SELECT 1 / 0")
        conn.execute("SELECT 1")
    assert script.fetchall() == [((7, "x"),)]
    assert conn.executescript(COMPOSITE).fetchone() == ((7, "x"),)
