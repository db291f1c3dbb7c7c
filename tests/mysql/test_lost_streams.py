"""What has come of a stream before its connection is lost."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import headrace.aio.mysql
from headrace import errors

ROWS = 300


async def test_rows_that_came_before_a_loss_are_given(my_url: str) -> None:
    numbers = " union all ".join(f"select {number}" for number in range(1, ROWS + 1))
    conn: Any = await headrace.aio.mysql.connect(my_url)
    stream = conn.stream(numbers, fetch_size=10)
    found = [await anext(stream)]
    # A block is full, and the others are in the read buffer.
    loop: Any = asyncio.get_running_loop()
    loop._transports[conn._core.wire.fileno()].abort()
    while not conn.closed:
        await asyncio.sleep(0)
    found += [row async for row in stream]
    assert [number for (number,) in found] == list(range(1, ROWS + 1))
    with pytest.raises(errors.ConnectionClosed, match="closed the connection"):
        await conn.execute("select 1")
