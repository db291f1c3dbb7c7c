"""Several statements that are one: no statement of others is executed between them, and they have a transaction of
their own."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import headrace.mysql
from headrace import errors
from headrace.types import TransactionStatus
from served import Served, fresh

Conn = headrace.mysql.Connection[Any]
ROUNDS = 60


@pytest.fixture(autouse=True)
def _table(my: Conn) -> None:
    fresh(my, "table t (id int primary key, who int) engine = innodb")


async def test_a_block_that_begins_while_a_batch_runs_is_undone_by_itself(amy: Any) -> None:
    for k in range(ROUNDS):
        rows = ((1000 * k + n,) for n in range(200))
        batch = asyncio.create_task(amy.executemany("insert into t values (?, 1)", rows))
        for _ in range(k % 7):
            await asyncio.sleep(0)
        async with amy.transaction(force_rollback=True):
            await batch
            await amy.execute("insert into t values (?, 2)", (1_000_000,))
    assert await amy.fetchval("select count(*) from t where who = 2") == 0


@pytest.mark.slow
def test_after_a_deadlock_in_autocommit_a_block_is_a_transaction(my_server: Served, my: Conn) -> None:
    my.execute("insert into t values (1, 1)")
    my.execute("set innodb_lock_wait_timeout = 1")
    with headrace.mysql.connect(my_server.url(my.fetchval("select database()")), autocommit=True) as other:
        with other.transaction():
            other.execute("update t set who = 2 where id = 1")
            with pytest.raises(errors.OperationalError):
                my.execute("update t set who = 3 where id = 1")
            with my.transaction(force_rollback=True):
                my.execute("insert into t values (2, 2)")
            with pytest.raises(errors.OperationalError):
                my.execute("update t set who = 3 where id = 1")
            with pytest.raises(errors.UniqueViolation):
                my.load_rows("t", [(3, 3), (2, 2), (2, 2)])
        assert other.fetch("select * from t") == [(1, 2)]


def test_calls_by_variables_keep_their_arguments(my_server: Served, my: Conn) -> None:
    my.execute("drop procedure if exists doubled")
    my.execute("create procedure doubled(in n int, out d int) begin set d = 2 * n; end")
    url = my_server.url(my.fetchval("select database()"))
    with headrace.mysql.connect(url, prepared=False, autocommit=True) as conn, ThreadPoolExecutor(4) as threads:
        called = threads.map(lambda n: conn.cursor().callproc("doubled", (n, None)), range(300))
        assert list(called) == [[n, 2 * n] for n in range(300)]


def test_source_that_uses_its_own_connection_is_an_error(my: Conn) -> None:
    def pieces() -> Iterator[bytes]:
        yield b"1\t1\n"
        yield str(my.fetchval("select 1")).encode()

    with pytest.raises(errors.InterfaceError, match="LOAD DATA is being fed"):
        my.load_data("load data local infile 'x' into table t", pieces())
    assert my.fetch("select * from t") == []
    assert my.transaction_status is TransactionStatus.IDLE


async def test_async_source_that_uses_its_own_connection_is_an_error(amy: Any) -> None:
    async def rows() -> AsyncIterator[tuple[int, int]]:
        yield (1, 1)
        (two,) = await asyncio.gather(amy.fetchval("select 2"))
        yield (two, 1)

    with pytest.raises(errors.InterfaceError, match="LOAD DATA is being fed"):
        await asyncio.wait_for(amy.load_rows("t", rows()), 20)
    assert await amy.fetch("select * from t") == []


async def test_loads_that_are_cancelled_at_any_point_leave_the_connection_to_others(amy: Any) -> None:
    for k in range(ROUNDS):
        load = asyncio.create_task(amy.load_rows("t", [(n, k) for n in range(100)]))
        asked = asyncio.create_task(amy.fetchval("select ?", k))
        for _ in range(k % 20):
            await asyncio.sleep(0)
        load.cancel()
        with contextlib.suppress(asyncio.CancelledError):
            await load
        assert await asyncio.wait_for(asked, 20) == k
        assert await asyncio.wait_for(amy.fetchval("select count(*) from t"), 20) in (0, 100)
        await amy.execute("delete from t")
        assert await amy.fetchval("select @@sql_notes") == 1
    assert amy.transaction_status is TransactionStatus.IDLE


async def test_a_timeout_takes_back_no_statement_of_another_task(amy: Any) -> None:
    slow = asyncio.ensure_future(amy.execute("select sleep(9)", timeout=0.2))
    await asyncio.sleep(0)
    await amy.select_db("information_schema")
    with pytest.raises(TimeoutError):
        await slow
    assert await amy.fetchval("select database()") == "information_schema"
