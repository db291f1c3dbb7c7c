"""Two-phase commit on MySQL and MariaDB: XA by the names of PEP 249."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import pytest

import headrace.aio
import headrace.aio.mysql
import headrace.mysql
from headrace import errors
from headrace.aio.pool import AsyncConnectionPool
from headrace.types import Xid
from waiting import AsyncWork

INSERT = "insert into phases values (?)"


@pytest.fixture
def table(my: headrace.mysql.Connection[Any]) -> Iterator[headrace.mysql.Connection[Any]]:
    """A connection that sees what others have committed into an empty table. Nothing stays prepared."""
    my.execute("drop table if exists phases")
    my.execute("create table phases (n int primary key) engine=innodb")
    yield my
    my.autocommit = False
    for xid in my.tpc_recover():
        my.tpc_rollback(xid)


def committed(table: headrace.mysql.Connection[Any]) -> list[int]:
    return [n for (n,) in table.fetch("select n from phases order by n")]


async def test_a_prepared_transaction_outlives_its_session(my_url: str, table: Any) -> None:
    conn = await headrace.aio.mysql.connect(my_url)
    xid = conn.xid(42, "überweisung", "branch")
    await conn.tpc_begin(xid)
    await conn.execute(INSERT, (7,))
    with pytest.raises(errors.ProgrammingError, match="tpc_commit"):
        await conn.commit()
    with pytest.raises(errors.ProgrammingError, match="two-phase"):
        async with conn.transaction():
            pass
    await conn.tpc_prepare()
    with pytest.raises(errors.ProgrammingError, match="already"):
        await conn.tpc_prepare()
    await conn.close()
    assert committed(table) == []
    async with await headrace.aio.mysql.connect(my_url) as conn:
        assert xid in await conn.tpc_recover()
        await conn.tpc_commit(xid)
        assert xid not in await conn.tpc_recover()
    assert committed(table) == [7]


async def test_each_end(my_url: str, table: Any) -> None:
    async with await headrace.aio.mysql.connect(my_url) as conn:
        for n, (prepares, commits) in enumerate([(True, True), (True, False), (False, True), (False, False)]):
            await conn.tpc_begin(f"end {n}")
            await conn.executemany(INSERT, [(10 * n,), (10 * n + 1,)])
            assert conn.transaction_status.name == "INTRANS"
            if prepares:
                await conn.tpc_prepare()
            await (conn.tpc_commit() if commits else conn.tpc_rollback())
            assert conn.transaction_status.name == "IDLE"
        assert await conn.tpc_recover() == []
        await conn.execute(INSERT, (99,))
    assert committed(table) == [0, 1, 20, 21, 99]


async def test_a_text_is_a_global_transaction_id_without_a_branch(my_url: str, table: Any) -> None:
    async with await headrace.aio.mysql.connect(my_url) as conn:
        await conn.tpc_begin("it's")
        await conn.execute(INSERT, (1,))
        await conn.tpc_prepare()
        assert await conn.tpc_recover() == [Xid(1, "it's", "")]
        await conn.tpc_commit()
    async with await headrace.aio.mysql.connect(my_url) as conn:
        with pytest.raises(errors.ProgrammingError, match="64 bytes"):
            await conn.tpc_begin("x" * 65)
        with pytest.raises(TypeError, match="xid"):
            await conn.tpc_begin(1)  # type: ignore[arg-type]
        await conn.execute(INSERT, (2,))
    assert committed(table) == [1, 2]


async def test_calls_out_of_order_are_refused_before_anything_is_sent(my_url: str, table: Any) -> None:
    async with await headrace.aio.mysql.connect(my_url) as conn:
        for early in (conn.tpc_prepare, conn.tpc_commit, conn.tpc_rollback):
            with pytest.raises(errors.ProgrammingError, match="tpc_begin"):
                await early()
        await conn.execute(INSERT, (1,))
        with pytest.raises(errors.ProgrammingError, match="outside of a transaction"):
            await conn.tpc_begin("late")
        await conn.rollback()
        await conn.tpc_begin("open")
        with pytest.raises(errors.ProgrammingError, match="with an xid"):
            await conn.tpc_commit("other")
        await conn.tpc_rollback()
    async with await headrace.aio.mysql.connect(my_url, autocommit=True) as conn:
        with pytest.raises(errors.ProgrammingError, match="autocommit"):
            await conn.tpc_begin("auto")


async def test_an_id_that_another_session_has_is_left_to_it(my_url: str, table: Any) -> None:
    async with await headrace.aio.mysql.connect(my_url) as one, await headrace.aio.mysql.connect(my_url) as two:
        await one.tpc_begin("same")
        await one.execute(INSERT, (1,))
        await one.tpc_prepare()
        with pytest.raises(errors.DatabaseError):
            await two.tpc_begin("same")
        assert two.transaction_status.name == "IDLE"
        await two.execute(INSERT, (2,))
        await two.commit()
        await one.tpc_commit()
    assert committed(table) == [1, 2]


async def test_a_failed_statement_leaves_a_transaction_to_be_rolled_back(my_url: str, table: Any) -> None:
    table.execute("insert into phases values (1), (2)")
    async with await headrace.aio.mysql.connect(my_url) as conn:
        await conn.tpc_begin("failed")
        await conn.execute("update phases set n = 10 where n = 1")
        with pytest.raises(errors.UniqueViolation):
            await conn.execute(INSERT, (2,))
        await conn.tpc_rollback()
        assert await conn.fetchval("select 1") == 1
    assert committed(table) == [1, 2]


async def test_a_deadlock_leaves_one_that_can_only_be_rolled_back(my_url: str, table: Any) -> None:
    table.execute("insert into phases values (1), (2)")
    async with await headrace.aio.mysql.connect(my_url) as conn, await headrace.aio.mysql.connect(my_url) as other:
        # The server ends the one that has changed fewer rows.
        await other.executemany(INSERT, [(n,) for n in range(100, 200)])
        await other.execute("update phases set n = 20 where n = 2")
        await conn.tpc_begin("deadlock")
        await conn.execute("update phases set n = 10 where n = 1")
        work = AsyncWork(other.execute, "update phases set n = 11 where n = 1")
        with pytest.raises(errors.DeadlockDetected):
            await conn.execute("update phases set n = 21 where n = 2")
        await work.result()
        await other.rollback()
        with pytest.raises(errors.DatabaseError):
            await conn.tpc_prepare()
        await conn.tpc_rollback()
        assert await conn.fetchval("select 1") == 1
    assert committed(table) == [1, 2]


async def test_a_block_that_leaves_one_open_says_that_nothing_is_stored(my_url: str, table: Any) -> None:
    with pytest.raises(errors.ProgrammingError, match="tpc_commit"):
        async with await headrace.aio.mysql.connect(my_url) as conn:
            await conn.tpc_begin("open")
            await conn.execute(INSERT, (1,))
    assert conn.closed
    async with await headrace.aio.mysql.connect(my_url) as conn:
        await conn.tpc_begin("prepared")
        await conn.execute(INSERT, (2,))
        await conn.tpc_prepare()
    async with await headrace.aio.mysql.connect(my_url) as conn:
        await conn.tpc_commit("prepared")
    assert committed(table) == [2]


@pytest.mark.parametrize("prepared", [False, True])
async def test_a_pool_does_not_lend_it_on(my_url: str, table: Any, prepared: bool) -> None:
    async with AsyncConnectionPool(my_url, min_size=1, max_size=1) as pool:
        conn = await pool.getconn()
        await conn.tpc_begin("left")
        await conn.execute(INSERT, (1,))
        if prepared:
            await conn.tpc_prepare()
        await pool.putconn(conn)
        async with pool.connection() as conn:
            await conn.execute(INSERT, (2,))
        async with pool.connection() as conn:
            found = await conn.tpc_recover()
            assert found == ([Xid(1, "left", "")] if prepared else [])
            for xid in found:
                await conn.tpc_commit(xid)
    assert committed(table) == ([1, 2] if prepared else [2])


async def test_a_cancelled_tpc_begin_leaves_a_usable_connection(my_url: str, table: Any) -> None:  # asyncio only
    async with await headrace.aio.mysql.connect(my_url) as conn:
        for turns in range(4):
            task = asyncio.create_task(conn.tpc_begin("cancelled"))
            for _ in range(turns):
                await asyncio.sleep(0)
            if task.cancel():
                with pytest.raises(asyncio.CancelledError):
                    await task
            else:
                # The server has answered before.
                await conn.tpc_rollback()
            await conn.execute(INSERT, (turns,))
            await conn.commit()
        await conn.tpc_begin("again")
        await conn.tpc_rollback()
    assert committed(table) == [0, 1, 2, 3]
