"""COPY, and large requests after others, through poolers that reassign the server connection after transactions."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest
from tests.company.pooler import newest_pgbouncer, pgbouncer, system_pgbouncer

import headrace
from headrace.testing import PostgresServer

Pooled = tuple[str, dict[str, Any]]
LIMIT = 20.0
"""Seconds after which a request is considered to wait forever."""


@pytest.fixture(scope="module", params=["system", "newest"])
def pooled(request: pytest.FixtureRequest, server: PostgresServer) -> Iterator[Pooled]:
    """What to connect with: one server connection for everybody."""
    if request.param == "system":
        with pgbouncer(system_pgbouncer(), server, size=1) as url:
            yield url, {"prepared": False}
    else:
        with pgbouncer(newest_pgbouncer(), server, "max_prepared_statements = 50", size=1) as url:
            yield url, {}


@pytest.fixture(autouse=True)
def table(server: PostgresServer) -> Iterator[None]:
    """Where rows are copied to."""
    with headrace.connect(server.url, autocommit=True) as dba:
        dba.executescript("drop table if exists copied; create table copied (a int, b text)")
        yield
        dba.execute("drop table copied")


async def _in(conn: Any) -> None:
    assert await conn.copy_in("copied", [(n, "x") for n in range(50)]) == 50


async def _out(conn: Any) -> None:
    assert [row async for row in await conn.copy_out("select generate_series(1, 500)")][499] == (500,)


async def _text(conn: Any) -> None:
    async with conn.cursor().copy("copy copied from stdin") as copy:
        for n in range(10):
            await copy.write_row((n, "y"))


async def _plain(conn: Any) -> None:
    with pytest.raises(headrace.ProgrammingError, match="COPY"):
        await conn.execute("copy (select 1) to stdout")


async def _script(conn: Any) -> None:
    with pytest.raises(headrace.DatabaseError, match="COPY"):
        await conn.executescript("select 1; copy copied from stdin")


@pytest.mark.parametrize("copy", [_in, _out, _text, _plain, _script])
def test_requests_around_a_copy_are_answered(pooled: Pooled, copy: Callable[[Any], Awaitable[None]]) -> None:
    async def asks(conn: Any, n: int) -> None:
        assert await conn.fetchval("select %s::int", n) == n

    async def test() -> None:
        conn, other = [await headrace.aio.connect(pooled[0], autocommit=True, **pooled[1]) for _ in range(2)]
        for _ in range(10):
            works = [asks(conn, 1), asks(conn, 2), copy(conn), asks(conn, 3), asks(other, 4), copy(conn), asks(conn, 5)]
            await asyncio.wait_for(asyncio.gather(*works), LIMIT)
        await conn.close()
        await other.close()

    asyncio.run(test())


def test_large_request_after_another_keeps_its_server(pooled: Pooled) -> None:
    async def asks(conn: Any, stopped: asyncio.Event) -> None:
        while not stopped.is_set():
            assert await conn.fetchval("select %s::text", "other") == "other"

    async def test() -> None:
        conn, other = [await headrace.aio.connect(pooled[0], autocommit=True, **pooled[1]) for _ in range(2)]
        size, stopped = 5_000_000, asyncio.Event()
        beside = asyncio.ensure_future(asks(other, stopped))
        for _ in range(4):
            slow = conn.execute("select pg_sleep(%s)", (0.01,))
            large = conn.fetchval("select length(%s::text)", "x" * size)
            _, found = await asyncio.wait_for(asyncio.gather(slow, large), LIMIT)
            assert found == size
        stopped.set()
        await asyncio.wait_for(beside, LIMIT)
        await conn.close()
        await other.close()

    asyncio.run(test())


def test_a_failed_copy_keeps_no_server(server: PostgresServer) -> None:
    # PgBouncer from 1.22 on takes a CopyDone that comes too late for a request, and keeps the server in any case.
    with (
        pgbouncer(system_pgbouncer(), server, size=1) as url,
        headrace.connect(url, autocommit=True, prepared=False) as conn,
        headrace.connect(url, autocommit=True, prepared=False) as other,
    ):
        for _ in range(5):
            with pytest.raises(headrace.DataError), conn.cursor().copy("copy copied from stdin") as copy:
                copy.write(b"x\ty\n")
                for _ in range(2000):
                    copy.write(b"1\t" + b"y" * 500 + b"\n")
            assert other.fetchval("select 1", timeout=LIMIT) == 1
            assert conn.fetchval("select 2", timeout=LIMIT) == 2
