"""Blocks of ``transaction()`` of several threads or tasks that do not end in the order in which they began."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from typing import Any

import pytest

import headrace
from headrace._native import CopyBuffer
from headrace.postgres.copy_base import copy_of_rows
from headrace.types import TransactionStatus
from servers import Database

ENDED = "has ended before it"


@pytest.fixture
def place(any_db: Database) -> str:
    """The URL of a database with an empty table."""
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists overlapping")
        conn.execute("create table overlapping (n int)")
    return any_db.url


def rows(url: str) -> list[int]:
    with headrace.connect(url, autocommit=True) as conn:
        return [n for (n,) in conn.fetch("select n from overlapping order by n")]


def test_block_that_ends_before_one_inside_leaves_no_transaction(place: str) -> None:
    with headrace.connect(place, autocommit=True) as conn:
        begun, joined, ended = threading.Event(), threading.Event(), threading.Event()
        met: list[BaseException] = []

        def inner() -> None:
            assert begun.wait(30)
            try:
                with conn.transaction():
                    conn.execute("insert into overlapping values (2)")
                    joined.set()
                    assert ended.wait(30)
            except BaseException as error:
                met.append(error)

        thread = threading.Thread(target=inner)
        thread.start()
        with conn.transaction():
            conn.execute("insert into overlapping values (1)")
            begun.set()
            assert joined.wait(30)
        assert rows(place) == [1, 2]
        conn.execute("insert into overlapping values (3)")
        assert rows(place) == [1, 2, 3], "no block is open"
        ended.set()
        thread.join(30)
        assert [type(error) for error in met] == [headrace.InterfaceError]
        assert ENDED in str(met[0])
        with conn.transaction():
            conn.execute("insert into overlapping values (4)")
        assert rows(place) == [1, 2, 3, 4]


async def test_task_whose_block_lost_its_outer_one_gets_an_error(place: str) -> None:
    async with await headrace.aio.connect(place, autocommit=True) as conn:
        begun, joined, ended = asyncio.Event(), asyncio.Event(), asyncio.Event()

        async def inner() -> Any:
            await begun.wait()
            async with conn.transaction():
                await conn.execute("insert into overlapping values (2)")
                joined.set()
                await ended.wait()

        task = asyncio.ensure_future(inner())
        with pytest.raises(ZeroDivisionError):
            async with conn.transaction():
                await conn.execute("insert into overlapping values (1)")
                begun.set()
                await joined.wait()
                raise ZeroDivisionError
        await conn.execute("insert into overlapping values (3)")
        assert rows(place) == [3]
        ended.set()
        with pytest.raises(headrace.InterfaceError, match=ENDED):
            await task
        async with conn.transaction():
            await conn.execute("insert into overlapping values (4)")
        assert rows(place) == [3, 4]


def test_blocks_that_threads_enter_and_leave_at_once_leave_no_transaction(place: str) -> None:
    with headrace.connect(place, autocommit=True) as conn:
        stored: list[int] = []
        met: list[BaseException] = []
        together = threading.Barrier(4)

        def work(number: int) -> None:
            for turn in range(25):
                value = number * 100 + turn
                try:
                    together.wait(60)
                    with conn.transaction():
                        conn.execute(f"insert into overlapping values ({value})")
                    stored.append(value)
                except BaseException as error:
                    met.append(error)

        threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(120)
        assert not any(isinstance(error, headrace.ProgrammingError) for error in met), met
        assert conn.transaction_status is headrace.types.TransactionStatus.IDLE
        conn.execute("insert into overlapping values (9999)")
        assert {*stored, 9999} <= set(rows(place))


async def test_blocks_that_tasks_enter_and_leave_at_once_leave_no_transaction(place: str) -> None:
    async with await headrace.aio.connect(place, autocommit=True) as conn:
        stored: list[int] = []

        async def work(value: int) -> None:
            await asyncio.sleep(0)
            async with conn.transaction():
                await conn.execute(f"insert into overlapping values ({value})")
            stored.append(value)

        for turn in range(10):
            done = await asyncio.gather(*(work(turn * 10 + number) for number in range(5)), return_exceptions=True)
            assert not any(isinstance(error, headrace.ProgrammingError) for error in done), done
            assert conn.transaction_status is headrace.types.TransactionStatus.IDLE
            assert set(stored) <= set(rows(place))


async def test_blocks_that_begin_together_are_one_transaction(place: str) -> None:
    async with await headrace.aio.connect(place, autocommit=True) as conn:
        ended = asyncio.Event()

        async def outer() -> None:
            async with conn.transaction():
                await conn.execute("insert into overlapping values (1)")
                await ended.wait()
                raise headrace.Rollback

        async def inner() -> None:
            async with conn.transaction():
                await conn.execute("insert into overlapping values (2)")
            ended.set()

        await asyncio.gather(outer(), inner())
        assert rows(place) == [], "the end of the inner block has committed the outer one's rows"
        await conn.execute("insert into overlapping values (3)")
        assert rows(place) == [3]


async def test_a_reset_while_a_block_begins_leaves_none_open(place: str) -> None:
    async with await headrace.aio.connect(place, autocommit=True) as conn:
        begun = asyncio.Event()

        async def block() -> None:
            begun.set()
            async with conn.transaction("mine"):
                pass

        task = asyncio.ensure_future(block())
        await begun.wait()
        await conn.reset()
        await asyncio.wait([task])
        assert not conn._core.in_transaction()
        await conn.execute("insert into overlapping values (1)")
        assert rows(place) == [1]


def test_what_is_done_beside_the_end_of_a_block_is_in_no_transaction(place: str) -> None:
    with headrace.connect(place, autocommit=True) as conn:
        ended = threading.Event()

        def blocks() -> None:
            try:
                for _ in range(150):
                    with conn.transaction():
                        conn.execute("insert into overlapping values (1)")
            finally:
                ended.set()

        def inserts() -> None:
            while not ended.is_set():
                conn.execute("insert into overlapping values (2)")

        threads = [threading.Thread(target=work) for work in (blocks, inserts, inserts)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not conn._core.depth
        assert not conn._core.in_transaction()
        assert rows(place) == [n for (n,) in conn.fetch("select n from overlapping order by n")]


def test_copy_queued_after_the_end_of_a_block_begins_nothing(url: str) -> None:
    """Its thread has looked whether a block is open, and another one has ended the block before it was queued."""
    with headrace.connect(url, autocommit=True) as conn:
        conn.execute("create table copied (n int)")
        with conn.transaction():
            begin = conn._core.begin
        copy, buffer = copy_of_rows("copied", None, "binary", out=False), CopyBuffer()
        ticket = conn._core.wire.copy(buffer, copy.query, copy.left_out, copy.binary, copy.text, True, prelude=begin)
        conn._core.wire.wait(conn._core.wire.copy_step(ticket), 30)
        conn._core.wire.copy_rows(ticket, iter([(1,)]), buffer, True)
        conn._core.wire.copy_write(ticket, conn._core.wire.copy_trailer())
        conn._core.wire.copy_end(ticket)
        conn._core.wire.wait(ticket, 30)
        assert conn.transaction_status is TransactionStatus.IDLE


@pytest.mark.parametrize("any_db", ["informix"], indirect=True)
def test_statement_queued_after_the_end_of_a_block_begins_nothing(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        core, sql = conn._core, "select n from numbers where n = 1"
        for ask in (
            lambda begin: conn._core.wire.execute(sql, None, begin=begin),
            lambda begin: conn._core.wire.execute_batch("update numbers set n = 1 where n = ?", [(1,)], begin=begin),
            lambda begin: conn._core.wire.declare(next(core.numbers), sql, None, begin=begin),
        ):
            with conn.transaction():
                begin = core.begins
            conn._core.wire.wait(ask(begin), 30)
            assert conn.transaction_status is TransactionStatus.IDLE


def test_blocks_of_many_threads_are_counted_right(place: str) -> None:
    with headrace.connect(place, autocommit=True) as conn:
        met: list[BaseException] = []

        def blocks() -> None:
            for _ in range(40):
                try:
                    with conn.transaction():
                        conn.execute("insert into overlapping values (1)")
                except headrace.Error as error:
                    met.append(error)

        threads = [threading.Thread(target=blocks) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        conn.rollback()
        assert conn._core.depth == 0
        assert not conn._core.blocks
        assert not conn._core.in_transaction()


@pytest.mark.parametrize("steps", range(4))
async def test_block_entered_while_another_ends_leaves_no_transaction(place: str, steps: int) -> None:
    async with await headrace.aio.connect(place, autocommit=True) as conn:
        first = conn.transaction()
        await first.__aenter__()
        await conn.execute("insert into overlapping values (1)")
        ending = asyncio.ensure_future(first.__aexit__(None, None, None))
        for _ in range(steps):
            await asyncio.sleep(0)
        with contextlib.suppress(headrace.Error):
            async with conn.transaction():
                await conn.execute("insert into overlapping values (2)")
        await ending
        assert conn.transaction_status is headrace.types.TransactionStatus.IDLE
        await conn.execute("insert into overlapping values (3)")
        assert {1, 3} <= set(rows(place))


def test_how_statements_are_executed_changes_at_once(any_db: Database) -> None:
    # Another thread may execute one between two changes.
    with any_db.connect(autocommit=True) as conn:
        changes: list[int] = []

        class Watched(type(conn._core)):  # type: ignore[misc]
            __slots__ = ()

            def __setattr__(self, name: str, value: Any) -> None:
                if name == "way":
                    changes[-1] += 1
                super().__setattr__(name, value)

            def refresh_begin(self) -> None:
                changes.append(0)
                super().refresh_begin()

        conn._core.__class__ = Watched
        with conn.transaction():
            conn.execute(any_db.one)
        assert set(changes) == {1}


@pytest.mark.parametrize("cancels", [False, True], ids=["shared", "cancelled"])
async def test_a_block_that_begins_while_a_batch_is_under_way_has_a_transaction_of_its_own(
    any_db: Database, place: str, cancels: bool
) -> None:
    async with await headrace.aio.connect(place, autocommit=True) as conn:
        for turns in (0, 1, 2, 3, 5, 8, 13, 21, 34):
            values = [(n,) for n in range(3, 700)]
            batch = asyncio.ensure_future(conn.executemany(f"insert into overlapping values ({any_db.mark})", values))
            for turn in range(turns):
                await asyncio.sleep(0.0001 * (turn % 3))
            if cancels:
                batch.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await batch
            async with conn.transaction():
                await conn.execute("insert into overlapping values (1)")
                await conn.execute("insert into overlapping values (2)")
            if not cancels:
                await batch
            found = rows(place)
            assert (turns, found[:2]) == (turns, [1, 2])
            assert len(found) in ((2, 699) if cancels else (699,)), turns
            await conn.execute("delete from overlapping")
