"""``fetchrow`` and ``fetchval`` of a query with many rows: the first one is kept, the query is executed whole."""

from __future__ import annotations

import asyncio
import tracemalloc
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from servers import Database, MariaDB, PostgreSQL, database, names

ROWS = 20_000
WIDTH = 200
MOST_BYTES = ROWS * WIDTH // 4
"""More than the rows that a read buffer holds, and far less than all."""


@pytest.fixture(params=names(), scope="module")
def filled(request: pytest.FixtureRequest) -> Iterator[Database]:
    """A database with a table of many rows."""
    db = database(request, request.param)
    with db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists many_rows")
        conn.execute(f"create table many_rows (n int, v varchar({WIDTH}))")
        marks = ", ".join(db.native_marks(2))
        conn.executemany(f"insert into many_rows values ({marks})", [(n, f"{n:0{WIDTH}}") for n in range(ROWS)])
        yield db
        conn.execute("drop table many_rows")


def most_bytes(call: Callable[[], Any]) -> int:
    """The most memory that Python's objects have taken meanwhile."""
    tracemalloc.start()
    try:
        call()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


SQL = "select v, n from many_rows order by n"


def test_only_the_first_row_is_kept(filled: Database) -> None:
    with filled.connect(autocommit=True) as conn:
        assert conn.fetchval(SQL) == "0" * WIDTH
        assert conn.fetchrow(SQL) == ("0" * WIDTH, 0)
        assert most_bytes(lambda: conn.fetch(SQL)) > ROWS * WIDTH
        assert most_bytes(lambda: conn.fetchval(SQL)) < MOST_BYTES
        assert most_bytes(lambda: conn.fetchrow(SQL)) < MOST_BYTES
        assert conn.fetchval("select count(*) from many_rows") == ROWS


def test_only_the_first_row_is_kept_on_a_loop(filled: Database) -> None:
    async def main() -> None:
        async with await filled.aconnect(autocommit=True) as conn:
            assert await conn.fetchrow(SQL) == ("0" * WIDTH, 0)
            tracemalloc.start()
            try:
                assert await conn.fetchval(SQL) == "0" * WIDTH
                assert tracemalloc.get_traced_memory()[1] < MOST_BYTES
            finally:
                tracemalloc.stop()

    asyncio.run(main())


@pytest.mark.parametrize("any_db", names(PostgreSQL, MariaDB), indirect=True)
def test_a_statement_with_effects_is_executed_to_its_end(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists all_inserted")
        conn.execute("create table all_inserted (n int)")
        assert conn.fetchval("insert into all_inserted values (1), (2), (3) returning n") == 1
        assert conn.fetchval("select count(*) from all_inserted") == 3
        conn.execute("drop table all_inserted")
