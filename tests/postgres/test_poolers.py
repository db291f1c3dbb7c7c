"""Behind a pooler that prepares statements by itself: after a schema change it prepares them again, unseen."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from tests.company.pooler import newest_pgbouncer, pgbouncer

import headrace
from headrace.testing import PostgresServer

from .conftest import Connect

INT = 1094795585  # as text in binary form: AAAA
_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def url(server: PostgresServer) -> Iterator[str]:
    """The newest PgBouncer, with two server connections."""
    with pgbouncer(newest_pgbouncer(), server, more="max_prepared_statements = 100", size=2) as address:
        yield address


@pytest.fixture
def dba(server: PostgresServer) -> Iterator[Any]:
    """A session of the server itself, which changes tables."""
    with headrace.connect(server.url, autocommit=True) as connection:
        yield connection


@pytest.fixture
def table(dba: Any) -> str:
    """A table that changes."""
    name = f"pooled_{next(_numbers)}"
    dba.executescript(f"CREATE TABLE {name} (a int, b int); INSERT INTO {name} VALUES (1, {INT})")
    return name


def _cursor(conn: Any, sql: str) -> Any:
    with conn.transaction(), conn.cursor("c") as cursor:
        return cursor.execute(sql).fetchall()


def _piped(conn: Any, sql: str) -> Any:
    with conn.pipeline():
        cursors = [conn.execute(sql) for _ in range(3)]
    found = [cursor.fetchall() for cursor in cursors]
    assert found[0] == found[1] == found[2]
    return found[0]


READS: dict[str, Callable[[Any, str], Any]] = {
    "execute": lambda conn, sql: conn.execute(sql).fetchall(),
    "fetch": lambda conn, sql: conn.fetch(sql),
    "transaction": lambda conn, sql: _in_block(conn, sql),
    "pipeline": _piped,
    "stream": lambda conn, sql: list(conn.stream(sql, fetch_size=1)),
    "cursor": _cursor,
    "many": lambda conn, sql: conn.fetchmany(sql, [()]),
}


def _in_block(conn: Any, sql: str) -> Any:
    with conn.transaction():
        return conn.execute(sql).fetchall()


def _inserts(conn: Any, sql: str, rows: list[tuple[Any, ...]]) -> None:
    with conn.pipeline():
        for row in rows:
            conn.execute(sql, row)


WRITES: dict[str, Callable[[Any, str, list[tuple[Any, ...]]], Any]] = {
    "execute": lambda conn, sql, rows: [conn.execute(sql, row) for row in rows],
    "many": lambda conn, sql, rows: conn.executemany(sql, rows),
    "pipeline": _inserts,
    "returning": lambda conn, sql, rows: conn.executemany(sql + " RETURNING b", rows, returning=True),
}


@contextlib.contextmanager
def moved(connect: Connect) -> Iterator[None]:
    """A transaction on one of the two server connections: what is done meanwhile goes to the other one."""
    other = connect(autocommit=True)
    with other.transaction():
        other.execute("SELECT 1")
        yield


@pytest.mark.parametrize("way", READS)
@pytest.mark.parametrize("times", [1, 2])
@pytest.mark.parametrize("ddl", ["ALTER b TYPE text USING 'AAAA'", "ALTER b TYPE float4 USING 1", "ADD c int"])
def test_rows_are_read_as_the_columns_are_now(
    connect: Connect, dba: Any, table: str, way: str, times: int, ddl: str
) -> None:
    conn = connect(autocommit=True)
    sql = f"SELECT * FROM {table}"
    for _ in range(times):
        assert READS[way](conn, sql) == [(1, INT)]
    dba.execute(f"ALTER TABLE {table} {ddl}")
    with moved(connect):
        found = READS[way](conn, sql)
        assert found == READS[way](conn, sql) == dba.fetch(sql)


@pytest.mark.parametrize("way", WRITES)
@pytest.mark.parametrize("places", ["%s, %s", "$1, $2"])
@pytest.mark.parametrize("typname", ["text", "float4", "bigint"])
def test_parameters_keep_their_types(
    connect: Connect, dba: Any, table: str, way: str, places: str, typname: str
) -> None:
    conn = connect(autocommit=True)
    sql = f"INSERT INTO {table} (a, b) VALUES ({places})"
    for _ in range(2):
        WRITES[way](conn, sql, [(2, INT), (3, INT)])
    dba.execute(f"ALTER TABLE {table} ALTER b TYPE {typname}")
    with moved(connect):
        for _ in range(2):
            WRITES[way](conn, sql, [(2, INT), (3, INT)])
        assert dba.fetch(f"SELECT DISTINCT b FROM {table}") == dba.fetch(f"SELECT {INT}::{typname}")
