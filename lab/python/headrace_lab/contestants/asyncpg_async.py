"""asyncpg: prepared statements, fetchmany for pipelined selects, its own COPY."""

from __future__ import annotations

from typing import Any

import asyncpg

from .. import data as d
from .. import workloads as w
from .base import Async, Rows


class Contestant(Async):
    package = "asyncpg"
    alchemy = "asyncpg"
    options = "prepared statements, fetchmany for pipelines, copy_records_to_table; its COPY out gives bytes, no rows"
    batches = "pipelined"
    mark = "$1"

    async def aconnected(self) -> Any:
        return await asyncpg.connect(self.url)

    async def rows_of(self, conn: Any, statement: str, *values: int) -> Rows:
        return await conn.fetch(statement, *values)  # type: ignore[no-any-return]

    async def amake_pool(self, size: int) -> Any:
        return await asyncpg.create_pool(self.url, min_size=size, max_size=size)

    async def select_one(self, size: int, inner: int, data: Any) -> Rows:
        statement = await self.conn.prepare(self.sql.select_one("$1"))
        return await self.atimed(inner, lambda: statement.fetch(w.KEY))

    async def select_ten(self, size: int, inner: int, data: Any) -> Rows:
        statement = await self.conn.prepare(self.sql.select_ten("$1"))
        return await self.atimed(inner, lambda: statement.fetch(10))

    async def executemany(self, size: int, inner: int, data: Any) -> int:
        statement = self.sql.insert("$1", "$2", "$3", "$4", "$5")
        for _ in range(inner):
            async with self.conn.transaction():
                await self.conn.executemany(statement, data)
        return size

    async def executemany_autocommit(self, size: int, inner: int, data: Any) -> int:
        statement = self.sql.insert("$1", "$2", "$3", "$4", "$5")
        for _ in range(inner):
            await self.conn.executemany(statement, data)
        return size

    async def pipeline(self, size: int, inner: int, data: Any) -> Rows:
        # asyncpg's fetchmany gives one flat list.
        return await self.conn.fetchmany(self.sql.pipeline("$1"), [(n,) for n in data])

    async def pipeline_execute(self, size: int, inner: int, data: Any) -> Rows:
        # It has no pipeline: its fetchmany is one call for all, and executemany gives no rows.
        statement = await self.conn.prepare(self.sql.select_one("$1"))
        return [await statement.fetchrow(n) for n in data]

    async def bulk_in(self, size: int, inner: int, data: Any) -> int:
        await self.conn.copy_records_to_table("target", schema_name=self.sql.schema, records=data, columns=d.COLUMNS)
        return size

    async def bulk_out(self, size: int, inner: int, data: Any) -> int:
        async def drop(block: bytes) -> None:
            pass

        status = await self.conn.copy_from_table(
            f"fetch_{size}", schema_name=self.sql.schema, output=drop, format="binary"
        )
        return int(status.split()[1])

    async def stream(self, size: int, inner: int, data: Any) -> int:
        async with self.conn.transaction():
            cursor = await self.conn.cursor(self.sql.stream(size))
            while block := await cursor.fetch(w.STREAM_BLOCK):
                self.take(block)
        return size
