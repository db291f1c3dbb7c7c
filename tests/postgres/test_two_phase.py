"""Two-phase transactions whose beginning or end goes wrong."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import headrace
import headrace.aio
from headrace import ProgrammingError
from headrace.pool import ConnectionPool


async def test_a_cancelled_tpc_begin_leaves_a_usable_connection(url: str) -> None:
    async with await headrace.aio.connect(url) as conn:
        task = asyncio.create_task(conn.tpc_begin("cancelled"))
        await asyncio.sleep(0)
        assert conn._core.wire.queued()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await conn.fetchval("SELECT 1") == 1
        await conn.rollback()
        await conn.tpc_begin("again")
        await conn.tpc_rollback()


def test_an_overdue_tpc_begin_leaves_a_usable_connection(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with headrace.connect(url) as conn:
        wait = conn._wait

        def overdue(ticket: Any, limit: Any) -> Any:
            monkeypatch.undo()
            wait(ticket, limit)
            raise TimeoutError

        monkeypatch.setattr(conn, "_wait", overdue)
        with pytest.raises(TimeoutError):
            conn.tpc_begin("overdue", timeout=10)
        assert conn.transaction_status.name == "IDLE"
        assert conn.fetchval("SELECT 1") == 1
        conn.commit()


def test_a_block_that_leaves_a_two_phase_transaction_open_says_that_nothing_is_stored(url: str) -> None:
    with headrace.connect(url, autocommit=True) as admin:
        admin.execute("create table left_open (n int)")
        with pytest.raises(ProgrammingError, match="tpc_commit"), headrace.connect(url) as conn:
            conn.tpc_begin("open")
            conn.execute("insert into left_open values (1)")
        assert conn.closed
        with headrace.connect(url) as conn:
            conn.tpc_begin("prepared")
            conn.execute("insert into left_open values (2)")
            conn.tpc_prepare()
        admin.tpc_commit("prepared")
        assert admin.fetch("select n from left_open") == [(2,)]


async def test_a_block_of_asyncio_that_leaves_one_open_says_so_too(url: str) -> None:
    with pytest.raises(ProgrammingError, match="tpc_commit"):
        async with await headrace.aio.connect(url) as conn:
            await conn.tpc_begin("open")
            await conn.execute("select 1")
    assert conn.closed


def test_a_prepared_transaction_is_not_that_of_the_next_borrower(url: str) -> None:
    with headrace.connect(url, autocommit=True) as admin, ConnectionPool(url, min_size=1, max_size=1) as pool:
        admin.execute("create table borrowed (n int)")
        lent = pool.getconn()
        lent.tpc_begin("borrowed")
        lent.execute("insert into borrowed values (1)")
        lent.tpc_prepare()
        pool.putconn(lent)
        with pool.connection() as conn:
            conn.execute("insert into borrowed values (2)")
        assert admin.fetch("select n from borrowed") == [(2,)]
        admin.tpc_commit("borrowed")
        assert admin.fetch("select n from borrowed order by n") == [(1,), (2,)]
