"""psycopg 3 on asyncio, with its C implementation and psycopg_pool's pool: in the workloads of a web service."""

from __future__ import annotations

from typing import Any

import psycopg
import psycopg_pool

from .base import Async, Rows


class Contestant(Async):
    package = "psycopg"
    options = f"implementation {psycopg.pq.__impl__}, binary=True, prepare=True, psycopg_pool's AsyncConnectionPool"
    mark = "%s"

    async def aconnected(self) -> Any:
        return await psycopg.AsyncConnection.connect(self.url, autocommit=True)

    async def rows_of(self, conn: Any, statement: str, *values: int) -> Rows:
        async with conn.cursor(binary=True) as cursor:
            await cursor.execute(statement, values or None, prepare=True)
            return await cursor.fetchall()  # type: ignore[no-any-return]

    async def amake_pool(self, size: int) -> Any:
        pool = psycopg_pool.AsyncConnectionPool(
            self.url, min_size=size, max_size=size, kwargs={"autocommit": True}, open=False
        )
        await pool.open()
        await pool.wait()
        return pool

    def alent(self, pool: Any) -> Any:
        return pool.connection()
