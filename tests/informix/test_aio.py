"""headrace.aio.informix: the promises of the blocking driver on a loop, and those that only tasks need."""

from __future__ import annotations

import asyncio
import re
import time
from collections.abc import Awaitable, Callable
from typing import Any

import pytest

import headrace
import headrace.aio.informix
from headrace import errors
from headrace.aio import AsyncConnectionPool
from headrace.rows import dict_row
from headrace.testing import InformixServer
from headrace.types import TransactionStatus

from .relay import Recorder

# Each step of the loop at first, then further and further apart: a batch spins for long while the server works.
STEPS = sorted({*range(40), *(int(40 * 1.1**n) for n in range(60))})


async def connect(ifx: InformixServer, **settings: Any) -> Any:
    return await headrace.aio.informix.connect(**{**ifx.parameters(), **settings})


async def test_insert_and_select(aconn: Any, table: str) -> None:
    await aconn.execute(f"create table {table} (a int, b varchar(20))")
    assert (await aconn.execute(f"insert into {table} values (?, ?)", (1, "one"))).rowcount == 1
    await aconn.executemany(f"insert into {table} values (:1, :2)", [(n, f"row {n}") for n in range(2, 1001)])
    assert await aconn.fetchval(f"select count(*) from {table}") == 1000
    cursor = await aconn.execute(f"select a, b from {table} order by a")
    assert await cursor.fetchone() == (1, "one")
    assert await cursor.fetchmany(2) == [(2, "row 2"), (3, "row 3")]
    assert len([row async for row in cursor]) == 997
    dicts = aconn.cursor(row_factory=dict_row)
    await dicts.execute(f"select a from {table} where a = ?", (7,))
    assert await dicts.fetchall() == [{"a": 7}]


async def test_session_says_what_it_is(aconn: Any) -> None:
    assert "Informix" in aconn.server_version
    assert (aconn.encoding, aconn.logging) == ("ISO-8859-1", "logged")
    assert aconn.transaction_status is TransactionStatus.IDLE
    await aconn.ping()


async def test_tasks_share_a_connection(aconn: Any) -> None:
    async def ask(n: int) -> None:
        sql = "select tabid, ?::varchar(9) from systables where tabid = ?"
        assert await aconn.fetch(sql, f"t{n}", n % 3 + 1) == [(n % 3 + 1, f"t{n}")]

    await asyncio.gather(*(ask(n) for n in range(50)))


async def test_transactions(ifx: InformixServer, table: str) -> None:
    async with await connect(ifx, autocommit=True) as conn:
        await conn.execute(f"create table {table} (a int primary key)")
        async with conn.transaction():
            await conn.execute(f"insert into {table} values (1)")
            with pytest.raises(errors.IntegrityError):
                async with conn.transaction():
                    await conn.execute(f"insert into {table} values (2)")
                    await conn.execute(f"insert into {table} values (1)")
            async with conn.transaction():
                await conn.execute(f"insert into {table} values (3)")
        assert await conn.fetch(f"select a from {table} order by a") == [(1,), (3,)]
        with pytest.raises(ZeroDivisionError):
            async with conn.transaction():
                await conn.execute(f"insert into {table} values (4)")
                raise ZeroDivisionError
        assert await conn.fetchval(f"select count(*) from {table}") == 2


async def test_timeout_and_cancelled_task_interrupt_the_statement(aconn: Any, slow: str) -> None:
    with pytest.raises(TimeoutError):
        await aconn.execute(slow, timeout=0.2)
    assert await aconn.fetchval("select tabname from systables where tabid = 1") == "systables"
    task = asyncio.ensure_future(aconn.fetch(slow))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await aconn.fetchval("select tabname from systables where tabid = 2") == "syscolumns"
    asyncio.get_running_loop().call_later(0.2, lambda: asyncio.ensure_future(aconn.cancel()))
    with pytest.raises(errors.QueryCanceled):
        await aconn.execute(slow)


async def test_pool(ifx: InformixServer, url: str) -> None:
    async with AsyncConnectionPool(url, min_size=1, max_size=3) as pool:

        async def work(n: int) -> Any:
            async with pool.connection() as conn:
                return await conn.fetchval("select tabid from systables where tabid = ?", n % 3 + 1)

        assert await asyncio.gather(*(work(n) for n in range(30))) == [n % 3 + 1 for n in range(30)]


