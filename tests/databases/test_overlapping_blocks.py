"""Blocks of ``transaction()`` of several threads or tasks that do not end in the order in which they began."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import headrace

from .conftest import _informix, _mysql

ENDED = "has ended before it"


@pytest.fixture(params=["postgresql", "mariadb", "mysql", "informix"])
def place(request: pytest.FixtureRequest) -> str:
    """The URL of a database with an empty table."""
    name, fixture = request.param, request.getfixturevalue
    if name == "postgresql":
        url: str = fixture("url")
    else:
        url = (_informix(fixture("informix_server")) if name == "informix" else _mysql(fixture(f"{name}_served"))).url
    with headrace.connect(url, autocommit=True) as conn:
        conn.execute("drop table if exists overlapping")
        conn.execute("create table overlapping (n int)")
    return url


def rows(url: str) -> list[int]:
    with headrace.connect(url, autocommit=True) as conn:
        return [n for (n,) in conn.fetch("select n from overlapping order by n")]


def test_a_block_that_ends_before_one_inside_leaves_no_transaction_behind(place: str) -> None:
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
        assert rows(place) == [1, 2, 3], "nobody's block is open"
        ended.set()
        thread.join(30)
        assert [type(error) for error in met] == [headrace.InterfaceError]
        assert ENDED in str(met[0])
        with conn.transaction():
            conn.execute("insert into overlapping values (4)")
        assert rows(place) == [1, 2, 3, 4]


async def test_a_task_whose_block_lost_its_outer_one_hears_of_it(place: str) -> None:
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


def test_blocks_that_threads_enter_and_leave_at_once_leave_no_transaction_behind(place: str) -> None:
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


async def test_blocks_that_tasks_enter_and_leave_at_once_leave_no_transaction_behind(place: str) -> None:
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
