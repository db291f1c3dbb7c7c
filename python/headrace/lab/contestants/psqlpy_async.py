"""psqlpy: prepared statements, its binary COPY where it has one."""

from __future__ import annotations

import asyncio
from typing import Any

import psqlpy

from .. import workloads as w
from .base import Async, Rows

ONE, TEN = w.SELECT_ONE.format(p="$1"), w.SELECT_TEN.format(p="$1")
INSERT = w.INSERT.split("VALUES")[0] + "VALUES ($1, $2, $3, $4, $5)"


class Contestant(Async):
    package = "psqlpy"
    options = "prepared=True; rows as dicts, as it gives them"
    # It has no COPY of rows and no server-side streaming with a fetch size of its own choosing here.
    skips = frozenset({"bulk_in", "bulk_out"})

    async def astart(self) -> None:
        self.conn = await psqlpy.connect(dsn=self.url)
        self.pooled: Any = None

    async def astop(self) -> None:
        self.conn.close()
        if self.pooled is not None:
            self.pooled.close()

    async def _rows(self, conn: Any, sql: str, params: list[Any]) -> Rows:
        return (await conn.fetch(sql, params, prepared=True)).result()  # type: ignore[no-any-return]

    async def select_one(self, size: int, inner: int, data: Any) -> Rows:
        return await self.atimed(inner, lambda: self._rows(self.conn, ONE, [7]))

    async def select_ten(self, size: int, inner: int, data: Any) -> Rows:
        return await self.atimed(inner, lambda: self._rows(self.conn, TEN, [10]))

    async def fetch(self, size: int, inner: int, data: Any) -> Rows:
        # Kept until the clock has stopped: letting go of a result is not fetching one.
        self.kept = [await self._rows(self.conn, data, []) for _ in range(inner)]
        return self.kept[-1]

    fetch_types = fetch_wide = fetch

    async def executemany(self, size: int, inner: int, data: Any) -> int:
        rows = [list(row) for row in data]
        for _ in range(inner):
            async with self.conn.transaction() as transaction:
                await transaction.execute_many(INSERT, rows, prepared=True)
        return size

    async def executemany_autocommit(self, size: int, inner: int, data: Any) -> int:
        rows = [list(row) for row in data]
        for _ in range(inner):
            await self.conn.execute_many(INSERT, rows, prepared=True)
        return size

    async def pipeline(self, size: int, inner: int, data: Any) -> Rows:
        statement = w.PIPELINE.format(p="$1")
        rows: Rows = []
        async with self.conn.transaction() as transaction:
            for result in await transaction.pipeline([(statement, [n]) for n in data], prepared=True):
                rows += result.result()
        return rows

    async def connect(self, size: int, inner: int, data: Any) -> int:
        async def once() -> None:
            (await psqlpy.connect(dsn=self.url)).close()

        await self.atimed(inner, once)
        return 0

    async def pool(self, size: int, inner: int, data: Any) -> Rows:
        if self.pooled is None:
            self.pooled = psqlpy.ConnectionPool(dsn=self.url, max_db_pool_size=w.POOL_SIZE)

        async def once() -> Rows:
            async with self.pooled.acquire() as conn:
                return await self._rows(conn, ONE, [7])

        return await self.atimed(inner, once)

    async def concurrent(self, size: int, inner: int, data: Any) -> int:
        if self.pooled is None:
            self.pooled = psqlpy.ConnectionPool(dsn=self.url, max_db_pool_size=w.POOL_SIZE)

        async def work() -> None:
            for _ in range(inner // w.TASKS):
                async with self.pooled.acquire() as conn:
                    await self._rows(conn, ONE, [7])

        await asyncio.gather(*(work() for _ in range(w.TASKS)))
        return inner

    async def stream(self, size: int, inner: int, data: Any) -> int:
        count = 0
        async with self.conn.transaction() as transaction:
            cursor = transaction.cursor(f"{w.STREAM} LIMIT {size}")
            await cursor.start()
            while rows := (await cursor.fetchmany(2000)).result():
                count += len(rows)
            cursor.close()
        return count
