"""pycubrid's asyncio interface."""

from __future__ import annotations

from typing import Any

import pycubrid.aio

from .. import workloads as w
from ..link_cubrid import given
from .base import Async, Rows, with_dialect


class Contestant(Async):
    package = "pycubrid"
    alchemy = with_dialect("aiopycubrid", "sqlalchemy_cubrid")
    options = "its asyncio interface; executemany as it is by default (EXECUTE_BATCH)"
    batches = "EXECUTE_BATCH"
    skips = {
        "pool": "it has no pool",
        "concurrent": "it has no pool",
        "pool_load": "it has no pool",
    }

    async def astart(self) -> None:
        self.conn = await self.aconnected()
        # Autocommit is switched in four round trips, so transactions have a connection of their own.
        self.made: Any = None

    async def astop(self) -> None:
        for one in (self.conn, self.made):
            if one is not None:
                await one.close()

    async def aconnected(self) -> Any:
        return await self.connected(autocommit=True)

    async def rows_of(self, conn: Any, statement: str, *values: int) -> Rows:
        return await self._ask(conn.cursor(), statement, *values)

    async def connected(self, **more: Any) -> Any:
        """A new connection."""
        return await pycubrid.aio.connect(**given(self.url), **more)

    async def _manual(self) -> Any:
        """The connection that is not in autocommit."""
        if self.made is None:
            self.made = await self.connected()
        return self.made

    async def _ask(self, cursor: Any, statement: str, *values: int) -> Rows:
        await cursor.execute(statement, values or None)
        return await cursor.fetchall()  # type: ignore[no-any-return]

    async def select_one(self, size: int, inner: int, data: Any) -> Rows:
        cursor, statement = self.conn.cursor(), self.sql.select_one("?")
        return await self.atimed(inner, lambda: self._ask(cursor, statement, w.KEY))

    async def select_ten(self, size: int, inner: int, data: Any) -> Rows:
        cursor, statement = self.conn.cursor(), self.sql.select_ten("?")
        return await self.atimed(inner, lambda: self._ask(cursor, statement, 10))

    async def fetch(self, size: int, inner: int, data: Any) -> Rows:
        self.kept = [await self._ask(self.conn.cursor(), data) for _ in range(inner)]
        return self.kept[-1]

    fetch_types = fetch_wide = fetch

    async def executemany(self, size: int, inner: int, data: Any) -> int:
        conn, statement = await self._manual(), self.sql.insert("?")
        for _ in range(inner):
            await conn.cursor().executemany(statement, data)
            await conn.commit()
        return size

    async def executemany_autocommit(self, size: int, inner: int, data: Any) -> int:
        statement = self.sql.insert("?")
        for _ in range(inner):
            await self.conn.cursor().executemany(statement, data)
        return size

    async def _one_by_one(self, statement: str, data: Any) -> Rows:
        # It can only ask and wait, one after the other; in a transaction, as the others.
        conn = await self._manual()
        cursor, rows = conn.cursor(), Rows()
        for n in data:
            rows += await self._ask(cursor, statement, n)
        await conn.commit()
        return rows

    async def pipeline(self, size: int, inner: int, data: Any) -> Rows:
        return await self._one_by_one(self.sql.pipeline("?"), data)

    async def pipeline_execute(self, size: int, inner: int, data: Any) -> Rows:
        return await self._one_by_one(self.sql.select_one("?"), data)

    async def connect(self, size: int, inner: int, data: Any) -> int:
        async def once() -> None:
            await (await self.connected()).close()

        await self.atimed(inner, once)
        return 0

    async def stream(self, size: int, inner: int, data: Any) -> int:
        cursor = self.conn.cursor()
        await cursor.execute(self.sql.stream(size))
        while rows := await cursor.fetchmany(w.STREAM_BLOCK):
            self.take(rows)
        return size
