"""Statements of a pipeline are sent while more are added, not only at its end."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from typing import Any

import pytest

from servers import Database

MANY = 2000
"""More statements than a write of any database holds."""


@pytest.fixture
def place(any_db: Database) -> Database:
    """A database with an empty table."""
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists under_way")
        conn.execute("create table under_way (n int primary key)")
    return any_db


def some_arrive(place: Database, wanted: Callable[[int], bool]) -> bool:
    """Returns true if the server soon has as many rows as are wanted. Another connection asks, which moves nothing of
    the first."""
    pause = threading.Event()
    with place.connect(autocommit=True) as other:
        for _ in range(100):
            if wanted(int(other.fetchval("select count(*) from under_way"))):
                return True
            pause.wait(0.05)
    return False


def keywords(place: Database) -> dict[str, Any]:
    """In autocommit, where the session stays with its connection."""
    return {"autocommit": True, **place.kept_session}


def insert(place: Database) -> str:
    """The statement with a parameter in the style that all databases know."""
    return f"insert into under_way values ({place.differences.mark})"


def test_statements_are_sent_while_a_pipeline_is_made(place: Database) -> None:
    with place.connect(**keywords(place)) as conn:
        conn.execute(insert(place), (-1,))
        with conn.pipeline():
            for n in range(MANY):
                conn.execute(insert(place), (n,))
            assert some_arrive(place, lambda rows: rows > MANY // 10)
        assert conn.fetchval("select count(*) from under_way") == MANY + 1


async def test_statements_are_sent_while_an_asyncio_pipeline_is_made(place: Database) -> None:
    async with await place.aconnect(**keywords(place)) as conn:
        await conn.execute(insert(place), (-1,))
        async with conn.pipeline():
            for n in range(MANY):
                await conn.execute(insert(place), (n,))
            # The loop stands still.
            assert some_arrive(place, lambda rows: rows > MANY // 10)
        assert await conn.fetchval("select count(*) from under_way") == MANY + 1


async def test_other_tasks_have_their_turn_while_a_pipeline_is_made(place: Database) -> None:
    turns = 0

    async def count() -> None:
        nonlocal turns
        while True:
            turns += 1
            await asyncio.sleep(0)

    async with await place.aconnect(**keywords(place)) as conn:
        counting = asyncio.create_task(count())
        async with conn.pipeline():
            for n in range(MANY):
                await conn.execute(insert(place), (n,))
            counting.cancel()
    assert turns > 10


@pytest.mark.parametrize("any_db", ["postgresql", "mariadb", "mysql"], indirect=True)
def test_a_script_of_a_pipeline_is_sent_while_it_is_made(place: Database) -> None:
    with place.connect(**keywords(place)) as conn, conn.pipeline():
        conn.executescript("insert into under_way values (1)")
        assert some_arrive(place, bool)


def test_a_result_that_another_statement_waited_for_is_there_at_the_end(place: Database) -> None:
    """Cursors whose replies were received before the block ends return the same as those that were not waited for."""
    with place.connect(**keywords(place)) as conn:
        with conn.pipeline():
            cursors = [conn.execute(insert(place), (n,)) for n in range(10)]
            assert cursors[5].wait()
        assert [cursor.rowcount for cursor in cursors] == [1] * 10


async def test_a_task_cancelled_while_it_makes_a_pipeline_leaves_the_connection_usable(place: Database) -> None:
    async with await place.aconnect(**keywords(place)) as conn:

        async def make() -> Any:
            async with conn.pipeline():
                for n in range(1_000_000):
                    await conn.execute(insert(place), (n,))

        task = asyncio.create_task(make())
        for _ in range(5):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        rows = await conn.fetchval("select count(*) from under_way")
        assert rows == await conn.fetchval("select count(*) from under_way")
