"""``async with headrace.aio.connect(...)`` opens a connection, with and without an ``await``, on every database."""

from __future__ import annotations

import asyncio
import inspect

import pytest

import headrace.aio
from servers import Database


async def test_a_block_opens_the_connection_and_ends_it_as_its_own_does(any_db: Database) -> None:
    async with headrace.aio.connect(any_db.url) as conn:
        rows = await conn.fetch(any_db.one)
        assert not conn.closed
    assert conn.closed
    async with await headrace.aio.connect(any_db.url) as other:
        assert await other.fetch(any_db.one) == rows
    assert other.closed


async def test_an_exception_leaves_the_block_and_nothing_open(any_db: Database) -> None:
    with pytest.raises(KeyError):
        async with headrace.aio.connect(any_db.url) as conn:
            raise KeyError
    assert conn.closed


async def test_an_opening_is_what_a_task_and_a_limit_take(any_db: Database) -> None:
    opening = headrace.aio.connect(any_db.url)
    assert inspect.isawaitable(opening)
    assert asyncio.iscoroutine(opening)
    conn = await asyncio.create_task(opening)
    await conn.close()
    conn = await asyncio.wait_for(headrace.aio.connect(any_db.url), 60)
    await conn.close()
    unused = headrace.aio.connect(any_db.url)
    unused.close()


async def test_a_refusal_is_raised_by_the_block() -> None:
    with pytest.raises(headrace.errors.OperationalError):
        async with headrace.aio.connect("postgresql://127.0.0.1:1/nobody", connect_timeout=5):
            raise AssertionError("nothing listens there")
