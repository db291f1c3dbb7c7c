"""informix-driver's asyncio interface: a thread for each connection."""

from __future__ import annotations

from typing import Any

import informix_db.aio

from .asking import Asking
from .base import Rows
from .informix_driver_sync import parameters


class Contestant(Asking):
    package = "informix-driver"
    options = "its asyncio interface (threads): prepared statements, executemany, its own pool"
    batches = "pipelined"

    async def aconnected(self) -> Any:
        return await informix_db.aio.connect(**parameters(self.url))

    async def in_transactions(self) -> Any:
        return await informix_db.aio.connect(**{**parameters(self.url), "autocommit": False})

    async def amake_pool(self, size: int) -> Any:
        return await informix_db.aio.create_pool(**parameters(self.url), min_size=size, max_size=size)

    def alent(self, pool: Any) -> Any:
        return pool.connection()

    async def rows_of(self, conn: Any, statement: str, *values: int) -> Rows:
        cursor = await conn.cursor()
        await cursor.execute(statement, values or None)
        return await cursor.fetchall()

    ask = rows_of

    async def insert(self, conn: Any, statement: str, rows: Any) -> None:
        await (await conn.cursor()).executemany(statement, rows)

    async def streaming(self) -> Any:
        return await self.conn.cursor()
