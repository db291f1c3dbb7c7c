"""asyncmy: Cython, asyncio, text protocol."""

from __future__ import annotations

from typing import Any

import asyncmy
import asyncmy.cursors

from .asking import Asking
from .base import Rows
from .mysqldb_like import parameters


class Contestant(Asking):
    package = "asyncmy"
    alchemy = "asyncmy"
    options = "text protocol, executemany of many rows per statement, SSCursor for streams"
    batches = "INSERTs of many rows"
    mark = "%s"
    skips = {"bulk_in": "its LOAD DATA LOCAL raises TypeError (0.2.18)"}

    async def aconnected(self) -> Any:
        return await asyncmy.connect(**parameters(self.url), charset="utf8mb4", autocommit=True)

    async def disconnect(self, conn: Any) -> None:
        conn.close()

    async def amake_pool(self, size: int) -> Any:
        return await asyncmy.create_pool(
            **parameters(self.url), charset="utf8mb4", autocommit=True, minsize=size, maxsize=size
        )

    async def aclose_pool(self, pool: Any) -> None:
        pool.close()
        await pool.wait_closed()

    async def ask(self, on: Any, /, statement: str, *values: int) -> Rows:  # type: ignore[override]
        async with on.cursor() as cursor:
            await cursor.execute(statement, values or None)
            return await cursor.fetchall()

    async def rows_of(self, conn: Any, statement: str, *values: int) -> Rows:
        return list(await self.ask(conn, statement, *values))

    async def insert(self, conn: Any, statement: str, rows: Any) -> None:
        async with conn.cursor() as cursor:
            await cursor.executemany(statement, rows)

    async def executemany(self, size: int, inner: int, data: Any) -> int:
        statement = self.sql.insert("%s")
        for _ in range(inner):
            await self.conn.begin()
            await self.insert(self.conn, statement, data)
            await self.conn.commit()
        return size

    async def _one_by_one(self, statement: str, data: Any) -> Rows:
        rows = Rows()
        async with self.conn.cursor() as cursor:
            for n in data:
                await cursor.execute(statement, (n,))
                rows += await cursor.fetchall()
        return rows

    async def connect(self, size: int, inner: int, data: Any) -> int:
        async def once() -> None:
            await (await self.aconnected()).ensure_closed()

        await self.atimed(inner, once)
        return 0

    async def streaming(self) -> Any:
        return self.conn.cursor(asyncmy.cursors.SSCursor)
