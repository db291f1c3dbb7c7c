"""headrace on asyncio."""

from __future__ import annotations

import contextlib
from typing import Any

import headrace.aio

from .. import data as d
from .. import workloads as w
from .base import Async, Rows


class Contestant(Async):
    package = "headrace"
    alchemy = "headrace"
    options = "prepared statements and binary formats (its defaults)"

    def rows_in(self, table: Any) -> Any:
        """The table."""
        return table

    async def astart(self) -> None:
        self.conn = await self.aconnected()
        self.batches = self.sql.batches
        self.mark = self.sql.own(1)[0]

    async def aconnected(self) -> Any:
        allowed: dict[str, Any] = {"local_infile": True} if self.sql.loads_rows else {}
        return await headrace.aio.connect(self.url, autocommit=True, **allowed)

    async def rows_of(self, conn: Any, statement: str, *values: int) -> Rows:
        return await conn.fetch(statement, *values)  # type: ignore[no-any-return]

    async def amake_pool(self, size: int) -> Any:
        from headrace.aio.pool import AsyncConnectionPool

        pool = AsyncConnectionPool(self.url, min_size=size, max_size=size, kwargs={"autocommit": True}, open=False)
        await pool.open()
        await pool.wait()
        return pool

    def alent(self, pool: Any) -> Any:
        return pool.connection()

    async def select_one(self, size: int, inner: int, data: Any) -> Rows:
        statement = self.sql.select_one(*self.sql.own(1))
        return await self.atimed(inner, lambda: self.conn.fetch(statement, w.KEY))

    async def select_ten(self, size: int, inner: int, data: Any) -> Rows:
        statement = self.sql.select_ten(*self.sql.own(1))
        return await self.atimed(inner, lambda: self.conn.fetch(statement, 10))

    async def select_one_row(self, size: int, inner: int, data: Any) -> Rows:
        return await self.atimed(inner, lambda: self.conn.fetch(data))

    select_systables_first_10 = select_one_row

    async def arrow(self, size: int, inner: int, data: Any) -> Any:
        self.kept = [await self.conn.fetch_arrow(data) for _ in range(inner)]
        return self.kept[-1]

    async def arrow_stream(self, size: int, inner: int, data: Any) -> int:
        async for batch in self.conn.stream_arrow(self.sql.stream(size), batch_rows=w.ARROW_BATCH):
            self.take_batch(batch)
        return size

    async def executemany(self, size: int, inner: int, data: Any) -> int:
        statement = self.sql.insert(*self.sql.own(5))
        for _ in range(inner):
            async with self.conn.transaction():
                await self.conn.executemany(statement, data)
        return size

    async def executemany_autocommit(self, size: int, inner: int, data: Any) -> int:
        statement = self.sql.insert(*self.sql.own(5))
        for _ in range(inner):
            await self.conn.executemany(statement, data)
        return size

    def _transaction(self) -> Any:
        """What statements are pipelined in."""
        return self.conn.transaction() if self.sql.pipelines_in_transaction else contextlib.nullcontext()

    async def pipeline(self, size: int, inner: int, data: Any) -> Rows:
        async with self._transaction():
            return await self.conn.fetchmany(self.sql.pipeline(*self.sql.own(1)), [(n,) for n in data])  # type: ignore[no-any-return]

    async def pipeline_execute(self, size: int, inner: int, data: Any) -> Rows:
        conn, statement = self.conn, self.sql.select_one(*self.sql.own(1))
        async with self._transaction(), conn.pipeline():
            cursors = [await conn.execute(statement, (n,)) for n in data]
        return [await cursor.fetchone() for cursor in cursors]

    async def bulk_in(self, size: int, inner: int, data: Any) -> int:
        if self.sql.loads_rows:
            return await self.conn.load_rows((self.sql.schema, "target"), data, columns=d.COLUMNS)  # type: ignore[no-any-return]
        return await self.conn.copy_in((self.sql.schema, "target"), data, columns=d.COLUMNS)  # type: ignore[no-any-return]

    async def bulk_out(self, size: int, inner: int, data: Any) -> Rows:
        return [row async for row in await self.conn.copy_out((self.sql.schema, f"fetch_{size}"))]

    async def connect(self, size: int, inner: int, data: Any) -> int:
        async def once() -> None:
            await (await headrace.aio.connect(self.url)).close()

        await self.atimed(inner, once)
        return 0

    async def stream(self, size: int, inner: int, data: Any) -> int:
        async for block in self.conn.stream_blocks(self.sql.stream(size), **self.sql.streamed):
            self.take(block)
        return size
