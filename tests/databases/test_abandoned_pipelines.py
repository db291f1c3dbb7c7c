"""A pipeline that is interrupted, cancelled or out of time is cancelled whole, however many statements it has."""

from __future__ import annotations

import asyncio
import contextlib
import os
import signal
import threading
import time
from collections.abc import Iterator

import pytest

import headrace
from servers import Database

SOON = 8.0
"""Seconds within which everything has ended; the statement would run for longer."""


@contextlib.contextmanager
def soon() -> Iterator[None]:
    """What is in it does not wait for the statement's own end."""
    started = time.monotonic()
    yield
    assert time.monotonic() - started < SOON


@contextlib.contextmanager
def interrupted(after: float) -> Iterator[None]:
    """A SIGINT after so many seconds, which comes out of the block."""
    timer = threading.Timer(after, os.kill, (os.getpid(), signal.SIGINT))
    timer.start()
    try:
        with pytest.raises(KeyboardInterrupt):
            yield
    finally:
        timer.cancel()


@pytest.fixture
def place(any_db: Database) -> Database:
    """A database with the table of what comes after the slow statement."""
    with any_db.connect(autocommit=True) as conn:
        for statement in any_db.slow_needs:
            conn.execute(statement)
    return any_db


def after_it(place: Database) -> str:
    return place.after_slow


@pytest.mark.parametrize("at", ["inside", "its end"])
def test_an_interrupted_pipeline_is_cancelled(place: Database, at: str) -> None:
    with place.connect(autocommit=True) as conn:
        with soon(), interrupted(0.4), conn.pipeline():
            slow = conn.execute(place.slow)
            conn.execute(after_it(place))
            if at == "inside":
                slow.fetchall()
        with soon():
            conn.execute(after_it(place)).fetchall()
        assert not conn.closed


@pytest.mark.parametrize("at", ["inside", "its end"])
def test_a_pipeline_whose_time_is_up_is_cancelled(place: Database, at: str) -> None:
    with place.connect(autocommit=True) as conn:
        with soon(), pytest.raises(TimeoutError), conn.pipeline(timeout=0.4):
            slow = conn.execute(place.slow)
            conn.execute(after_it(place))
            if at == "inside":
                slow.fetchall(timeout=0.4)
        with soon():
            conn.execute(after_it(place)).fetchall()
        assert not conn.closed


@pytest.mark.parametrize("at", ["inside", "its end"])
async def test_a_loops_pipeline_whose_time_is_up_is_cancelled(place: Database, at: str) -> None:
    async with await place.aconnect(autocommit=True) as conn:
        with soon(), pytest.raises(TimeoutError):
            async with conn.pipeline(timeout=0.4):
                slow = await conn.execute(place.slow)
                await conn.execute(after_it(place))
                if at == "inside":
                    await slow.fetchall(timeout=0.4)
        with soon():
            await (await conn.execute(after_it(place))).fetchall()
        assert not conn.closed


@pytest.mark.parametrize("at", ["inside", "its end"])
async def test_a_cancelled_pipeline_is_cancelled_on_the_server(place: Database, at: str) -> None:
    async with await place.aconnect(autocommit=True) as conn:

        async def work() -> None:
            async with conn.pipeline():
                slow = await conn.execute(place.slow)
                await conn.execute(after_it(place))
                if at == "inside":
                    await slow.fetchall()

        with soon(), pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(work(), 0.4)
        with soon():
            await (await conn.execute(after_it(place))).fetchall()
        assert not conn.closed


MANY = 300
"""More statements than leave at once."""


def test_a_pipeline_left_by_an_interrupt_leaves_the_transactions_connection_usable(place: Database) -> None:
    with place.connect(autocommit=True) as conn:
        for count in (1, 40, MANY):
            with soon(), pytest.raises(KeyboardInterrupt), conn.transaction(), conn.pipeline():
                for _ in range(count):
                    conn.execute(after_it(place))
                raise KeyboardInterrupt
            with soon():
                conn.execute(after_it(place)).fetchall()
            assert not conn.closed


async def test_a_pipeline_left_by_a_cancellation_leaves_the_transactions_connection_usable(place: Database) -> None:
    async with await place.aconnect(autocommit=True) as conn:
        for count in (1, 40, MANY):
            with soon(), pytest.raises(asyncio.CancelledError):
                async with conn.transaction(), conn.pipeline():
                    for _ in range(count):
                        await conn.execute(after_it(place))
                    raise asyncio.CancelledError
            with soon():
                await (await conn.execute(after_it(place))).fetchall()
            assert not conn.closed


def test_an_interrupt_at_the_end_of_a_pipeline_ends_it(place: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with place.connect(autocommit=True) as conn:
        leave, interrupts = conn._core.leave_pipeline, [KeyboardInterrupt]

        def interrupted_once(pipeline: object) -> object:
            if interrupts:
                raise interrupts.pop()
            return leave(pipeline)

        monkeypatch.setattr(conn._core, "leave_pipeline", interrupted_once)
        with pytest.raises(KeyboardInterrupt), conn.transaction(), conn.pipeline():
            conn.execute(after_it(place))
        with pytest.raises(headrace.DatabaseError):
            conn.execute("select nothing from nowhere_at_all")
        assert not conn.closed


def test_an_interrupt_at_the_end_of_a_block_ends_it(place: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    with place.connect(autocommit=True) as conn:
        run, interrupts = conn._run, [KeyboardInterrupt]

        def interrupted_once(flow: object, limit: object = None) -> object:
            if interrupts and conn._core.depth:
                raise interrupts.pop()
            return run(flow, limit)

        monkeypatch.setattr(conn, "_run", interrupted_once)
        with pytest.raises(KeyboardInterrupt), conn.transaction():
            conn.execute(after_it(place)).fetchall()
        assert conn.transaction_status is headrace.types.TransactionStatus.IDLE
