"""Connections in memory: all that a pool uses of a connection, and switches for what can go wrong with it."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

from headrace.types import TransactionStatus as Status


class Fake:
    """A blocking connection."""

    def __init__(self) -> None:
        self.closed = False
        self.broken = False
        self.lost = False
        self.needs_reset = False
        self.streaming = False
        self.alive = True
        self.transaction_status = Status.IDLE
        self.log: list[str] = []
        self.reset_fails = False
        self.reset_gate: threading.Event | None = None

    def check_alive(self) -> bool:
        return self.alive

    def commit(self) -> None:
        self.log.append("commit")
        self.transaction_status = Status.IDLE

    def reset(self, mode: str) -> None:
        self.log.append(mode)
        if self.reset_gate is not None:
            self.reset_gate.wait(10)
        if self.reset_fails:
            raise OSError("reset failed")
        self.transaction_status = Status.IDLE

    def close(self) -> None:
        self.closed = True


class AsyncFake:
    """An asyncio connection; every method can be suspended, so that it can be cancelled there."""

    def __init__(self) -> None:
        self.closed = False
        self.broken = False
        self.lost = False
        self.needs_reset = False
        self.streaming = False
        self.alive = True
        self.transaction_status = Status.IDLE
        self.log: list[str] = []
        self.reset_fails = False
        self.reset_gate: asyncio.Event | None = None

    def check_alive(self) -> bool:
        return self.alive

    async def execute(self) -> None:
        self.transaction_status = Status.ACTIVE
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        self.transaction_status = Status.INTRANS

    async def commit(self) -> None:
        self.transaction_status = Status.ACTIVE
        await asyncio.sleep(0)
        self.log.append("commit")
        self.transaction_status = Status.IDLE

    async def reset(self, mode: str) -> None:
        self.log.append(mode)
        await asyncio.sleep(0)
        if self.reset_gate is not None:
            await self.reset_gate.wait()
        if self.reset_fails:
            raise OSError("reset failed")
        self.transaction_status = Status.IDLE

    async def close(self) -> None:
        await asyncio.sleep(0)
        self.closed = True


class Server:
    """Makes connections; can be down, or slow."""

    def __init__(self) -> None:
        self.made: list[Any] = []
        self.attempts = 0
        self.down: Exception | None = None
        self.delay = 0.0

    def connect(self, conninfo: str = "", **kwargs: Any) -> Fake:
        self.attempts += 1
        if self.delay:
            threading.Event().wait(self.delay)
        if self.down is not None:
            raise self.down
        self.made.append(Fake())
        return self.made[-1]  # type: ignore[no-any-return]

    async def aconnect(self, conninfo: str = "", **kwargs: Any) -> AsyncFake:
        self.attempts += 1
        await asyncio.sleep(self.delay)
        if self.down is not None:
            raise self.down
        self.made.append(AsyncFake())
        return self.made[-1]  # type: ignore[no-any-return]

    @property
    def open(self) -> list[Any]:
        """Connections that were not closed."""
        return [c for c in self.made if not c.closed]
