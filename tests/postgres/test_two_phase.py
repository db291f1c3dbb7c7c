"""Two-phase transactions whose beginning goes wrong."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import headrace
import headrace.aio


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
