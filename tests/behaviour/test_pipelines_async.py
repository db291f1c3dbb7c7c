"""Pipelines belong to the task or thread that entered them."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pytest

import headrace
import headrace.aio
from headrace import errors
from headrace.types import TransactionStatus

INSERT = "insert into t values (%s)"


@pytest.fixture(autouse=True)
def _table(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        conn.executescript("drop table if exists t; create table t (n int primary key); insert into t values (1)")


@pytest.fixture(params=[True, False], ids=["autocommit", "transactions"])
async def shared(url: str, request: pytest.FixtureRequest) -> AsyncIterator[Any]:  # asyncio only
    connection = await headrace.aio.connect(url, autocommit=request.param)
    yield connection
    await connection.close()


async def test_what_another_task_executes_fails_where_it_was_called(shared: Any) -> None:  # asyncio only
    inside, done = asyncio.Event(), asyncio.Event()

    async def pipeline() -> list[Any]:
        async with shared.pipeline():
            cursors = [await shared.execute("select 1")]
            inside.set()
            await done.wait()
            with contextlib.suppress(errors.InFailedSqlTransaction):
                await cursors[0].fetchall()
        return cursors

    async def others() -> None:
        await inside.wait()
        try:
            assert await shared.fetchval("select 2") == 2
            assert (await shared.executemany(INSERT, [(2,), (3,)])).rowcount == 2
            with pytest.raises(errors.UniqueViolation):
                await shared.execute(INSERT, (1,))
            await shared.rollback()
            with pytest.raises(errors.UniqueViolation):
                await shared.executemany(INSERT, [(5,), (1,)])
        finally:
            done.set()

    await asyncio.gather(pipeline(), others())


async def test_an_error_in_a_pipeline_does_not_skip_other_tasks_statements(shared: Any) -> None:  # asyncio only
    async def pipeline() -> None:
        with pytest.raises(errors.UniqueViolation):
            async with shared.pipeline():
                await shared.execute(INSERT, (1,))
                await asyncio.sleep(0)
                await shared.execute("select 1")

    async def other() -> None:
        await asyncio.sleep(0)
        # In a shared transaction the server refuses it; it is never said to be part of a pipeline.
        with contextlib.suppress(errors.InFailedSqlTransaction):
            assert await shared.fetchval("select 2") == 2

    for _ in range(20):
        await asyncio.gather(pipeline(), other(), other())
        await shared.rollback()


async def test_tasks_have_pipelines_of_their_own(shared: Any) -> None:  # asyncio only
    async def one(n: int) -> list[int]:
        async with shared.pipeline() as pipeline:
            first = await shared.execute("select %s::int", (n,))
            await asyncio.sleep(0)
            if n % 2:
                await pipeline.sync()
            second = await shared.execute("select %s::int", (n + 1,))
            child = asyncio.create_task(shared.fetchval("select %s::int", n + 2))
            await asyncio.sleep(0)
        return [*(await first.fetchone()), *(await second.fetchone()), await child]

    assert await asyncio.gather(*map(one, range(50))) == [[n, n + 1, n + 2] for n in range(50)]


# What the user's own words do to the transaction.


@pytest.mark.parametrize("end", ["COMMIT", "/* done */ end work", "ROLLBACK", "COMMIT AND CHAIN"])
@pytest.mark.parametrize("script", [False, True])
async def test_after_a_commit_in_the_users_own_words_the_next_statement_has_its_begin(
    url: str, end: str, script: bool
) -> None:
    async with await headrace.aio.connect(url) as conn, await headrace.aio.connect(url, autocommit=True) as other:
        async with conn.pipeline():
            await conn.execute(INSERT, (2,))
            await conn.executescript(f"{INSERT % 3}; {end}") if script else await conn.execute(end)
            await conn.execute(INSERT, (4,))
        assert conn.transaction_status is TransactionStatus.INTRANS
        assert await other.fetch("select n from t where n = 4") == []
        await conn.rollback()
        kept = [1] if end == "ROLLBACK" else [1, 2, 3] if script else [1, 2]
        assert await other.fetch("select n from t order by n") == [(n,) for n in kept]


async def test_a_commit_of_another_task_in_its_own_words_leaves_the_next_statement_its_begin(
    url: str,
) -> None:  # asyncio only
    async with await headrace.aio.connect(url) as conn:
        await conn.execute(INSERT, (2,))
        await asyncio.gather(conn.execute("COMMIT"), conn.execute(INSERT, (3,)), conn.execute(INSERT, (4,)))
        assert conn.transaction_status is TransactionStatus.INTRANS
        await conn.rollback()
        assert await conn.fetch("select n from t order by n") == [(1,), (2,)]


async def test_a_begin_in_the_users_own_words_is_seen_by_what_follows(url: str) -> None:
    async with await headrace.aio.connect(url, autocommit=True) as conn:
        async with conn.pipeline():
            await conn.execute("begin")
            await conn.execute(INSERT, (2,))
        assert conn.transaction_status is TransactionStatus.INTRANS
        assert len([row async for row in conn.stream("select n from t", fetch_size=1)]) == 2
        assert conn.transaction_status is TransactionStatus.INTRANS
        await conn.rollback()
        assert await conn.fetchval("select count(*) from t") == 1


# A failed transaction is not committed in silence.


async def fail(aconn: Any) -> None:
    await aconn.execute(INSERT, (2,))
    with pytest.raises(errors.UniqueViolation):
        await aconn.execute(INSERT, (1,))


async def test_commit_of_a_failed_transaction_raises(url: str) -> None:
    async with await headrace.aio.connect(url) as conn:
        await fail(conn)
        with pytest.raises(errors.InFailedSqlTransaction, match="rolled back, not committed"):
            await conn.commit()
        assert conn.transaction_status is TransactionStatus.IDLE
        await conn.commit()
    with pytest.raises(errors.InFailedSqlTransaction):
        async with await headrace.aio.connect(url) as conn:
            await fail(conn)
    assert conn.closed
    async with await headrace.aio.connect(url, autocommit=True) as conn:
        with pytest.raises(errors.InFailedSqlTransaction):
            async with conn.transaction():
                await fail(conn)
        async with conn.transaction(force_rollback=True):
            await fail(conn)
        async with conn.transaction():
            await fail(conn)
            raise headrace.Rollback
        assert await conn.fetch("select n from t") == [(1,)]


async def test_commit_of_a_failed_transaction_raises_and_a_block_too(url: str) -> None:
    async with await headrace.aio.connect(url) as conn:
        with contextlib.suppress(errors.UniqueViolation):
            await conn.execute(INSERT, (1,))
        with pytest.raises(errors.InFailedSqlTransaction):
            await conn.commit()
        with pytest.raises(errors.InFailedSqlTransaction):
            async with conn.transaction():
                with contextlib.suppress(errors.UniqueViolation):
                    await conn.execute(INSERT, (1,))
        assert conn.transaction_status is TransactionStatus.IDLE
