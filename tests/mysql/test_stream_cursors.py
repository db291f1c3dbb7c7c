"""Cursors that receive their rows while they are fetched."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import headrace.mysql
from headrace import errors
from headrace.rows import dict_row
from served import Served

Conn = headrace.mysql.Connection[Any]
ROWS = 10_000


def sequence(server: Served, count: int) -> str:
    """A query of that many rows."""
    return f"select seq, repeat('x', 50) as text from {server.series(count)}"


@pytest.fixture(params=[{"stream": True}, {"on_server": True}], ids=["received", "on_server"])
def kind(request: pytest.FixtureRequest) -> dict[str, bool]:
    """Where rows are that were not fetched yet."""
    return request.param  # type: ignore[no-any-return]


def test_fetching_goes_through_the_blocks_in_order(my_server: Served, my: Conn, kind: dict[str, bool]) -> None:
    expected = [(n, "x" * 50) for n in range(1, ROWS + 1)]
    with my.cursor(**kind) as cursor:
        cursor.itersize = 300
        cursor.execute(sequence(my_server, ROWS))
        assert [column.name for column in cursor.description or ()] == ["seq", "text"]
        rows = [cursor.fetchone(), *cursor.fetchmany(299), *cursor.fetchmany(1), *cursor.fetchmany(1_000)]
        assert rows == expected[:1_301]
        assert cursor.rownumber == 1_301
        assert [next(cursor) for _ in range(2)] == expected[1_301:1_303]
        assert cursor.fetchall() == expected[1_303:]
        assert (cursor.fetchone(), cursor.fetchmany(5), cursor.fetchall()) == (None, [], [])
    assert my.fetchval("select 42") == 42


async def test_the_same_on_asyncio(my_server: Served, amy: Any, kind: dict[str, bool]) -> None:
    expected = [(n, "x" * 50) for n in range(1, ROWS + 1)]
    async with amy.cursor(**kind) as cursor:
        cursor.itersize = 300
        await cursor.execute(sequence(my_server, ROWS))
        assert [column.name for column in cursor.description] == ["seq", "text"]
        rows = [await cursor.fetchone(), *await cursor.fetchmany(299), *await cursor.fetchmany(1_000)]
        assert rows == expected[:1_300]
        assert [row async for row in cursor] == expected[1_300:]
    assert await amy.fetchval("select 42") == 42


def test_results_without_rows(my_server: Served, my: Conn, kind: dict[str, bool]) -> None:
    with my.cursor(row_factory=dict_row, **kind) as cursor:
        cursor.execute("select ? as a from dual where 1 = 0", (1,))
        assert [column.name for column in cursor.description or ()] == ["a"]
        assert cursor.fetchall() == []
        cursor.execute("create temporary table nothing (n int)")
        assert cursor.description is None
        with pytest.raises(errors.ProgrammingError, match="no result with rows"):
            cursor.fetchone()
        cursor.execute("insert into nothing values (1), (2)")
        assert cursor.rowcount == 2
        cursor.execute("select n from nothing order by n")
        assert cursor.fetchall() == [{"n": 1}, {"n": 2}]


def test_another_statement_and_the_end_drop_what_was_not_fetched(
    my_server: Served, my: Conn, kind: dict[str, bool]
) -> None:
    with my.cursor(**kind) as cursor:
        for last in (7, 8):
            cursor.execute(sequence(my_server, 2_000_000 if "stream" in kind else ROWS))
            assert len(cursor.fetchmany(last)) == last
        assert cursor.nextset() is None
        assert my.fetchval("select 1") == 1
        cursor.execute(sequence(my_server, ROWS))
    assert my.fetchval("select 42") == 42
    with pytest.raises(errors.InterfaceError, match="closed"):
        cursor.fetchone()


def test_only_a_cursor_on_the_server_lets_others_go_between(my_server: Served, my: Conn, kind: dict[str, bool]) -> None:
    with my.cursor(**kind) as cursor:
        cursor.itersize = 10
        cursor.execute(sequence(my_server, ROWS))
        if "stream" in kind:
            with pytest.raises(errors.InterfaceError, match="on_server=True"):
                my.execute("select 1")
        else:
            assert my.fetchval("select 1") == 1
        assert len(cursor.fetchall()) == ROWS


def test_what_a_cursor_that_streams_cannot_do(my: Conn, kind: dict[str, bool]) -> None:
    with my.cursor(**kind) as cursor:
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


async def test_an_interrupted_fetch_is_not_the_end_of_the_result(
    my_server: Served, amy: Any, kind: dict[str, bool]
) -> None:
    async with amy.cursor(**kind) as cursor:
        # More than is on its way at that time.
        await cursor.execute(sequence(my_server, 2_000_000 if "stream" in kind else ROWS))
        fetching = asyncio.ensure_future(cursor.fetchall())
        await asyncio.sleep(0)
        fetching.cancel()
        with pytest.raises(asyncio.CancelledError):
            await fetching
        with pytest.raises(errors.ProgrammingError):
            await cursor.fetchone()
    assert await amy.fetchval("select 42") == 42


def test_counts_stay_after_close(my: Conn, kind: dict[str, bool]) -> None:
    my.execute("create temporary table of_counts (id int auto_increment primary key, v int)")
    with my.cursor(**kind) as cursor:
        cursor.execute("insert into of_counts (v) values (1), (2)")
    assert (cursor.rowcount, cursor.lastrowid) == (2, 1)


async def test_counts_stay_after_close_on_asyncio(amy: Any, kind: dict[str, bool]) -> None:
    await amy.execute("create temporary table of_counts (id int auto_increment primary key, v int)")
    async with amy.cursor(**kind) as cursor:
        await cursor.execute("insert into of_counts (v) values (1), (2)")
    assert (cursor.rowcount, cursor.lastrowid) == (2, 1)
