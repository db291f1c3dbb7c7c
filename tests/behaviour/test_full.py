"""Data of a COPY that is not read is not kept in memory, and does not prevent the end of the COPY."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

import headrace
import headrace.aio
from headrace import errors
from time_limit import time_limit

ROWS = 200_000
MANY = f"copy (select repeat('x', 500) from generate_series(1, {ROWS})) to stdout"
KEPT_BYTES = 4 * 1024 * 1024
"""What may be kept of its 100 MB."""


def test_request_after_a_copy_keeps_nothing_of_it_in_memory(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        late: list[Any] = []

        def ask() -> None:
            with pytest.raises(TimeoutError) as error:
                conn.execute("select 1", timeout=1.0)
            late.append(error.value)

        with conn.cursor().copy(MANY) as copy:
            length = len(copy.read())
            thread = threading.Thread(target=ask)
            thread.start()
            thread.join()
            assert late
            assert len(copy._buffer) < KEPT_BYTES
            while block := copy.read():
                length += len(block)
        assert (length, copy.rowcount) == (ROWS * 501, ROWS)
        assert conn.fetchval("select 2") == 2


def test_another_threads_statement_waits_for_the_end_of_a_copy_out(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        found: list[Any] = []
        with conn.cursor().copy(MANY) as copy:
            copy.read()
            threads = [threading.Thread(target=lambda: found.append(conn.fetchval("select 3"))) for _ in range(3)]
            for thread in threads:
                thread.start()
            while block := copy.read():
                assert len(block) < KEPT_BYTES
        for thread in threads:
            thread.join()
        assert found == [3, 3, 3]


@pytest.mark.parametrize("end", ["left", "fails", "closed"])
def test_unread_copy_can_be_ended(url: str, end: str) -> None:
    conn: Any = headrace.connect(url, autocommit=True)
    if end == "left":
        # Its block ends in order: what is left is dropped.
        with conn.cursor().copy(MANY) as copy:
            copy.read()
        assert copy.rowcount == ROWS
    elif end == "fails":
        with pytest.raises(ZeroDivisionError), conn.cursor().copy(MANY) as copy:
            copy.read()
            raise ZeroDivisionError
    else:
        with pytest.raises(errors.OperationalError), conn.cursor().copy(MANY) as copy:
            copy.read()
            conn.close()
        return
    assert conn.fetchval("select 4") == 4
    conn.close()


@pytest.mark.parametrize("end", ["left", "fails", "closed"])
async def test_unread_copy_on_a_loop_can_be_ended(url: str, end: str) -> None:
    conn: Any = await headrace.aio.connect(url, autocommit=True)
    if end == "left":
        async with conn.cursor().copy(MANY) as copy:
            await _full(copy)
        assert copy.rowcount == ROWS
    elif end == "fails":
        with pytest.raises(ZeroDivisionError):
            async with conn.cursor().copy(MANY) as copy:
                await _full(copy)
                raise ZeroDivisionError
    else:
        with pytest.raises(errors.OperationalError):
            async with conn.cursor().copy(MANY) as copy:
                await _full(copy)
                await conn.close()
        return
    assert await conn.fetchval("select 4") == 4
    await conn.close()


async def test_a_slow_reader_on_a_loop_gets_all_of_a_copy(aconn: Any) -> None:
    async with aconn.cursor().copy(MANY) as copy:
        length = 0
        for _ in range(3):
            kept = await _full(copy)
            assert kept < KEPT_BYTES
            length += len(await copy.read())
        while block := await copy.read():
            length += len(block)
    assert length == ROWS * 501


async def _full(copy: Any) -> int:
    """Waits until the buffer is full; returns its bytes after some more iterations of the loop."""
    async with time_limit(30):
        while len(copy._buffer) < KEPT_BYTES // 4:
            await asyncio.sleep(0.001)
    for _ in range(1000):
        await asyncio.sleep(0)
    return len(copy._buffer)


def test_a_statement_between_the_rows_of_a_copy_out_is_refused(conn: headrace.Connection[Any]) -> None:
    rows = conn.copy_out("select repeat('x', 100) from generate_series(1, 100000)")
    next(iter(rows))
    with pytest.raises(errors.InterfaceError, match="COPY is under way"):
        conn.execute("select 1")
    assert sum(1 for _ in rows) == 99_999
    assert conn.fetchval("select 1") == 1
