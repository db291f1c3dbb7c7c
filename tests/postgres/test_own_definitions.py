"""Own changes of tables are known to statements that cannot be repeated: those of pipelines, and batches."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import Rollback, errors

from .conftest import Connect

CHANGES = {
    "script": lambda conn, sql: conn.executescript(sql),
    "one by one": lambda conn, sql: [conn.execute(part) for part in sql.split(";")],
    "anonymous block": lambda conn, sql: conn.execute(f"DO $$BEGIN {sql}; END$$"),
    "as text": lambda conn, sql: conn.executescript(f"SELECT 1; DO $$BEGIN {sql}; END$$"),
}
"""Ways to change tables."""


@pytest.fixture(params=[True, False], ids=["autocommit", "transaction"])
def mine(connect: Connect, schema: str, request: pytest.FixtureRequest) -> Any:
    """A connection whose search path begins with a schema of its own, and a table ``t`` there."""
    conn = connect(autocommit=True)
    conn.execute(f"SET search_path = {schema}")
    conn.execute("CREATE TABLE t AS SELECT 1 AS a")
    conn.autocommit = request.param
    return conn


def piped(conn: Any, sql: str) -> Any:
    """Rows of a statement that has others before and after it."""
    with conn.pipeline():
        conn.execute("SELECT 1")
        cursor = conn.execute(sql)
        conn.execute("SELECT 2")
    return cursor.fetchall()


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_pipeline_after_own_definitions_sees_them(mine: Any, change: Any) -> None:
    for value in ("'x'::text", "2", "true"):
        before = piped(mine, "SELECT * FROM t")
        assert mine.execute("SELECT * FROM t").fetchall() == before
        change(mine, f"DROP TABLE t;CREATE TABLE t AS SELECT {value} AS a, 1 AS b")
        expected = mine.executescript(f"SELECT {value}, 1").fetchall()
        assert piped(mine, "SELECT * FROM t") == piped(mine, "SELECT * FROM t") == expected


@pytest.mark.parametrize("forget", ["DEALLOCATE ALL", "DISCARD ALL"])
def test_statements_that_a_pipeline_deallocates_are_prepared_again(mine: Any, forget: str) -> None:
    mine.rollback()
    mine.autocommit = True
    for _ in range(2):
        assert mine.fetchval("SELECT 1 + %s", 2) == 3
        with mine.pipeline():
            mine.execute(forget)
            first = mine.execute("SELECT 1 + %s", (2,))
            second = mine.execute("SELECT 1 + %s", (3,))
        assert (first.fetchall(), second.fetchall()) == ([(3,)], [(4,)])


def test_definitions_within_a_pipeline_are_seen_after_them(mine: Any) -> None:
    assert piped(mine, "SELECT * FROM t") == [(1,)]
    for change, row in (("ALTER TABLE t ADD b int", (1, None)), ("DO $$BEGIN ALTER TABLE t DROP b; END$$", (1,))):
        with mine.pipeline():
            mine.execute(change)
            first = mine.execute("SELECT * FROM t")
            second = mine.execute("SELECT * FROM t")
        assert first.fetchall() == second.fetchall() == [row]


def test_batch_of_a_generator_after_own_definitions_returns_their_rows(mine: Any) -> None:
    insert = "INSERT INTO t (a) VALUES (%s) RETURNING *"
    values = [1, 2.0, 3, 4.0]
    for columns in (1, 2, 3):
        for _ in range(2):
            cursor = mine.executemany(insert, ((value,) for value in values), returning=True)
            rows = cursor.fetchall()
            while cursor.nextset():
                rows += cursor.fetchall()
            assert rows == [(int(value), *[None] * (columns - 1)) for value in values]
        mine.execute(f"ALTER TABLE t ADD c{columns} date")


def test_end_of_a_local_search_path_is_the_end_of_types_chosen_in_it(connect: Connect, dba: Any, schema: str) -> None:
    dba.executescript(f"CREATE SCHEMA {schema}_b; CREATE TABLE {schema}_b.e AS SELECT 1::int4 AS v")
    dba.executescript(f"CREATE TABLE {schema}.e AS SELECT 1::int8 AS v")
    conn = connect(autocommit=True)
    conn.execute(f"SET search_path = {schema}")
    query = "SELECT v = $1, pg_typeof($1)::text FROM e"
    for way in ("COMMIT", "ROLLBACK"):
        conn.execute("BEGIN")
        conn.execute(f"SET LOCAL search_path = {schema}_b")
        assert conn.fetch(query, 1) == [(True, "integer")]
        conn.execute(way)
        assert conn.fetch(query, 1) == [(True, "bigint")]


def test_batch_whose_statement_is_outdated_keeps_its_place_in_a_pipeline(conn: Any, dba: Any, schema: str) -> None:
    dba.execute(f"CREATE TABLE {schema}.t AS SELECT 1 AS a")
    update = f"UPDATE {schema}.t SET a = a + $1 RETURNING *"

    def piped() -> Any:
        with conn.pipeline():
            conn.executemany(update, [(1,), (1,)], returning=True)
            cursor = conn.execute(f"SELECT a FROM {schema}.t")
        return cursor.fetchall()

    assert (piped(), piped()) == ([(3,)], [(5,)])
    dba.execute(f"ALTER TABLE {schema}.t ADD b int")
    try:
        assert piped() == [(7,)]
    except errors.FeatureNotSupported:
        assert piped() == [(7,)]


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_rows_of_a_function_have_the_columns_of_its_type_after_own_definitions(mine: Any, change: Any) -> None:
    """No error of the server tells that they are others: the plan of the query that calls it stays."""
    mine.execute("CREATE VIEW v AS SELECT a FROM t")
    for kind in ("t", "v"):
        body = f"BEGIN RETURN QUERY SELECT * FROM {kind}; END"
        mine.execute(f"CREATE FUNCTION of_{kind}() RETURNS SETOF {kind} LANGUAGE plpgsql AS '{body}'")
    queries = ("SELECT * FROM of_t()", "SELECT * FROM of_v()", "SELECT * FROM of_t() WHERE a = %s")
    seen: list[Any] = []
    for sql in (
        "SELECT 1",
        "ALTER TABLE t ADD b int DEFAULT 2",
        "CREATE OR REPLACE VIEW v AS SELECT a, b FROM t",
        "ALTER TABLE t RENAME b TO c;ALTER TABLE t ADD d text",
        "ALTER TABLE t DROP d",
    ):
        if sql != "SELECT 1" or change is CHANGES["one by one"]:
            change(mine, sql)
        for _ in range(2):
            for query in queries:
                cursor = mine.execute(query, (1,) if "%s" in query else None)
                found = ([column[0] for column in cursor.description], cursor.fetchall())
                fresh = mine.execute(f"{query} -- {len(seen)}", (1,) if "%s" in query else None)
                assert found == ([column[0] for column in fresh.description], fresh.fetchall()), (sql, query)
                seen.append(found)


def test_rows_of_a_function_have_the_columns_of_its_type_after_a_rollback(mine: Any) -> None:
    body = "BEGIN RETURN QUERY SELECT * FROM t; END"
    mine.execute(f"CREATE FUNCTION of_t() RETURNS SETOF t LANGUAGE plpgsql AS '{body}'")
    if not mine.autocommit:
        mine.commit()
    with mine.transaction():
        mine.execute("ALTER TABLE t ADD b int")
        assert mine.fetch("SELECT * FROM of_t()") == [(1, None)]
        raise Rollback
    assert mine.fetch("SELECT * FROM of_t()") == [(1,)]
