"""headrace on asyncio."""

from __future__ import annotations

import asyncio
from typing import Any

import headrace.aio

from .. import workloads as w
from .base import Async, Rows

ONE, TEN = w.SELECT_ONE.format(p="$1"), w.SELECT_TEN.format(p="$1")
INSERT = w.INSERT.split("VALUES")[0] + "VALUES ($1, $2, $3, $4, $5)"


class Contestant(Async):
    package = "headrace"
    options = "prepared statements and binary formats (its defaults)"

    async def astart(self) -> None:
        self.conn = await headrace.aio.connect(self.url, autocommit=True)
        self.pooled: Any = None

    async def astop(self) -> None:
        await self.conn.close()
        if self.pooled is not None:
            await self.pooled.close()

    async def select_one(self, size: int, inner: int, data: Any) -> Rows:
        return await self.atimed(inner, lambda: self.conn.fetch(ONE, 7))

    async def select_ten(self, size: int, inner: int, data: Any) -> Rows:
        return await self.atimed(inner, lambda: self.conn.fetch(TEN, 10))

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
        return await self.conn.fetchmany(w.PIPELINE.format(p="$1"), [(n,) for n in data])

    async def bulk_in(self, size: int, inner: int, data: Any) -> int:
        return await self.conn.copy_in((w.SCHEMA, "target"), data, columns=w.COLUMNS)

    async def bulk_out(self, size: int, inner: int, data: Any) -> Rows:
        return [row async for row in await self.conn.copy_out((w.SCHEMA, f"fetch_{size}"))]

    async def connect(self, size: int, inner: int, data: Any) -> int:
        async def once() -> None:
            await (await headrace.aio.connect(self.url)).close()

        await self.atimed(inner, once)
        return 0

    async def _pool(self) -> Any:
        if self.pooled is None:
            from headrace.aio.pool import AsyncConnectionPool

            self.pooled = AsyncConnectionPool(
                self.url, min_size=w.POOL_SIZE, max_size=w.POOL_SIZE, kwargs={"autocommit": True}, open=False
            )
            await self.pooled.open()
            await self.pooled.wait()
        return self.pooled

    async def pool(self, size: int, inner: int, data: Any) -> Rows:
        pool = await self._pool()

        async def once() -> Rows:
            async with pool.connection() as conn:
                return await conn.fetch(ONE, 7)  # type: ignore[no-any-return]

        return await self.atimed(inner, once)

    async def concurrent(self, size: int, inner: int, data: Any) -> int:
        pool = await self._pool()

        async def work() -> None:
            for _ in range(inner // w.TASKS):
                async with pool.connection() as conn:
                    await conn.fetch(ONE, 7)

        await asyncio.gather(*(work() for _ in range(w.TASKS)))
        return inner

    async def stream(self, size: int, inner: int, data: Any) -> int:
        count = 0
        async for _row in self.conn.stream(f"{w.STREAM} LIMIT {size}"):
            count += 1
        return count
