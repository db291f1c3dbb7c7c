"""What a client is asked for in each workload, and how its time is taken."""

from __future__ import annotations

import asyncio
import gc
import time
from abc import ABC, abstractmethod
from collections.abc import Awaitable, Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any, ClassVar

from .workloads import SELECT, WORKLOADS, Workload, digest, limits

Rows = list[Any]


class Clock:
    """Wall-clock and CPU time of this process in the parts of a round that count."""

    def __init__(self) -> None:
        self.seconds = self.cpu = 0.0

    @contextmanager
    def running(self) -> Iterator[None]:
        """Counts the time of the block."""
        cpu, started = time.process_time(), time.perf_counter()
        yield
        self.seconds += time.perf_counter() - started
        self.cpu += time.process_time() - cpu


class Client(ABC):
    """A driver with one connection, which is opened when a workload needs it.

    The methods that are named after workloads return all rows of a round, in order; ``count`` the number of rows, or
    None where the driver does not have it either. What they return is freed after the clock has stopped.
    """

    package: ClassVar[str] = ""
    """The distribution; empty if there is none."""
    statement: ClassVar[str] = f"{SELECT}$1"
    skips: ClassVar[dict[str, str]] = {}
    """Workloads that the driver has no way to do, and why."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.conn: Any = None
        self.latencies: list[float] = []

    @abstractmethod
    def open(self) -> Any:
        """Returns a connection in autocommit."""

    @abstractmethod
    def ask(self, conn: Any) -> Any:
        """The first query on a connection; returns its only value, 42."""

    @abstractmethod
    def leave(self, conn: Any) -> None:
        """Closes a connection."""

    def prepare(self, workload: str, size: int) -> None:
        """Everything before the clock starts."""
        if self.conn is None and workload not in ("connect", "connect_cold", "clients"):
            self.conn = self.open()
        if workload == "clients":
            self.gather(size)

    def finish(self) -> None:
        """Everything after the last round of a size."""
        self.scatter()

    def round(self, workload: str, size: int, inner: int) -> dict[str, Any]:
        """Runs one round, and returns its times and the digest of its rows."""
        clock, self.latencies = Clock(), []
        gc.collect()
        answer: dict[str, Any] = {"count": None, "digest": ""}
        if workload in ("connect", "connect_cold"):
            answer["digest"] = digest((value,) for value in self._connect(clock, inner))
        elif workload == "count":
            answer["count"] = self._count(clock, limits(size), inner)
        else:
            asked = limits(size if workload == "batch" else inner)
            with clock.running():
                if workload == "batch":
                    found = [self.batch(asked) for _ in range(inner)]
                elif workload == "clients":
                    found = self.clients(size, inner)
                else:
                    found = self.one(asked, WORKLOADS[workload])
            answer["digest"] = self.digest_of(found)
        return answer | {"seconds": clock.seconds, "cpu": clock.cpu, "latencies": self.latencies}

    def digest_of(self, found: Iterable[Rows]) -> str:
        """The digest of the rows of several results."""
        return digest(row for rows in found for row in rows)

    def _connect(self, clock: Clock, inner: int) -> list[Any]:
        values: list[Any] = []
        for _ in range(inner):
            with clock.running():
                conn = self.open()
                values.append(self.ask(conn))
            self.leave(conn)
        return values

    def _count(self, clock: Clock, asked: list[int], inner: int) -> int | None:
        total: int | None = 0
        for _ in range(inner):
            with clock.running():
                count = self.count(asked)
            total = None if count is None or total is None else total + count
        return total

    def one(self, asked: Sequence[int], of: Workload) -> list[Rows]:
        """One statement after the other; returns their results."""
        run = self.query()
        if not of.latencies:
            return [run(limit) for limit in asked]
        found, clock = [], time.perf_counter
        for limit in asked:
            if of.pause:
                time.sleep(of.pause)
            started = clock()
            rows = run(limit)
            self.latencies.append(clock() - started)
            found.append(rows)
        return found

    def query(self) -> Callable[[int], Rows]:
        """What executes the statement once, and returns its rows."""
        raise NotImplementedError

    def batch(self, asked: Sequence[int]) -> Rows:
        """All statements in a pipeline; returns all rows."""
        raise NotImplementedError

    def count(self, asked: Sequence[int]) -> int | None:
        """All statements in a pipeline; returns the number of rows."""
        raise NotImplementedError

    def clients(self, size: int, inner: int) -> list[Rows]:
        """The statement ``inner`` times on each of several connections, side by side; returns the results."""
        raise NotImplementedError

    def gather(self, size: int) -> None:
        """Opens the connections of ``clients``."""
        raise NotImplementedError

    def scatter(self) -> None:  # noqa: B027, most drivers have nothing to do here
        """Closes them."""


class AsyncClient(Client):
    """A driver on asyncio, in a loop that lasts as long as the process. A round is one task."""

    def __init__(self, url: str) -> None:
        super().__init__(url)
        self.loop = asyncio.new_event_loop()
        self.many: list[Any] = []

    def wait(self, work: Awaitable[Any]) -> Any:
        """Runs a coroutine to its end."""
        return self.loop.run_until_complete(work)

    @abstractmethod
    async def aopen(self) -> Any:
        """Like ``open``."""

    @abstractmethod
    async def aask(self, conn: Any) -> Any:
        """Like ``ask``."""

    async def aleave(self, conn: Any) -> None:
        """Like ``leave``."""
        await conn.close()

    @abstractmethod
    async def aquery(self, conn: Any) -> Callable[[int], Awaitable[Rows]]:
        """Like ``query``, on a connection."""

    def open(self) -> Any:
        return self.wait(self.aopen())

    def ask(self, conn: Any) -> Any:
        return self.wait(self.aask(conn))

    def leave(self, conn: Any) -> None:
        self.wait(self.aleave(conn))

    def one(self, asked: Sequence[int], of: Workload) -> list[Rows]:
        async def work() -> list[Rows]:
            run, found, clock = await self.aquery(self.conn), [], time.perf_counter
            if not of.latencies:
                return [await run(limit) for limit in asked]
            for limit in asked:
                if of.pause:
                    await asyncio.sleep(of.pause)
                started = clock()
                rows = await run(limit)
                self.latencies.append(clock() - started)
                found.append(rows)
            return found

        return self.wait(work())  # type: ignore[no-any-return]

    def gather(self, size: int) -> None:
        async def work() -> None:
            for _ in range(size):
                conn = await self.aopen()
                run = await self.aquery(conn)
                await run(1)
                self.many.append((conn, run))

        self.wait(work())

    def clients(self, size: int, inner: int) -> list[Rows]:
        async def client(run: Callable[[int], Awaitable[Rows]]) -> list[Rows]:
            return [await run(1) for _ in range(inner)]

        async def work() -> list[Rows]:
            return [rows for found in await asyncio.gather(*(client(run) for _, run in self.many)) for rows in found]

        return self.wait(work())  # type: ignore[no-any-return]

    def scatter(self) -> None:
        async def work() -> None:
            for conn, _ in self.many:
                await self.aleave(conn)
            self.many.clear()

        self.wait(work())
