"""What is still open on a connection when it goes back to its pool does not see what its next user does."""

from __future__ import annotations

import contextlib
from typing import Any

import pytest

import headrace
import headrace.aio
import headrace.informix
from headrace import errors
from servers import Database

ROWS = 60_000
PLENTY = [(n,) for n in range(ROWS)]


@pytest.fixture
def table(any_db: Database) -> Any:
    """The name of a table with many rows."""
    with contextlib.closing(any_db.connect(autocommit=True)) as conn:
        conn.execute("drop table if exists handed_back")
        conn.execute("create table handed_back (n int)")
        conn.executemany(f"insert into handed_back values ({any_db.differences.mark})", PLENTY)
        yield "handed_back"
        conn.execute("drop table handed_back")


def test_stream_that_outlives_its_turn_reads_nothing_of_the_next_user(any_db: Database, table: str) -> None:
    with headrace.ConnectionPool(any_db.url, min_size=1, max_size=1, kwargs={"autocommit": True}) as pool:
        one = pool.getconn()
        rows = one.stream(f"select n from {table}")
        next(rows)
        pool.putconn(one)
        with pool.connection() as two, two.transaction():
            two.execute(f"delete from {table} where n > 30000")
            with pytest.raises(errors.Error):
                list(rows)
            assert two.fetchval(f"select count(*) from {table}") == 30_001
            raise headrace.Rollback
        with pool.connection() as two:
            assert two.fetchval(f"select count(*) from {table}") == ROWS


async def test_loop_stream_that_outlives_its_turn_reads_nothing_of_the_next_user(any_db: Database, table: str) -> None:
    kwargs = {"autocommit": True}
    async with headrace.aio.AsyncConnectionPool(any_db.url, min_size=1, max_size=1, kwargs=kwargs) as pool:
        one = await pool.getconn()
        rows = one.stream(f"select n from {table}")
        await anext(rows)
        await pool.putconn(one)
        async with pool.connection() as two, two.transaction():
            await two.execute(f"delete from {table} where n > 30000")
            with pytest.raises(errors.Error):
                [row async for row in rows]
            assert await two.fetchval(f"select count(*) from {table}") == 30_001
            raise headrace.Rollback
        async with pool.connection() as two:
            assert await two.fetchval(f"select count(*) from {table}") == ROWS


@pytest.mark.parametrize("mode", ["none", "rollback"])
def test_named_cursor_of_informix_ends_with_a_reset(request: pytest.FixtureRequest, mode: str) -> None:
    server = request.getfixturevalue("informix_server")
    with contextlib.closing(headrace.informix.connect(**server.parameters(), autocommit=True)) as conn:
        cursor = conn.cursor("held", withhold=True)
        cursor.execute("select n from numbers")
        cursor.fetchone()
        assert conn.needs_reset
        conn.reset(mode)
        assert not conn.needs_reset
        with pytest.raises(errors.InterfaceError, match="held is closed: the connection was reset"):
            cursor.fetchone()
        cursor.close()
        with conn.cursor("held", withhold=True) as again:
            again.execute("select count(*) from numbers")
            assert again.fetchone() == (1000,)


def test_query_of_informix_that_fails_leaves_nothing_to_reset(request: pytest.FixtureRequest) -> None:
    server = request.getfixturevalue("informix_server")
    with contextlib.closing(headrace.informix.connect(**server.parameters(), autocommit=True)) as conn:
        with pytest.raises(errors.ProgrammingError):
            next(conn.stream("select n from no_such_table"))
        with pytest.raises(errors.ProgrammingError):
            conn.cursor("held", withhold=True).execute("select n from no_such_table")
        assert not conn.needs_reset
