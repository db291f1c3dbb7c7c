"""Cursors that receive their rows while they are fetched."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import headrace
import headrace.cubrid
from headrace import errors
from headrace.rows import dict_row

Connection = headrace.cubrid.Connection[Any]
COUNT = 5_000


def many(numbers: str) -> str:
    """A query of 5,000 rows, which are more than a page."""
    return f"select a.n * 1000 + b.n, 'text' from {numbers} a, {numbers} b where a.n < 5 order by 1"


EXPECTED = [(n, "text") for n in range(COUNT)]


def test_fetching_goes_through_the_blocks_in_order(conn: Connection, numbers: str) -> None:
    with conn.cursor(stream=True) as cursor:
        cursor.itersize = 300  # type: ignore[attr-defined]
        cursor.execute(many(numbers))
        assert len(cursor.description or ()) == 2
        rows = [cursor.fetchone(), *cursor.fetchmany(299), *cursor.fetchmany(1), *cursor.fetchmany(1_000)]
        assert rows == EXPECTED[:1_301]
        assert cursor.rownumber == 1_301
        assert [next(cursor) for _ in range(2)] == EXPECTED[1_301:1_303]
        assert cursor.fetchall() == EXPECTED[1_303:]
        assert (cursor.fetchone(), cursor.fetchmany(5), cursor.fetchall()) == (None, [], [])
    assert conn.fetchval("select 42") == 42


async def test_the_same_on_asyncio(url: str, numbers: str) -> None:
    async with await headrace.aio.connect(url) as conn:
        async with conn.cursor(stream=True) as cursor:
            cursor.itersize = 300
            await cursor.execute(many(numbers))
            rows = [await cursor.fetchone(), *await cursor.fetchmany(299), *await cursor.fetchmany(1_000)]
            assert rows == EXPECTED[:1_300]
            assert [row async for row in cursor] == EXPECTED[1_300:]
            await cursor.execute(many(numbers))
            fetching = asyncio.ensure_future(cursor.fetchall())
            await asyncio.sleep(0)
            fetching.cancel()
            with pytest.raises(asyncio.CancelledError):
                await fetching
            with pytest.raises(errors.ProgrammingError):
                await cursor.fetchone()
        assert await conn.fetchval("select 42") == 42


def test_results_without_rows(conn: Connection) -> None:
    with conn.cursor(row_factory=dict_row, stream=True) as cursor:
        cursor.execute("select cast(? as int) as a from db_root where 1 = 0", (1,))
        assert [column.name for column in cursor.description or ()] == ["a"]
        assert cursor.fetchall() == []
        cursor.execute("drop table if exists hr_nothing")
        cursor.execute("create table hr_nothing (id int auto_increment primary key, n int)")
        assert cursor.description is None
        with pytest.raises(errors.ProgrammingError, match="no result with rows"):
            cursor.fetchone()
        cursor.execute("insert into hr_nothing (n) values (1), (2)")
        assert (cursor.rowcount, cursor.lastrowid) == (2, 1)
        cursor.execute("select n from hr_nothing order by n")
        assert cursor.fetchall() == [{"n": 1}, {"n": 2}]
    conn.rollback()


def test_another_statement_and_the_end_drop_what_was_not_fetched(conn: Connection, numbers: str) -> None:
    with conn.cursor(stream=True) as cursor:
        for last in (7, 8):
            cursor.execute(many(numbers))
            assert len(cursor.fetchmany(last)) == last
            with pytest.raises(errors.InterfaceError, match="stream"):
                conn.execute("select 1")
        assert cursor.nextset() is None
        assert conn.fetchval("select 1") == 1
        cursor.execute(many(numbers))
    assert conn.fetchval("select 42") == 42
    with pytest.raises(errors.InterfaceError, match="closed"):
        cursor.fetchone()


def test_what_a_cursor_that_streams_cannot_do(conn: Connection) -> None:
    with conn.cursor(stream=True) as cursor:
        for call in (
            lambda: cursor.executemany("select ?", [(1,)]), lambda: cursor.callproc("p"), lambda: cursor.scroll(1)
        ):  # fmt: skip
            with pytest.raises(errors.NotSupportedError, match="cursor that streams"):
                call()
        with pytest.raises(errors.UndefinedTable):
            cursor.execute("select * from missing")
        with pytest.raises(errors.ProgrammingError):
            cursor.fetchall()
        assert cursor.execute("select 1").fetchall() == [(1,)]


def test_cancel_leaves_the_rows_of_a_stream_alone(conn: Connection, numbers: str) -> None:
    with conn.cursor(stream=True) as cursor:
        cursor.itersize = 300  # type: ignore[attr-defined]
        cursor.execute(many(numbers))
        rows = [cursor.fetchone()]
        conn.cancel()
        assert rows + cursor.fetchall() == EXPECTED
    assert conn.fetchval("select 42") == 42
