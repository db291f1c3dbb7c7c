"""psqlpy: prepared statements, its binary COPY where it has one."""

from __future__ import annotations

from typing import Any

import psqlpy

from .. import data as d
from .. import workloads as w
from .base import Async, Rows

COPY_ROWS = 5_000
"""Rows per COPY."""


class Contestant(Async):
    package = "psqlpy"
    options = "prepared=True; as_tuple=True; copy_records_to_table with 5,000 rows at a time"
    batches = "one by one"
    mark = "$1"
    skips = {"bulk_out": "it has no COPY out"}

    async def astart(self) -> None:
        self.conn = await self.aconnected()
        self.lists: Any = None

    async def aconnected(self) -> Any:
        return await psqlpy.connect(dsn=self.url)

    async def disconnect(self, conn: Any) -> None:
        conn.close()

    async def rows_of(self, conn: Any, statement: str, *values: int) -> Rows:
        return (await conn.fetch(statement, list(values), prepared=True)).result(as_tuple=True)  # type: ignore[no-any-return]

    async def amake_pool(self, size: int) -> Any:
        return psqlpy.ConnectionPool(dsn=self.url, max_db_pool_size=size)

    async def aclose_pool(self, pool: Any) -> None:
        pool.close()

    async def select_one(self, size: int, inner: int, data: Any) -> Rows:
        statement = self.sql.select_one("$1")
        return await self.atimed(inner, lambda: self.rows_of(self.conn, statement, w.KEY))

    async def select_ten(self, size: int, inner: int, data: Any) -> Rows:
        statement = self.sql.select_ten("$1")
        return await self.atimed(inner, lambda: self.rows_of(self.conn, statement, 10))

    def _lists(self, data: Any) -> Any:
        """The rows in the only form that execute_many takes; made once, off the clock, in the warm-up round."""
        if self.lists is None:
            self.lists = [list(row) for row in data]
        return self.lists

    async def executemany(self, size: int, inner: int, data: Any) -> int:
        statement, rows = self.sql.insert("$1", "$2", "$3", "$4", "$5"), self._lists(data)
        for _ in range(inner):
            async with self.conn.transaction() as transaction:
                await transaction.execute_many(statement, rows, prepared=True)
        return size

    async def executemany_autocommit(self, size: int, inner: int, data: Any) -> int:
        statement, rows = self.sql.insert("$1", "$2", "$3", "$4", "$5"), self._lists(data)
        for _ in range(inner):
            await self.conn.execute_many(statement, rows, prepared=True)
        return size

    async def _pipelined(self, statement: str, data: Any) -> Rows:
        # Its pipeline is a method of a transaction, and is given all statements at once.
        rows = Rows()
        async with self.conn.transaction() as transaction:
            for result in await transaction.pipeline([(statement, [n]) for n in data], prepared=True):
                rows += result.result(as_tuple=True)
        return rows

    async def pipeline(self, size: int, inner: int, data: Any) -> Rows:
        return await self._pipelined(self.sql.pipeline("$1"), data)

    async def pipeline_execute(self, size: int, inner: int, data: Any) -> Rows:
        return await self._pipelined(self.sql.select_one("$1"), data)

    async def bulk_in(self, size: int, inner: int, data: Any) -> int:
        # Version 0.11 hangs for good when it is given 30,000 of these rows at once.
        async with self.conn.transaction() as transaction:
            for at in range(0, len(data), COPY_ROWS):
                await transaction.copy_records_to_table(
                    "target", data[at : at + COPY_ROWS], columns=d.COLUMNS, schema_name=self.sql.schema
                )
        return size

    async def stream(self, size: int, inner: int, data: Any) -> int:
        async with self.conn.transaction() as transaction:
            cursor = transaction.cursor(self.sql.stream(size))
            await cursor.start()
            while rows := (await cursor.fetchmany(w.STREAM_BLOCK)).result(as_tuple=True):
                self.take(rows)
            cursor.close()
        return size
