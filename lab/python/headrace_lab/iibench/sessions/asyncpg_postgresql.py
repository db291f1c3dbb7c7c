"""asyncpg: a task inserts while the next block is made."""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Coroutine, Sequence
from io import BytesIO
from typing import Any, TypeVar

import asyncpg

from ..databases.base import COLUMNS, BenchmarkDatabase
from . import base
from .base import RETRIED, Fault, places

T = TypeVar("T")


class AsyncpgSession(base.BenchmarkSession):
    package = "asyncpg"
    splits = True

    def __init__(self, url: str, database: BenchmarkDatabase) -> None:
        super().__init__(url, database)
        self.loop: asyncio.AbstractEventLoop | None = None
        self.waiting: deque[asyncio.Task[Any]] = deque()

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        if self.loop is None:
            self.loop = asyncio.new_event_loop()
        return self.loop.run_until_complete(coroutine)

    def end(self) -> None:
        super().end()
        if self.loop is not None:
            self.loop.close()

    async def open(self) -> None:
        self.conn = await asyncpg.connect(self.url)

    async def close(self) -> None:
        for task in self.waiting:
            task.cancel()
        await asyncio.gather(*self.waiting, return_exceptions=True)
        await self.conn.close()

    def fault(self, error: BaseException) -> Fault | None:
        if not isinstance(error, (asyncpg.PostgresError, asyncpg.InterfaceError)):
            return None
        code = getattr(error, "sqlstate", None) or type(error).__name__
        return Fault(code, str(error), code in RETRIED)

    async def sleep(self, seconds: float) -> None:
        await asyncio.sleep(seconds)

    async def execute(self, sql: str) -> int:
        return changed(await self.conn.execute(sql))

    async def query(self, sql: str, args: Sequence[Any] = (), prepared: bool = False) -> list[Any]:
        if not prepared:
            return list(await self.conn.fetch(sql % tuple(args)))
        for n in range(len(args)):
            sql = sql.replace("%s", f"${n + 1}", 1)
        return list(await self.conn.fetch(sql, *args))

    async def begin(self) -> None:
        await self.conn.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")

    async def commit(self) -> None:
        await self.conn.execute("COMMIT")

    def prepare_insert(self, strategy: str, table: str, rows: int, overlap: bool) -> None:
        super().prepare_insert(strategy, table, rows, overlap)
        if strategy in ("prepared", "executemany"):
            self.statement = self.head() + places("${}", rows if strategy == "prepared" else 1)
            self.prepared: Any = None

    async def insert(self, block: Any) -> int:
        if self.strategy == "text":
            return changed(await self.conn.execute(block))
        if self.strategy == "copy":
            return changed(
                await self.conn.copy_to_table(self.table, source=BytesIO(block), columns=COLUMNS, format="text")
            )
        if self.prepared is None:
            self.prepared = await self.conn.prepare(self.statement)
        if self.strategy == "executemany":
            await self.prepared.executemany(block)
            return len(block)
        await self.prepared.fetch(*block)
        return changed(self.prepared.get_statusmsg())

    async def encode(self, block: Any) -> None:
        self.waiting.append(asyncio.ensure_future(self.insert(block)))

    async def send(self) -> None:
        await asyncio.sleep(0)  # the task begins, and writes

    async def wait(self) -> int:
        return int(await self.waiting.popleft())

    async def arrived(self) -> bool:
        await asyncio.sleep(0)
        return self.waiting[0].done()


def changed(status: str) -> int:
    """The number of rows in a command's status, such as ``INSERT 0 5``."""
    last = status.rpartition(" ")[2]
    return int(last) if last.isdigit() else -1


SESSION = AsyncpgSession
