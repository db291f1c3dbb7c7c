"""pycubrid's asyncio interface."""

from __future__ import annotations

import contextlib
from collections.abc import AsyncIterator
from typing import Any

import pycubrid.aio
from sqlalchemy.pool import AsyncAdaptedQueuePool
from sqlalchemy.util import await_only, greenlet_spawn

from ..link_cubrid import given
from .asking import Asking
from .base import Rows, with_dialect


class Contestant(Asking):
    package = "pycubrid"
    alchemy = with_dialect("aiopycubrid", "sqlalchemy_cubrid")
    options = "its asyncio interface; executemany as it is by default (EXECUTE_BATCH)"
    batches = "EXECUTE_BATCH"
    skips = {"pool": "it has no pool", "concurrent": "it has no pool"}

    async def aconnected(self) -> Any:
        return await self.in_transactions(autocommit=True)

    async def in_transactions(self, **more: Any) -> Any:
        return await pycubrid.aio.connect(**given(self.url), **more)

    async def amake_pool(self, size: int) -> Any:
        """SQLAlchemy's pool for asyncio over the driver, as blocking drivers without a pool have its QueuePool: it does
        not roll back what is given back."""
        self.pooled: list[Any] = []

        def connected() -> Any:
            self.pooled.append(await_only(self.aconnected()))
            return self.pooled[-1]

        return AsyncAdaptedQueuePool(connected, pool_size=size, max_overflow=0, reset_on_return=None)

    async def aclose_pool(self, pool: Any) -> None:
        for conn in self.pooled:
            await self.disconnect(conn)

    @contextlib.asynccontextmanager
    async def alent(self, pool: Any) -> AsyncIterator[Any]:  # type: ignore[override]
        lent = await greenlet_spawn(pool.connect)
        try:
            yield lent.dbapi_connection
        finally:
            await greenlet_spawn(lent.close)

    def repeating(self) -> Any:
        return self.conn.cursor()

    async def ask(self, on: Any, /, statement: str, *values: int) -> Rows:  # type: ignore[override]
        await on.execute(statement, values or None)
        return await on.fetchall()  # type: ignore[no-any-return]

    async def rows_of(self, conn: Any, statement: str, *values: int) -> Rows:
        return await self.ask(conn.cursor(), statement, *values)

    async def _one_by_one(self, statement: str, data: Any) -> Rows:
        # In a transaction, as the others.
        conn = await self.manual()
        cursor, rows = conn.cursor(), Rows()
        for n in data:
            rows += await self.ask(cursor, statement, n)
        await conn.commit()
        return rows

    async def connect(self, size: int, inner: int, data: Any) -> int:
        async def once() -> None:
            await (await self.in_transactions()).close()

        await self.atimed(inner, once)
        return 0
