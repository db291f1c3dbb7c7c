"""A ``transaction()`` block that begins while another use of the connection begins or ends a transaction: it is in that
one, or is one by itself, as the server will see it, not as of the last answer."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

import pytest

import headrace
from headrace.types import TransactionStatus
from servers import Database

WAYS = ["commit", "rollback", "text", "block"]


@pytest.fixture
def place(any_db: Database) -> str:
    """The URL of a database with an empty table."""
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists later")
        conn.execute("create table later (n int)")
    return any_db.url


def rows(url: str) -> list[int]:
    with headrace.connect(url, autocommit=True) as conn:
        return [n for (n,) in conn.fetch("select n from later order by n")]


async def begin(conn: Any) -> None:
    """A transaction with a row, begun in SQL where the connection commits by itself."""
    if conn.autocommit:
        await conn.execute("begin work")
    await conn.execute("insert into later values (1)")


async def end(conn: Any, way: str) -> None:
    """Its end."""
    await (conn.execute("commit work") if way == "text" else getattr(conn, way)())


async def block(conn: Any, number: int, undone: bool = False) -> None:
    """A block with a row."""
    async with conn.transaction():
        await conn.execute(f"insert into later values ({number})")
        if undone:
            raise headrace.Rollback


async def outer_block_is_ending(conn: Any) -> asyncio.Task[None]:
    """A task whose block's end is on its way to the server."""
    task = asyncio.ensure_future(block(conn, 1))
    while not conn._core.depth:
        await asyncio.sleep(0)
    while conn._core.depth:
        await asyncio.sleep(0)
    return task


def begins_by_statement(place: str, autocommit: bool) -> bool:
    """Returns true if a transaction can be begun so: CUBRID has no statement for it, so that one is open without a
    block only if autocommit is off."""
    return not (autocommit and place.startswith("cubrid"))


@pytest.mark.parametrize("undone", [False, True])
@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("autocommit", [False, True])
async def test_block_after_an_end_is_a_transaction(place: str, autocommit: bool, way: str, undone: bool) -> None:
    if way != "block" and not begins_by_statement(place, autocommit):
        return
    async with await headrace.aio.connect(place, autocommit=autocommit) as conn:
        if way == "block":
            ending: Any = await outer_block_is_ending(conn)
        else:
            await begin(conn)
            ending = end(conn, way)
        await asyncio.gather(ending, block(conn, 2, undone))
        assert conn.transaction_status is TransactionStatus.IDLE
        assert rows(place) == [1] * (way != "rollback") + [2] * (not undone)


@pytest.mark.parametrize("way", ["commit", "rollback"])
async def test_block_after_an_end_that_is_cancelled_before_it_is_sent_ends_nothing_else(place: str, way: str) -> None:
    async with await headrace.aio.connect(place) as conn:
        await begin(conn)
        # As after a batch, the end waits.
        conn._core.wire.pause_requests(True)
        ending = asyncio.ensure_future(end(conn, way))
        undone = asyncio.ensure_future(block(conn, 2, undone=True))
        for _ in range(10):
            await asyncio.sleep(0)
        ending.cancel()
        await asyncio.wait([ending])
        conn._core.wire.pause_requests(False)
        await undone
        # Informix's ROLLBACK WORK is sent in any case.
        ended = way == "rollback" and place.startswith("informix")
        assert conn.transaction_status is (TransactionStatus.IDLE if ended else TransactionStatus.INTRANS)
        await getattr(conn, way)()
        assert rows(place) == [1] * (way == "commit")


@pytest.mark.parametrize("autocommit", [False, True])
async def test_block_after_a_beginning_is_a_savepoint(place: str, autocommit: bool) -> None:
    if not begins_by_statement(place, autocommit):
        return
    async with await headrace.aio.connect(place, autocommit=autocommit) as conn:

        async def blocks() -> None:
            await block(conn, 2)
            await block(conn, 3, undone=True)

        await asyncio.gather(begin(conn), blocks())
        assert conn.transaction_status is TransactionStatus.INTRANS
        assert await conn.fetch("select n from later order by n") == [(1,), (2,)]
        await conn.rollback()
        assert rows(place) == [], "the end of the block has committed what was begun before it"


@pytest.mark.parametrize("autocommit", [False, True])
async def test_blocks_begin_in_time_beside_a_busy_task(place: str, autocommit: bool) -> None:
    """One that inserts and commits without a pause keeps no block waiting for ever, whatever the tasks are at when it
    comes."""
    for _ in range(10):
        async with await headrace.aio.connect(place, autocommit=autocommit) as conn:
            # The function of each task, and not of the loop, has its connection.
            async def busy(conn: Any = conn) -> None:
                while True:
                    await conn.execute("insert into later values (1)")
                    with contextlib.suppress(headrace.ProgrammingError):
                        await conn.commit()

            tasks = [asyncio.ensure_future(busy()) for _ in range(4)]
            for number in range(2, 6):
                await asyncio.wait_for(block(conn, number), 20)
            for task in tasks:
                task.cancel()
            await asyncio.wait(tasks)


def test_block_after_the_commit_of_another_thread_is_a_transaction(place: str) -> None:
    with headrace.connect(place) as conn:
        for turn in range(1, 26):
            conn.execute("insert into later values (0)")
            together = threading.Barrier(2)
            refused: list[headrace.Error] = []

            def commit(together: threading.Barrier = together, refused: list[headrace.Error] = refused) -> None:
                together.wait(30)
                try:
                    conn.commit()
                except headrace.ProgrammingError as error:
                    refused.append(error)  # the block had begun before

            thread = threading.Thread(target=commit)
            thread.start()
            together.wait(30)
            with conn.transaction():
                conn.execute(f"insert into later values ({turn})")
            thread.join(30)
            if refused:
                conn.commit()
            assert turn in rows(place)