async def test_refusals(ifx: InformixServer) -> None:
    with pytest.raises(errors.InvalidPassword) as caught:
        await connect(ifx, password="wrong")
    assert caught.value.sqlcode == -951
    with pytest.raises(errors.InvalidCatalogName):
        await connect(ifx, database="nowhere")
    with pytest.raises(errors.OperationalError):
        await connect(ifx, port=1)


async def test_dispatch_by_url(url: str) -> None:
    async with await headrace.aio.connect(url) as conn:
        assert isinstance(conn, headrace.aio.informix.AsyncConnection)
        assert await conn.fetchval("select tabname from systables where tabid = 1") == "systables"
    with pytest.raises(errors.ProgrammingError, match="oracle"):
        await headrace.aio.connect("oracle://somewhere")


# cancellation at every step


async def query(conn: Any, table: str) -> None:
    assert (await conn.fetch("select tabid, ?::varchar(5) from systables where tabid <= 3", "x"))[2] == (3, "x")


async def large(conn: Any, table: str) -> None:
    assert len(await conn.fetch("select a.tabname, b.tabname from systables a, systables b")) > 100


async def batch(conn: Any, table: str) -> None:
    await conn.executemany(f"insert into {table} values (?)", [(n,) for n in range(2000)])


async def pipeline(conn: Any, table: str) -> None:
    async with conn.pipeline():
        cursors = [await conn.execute("select tabid from systables where tabid = ?", (n,)) for n in range(1, 5)]
    assert [await cursor.fetchone() for cursor in cursors] == [(n,) for n in range(1, 5)]


async def transaction(conn: Any, table: str) -> None:
    async with conn.transaction():
        await conn.execute(f"insert into {table} values (1)")
        async with conn.transaction():
            await conn.execute(f"insert into {table} values (2)")


async def answers_or_is_closed(conn: Any) -> None:
    async def check() -> None:
        await conn.rollback()
        assert await conn.fetchval("select tabname from systables where tabid = 1") == "systables"
        assert await conn.fetchval("select tabid from systables where tabid = ?", 7) == 7
        await conn.rollback()

    try:
        await asyncio.wait_for(check(), 10)
    except errors.Error:
        assert conn.closed


WORK: dict[str, Callable[[Any, str], Awaitable[None]]] = {
    f.__name__: f for f in (query, large, batch, pipeline, transaction)
}


@pytest.mark.parametrize("name", WORK)
async def test_cancelled_at_every_step(ifx: InformixServer, table: str, name: str) -> None:
    work = WORK[name]
    conn = await connect(ifx)
    await conn.execute(f"create table {table} (n int)")
    await conn.commit()
    cancelled = 0
    for steps in STEPS:
        if conn.closed:
            conn = await connect(ifx)
        task = asyncio.ensure_future(work(conn, table))
        for _ in range(steps):
            await asyncio.sleep(0)
            if task.done():
                break
        if task.done():
            await task
            await answers_or_is_closed(conn)
            break
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        cancelled += 1
        await answers_or_is_closed(conn)
    await conn.close()
    assert cancelled >= 2


async def test_cancelled_while_connecting(ifx: InformixServer) -> None:
    for steps in STEPS:
        task = asyncio.ensure_future(connect(ifx))
        for _ in range(steps):
            await asyncio.sleep(0)
            if task.done():
                break
        if task.done():
            conn = await task
            await answers_or_is_closed(conn)
            await conn.close()
            return
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_a_cursor_ends_whatever_the_task_does_next(ifx: InformixServer, recorder: Recorder, table: str) -> None:
    """A DROP TABLE of another session waits for it."""
    close = re.compile(rb"\x00\x04..\x00\x0a", re.DOTALL)
    async with await connect(ifx, port=recorder.port, autocommit=True) as conn:
        await conn.execute(f"create table {table} (a int)")
        for _ in range(3):
            recorder.clear()
            assert await conn.fetch(f"select a from {table}") == []
            # The loop has no turn meanwhile.
            until = time.monotonic() + 20
            while not close.search(recorder.sent) and time.monotonic() < until:
                time.sleep(0.01)
            assert close.search(recorder.sent)
