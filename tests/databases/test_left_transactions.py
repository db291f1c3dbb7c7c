"""Transactions that blocks of several threads have left open: which of them ends them."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Iterator
from typing import Any

import pytest

import headrace
import headrace.aio
from headrace._shared.flows import each
from headrace._shared.transactions import Block
from headrace.types import TransactionStatus
from servers import Database


def beginning(db: Database, conn: Any) -> Any:
    """Opens a transaction that is no block's on a connection in autocommit. CUBRID has no statement for it: the request
    of the engine takes its place."""
    if db.begin_work is not None:
        return conn.execute(db.begin_work)
    core = conn._core
    return conn._run(each(core.wire.verb("begin", begin=core.modes())))


def test_a_block_that_is_entered_while_a_left_transaction_is_to_be_ended_is_inside_of_it(
    any_db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with headrace.connect(any_db.url, autocommit=True) as conn:
        core: Any = conn._core
        beginning(any_db, conn)
        block = Block(core.resets)
        core.crossed, core.within = True, False
        core.unfinished.add(block)
        entered, leave = threading.Event(), threading.Event()

        def work() -> None:
            with conn.transaction():
                entered.set()
                leave.wait(60)

        other = threading.Thread(target=work)
        ordered = core.ordered

        @contextlib.contextmanager
        def late() -> Iterator[None]:
            monkeypatch.undo()
            other.start()
            assert entered.wait(60)
            with ordered():
                yield

        monkeypatch.setattr(core, "ordered", late)
        conn._run(core.finish(block))
        assert entered.is_set()
        leave.set()
        other.join(60)
        assert conn.transaction_status is TransactionStatus.IDLE


async def test_the_end_of_a_left_transaction_comes_although_its_task_is_cancelled(any_db: Database) -> None:
    async with await headrace.aio.connect(any_db.url, autocommit=True) as conn:
        core: Any = conn._core
        await beginning(any_db, conn)
        block = Block(core.resets)
        core.crossed, core.within = True, False
        core.unfinished.add(block)
        # A cancel request is under way: nothing is sent meanwhile.
        core.wire.pause_requests(True)
        task = asyncio.create_task(conn._run(core.finish(block)))
        await asyncio.sleep(0)
        assert core.wire.queued() == 1
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        core.wire.pause_requests(False)
        await conn.execute(f"select 1 from {any_db.differences.one_row}")
        assert conn.transaction_status is TransactionStatus.IDLE
