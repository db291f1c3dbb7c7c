"""Composite types with an attribute that has no binary form here: their text does not say what they are made of."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import headrace

from .conftest import Connect

# PostgreSQL 15 itself keeps a constant of a composite type as it was, and reads it wrongly after the change.
VALUE = """json_populate_record(NULL::mixed, '{"a": 7, "b": "x:1"}')"""
QUERIES = [f"SELECT {VALUE} AS v", f"SELECT ARRAY[{VALUE}, NULL] AS v", "SELECT l AS v FROM lines l"]
CHANGES = [
    "ALTER TYPE mixed ALTER ATTRIBUTE a TYPE text; ALTER TABLE lines ALTER a TYPE text",
    "ALTER TYPE mixed ALTER ATTRIBUTE b TYPE text; ALTER TABLE lines ALTER b TYPE text",
    "ALTER TYPE mixed ALTER ATTRIBUTE a TYPE numeric(9, 2); ALTER TABLE lines ALTER a TYPE numeric(9, 2)",
]


def _cursor(conn: Any, sql: str) -> Any:
    with conn.transaction(), conn.cursor("c") as cursor:
        return cursor.execute(sql).fetchall()


def _piped(conn: Any, sql: str) -> Any:
    with conn.pipeline():
        cursors = [conn.execute(sql) for _ in range(3)]
        conn.execute("SELECT 1")
    found = [cursor.fetchall() for cursor in cursors]
    assert found[0] == found[1] == found[2]
    return found[0]


def _in_block(conn: Any, sql: str) -> Any:
    with conn.transaction():
        assert _piped(conn, sql) == conn.fetch(sql)
        return conn.execute(sql).fetchall()


WAYS: dict[str, Callable[[Any, str], Any]] = {
    "execute": lambda conn, sql: conn.execute(sql).fetchall(),
    "fetchval": lambda conn, sql: [(conn.fetchval(sql),)],
    "pipeline": _piped,
    "transaction": _in_block,
    "stream": lambda conn, sql: list(conn.stream(sql, fetch_size=1)),
    "cursor": _cursor,
    "many": lambda conn, sql: conn.fetchmany(sql, [(), ()])[:1],
    "script": lambda conn, sql: conn.executescript(sql).fetchall(),
    "copy": lambda conn, sql: list(conn.copy_out(sql)),
}


@pytest.fixture(autouse=True)
def types(dba: Any, schema: str) -> None:
    """A composite type, and a table whose rows are of another one."""
    dba.executescript(
        "CREATE TYPE mixed AS (a int, b tsvector); CREATE TABLE lines (a int, b tsvector);"
        "INSERT INTO lines SELECT 7, 'x:1'::tsvector FROM generate_series(1, 3)"
    )


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("change", CHANGES)
def test_a_composite_as_text_follows_its_type(connect: Connect, dba: Any, schema: str, way: str, change: str) -> None:
    conn = connect(autocommit=True, options=f"-c search_path={schema}")
    for _ in range(2):
        assert [WAYS[way](conn, sql)[0] for sql in QUERIES] == [
            ((7, "'x':1"),),
            ([(7, "'x':1"), None],),
            ((7, "'x':1"),),
        ]
    dba.executescript(change)
    fresh = connect(autocommit=True, options=f"-c search_path={schema}")
    for sql in QUERIES:
        expected = repr(fresh.fetch(sql)[0])
        assert [repr(WAYS[way](conn, sql)[0]) for _ in range(2)] == [expected] * 2


def test_a_stream_beside_other_statements_reads_all_rows(connect: Connect, schema: str) -> None:
    conn = connect(options=f"-c search_path={schema}")
    for fetch_size in (1, 2, 3, 100):
        assert list(conn.stream(QUERIES[-1], fetch_size=fetch_size)) == [((7, "'x':1"),)] * 3
    with conn.cursor("c") as cursor:
        cursor.execute(QUERIES[-1])
        assert [cursor.fetchone(), conn.fetchrow(QUERIES[-1]), cursor.fetchone()] == [((7, "'x':1"),)] * 3
    assert conn.execute(QUERIES[-1]).description[0].name == "v"


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("change", ["ALTER ATTRIBUTE a TYPE text", "ADD ATTRIBUTE c int", "DROP ATTRIBUTE a"])
def test_no_composite_is_read_as_what_it_was_at_the_snapshot(
    connect: Connect, dba: Any, schema: str, way: str, change: str
) -> None:
    conn = connect(autocommit=True, options=f"-c search_path={schema}")
    assert conn.fetchval(QUERIES[0]) == (7, "'x':1")
    with dba.transaction(force_rollback=True):
        dba.execute(f"ALTER TYPE mixed {change}")
    # A COPY that is given up may be cancelled on the server, which fails the transaction.
    with conn.transaction(force_rollback=True):
        conn.execute("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")
        assert conn.fetchval(QUERIES[0]) == (7, "'x':1")
        dba.execute(f"ALTER TYPE mixed {change}")
        with pytest.raises(headrace.DataError, match=r"altered|changed"):
            WAYS[way](conn, QUERIES[0])
    fresh = connect(autocommit=True, options=f"-c search_path={schema}")
    assert repr(conn.fetch(QUERIES[0])) == repr(fresh.fetch(QUERIES[0]))
