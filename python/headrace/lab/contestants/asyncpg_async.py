"""asyncpg: prepared statements, fetchmany for pipelined selects, its own COPY."""

from __future__ import annotations

import asyncio
from typing import Any

import asyncpg

from .. import workloads as w
from .base import Async, Rows

ONE, TEN = w.SELECT_ONE.format(p="$1"), w.SELECT_TEN.format(p="$1")
INSERT = w.INSERT.split("VALUES")[0] + "VALUES ($1, $2, $3, $4, $5)"


class Contestant(Async):
    package = "asyncpg"
    options = "prepared statements, fetchmany for pipelines, copy_records_to_table"

    async def astart(self) -> None:
        self.conn = await asyncpg.connect(self.url)
        self.pooled: Any = None

    async def astop(self) -> None:
        await self.conn.close()
        if self.pooled is not None:
            await self.pooled.close()

    async def select_one(self, size: int, inner: int, data: Any) -> Rows:
        statement = await self.conn.prepare(ONE)
        return await self.atimed(inner, lambda: statement.fetch(7))

    async def select_ten(self, size: int, inner: int, data: Any) -> Rows:
        statement = await self.conn.prepare(TEN)
        return await self.atimed(inner, lambda: statement.fetch(10))

    async def fetch(self, size: int, inner: int, data: Any) -> Rows:
        # Kept until the clock has stopped: letting go of a result is not fetching one.
        self.kept = [await self.conn.fetch(data) for _ in range(inner)]
        return self.kept[-1]

    fetch_types = fetch_wide = fetch

    async def executemany(self, size: int, inner: int, data: Any) -> int:
        for _ in range(inner):
            async with self.conn.transaction():
                await self.conn.executemany(INSERT, data)
        return size

    async def executemany_autocommit(self, size: int, inner: int, data: Any) -> int:
        for _ in range(inner):
            await self.conn.executemany(INSERT, data)
        return size

    async def pipeline(self, size: int, inner: int, data: Any) -> Rows:
        # asyncpg's fetchmany gives one flat list.
        rows = await self.conn.fetchmany(w.PIPELINE.format(p="$1"), [(n,) for n in data])
        return list(rows)

    async def bulk_in(self, size: int, inner: int, data: Any) -> int:
        await self.conn.copy_records_to_table("target", schema_name=w.SCHEMA, records=data, columns=w.COLUMNS)
        return size

    async def connect(self, size: int, inner: int, data: Any) -> int:
        async def once() -> None:
            await (await asyncpg.connect(self.url)).close()

        await self.atimed(inner, once)
        return 0

    async def _pool(self) -> Any:
        if self.pooled is None:
            self.pooled = await asyncpg.create_pool(self.url, min_size=w.POOL_SIZE, max_size=w.POOL_SIZE)
        return self.pooled

    async def pool(self, size: int, inner: int, data: Any) -> Rows:
        pool = await self._pool()

        async def once() -> Rows:
            async with pool.acquire() as conn:
                return await conn.fetch(ONE, 7)  # type: ignore[no-any-return]

        return await self.atimed(inner, once)

    async def concurrent(self, size: int, inner: int, data: Any) -> int:
        pool = await self._pool()

        async def work() -> None:
            for _ in range(inner // w.TASKS):
                async with pool.acquire() as conn:
                    await conn.fetch(ONE, 7)

        await asyncio.gather(*(work() for _ in range(w.TASKS)))
        return inner

    async def stream(self, size: int, inner: int, data: Any) -> int:
        count = 0
        async with self.conn.transaction():
            async for _row in self.conn.cursor(f"{w.STREAM} LIMIT {size}", prefetch=2000):
                count += 1
        return count

    # asyncpg writes COPY's output to a file or callback; it does not decode rows.
    skips = frozenset({"bulk_out"})
