"""A batch without an end leaves the loop's other tasks their turn, however fast the server takes its rows."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import headrace
import headrace.aio
from servers import Database, names

TURNS = 3
FIRST_ROWS = 5000
"""Within which a batch may wait for answers to what it asks first."""
MOST_ROWS = 60_000
"""Of a batch that nobody else has a turn beside: far more than a few buffers hold."""

SOME_ROWS = 20_000
MOST_ROWS_OF_A_TURN = 4000
"""A quarter of those that a command with many rows has at most, and more than the first ones, of which it is not known
yet how long they take."""


class _Turns:
    """Counts the turns that another task has."""

    def __init__(self) -> None:
        self.count = 0

    async def _counting(self) -> None:
        while True:
            await asyncio.sleep(0)
            self.count += 1

    @contextlib.contextmanager
    def counted(self) -> Iterator[None]:
        other = asyncio.ensure_future(self._counting())
        try:
            yield
        finally:
            other.cancel()


async def _stored_beside(turns: _Turns, any_db: Database, rows: Iterator[tuple[Any, ...]]) -> Any:
    """Stores the rows in a table, while another task counts its turns; returns how many rows it has then."""
    async with await any_db.aconnect(autocommit=True) as conn:
        await conn.execute("drop table if exists of_turns")
        await conn.execute("create table of_turns (n int, v varchar(20))")
        marks = ", ".join(any_db.native_marks(2))
        with turns.counted():
            await conn.executemany(f"insert into of_turns values ({marks})", rows)
        stored = await conn.fetchval("select count(*) from of_turns")
        await conn.execute("drop table of_turns")
    return stored


@pytest.mark.parametrize("any_db", names(), indirect=True)
@pytest.mark.asyncio
async def test_other_tasks_have_their_turn_beside_a_batch(any_db: Database) -> None:
    rows = 0
    turns = _Turns()

    def endless() -> Iterator[tuple[Any, ...]]:
        nonlocal rows
        before = 0
        while rows < FIRST_ROWS or (turns.count < before + TURNS and rows < MOST_ROWS):
            rows += 1
            before = turns.count if rows == FIRST_ROWS else before
            sum(range(2000))  # a row takes longer to make than to send
            yield (rows, "x" * 20)

    assert await _stored_beside(turns, any_db, endless()) == rows < MOST_ROWS


@pytest.mark.parametrize("any_db", names(), indirect=True)
@pytest.mark.asyncio
async def test_other_tasks_have_their_turn_while_a_command_of_many_rows_is_made(any_db: Database) -> None:
    turns = _Turns()
    longest = 0

    def rows() -> Iterator[tuple[Any, ...]]:
        nonlocal longest
        since, count = 0, turns.count
        for n in range(SOME_ROWS):
            if turns.count > count:
                since, count = n, turns.count
            longest = max(longest, n - since)
            sum(range(2000))
            yield (n, "x" * 20)

    assert await _stored_beside(turns, any_db, rows()) == SOME_ROWS
    assert longest < MOST_ROWS_OF_A_TURN


class _Rows:
    """Rows that take longer to make than to send, until ``is_over``, or far more than a few buffers hold."""

    def __init__(self, is_over: Callable[[], bool]) -> None:
        self.is_over = is_over
        self.count = 0

    def __iter__(self) -> Iterator[tuple[Any, ...]]:
        while not self.is_over() and self.count < MOST_ROWS:
            self.count += 1
            sum(range(2000))
            yield (self.count, "x" * 20)


@pytest.mark.asyncio
async def test_other_tasks_have_their_turn_beside_a_copy(url: str) -> None:
    turns = _Turns()
    async with await headrace.aio.connect(url, autocommit=True) as conn:
        await conn.execute("create temp table of_turns (n int, v varchar(20))")
        rows = _Rows(lambda: turns.count > TURNS)
        with turns.counted():
            assert await conn.copy_in("of_turns", rows) == rows.count < MOST_ROWS


def test_the_time_of_a_copy_is_looked_at_while_its_rows_are_made(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        conn.execute("create temp table of_turns (n int, v varchar(20))")
        rows = _Rows(lambda: False)
        with pytest.raises(TimeoutError):
            conn.copy_in("of_turns", rows, timeout=0.1)
        assert rows.count < MOST_ROWS
        assert conn.fetchval("select count(*) from of_turns") == 0


@pytest.mark.asyncio
async def test_the_time_of_a_copy_on_a_loop_is_looked_at_while_its_rows_are_made(url: str) -> None:
    async with await headrace.aio.connect(url, autocommit=True) as conn:
        await conn.execute("create temp table of_turns (n int, v varchar(20))")
        rows = _Rows(lambda: False)
        with pytest.raises(TimeoutError):
            await conn.copy_in("of_turns", rows, timeout=0.1)
        assert rows.count < MOST_ROWS
        assert await conn.fetchval("select count(*) from of_turns") == 0
