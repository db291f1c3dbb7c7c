"""asyncmy: Cython, asyncio, text protocol."""

from __future__ import annotations

from typing import Any

import asyncmy
import asyncmy.cursors

from .. import workloads as w
from .base import Async, Rows
from .mysqldb_like import parameters


class Contestant(Async):
    package = "asyncmy"
    alchemy = "asyncmy"
    options = "text protocol, executemany of many rows per statement, SSCursor for streams"
    batches = "INSERTs of many rows"
    mark = "%s"
    skips = {"bulk_in": "its LOAD DATA LOCAL raises TypeError (0.2.18)"}

    async def astart(self) -> None:
        self.conn = await self.aconnected()

    async def astop(self) -> None:
        self.conn.close()

    async def aconnected(self) -> Any:
        return await asyncmy.connect(**parameters(self.url), charset="utf8mb4", autocommit=True)

    async def disconnect(self, conn: Any) -> None:
        conn.close()

    async def rows_of(self, conn: Any, statement: str, *values: int) -> Rows:
        return list(await self._ask(conn, statement, *values))

    async def amake_pool(self, size: int) -> Any:
        return await asyncmy.create_pool(
            **parameters(self.url), charset="utf8mb4", autocommit=True, minsize=size, maxsize=size
        )

    async def aclose_pool(self, pool: Any) -> None:
        pool.close()
        await pool.wait_closed()

    async def _ask(self, conn: Any, statement: str, value: Any = None) -> Rows:
        async with conn.cursor() as cursor:
            await cursor.execute(statement, None if value is None else (value,))
            return await cursor.fetchall()

    async def select_one(self, size: int, inner: int, data: Any) -> Rows:
        statement = self.sql.select_one("%s")
        return list(await self.atimed(inner, lambda: self._ask(self.conn, statement, w.KEY)))

    async def select_ten(self, size: int, inner: int, data: Any) -> Rows:
        statement = self.sql.select_ten("%s")
        return list(await self.atimed(inner, lambda: self._ask(self.conn, statement, 10)))

    async def fetch(self, size: int, inner: int, data: Any) -> Rows:
        self.kept = [await self._ask(self.conn, data) for _ in range(inner)]
        return list(self.kept[-1])

    fetch_types = fetch_wide = fetch

    async def executemany(self, size: int, inner: int, data: Any) -> int:
        statement = self.sql.insert("%s")
        for _ in range(inner):
            await self.conn.begin()
            async with self.conn.cursor() as cursor:
                await cursor.executemany(statement, data)
            await self.conn.commit()
        return size

    async def executemany_autocommit(self, size: int, inner: int, data: Any) -> int:
        statement = self.sql.insert("%s")
        for _ in range(inner):
            async with self.conn.cursor() as cursor:
                await cursor.executemany(statement, data)
        return size

    async def _one_by_one(self, statement: str, data: Any) -> Rows:
        # It can only ask and wait, one after the other.
        rows = Rows()
        async with self.conn.cursor() as cursor:
            for n in data:
                await cursor.execute(statement, (n,))
                rows += await cursor.fetchall()
        return rows

    async def pipeline(self, size: int, inner: int, data: Any) -> Rows:
        return await self._one_by_one(self.sql.pipeline("%s"), data)

    async def pipeline_execute(self, size: int, inner: int, data: Any) -> Rows:
        return await self._one_by_one(self.sql.select_one("%s"), data)

    async def connect(self, size: int, inner: int, data: Any) -> int:
        async def once() -> None:
            await (await self.aconnected()).ensure_closed()

        await self.atimed(inner, once)
        return 0

    async def stream(self, size: int, inner: int, data: Any) -> int:
        async with self.conn.cursor(asyncmy.cursors.SSCursor) as cursor:
            await cursor.execute(self.sql.stream(size))
            while rows := await cursor.fetchmany(w.STREAM_BLOCK):
                self.take(rows)
        return size
