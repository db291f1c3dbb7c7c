"""What contestants share. A contestant has one method per workload, which does the work ``inner`` times and returns the
rows that reached it, or their number where only a count did. Streams hand each block to :meth:`Sync.take`."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import threading
import time
from collections.abc import Callable, Coroutine, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AbstractContextManager
from typing import Any, Final

from .. import workloads as w
from ..digest import RowSet, arrow_rows
from ..workloads import Sql

Rows = list[Any]
LET_GO: Final = 1_000
"""Rows that are freed at a time, where freeing all of them at once would be what others wait for."""


def table_of(rows: Iterable[Any]) -> Any:
    """Rows as a table of pyarrow's, which finds the types of the columns out."""
    import pyarrow as pa

    values = (row.values() if isinstance(row, Mapping) else row for row in rows)
    columns = list(zip(*values, strict=True))
    return pa.table([pa.array(column) for column in columns], names=[f"c{i}" for i in range(len(columns))])


def with_dialect(driver: str, package: str) -> str:
    """The driver's name in SQLAlchemy's URLs if the package that brings its dialect is installed, and nothing else."""
    return driver if importlib.util.find_spec(package) else ""


class Sync:
    """A blocking contestant. ``skips`` are the workloads that it does not offer, each with the reason.

    In the workloads of Arrow a driver of rows makes a table of them, or rows of a table, by pyarrow.
    """

    package = ""
    options = ""
    skips: dict[str, str] = {}
    batches = ""
    """How ``executemany`` sends its rows."""
    alchemy = ""
    """The driver's name in SQLAlchemy's URLs; empty if it has no dialect, or none that is installed."""
    loads = w.IN_THREADS
    """The workloads of a web service that are for such a driver."""
    mark = "?"
    """A parameter in its statements."""

    def __init__(self, url: str, sql: Sql, uvloop: bool = False) -> None:
        self.url = url
        self.sql = sql
        self.latencies: list[float] = []
        self.kept: list[Any] = []
        self.pools: dict[int, Any] = {}
        """Its pools, by their number of connections."""
        self.taken = 0
        self.seen: RowSet | None = None
        self.taking_batches = False
        self.alchemy_made: Any = None
        self.conn: Any = None
        """Its connection."""

    def run(self, workload: str, size: int, inner: int, data: Any) -> Any:
        """Runs a workload and returns its last result."""
        return getattr(self, workload)(size, inner, data)

    def strategy(self, workload: str) -> str:
        """How the rows of a workload that inserts some are sent; empty if that is not said."""
        if "bulk_in" in (workload, self.way_in if workload == "arrow_in" else ""):
            return "LOAD DATA" if self.sql.loads_rows else "COPY"
        return self.batches

    @property
    def way_in(self) -> str:
        """The workload that ``arrow_in`` is with rows: the fastest that the driver has."""
        offered = "bulk_in" not in self.sql.skips and "bulk_in" not in self.skips
        return "bulk_in" if offered else "executemany_autocommit"

    def rows_in(self, table: Any) -> Any:
        """What the driver is given of a table that it is to insert."""
        return arrow_rows(table)

    def start(self) -> None:
        """Connects."""
        self.conn = self.connected()

    def stop(self) -> None:
        """Disconnects."""
        if self.conn is not None:
            self.conn.close()

    def leave(self) -> None:
        """Disconnects, with its pools, and what SQLAlchemy has connected."""
        if self.alchemy_made is not None:
            self.alchemy_made.dispose()
        for pool in self.pools.values():
            self.close_pool(pool)
        self.stop()

    def connected(self) -> Any:
        """A new connection in autocommit."""
        raise NotImplementedError

    def ask(self, conn: Any, statement: str, value: int) -> Rows:
        """The rows of a query with a parameter."""
        cursor = conn.cursor()
        cursor.execute(statement, (value,))
        return cursor.fetchall()  # type: ignore[no-any-return]

    def make_pool(self, size: int) -> Any:
        """A pool: the driver's own, or SQLAlchemy's over the driver. It does not roll back what is given back: the
        connections are in autocommit."""
        from sqlalchemy.pool import QueuePool

        return QueuePool(self.connected, pool_size=size, max_overflow=0, reset_on_return=None)

    def close_pool(self, pool: Any) -> None:
        """Closes a pool."""
        pool.dispose()

    def lent(self, pool: Any) -> AbstractContextManager[Any]:
        """A connection of a pool, which is given back at the end."""
        return contextlib.closing(pool.connect())

    def taking(self, size: int) -> Callable[[], Rows]:
        """What takes a connection of a pool of this size, selects a row by key, and gives the connection back."""
        if size not in self.pools:
            self.pools[size] = self.make_pool(size)
        pool, statement = self.pools[size], self.sql.select_one(self.mark)

        def once() -> Rows:
            with self.lent(pool) as conn:
                return self.ask(conn, statement, w.KEY)

        return once

    def pool(self, size: int, inner: int, data: Any) -> Any:
        return list(self.timed(inner, self.taking(w.POOL_SIZE)))

    def concurrent(self, size: int, inner: int, data: Any) -> Any:
        return self.in_threads(size, inner)

    def pool_threads(self, size: int, inner: int, data: Any) -> Any:
        return self.in_threads(size, inner)

    def in_threads(self, threads: int, inner: int) -> Rows:
        """Queries of so many threads that share a pool: the rows of all. Keeps the time of each, with what it waited
        for a connection."""
        once, numbers, rows, clock = self.taking(w.POOL_SIZE), iter(range(inner)), Rows(), time.perf_counter
        latencies: list[float] = []

        def work() -> None:
            for _ in numbers:
                started = clock()
                got = once()
                latencies.append(clock() - started)
                rows.extend(got)

        working = [threading.Thread(target=work) for _ in range(threads)]
        for thread in working:
            thread.start()
        for thread in working:
            thread.join()
        self.latencies = latencies
        return rows

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

    def fetch(self, size: int, inner: int, data: Any) -> Any:
        raise NotImplementedError

    def fetch_types(self, size: int, inner: int, data: Any) -> Any:
        return self.fetch(size, inner, data)

    def fetch_wide(self, size: int, inner: int, data: Any) -> Any:
        return self.fetch(size, inner, data)

    def connect(self, size: int, inner: int, data: Any) -> Any:
        self.timed(inner, lambda: self.connected().close())
        return 0

    def stream(self, size: int, inner: int, data: Any) -> Any:
        raise NotImplementedError

    def arrow(self, size: int, inner: int, data: Any) -> Any:
        self.kept = [table_of(self.fetch(size, 1, data)) for _ in range(inner)]
        return self.kept[-1]

    def arrow_types(self, size: int, inner: int, data: Any) -> Any:
        return self.arrow(size, inner, data)

    def arrow_wide(self, size: int, inner: int, data: Any) -> Any:
        return self.arrow(size, inner, data)

    def arrow_stream(self, size: int, inner: int, data: Any) -> Any:
        self.taking_batches = True
        return self.stream(size, inner, data)

    def arrow_in(self, size: int, inner: int, data: Any) -> Any:
        return getattr(self, self.way_in)(size, inner, self.rows_in(data))

    def partitions(self, workload: str, size: int) -> Any:
        """Reads a table in parts, which are read at the same time; its Arrow data."""
        raise NotImplementedError

    def _partitions(self, workload: str, size: int, inner: int) -> int:
        self.kept = [self.partitions(workload, size) for _ in range(inner)]
        self.take_batch(self.kept[-1])
        return size

    def partitions_1(self, size: int, inner: int, data: Any) -> int:
        return self._partitions("partitions_1", size, inner)

    def partitions_2(self, size: int, inner: int, data: Any) -> int:
        return self._partitions("partitions_2", size, inner)

    def partitions_4(self, size: int, inner: int, data: Any) -> int:
        return self._partitions("partitions_4", size, inner)

    def partitions_skewed(self, size: int, inner: int, data: Any) -> int:
        return self._partitions("partitions_skewed", size, inner)

    def take(self, rows: Sequence[Any]) -> None:
        """A block of a stream has reached the caller."""
        if self.taking_batches:
            self.take_batch(table_of(rows))
            return
        self.taken += len(rows)
        if self.seen is not None:
            self.seen.add(rows)

    def take_batch(self, batch: Any) -> None:
        """A record batch of a stream has reached the caller."""
        self.taken += batch.num_rows
        if self.seen is not None:
            self.seen.add(arrow_rows(batch))

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

    loads = w.ON_LOOPS

    def __init__(self, url: str, sql: Sql, uvloop: bool = False) -> None:
        super().__init__(url, sql)
        self.other: Any = None
        """A second connection."""
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
        self.conn = await self.aconnected()

    async def astop(self) -> None:
        """Disconnects."""
        await self.disconnect(self.conn)

    def leave(self) -> None:
        """Disconnects, with its pools, and what SQLAlchemy has connected."""
        if self.alchemy_made is not None:
            self.loop.run_until_complete(self.alchemy_made.dispose())
        for pool in self.pools.values():
            self.loop.run_until_complete(self.aclose_pool(pool))
        if self.other is not None:
            self.loop.run_until_complete(self.disconnect(self.other))
        self.stop()

    async def aconnected(self) -> Any:
        """A new connection in autocommit."""
        raise NotImplementedError

    async def disconnect(self, conn: Any) -> None:
        """Closes a connection."""
        await conn.close()

    async def rows_of(self, conn: Any, statement: str, *values: int) -> Rows:
        """The rows of a query."""
        raise NotImplementedError

    async def amake_pool(self, size: int) -> Any:
        """A pool of the driver's own."""
        raise NotImplementedError

    async def aclose_pool(self, pool: Any) -> None:
        """Closes a pool."""
        await pool.close()

    def alent(self, pool: Any) -> AbstractAsyncContextManager[Any]:
        """A connection of a pool, which is given back at the end."""
        return pool.acquire()  # type: ignore[no-any-return]

    async def ataking(self, size: int) -> Callable[[], Coroutine[Any, Any, Rows]]:
        """What takes a connection of a pool of this size, selects a row by key, and gives the connection back."""
        if size not in self.pools:
            self.pools[size] = await self.amake_pool(size)
        pool, statement = self.pools[size], self.sql.select_one(self.mark)

        async def once() -> Rows:
            async with self.alent(pool) as conn:
                return await self.rows_of(conn, statement, w.KEY)

        return once

    async def pool(self, size: int, inner: int, data: Any) -> Any:
        return list(await self.atimed(inner, await self.ataking(w.POOL_SIZE)))

    async def concurrent(self, size: int, inner: int, data: Any) -> Any:
        return await self.in_tasks(size, inner, w.POOL_SIZE)

    async def pool_load(self, size: int, inner: int, data: Any) -> Any:
        return await self.in_tasks(size, inner, w.LOAD_POOL)

    async def in_tasks(self, tasks: int, inner: int, connections: int) -> Rows:
        """Queries of so many tasks that share a pool: the rows of all. Keeps the time of each, with what it waited for
        a connection."""
        once, numbers, rows, clock = await self.ataking(connections), iter(range(inner)), Rows(), time.perf_counter
        latencies: list[float] = []

        async def work() -> None:
            for _ in numbers:
                started = clock()
                got = await once()
                latencies.append(clock() - started)
                rows.extend(got)

        await asyncio.gather(*(work() for _ in range(tasks)))
        self.latencies = latencies
        return rows

    async def beside_bulk(self, size: int, inner: int, data: Any) -> Any:
        if self.other is None:
            self.other = await self.aconnected()
        statement, clock, is_over = self.sql.select_one(self.mark), time.perf_counter, False
        latencies: list[float] = []

        async def ask() -> None:
            # At least once: few rows may be there before this task has begun.
            while not (is_over and latencies):
                started = clock()
                await self.rows_of(self.conn, statement, w.KEY)
                latencies.append(clock() - started)
                await asyncio.sleep(w.PAUSE_S)

        asking = asyncio.ensure_future(ask())
        rows = Rows()
        for _ in range(inner):
            await self.let_go(rows)
            rows = await self.rows_of(self.other, data)
        is_over = True
        await asking
        self.kept, self.latencies = [rows], latencies
        return rows

    @staticmethod
    async def let_go(rows: Rows) -> None:
        """Frees a result, some rows a turn: that is the program's, not the driver's, and every driver's query beside
        it would wait for it."""
        while rows:
            del rows[-LET_GO:]
            await asyncio.sleep(0)

    def _alchemy(self) -> Any:
        """An engine of the driver."""
        if self.alchemy_made is None:
            from ..alchemy import Asyncio

            self.alchemy_made = Asyncio(self.url, self.alchemy, self.sql)
        return self.alchemy_made

    async def fetch(self, size: int, inner: int, data: Any) -> Rows:
        # Kept until the clock has stopped: letting go of a result is not fetching one.
        self.kept = [await self.rows_of(self.conn, data) for _ in range(inner)]
        return self.kept[-1]

    async def connect(self, size: int, inner: int, data: Any) -> int:
        async def once() -> None:
            await self.disconnect(await self.aconnected())

        await self.atimed(inner, once)
        return 0

    async def arrow(self, size: int, inner: int, data: Any) -> Any:
        self.kept = [table_of(await self.fetch(size, 1, data)) for _ in range(inner)]
        return self.kept[-1]

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
