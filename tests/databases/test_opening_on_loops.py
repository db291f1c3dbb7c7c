"""How a connection is opened on an event loop."""

from __future__ import annotations

import asyncio
import errno
import socket
import sys
from typing import Any

import pytest

import headrace.aio
from servers import Database


@pytest.mark.skipif(sys.version_info < (3, 11), reason="a limit is a task of its own there")
async def test_opening_makes_no_task(any_db: Database) -> None:
    """One would take two turns of the loop more."""
    made: list[object] = []

    def factory(loop: asyncio.AbstractEventLoop, coroutine: Any, **more: Any) -> asyncio.Task[Any]:
        made.append(coroutine)
        return asyncio.Task(coroutine, loop=loop, **more)

    loop = asyncio.get_running_loop()
    loop.set_task_factory(factory)
    try:
        conn = await headrace.aio.connect(any_db.url, connect_timeout=60)
        assert made == []
    finally:
        loop.set_task_factory(None)
    assert len(await conn.fetch(any_db.one)) == 1
    await conn.close()


async def test_a_server_that_takes_its_time_is_waited_for(any_db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    class Far(socket.socket):
        """It is asked a second time before it is connected."""

        asked = 0

        def connect_ex(self, address: Any, /) -> int:
            self.asked += 1
            return super().connect_ex(address) if self.asked == 1 else errno.EALREADY

    monkeypatch.setattr("headrace.aio._shared.transport.socket.socket", Far)
    async with headrace.aio.connect(any_db.url) as conn:
        assert len(await conn.fetch(any_db.one)) == 1
