"""Transactions: implicit, blocks, savepoints, modes, two phases."""

from __future__ import annotations

import asyncio
import contextlib
import gc
from typing import Any

import pytest

import headrace
import headrace.aio
from headrace import errors
from headrace.types import TransactionStatus

Conn = headrace.aio.AsyncConnection[Any]


@pytest.fixture(scope="module", autouse=True)
def _table(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        conn.execute("create table t (n int primary key)")


@pytest.fixture(autouse=True)
def _empty(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        conn.execute("truncate t")


def count(url: str) -> int:
    with headrace.connect(url) as other:
        return int(other.fetchval("select count(*) from t"))


async def test_a_statement_begins_a_transaction_that_commit_ends(aconn: Conn, url: str) -> None:
    assert aconn.transaction_status == TransactionStatus.IDLE
    await aconn.execute("insert into t values (1)")
    assert aconn.transaction_status == TransactionStatus.INTRANS
    assert count(url) == 0
    await aconn.commit()
    assert aconn.transaction_status == TransactionStatus.IDLE
    assert count(url) == 1
    await aconn.execute("insert into t values (2)")
    await aconn.rollback()
    assert count(url) == 1


async def test_a_connection_block_commits_or_rolls_back(url: str) -> None:
    async with await headrace.aio.connect(url) as conn:
        await conn.execute("insert into t values (1)")
    assert conn.closed
    assert count(url) == 1
    with pytest.raises(ZeroDivisionError):
        async with await headrace.aio.connect(url) as conn:
            await conn.execute("insert into t values (2)")
            raise ZeroDivisionError
    assert count(url) == 1


async def test_after_an_error_the_transaction_has_failed_until_rollback(aconn: Conn) -> None:
    with pytest.raises(errors.SyntaxError):
        await aconn.execute("selec")
    assert aconn.transaction_status == TransactionStatus.INERROR
    with pytest.raises(errors.InFailedSqlTransaction):
        await aconn.execute("select 1")
    await aconn.rollback()
    assert await aconn.fetchval("select 1") == 1


async def test_nested_blocks_are_savepoints(url: str) -> None:
    async with await headrace.aio.connect(url, autocommit=True) as conn:
        async with conn.transaction():
            await conn.execute("insert into t values (1)")
            with pytest.raises(errors.UniqueViolation):
                async with conn.transaction():
                    await conn.execute("insert into t values (2)")
                    await conn.execute("insert into t values (1)")
            async with conn.transaction():
                await conn.execute("insert into t values (3)")
                raise headrace.Rollback
            async with conn.transaction("named"):
                await conn.execute("insert into t values (4)")
        assert conn.transaction_status == TransactionStatus.IDLE
        assert await conn.fetch("select n from t order by 1") == [(1,), (4,)]
        async with conn.transaction(force_rollback=True):
            await conn.execute("insert into t values (5)")
        assert await conn.fetchval("select count(*) from t") == 2


async def test_commit_inside_a_block_is_refused(aconn: Conn) -> None:
    async with aconn.transaction():
        with pytest.raises(errors.ProgrammingError, match="transaction"):
            await aconn.commit()


@pytest.mark.parametrize("level", ["serializable", "repeatable read", "read committed"])
async def test_isolation_levels(aconn: Conn, level: str) -> None:
    await aconn.set_isolation_level(level)
    assert await aconn.fetchval("show transaction_isolation") == level


async def test_modes_change_only_between_transactions(aconn: Conn) -> None:
    await aconn.set_read_only(True)
    with pytest.raises(errors.ReadOnlySqlTransaction):
        await aconn.execute("insert into t values (1)")
    with pytest.raises(errors.ProgrammingError, match="inside a transaction"):
        await aconn.set_read_only(False)
    await aconn.rollback()
    await aconn.set_read_only(None)
    await aconn.set_isolation_level("serializable")
    await aconn.set_deferrable(True)
    assert await aconn.fetchval("show transaction_deferrable") == "on"
    await aconn.rollback()
    with pytest.raises(errors.ProgrammingError, match="isolation_level"):
        await aconn.set_isolation_level("none at all")


async def test_two_phase_commit(url: str) -> None:
    conn = await headrace.aio.connect(url)
    xid = conn.xid(42, "global", "branch")
    await conn.tpc_begin(xid)
    await conn.execute("insert into t values (7)")
    with pytest.raises(errors.ProgrammingError):
        await conn.commit()
    await conn.tpc_prepare()
    await conn.close()
    assert count(url) == 0
    async with await headrace.aio.connect(url) as conn:
        assert xid in await conn.tpc_recover()
        await conn.rollback()
        await conn.tpc_commit(xid)
    assert count(url) == 1
    async with await headrace.aio.connect(url) as conn:
        await conn.tpc_begin("plain")
        await conn.execute("insert into t values (8)")
        await conn.tpc_rollback()
    assert count(url) == 1


async def test_a_failed_block_in_a_block_leaves_the_outer_one(aconn: Any, url: str) -> None:
    async with aconn.transaction():
        await aconn.execute("insert into t values (1)")
        with pytest.raises(errors.UniqueViolation):
            async with aconn.transaction():
                await aconn.execute("insert into t values (1)")
    assert count(url) == 1
    await aconn.execute("insert into t values (2)")
    await aconn.rollback()
    assert count(url) == 1


async def test_concurrent_tasks_share_one_implicit_transaction(aconn: Any, url: str) -> None:  # asyncio only
    await asyncio.gather(*(aconn.execute("insert into t values ($1)", (i,)) for i in range(10)))
    assert count(url) == 0
    await aconn.commit()
    assert count(url) == 10


async def test_a_block_begins_with_its_first_statement(url: str) -> None:
    async with (
        await headrace.aio.connect(url, autocommit=True) as conn,
        await headrace.aio.connect(url, autocommit=True) as watch,
    ):
        state = f"select state from pg_stat_activity where pid = {conn.backend_pid}"
        async with conn.transaction():
            # Nothing was sent, but the state is that of a transaction.
            assert await watch.fetchval(state) == "idle"
            assert conn.transaction_status == TransactionStatus.INTRANS
            with pytest.raises(errors.ProgrammingError, match="inside a transaction"):
                await conn.set_read_only(True)
            await conn.execute("insert into t values (1)")
            assert await watch.fetchval(state) == "idle in transaction"
            assert count(url) == 0
        assert count(url) == 1
        async with conn.transaction(), conn.transaction():
            await conn.execute("insert into t values (2)")
        with contextlib.suppress(ZeroDivisionError):
            async with conn.transaction(), conn.transaction("inner"):
                raise ZeroDivisionError
        async with conn.transaction():
            with contextlib.suppress(errors.SyntaxError):
                async with conn.transaction():
                    await conn.execute("selec")
            await conn.executemany("insert into t values (%s)", [(3,), (4,)])
            assert [row async for row in conn.stream("select n from t order by n")] == [(1,), (2,), (3,), (4,)]
        async with conn.transaction():
            pass
        assert conn.transaction_status == TransactionStatus.IDLE
        assert count(url) == 4
        # Behind a block, statements stand for themselves again.
        await conn.execute("insert into t values (5)")
        assert count(url) == 5


async def test_an_outermost_block_with_a_name_ends_after_an_error_that_was_caught(url: str) -> None:
    async with await headrace.aio.connect(url, autocommit=True) as conn:
        with pytest.raises(errors.InFailedSqlTransaction, match="rolled back, not committed"):
            async with conn.transaction("named"):
                with contextlib.suppress(errors.SyntaxError):
                    await conn.execute("selec")
        assert conn.transaction_status == TransactionStatus.IDLE


async def test_a_block_that_a_reset_has_ended_ends_nothing_else(url: str) -> None:
    async with await headrace.aio.connect(url, autocommit=True) as conn:
        for left_over in (conn.stream("select generate_series(1, 9)", fetch_size=1), conn.transaction()):
            block = left_over if hasattr(left_over, "aclose") else left_over.gen
            await anext(block)
            await conn.reset()
            async with conn.transaction():
                await conn.execute("insert into t values (1)")
                await block.aclose()
                assert conn.transaction_status == TransactionStatus.INTRANS
            assert count(url) == 1
            await conn.execute("delete from t")
            assert conn.transaction_status == TransactionStatus.IDLE


async def test_a_cursor_of_the_server_in_a_pipeline(aconn: Conn) -> None:
    async with aconn.pipeline():
        one = await aconn.execute("select 1")
        cursor = aconn.cursor(name="c", scrollable=True)
        await cursor.execute("select generate_series(1, 9)")
        assert await cursor.fetchmany(2) == [(1,), (2,)]
        await cursor.scroll(8, mode="absolute")
        two = await aconn.execute("select 2")
        assert await cursor.fetchall() == [(9,)]
        await cursor.close()
    assert (await one.fetchone(), await two.fetchone()) == ((1,), (2,))


async def test_errors_of_a_cancelled_pipeline_are_not_reported(url: str) -> None:  # asyncio only
    reported: list[Any] = []
    asyncio.get_running_loop().set_exception_handler(lambda loop, context: reported.append(context))
    async with await headrace.aio.connect(url, autocommit=True) as conn:

        async def work() -> None:
            async with conn.pipeline():
                await conn.execute("select pg_sleep(60)")
                await conn.execute("selec")

        task = asyncio.create_task(work())
        await asyncio.sleep(0.05)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await conn.fetchval("select 1") == 1
        del task
        gc.collect()
        await asyncio.sleep(0)
    assert reported == []


async def test_a_failed_transaction_is_not_prepared_in_silence(url: str) -> None:
    async with await headrace.aio.connect(url) as conn:
        for end in (conn.tpc_prepare, conn.tpc_commit):
            await conn.tpc_begin("failed")
            await conn.execute("insert into t values (9)")
            with pytest.raises(errors.DivisionByZero):
                await conn.execute("select 1 / 0")
            with pytest.raises(errors.InFailedSqlTransaction, match="not committed"):
                await end()
            assert conn.transaction_status is TransactionStatus.IDLE
            assert await conn.fetchval("select count(*) from t where n = 9") == 0
            await conn.rollback()
        assert await conn.tpc_recover() == []


async def test_a_rollback_of_an_outer_block_is_refused(aconn: Conn, url: str) -> None:
    with pytest.raises(TypeError, match="an exception of your own"):
        async with aconn.transaction() as outer:
            await aconn.execute("insert into t values (10)")
            async with aconn.transaction():
                raise headrace.Rollback(outer)
    assert await aconn.fetchval("select count(*) from t where n = 10") == 0
    async with aconn.transaction():
        raise headrace.Rollback("with a reason")
