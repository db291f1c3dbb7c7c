"""informix-driver's asyncio interface: a thread for each connection."""

from __future__ import annotations

from typing import Any

import informix_db.aio

from .. import workloads as w
from .base import Async, Rows
from .informix_driver_sync import parameters


class Contestant(Async):
    package = "informix-driver"
    options = "its asyncio interface (threads): prepared statements, executemany, its own pool"
    batches = "pipelined"

    async def astart(self) -> None:
        self.conn = await self.aconnected()
        # A transaction needs another connection: autocommit is chosen when one is opened.
        self.manual: Any = None

    async def astop(self) -> None:
        for one in (self.conn, self.manual):
            if one is not None:
                await one.close()

    async def aconnected(self, **more: Any) -> Any:
        return await informix_db.aio.connect(**{**parameters(self.url), **more})

    async def rows_of(self, conn: Any, statement: str, *values: int) -> Rows:
        return await self._ask(conn, statement, *values)

    async def amake_pool(self, size: int) -> Any:
        return await informix_db.aio.create_pool(**parameters(self.url), min_size=size, max_size=size)

    def alent(self, pool: Any) -> Any:
        return pool.connection()

    async def _ask(self, conn: Any, statement: str, value: Any = None) -> Rows:
        cursor = await conn.cursor()
        await cursor.execute(statement, None if value is None else (value,))
        return await cursor.fetchall()

    async def select_one(self, size: int, inner: int, data: Any) -> Rows:
        statement = self.sql.select_one("?")
        return await self.atimed(inner, lambda: self._ask(self.conn, statement, w.KEY))

    async def select_ten(self, size: int, inner: int, data: Any) -> Rows:
        statement = self.sql.select_ten("?")
        return await self.atimed(inner, lambda: self._ask(self.conn, statement, 10))

    async def select_one_row(self, size: int, inner: int, data: Any) -> Rows:
        return await self.atimed(inner, lambda: self._ask(self.conn, data))

    select_systables_first_10 = select_one_row

    async def fetch(self, size: int, inner: int, data: Any) -> Rows:
        self.kept = [await self._ask(self.conn, data) for _ in range(inner)]
        return self.kept[-1]

    fetch_types = fetch_wide = fetch

    async def executemany(self, size: int, inner: int, data: Any) -> int:
        if self.manual is None:
            self.manual = await self.aconnected(autocommit=False)
        statement = self.sql.insert("?")
        for _ in range(inner):
            await (await self.manual.cursor()).executemany(statement, data)
            await self.manual.commit()
        return size

    async def executemany_autocommit(self, size: int, inner: int, data: Any) -> int:
        statement = self.sql.insert("?")
        for _ in range(inner):
            await (await self.conn.cursor()).executemany(statement, data)
        return size

    async def _one_by_one(self, statement: str, data: Any) -> Rows:
        # It can only ask and wait, one after the other.
        rows = Rows()
        for n in data:
            rows += await self._ask(self.conn, statement, n)
        return rows

    async def pipeline(self, size: int, inner: int, data: Any) -> Rows:
        return await self._one_by_one(self.sql.pipeline("?"), data)

    async def pipeline_execute(self, size: int, inner: int, data: Any) -> Rows:
        return await self._one_by_one(self.sql.select_one("?"), data)

    async def connect(self, size: int, inner: int, data: Any) -> int:
        async def once() -> None:
            await (await self.aconnected()).close()

        await self.atimed(inner, once)
        return 0

    async def stream(self, size: int, inner: int, data: Any) -> int:
        cursor = await self.conn.cursor()
        await cursor.execute(self.sql.stream(size))
        while rows := await cursor.fetchmany(w.STREAM_BLOCK):
            self.take(rows)
        return size
