"""Behind a pooler that has no prepared statements, in the default mode: a client never executes the statement of
another client, and none waits for ever."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import AsyncExitStack
from typing import Any

import pytest
from tests.company.pooler import newest_pgbouncer, pgbouncer, system_pgbouncer

import headrace
import headrace.aio
from headrace.testing import PostgresServer

LIMIT = 20
"""Seconds after which a statement is cancelled: one that waits for ever fails its test."""


@pytest.fixture(scope="module", params=[system_pgbouncer, newest_pgbouncer], ids=["oldest", "newest"])
def url(request: pytest.FixtureRequest, server: PostgresServer) -> Iterator[str]:
    """A PgBouncer with two server connections."""
    is_old = request.param is system_pgbouncer
    with pgbouncer(request.param(), server, more="" if is_old else "max_prepared_statements = 0", size=2) as address:
        yield address


async def connected(stack: AsyncExitStack, url: str, **more: Any) -> Any:
    """A connection to the pooler."""
    options = {"autocommit": True, "command_timeout": LIMIT, **more}
    conn = await headrace.aio.connect(url, **options)  # blocking: conn = headrace.connect(url, **options)
    await stack.enter_async_context(conn)
    return conn


async def _execute(conn: Any, sql: str, n: int) -> Any:
    cursor = await conn.execute(sql, (n,))
    return await cursor.fetchall()


async def _fetch(conn: Any, sql: str, n: int) -> Any:
    return await conn.fetch(sql, n)


async def _piped(conn: Any, sql: str, n: int) -> Any:
    """The rows, or "lost" if the error says that the server connection does not have the statement, and what to do."""
    try:
        async with conn.pipeline():
            cursors = [await conn.execute(sql, (n,)) for _ in range(5)]
            cursors.append(await conn.execute(f"{sql} + $1::int * 0", (n,)))
    except headrace.errors.InvalidSqlStatementName as error:
        return "lost" if "prepared=False" in str(error) else error
    found = [await cursor.fetchall() for cursor in cursors]
    return found[0] if all(rows == found[0] for rows in found) else found


async def _in_block(conn: Any, sql: str, n: int) -> Any:
    async with conn.transaction():
        return await _execute(conn, sql, n)


async def _stream(conn: Any, sql: str, n: int) -> Any:
    return [row async for row in conn.stream(sql, (n,), fetch_size=1)]


async def _many(conn: Any, sql: str, n: int) -> Any:
    rows = await conn.fetchmany(sql, [(n,)] * 3)
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
async def test_each_client_executes_its_own_statements(url: str, way: str) -> None:
    run = WAYS[way]
    async with AsyncExitStack() as stack:
        clients = [(await connected(stack, url), 1000), (await connected(stack, url), 2000)]
        holders = [await connected(stack, url, prepared=False) for _ in range(2)]
        # What was sent after a statement in a pipeline relies on the order, so that it is not repeated.
        lost = "lost" if way == "pipeline" else None
        for holder in (None, *holders, *holders):
            # While one of the two server connections is in use, everybody gets the other one.
            if holder:
                await holder.execute("BEGIN")
            for n in range(3):
                for conn, base in clients:
                    assert await run(conn, f"SELECT $1::int + {base}", n) in ([(base + n,)], lost)
            if holder:
                await holder.execute("COMMIT")


async def test_a_batch_after_other_requests_is_stored_once(url: str, server: PostgresServer) -> None:
    with headrace.connect(server.url, autocommit=True) as dba:
        dba.executescript("DROP TABLE IF EXISTS batches; CREATE TABLE batches (client int, n int)")
    async with AsyncExitStack() as stack:
        clients = [await connected(stack, url), await connected(stack, url)]
        for _ in range(3):
            for number, conn in enumerate(clients):
                async with conn.pipeline():
                    await conn.execute("SELECT 1")
                    await conn.executemany(f"INSERT INTO batches VALUES ({number}, $1)", [(n,) for n in range(10)])
                    await conn.execute("SELECT 2")
    with headrace.connect(server.url, autocommit=True) as dba:
        assert dba.fetch("SELECT client, count(*), sum(n) FROM batches GROUP BY client ORDER BY client") == [
            (0, 30, 135),
            (1, 30, 135),
        ]
