"""What contestants share. A contestant has one method per workload, which does the work ``inner`` times and returns the
rows that reached it, or their number where only a count did. Streams hand each block to :meth:`Sync.take`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Coroutine, Sequence
from typing import Any

from ..digest import RowSet
from ..workloads import Sql

Rows = list[Any]


class Sync:
    """A blocking contestant. ``skips`` are the workloads that it does not offer, each with the reason."""

    package = ""
    options = ""
    skips: dict[str, str] = {}
    alchemy = ""
    """The driver's name in SQLAlchemy's URLs; empty if SQLAlchemy has no dialect for it."""

    def __init__(self, url: str, sql: Sql, uvloop: bool = False) -> None:
        self.url = url
        self.sql = sql
        self.latencies: list[float] = []
        self.kept: list[Any] = []
        self.taken = 0
        self.seen: RowSet | None = None
        self.alchemy_made: Any = None

    def run(self, workload: str, size: int, inner: int, data: Any) -> Any:
        """Runs a workload and returns its last result."""
        return getattr(self, workload)(size, inner, data)

    def start(self) -> None:
        """Connects."""

    def stop(self) -> None:
        """Disconnects."""

    def leave(self) -> None:
        """Disconnects, with what SQLAlchemy has connected."""
        if self.alchemy_made is not None:
            self.alchemy_made.dispose()
        self.stop()

    def _alchemy(self) -> Any:
        """An engine of the driver."""
        if self.alchemy_made is None:
            from ..alchemy import Blocking

            self.alchemy_made = Blocking(self.url, self.alchemy, self.sql)
        return self.alchemy_made

    def sqlalchemy_core(self, size: int, inner: int, data: Any) -> Any:
        engine = self._alchemy()
        return self.timed(inner, lambda: engine.core(size))

    def sqlalchemy_orm(self, size: int, inner: int, data: Any) -> Any:
        engine = self._alchemy()
        return self.timed(inner, lambda: engine.orm(size))

    def take(self, rows: Sequence[Any]) -> None:
        """A block of a stream has reached the caller."""
        self.taken += len(rows)
        if self.seen is not None:
            self.seen.add(rows)

    def timed(self, inner: int, once: Callable[[], Any]) -> Any:
        """Repeats one small operation, and keeps the time of each."""
        clock = time.perf_counter
        latencies: list[float] = []
        result: Any = None
        for _ in range(inner):
            started = clock()
            result = once()
            latencies.append(clock() - started)
        self.latencies = latencies
        return result


class Async(Sync):
    """An asyncio contestant: its methods are coroutines, run on one loop."""

    def __init__(self, url: str, sql: Sql, uvloop: bool = False) -> None:
        super().__init__(url, sql)
        if uvloop:
            import uvloop as uv

            self.loop: asyncio.AbstractEventLoop = uv.new_event_loop()
        else:
            self.loop = asyncio.new_event_loop()

    def run(self, workload: str, size: int, inner: int, data: Any) -> Any:
        """Runs a workload and returns its last result."""
        return self.loop.run_until_complete(getattr(self, workload)(size, inner, data))

    def start(self) -> None:
        """Connects."""
        self.loop.run_until_complete(self.astart())

    def stop(self) -> None:
        """Disconnects."""
        self.loop.run_until_complete(self.astop())
        self.loop.close()

    async def astart(self) -> None:
        """Connects."""

    async def astop(self) -> None:
        """Disconnects."""

    def leave(self) -> None:
        """Disconnects, with what SQLAlchemy has connected."""
        if self.alchemy_made is not None:
            self.loop.run_until_complete(self.alchemy_made.dispose())
        self.stop()

    def _alchemy(self) -> Any:
        """An engine of the driver."""
        if self.alchemy_made is None:
            from ..alchemy import Asyncio

            self.alchemy_made = Asyncio(self.url, self.alchemy, self.sql)
        return self.alchemy_made

    async def sqlalchemy_core(self, size: int, inner: int, data: Any) -> Any:
        engine = self._alchemy()
        return await self.atimed(inner, lambda: engine.core(size))

    async def sqlalchemy_orm(self, size: int, inner: int, data: Any) -> Any:
        engine = self._alchemy()
        return await self.atimed(inner, lambda: engine.orm(size))

    async def atimed(self, inner: int, once: Callable[[], Coroutine[Any, Any, Any]]) -> Any:
        """Repeats one small operation, and keeps the time of each."""
        clock = time.perf_counter
        latencies: list[float] = []
        result: Any = None
        for _ in range(inner):
            started = clock()
            result = await once()
            latencies.append(clock() - started)
        self.latencies = latencies
        return result
