"""Behind a pooler that has no prepared statements, in the default mode: a client never executes the statement of
another client, and none waits for ever."""

# Made by tools/async_to_sync.py of test_poolers_without_statements_async.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest
from tests.company.pooler import newest_pgbouncer, pgbouncer, system_pgbouncer

import headrace
from headrace.testing import PostgresServer

LIMIT = 20
"""Seconds after which a statement is cancelled: one that waits for ever fails its test."""


@pytest.fixture(scope="module", params=[system_pgbouncer, newest_pgbouncer], ids=["oldest", "newest"])
def url(request: pytest.FixtureRequest, server: PostgresServer) -> Iterator[str]:
    """A PgBouncer with two server connections."""
    is_old = request.param is system_pgbouncer
    with pgbouncer(request.param(), server, more="" if is_old else "max_prepared_statements = 0", size=2) as address:
        yield address


def connected(stack: ExitStack, url: str, **more: Any) -> Any:
    """A connection to the pooler."""
    options = {"autocommit": True, "command_timeout": LIMIT, **more}
    conn = headrace.connect(url, **options)
    stack.enter_context(conn)
    return conn


def _execute(conn: Any, sql: str, n: int) -> Any:
    cursor = conn.execute(sql, (n,))
    return cursor.fetchall()


def _fetch(conn: Any, sql: str, n: int) -> Any:
    return conn.fetch(sql, n)


def _piped(conn: Any, sql: str, n: int) -> Any:
    """The rows, or "lost" if the error says that the server connection does not have the statement, and what to do."""
    try:
        with conn.pipeline():
            cursors = [conn.execute(sql, (n,)) for _ in range(5)]
            cursors.append(conn.execute(f"{sql} + $1::int * 0", (n,)))
    except headrace.errors.InvalidSqlStatementName as error:
        return "lost" if "prepared=False" in str(error) else error
    found = [cursor.fetchall() for cursor in cursors]
    return found[0] if all(rows == found[0] for rows in found) else found


def _in_block(conn: Any, sql: str, n: int) -> Any:
    with conn.transaction():
        return _execute(conn, sql, n)


def _stream(conn: Any, sql: str, n: int) -> Any:
    return list(conn.stream(sql, (n,), fetch_size=1))


def _many(conn: Any, sql: str, n: int) -> Any:
    rows = conn.fetchmany(sql, [(n,)] * 3)
    return rows[:1]


WAYS: dict[str, Callable[[Any, str, int], Any]] = {
    "execute": _execute,
    "fetch": _fetch,
    "block": _in_block,
    "pipeline": _piped,
    "stream": _stream,
    "many": _many,
}


@pytest.mark.parametrize("way", WAYS)
def test_each_client_executes_its_own_statements(url: str, way: str) -> None:
    run = WAYS[way]
    with ExitStack() as stack:
        clients = [(connected(stack, url), 1000), (connected(stack, url), 2000)]
        holders = [connected(stack, url, prepared=False) for _ in range(2)]
        # What was sent after a statement in a pipeline relies on the order, so that it is not repeated.
        lost = "lost" if way == "pipeline" else None
        for holder in (None, *holders, *holders):
            # While one of the two server connections is in use, everybody gets the other one.
            if holder:
                holder.execute("BEGIN")
            for n in range(3):
                for conn, base in clients:
                    assert run(conn, f"SELECT $1::int + {base}", n) in ([(base + n,)], lost)
            if holder:
                holder.execute("COMMIT")


def test_a_batch_after_other_requests_is_stored_once(url: str, server: PostgresServer) -> None:
    with headrace.connect(server.url, autocommit=True) as dba:
        dba.executescript("DROP TABLE IF EXISTS batches; CREATE TABLE batches (client int, n int)")
    with ExitStack() as stack:
        clients = [connected(stack, url), connected(stack, url)]
        for _ in range(3):
            for number, conn in enumerate(clients):
                with conn.pipeline():
                    conn.execute("SELECT 1")
                    conn.executemany(f"INSERT INTO batches VALUES ({number}, $1)", [(n,) for n in range(10)])
                    conn.execute("SELECT 2")
    with headrace.connect(server.url, autocommit=True) as dba:
        assert dba.fetch("SELECT client, count(*), sum(n) FROM batches GROUP BY client ORDER BY client") == [
            (0, 30, 135),
            (1, 30, 135),
        ]
