"""asyncio's transport writes only what its socket does not take at once; all bytes arrive, in their order."""

# asyncio only

from __future__ import annotations

import _socket
import asyncio
import itertools
import socket
from asyncio import selector_events
from typing import Any

import pytest

import headrace.aio
from servers import Database, names

pytestmark = pytest.mark.asyncio
EACH = pytest.mark.parametrize("any_db", names(), indirect=True)
LOST = pytest.mark.parametrize("any_db", [name for name in names() if name != "cubrid"], indirect=True)
"""A session of CUBRID survives its connection."""

TAKEN = (None, 1, 7, 100, 3000)
"""The bytes that a socket takes of each send, in turn; None if it would block."""


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """The sizes of what the transports are asked to write."""
    sizes: list[int] = []
    transport: Any = selector_events._SelectorSocketTransport  # type: ignore[attr-defined]
    write = transport.write

    def counted(self: Any, data: bytes) -> None:
        sizes.append(len(data))
        write(self, data)

    monkeypatch.setattr(transport, "write", counted)
    return sizes


@EACH
async def test_statements_go_to_the_socket(any_db: Database, written: list[int]) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        assert await conn.fetchval(any_db.one) == 1
        written.clear()
        for _ in range(3):
            assert await conn.fetchval(any_db.one) == 1
        async with conn.transaction():
            await conn.execute(any_db.one)
        assert written == []


@EACH
async def test_bytes_that_a_socket_does_not_take_arrive_in_order(
    any_db: Database, written: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    taken = itertools.cycle(TAKEN)

    def send(self: socket.socket, data: bytes, flags: int = 0) -> int:
        # The loop wakes itself through a pair of Unix sockets.
        most = next(taken) if self.family == socket.AF_INET else len(data)
        if most is None:
            raise BlockingIOError
        return _socket.socket.send(self, memoryview(data)[:most], flags)

    with monkeypatch.context() as patch:
        patch.setattr(socket.socket, "send", send)
        conn = await any_db.aconnect(autocommit=True)
    async with conn:
        insert = f"insert into of_straight_sends values ({', '.join(any_db.native_marks(2))})"
        await conn.execute("drop table if exists of_straight_sends")
        await conn.execute("create table of_straight_sends (n int, v varchar(200))")
        written.clear()
        await asyncio.gather(*(conn.execute(insert, (n, f"{n}" * 50)) for n in range(40)))
        await conn.executemany(insert, [(n, f"{n}" * 50) for n in range(40, 400)])
        assert written, "the socket has taken everything"
        rows = await conn.fetch("select n, v from of_straight_sends")
        assert sorted(rows) == [(n, f"{n}" * 50) for n in range(400)]
        await conn.execute("drop table of_straight_sends")


@LOST
async def test_error_of_the_socket_ends_the_connection(any_db: Database, monkeypatch: pytest.MonkeyPatch) -> None:
    is_lost = False

    def send(self: socket.socket, data: bytes, flags: int = 0) -> int:
        if is_lost and self.family == socket.AF_INET:
            raise ConnectionResetError(104, "Connection reset by peer")
        return _socket.socket.send(self, data, flags)

    with monkeypatch.context() as patch:
        patch.setattr(socket.socket, "send", send)
        conn = await any_db.aconnect(autocommit=True)
        async with conn:
            assert await conn.fetchval(any_db.one) == 1
            is_lost = True
            with pytest.raises(headrace.OperationalError):
                await conn.fetchval(any_db.one)
            assert conn.closed
