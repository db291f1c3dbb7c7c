"""Columns belong to what is read: a cursor, a prepared statement, a procedure is described when it is executed."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from typing import Any

import pytest

import headrace
from headrace import errors

from .conftest import Connect

QUERIES: list[tuple[str, list[tuple[Any, ...]]]] = [
    ("SELECT 100::int8 AS cents", [(100,)]),
    ("SELECT 19.99::float8 AS price", [(19.99,)]),
    ("SELECT timestamptz '2020-01-01 00:00+00' AS at", [(dt.datetime(2020, 1, 1, tzinfo=dt.timezone.utc),)]),
    ("SELECT 1::int8, 2", [(1, 2)]),
    ("SELECT 'a:1'::tsvector, 2", [("'a':1", 2)]),
    ("SELECT 'a', 1.50", [("a", Decimal("1.50"))]),
    ("SELECT 'postgres=r/postgres'::aclitem", [("postgres=r/postgres",)]),
    ("SELECT", [()]),
]
EACH = pytest.mark.parametrize("options", [{}, {"prepared": False}], ids=["prepared", "unprepared"])


@EACH
@pytest.mark.parametrize("how", ["fetchall", "fetchmany", "fetchone", "iterate"])
def test_a_cursor_name_used_again_gives_the_rows_of_its_own_query(connect: Connect, options: Any, how: str) -> None:
    conn = connect(**options)
    for sql, rows in [*QUERIES, *QUERIES]:
        with conn.cursor("report") as cursor:
            cursor.execute(sql)
            found = {
                "fetchall": cursor.fetchall,
                "fetchmany": lambda cursor=cursor: cursor.fetchmany(5),
                "fetchone": lambda cursor=cursor: [cursor.fetchone()],
                "iterate": lambda cursor=cursor: list(cursor),
            }[how]()
            assert found == rows, sql
            assert len(cursor.description) == len(rows[0])


@EACH
def test_a_fetch_by_hand_gives_the_rows_of_its_cursor(connect: Connect, options: Any) -> None:
    conn = connect(**options)
    for sql, rows in [*QUERIES, *QUERIES]:
        conn.execute(f"DECLARE c CURSOR FOR {sql}")
        assert conn.fetch("FETCH ALL FROM c") == rows, sql
        conn.execute("CLOSE c")


@EACH
def test_a_cursor_opened_by_a_function_gives_its_own_rows(connect: Connect, options: Any) -> None:
    conn = connect(**options)
    conn.execute("""
        CREATE OR REPLACE FUNCTION opened(sql text) RETURNS void LANGUAGE plpgsql AS $$
        DECLARE c refcursor := 'hidden'; BEGIN OPEN c FOR EXECUTE sql; END $$""")
    conn.execute("""
        CREATE OR REPLACE FUNCTION closed() RETURNS void LANGUAGE plpgsql AS $$
        DECLARE c refcursor := 'hidden'; BEGIN CLOSE c; END $$""")
    for sql, rows in QUERIES[:4] + QUERIES[:4]:
        conn.execute("SELECT opened($1)", (sql,))
        assert conn.fetch("FETCH ALL FROM hidden") == rows, sql
        conn.execute("SELECT closed()")
    conn.rollback()


@EACH
def test_a_statement_prepared_in_sql_gives_its_own_rows(connect: Connect, options: Any) -> None:
    conn = connect(autocommit=True, **options)
    for sql, rows in [*QUERIES, *QUERIES]:
        conn.execute(f"PREPARE p AS {sql}")
        assert conn.fetch("EXECUTE p") == rows, sql
        assert conn.fetch("EXECUTE p") == rows, sql
        conn.execute("DEALLOCATE p")


def test_a_statement_that_begins_to_return_rows_returns_them(conn: Any, schema: str) -> None:
    conn.execute(f"CREATE TABLE {schema}.w (a int)")
    conn.execute(f"PREPARE q AS INSERT INTO {schema}.w VALUES (1)")
    assert conn.execute("EXECUTE q").rowcount == 1
    conn.executescript("DO $$ BEGIN EXECUTE 'DEALLOCATE q'; EXECUTE 'PREPARE q AS SELECT 7'; END $$")
    assert conn.fetch("EXECUTE q") == [(7,)]


def test_a_procedure_that_changed_gives_its_own_columns(conn: Any, dba: Any, schema: str) -> None:
    name = f"{schema}.proc"
    cases = (("1::int8", "int8", 1), ("1.5::float8", "float8", 1.5), ("'x'::text", "text", "x"))
    for value, kind, expected in cases + cases:
        dba.execute(f"CREATE PROCEDURE {name}(OUT r {kind}) LANGUAGE plpgsql AS $$ BEGIN r := {value}; END $$")
        assert conn.fetchval(f"CALL {name}(NULL)") == expected
        assert conn.fetchval(f"CALL {name}(NULL)") == expected
        dba.execute(f"DROP PROCEDURE {name}")


def test_an_unprepared_statement_follows_its_table(connect: Connect, dba: Any, schema: str) -> None:
    conn = connect(autocommit=True, prepared=False)
    dba.execute(f"CREATE TABLE {schema}.t (v int8)")
    dba.execute(f"INSERT INTO {schema}.t VALUES (2)")
    assert conn.fetch(f"SELECT * FROM {schema}.t") == [(2,)]
    dba.execute(f"ALTER TABLE {schema}.t ALTER v TYPE float8")
    assert conn.fetch(f"SELECT * FROM {schema}.t") == [(2.0,)]
    assert conn.fetchmany(f"SELECT v FROM {schema}.t WHERE v > $1", [(0,), (1,)]) == [(2.0,), (2.0,)]
    dba.execute(f"ALTER TABLE {schema}.t ADD w text DEFAULT 'w'")
    assert conn.fetch(f"SELECT * FROM {schema}.t") == [(2.0, "w")]
    dba.execute(f"ALTER TABLE {schema}.t ALTER v TYPE timestamptz USING 'epoch'")
    assert list(conn.stream(f"SELECT * FROM {schema}.t")) == [(dt.datetime(1970, 1, 1, tzinfo=dt.timezone.utc), "w")]


def test_a_cursor_held_over_transactions_keeps_its_columns(conn: Any, dba: Any, schema: str) -> None:
    dba.execute(f"CREATE TABLE {schema}.h AS SELECT n::int8 FROM generate_series(1, 3) n")
    cursor = conn.cursor("held", withhold=True)
    cursor.execute(f"SELECT n FROM {schema}.h ORDER BY n")
    assert cursor.fetchone() == (1,)
    dba.execute(f"ALTER TABLE {schema}.h ALTER n TYPE float8")
    assert cursor.fetchall() == [(2,), (3,)]
    cursor.close()


def test_pooled_connections_keep_the_cursors_of_their_users_apart(url: str) -> None:
    with headrace.ConnectionPool(url, min_size=1, max_size=1) as pool:
        for sql, rows in QUERIES + QUERIES:
            with pool.connection() as conn, conn.cursor("report") as cursor:
                assert cursor.execute(sql).fetchall() == rows


def test_cursors_in_a_pipeline_give_their_own_rows(connect: Connect) -> None:
    conn = connect()
    with conn.pipeline():
        for sql, rows in QUERIES:
            with conn.cursor("report") as cursor:
                assert cursor.execute(sql).fetchall() == rows


def test_a_cursor_of_a_long_name_is_described(connect: Connect) -> None:
    conn = connect()
    with conn.cursor("é" * 60) as cursor:
        assert cursor.execute("SELECT 1 AS a").fetchall() == [(1,)]


def test_a_cursor_of_a_type_made_just_now_is_decoded(connect: Connect, schema: str) -> None:
    conn = connect()
    conn.execute(f"CREATE TYPE {schema}.pair AS (a int, b text)")
    with conn.cursor("c") as cursor:
        assert cursor.execute(f"SELECT (1, 'x')::{schema}.pair").fetchall() == [((1, "x"),)]
    conn.execute(f"DECLARE d CURSOR FOR SELECT (2, 'y')::{schema}.pair")
    assert conn.fetchval("FETCH d") == (2, "y")
    conn.rollback()


def test_a_cursor_that_is_gone_is_an_error(connect: Connect) -> None:
    conn = connect()
    cursor = conn.cursor("gone")
    cursor.execute("SELECT 1")
    conn.rollback()
    with pytest.raises(errors.InvalidCursorName):
        cursor.fetchall()
