"""What drivers on asyncio share that can only ask and wait: cursors as those of PEP 249, one statement at a time."""

from __future__ import annotations

from typing import Any

from .. import workloads as w
from .base import Async, Rows


class Asking(Async):
    """A driver on asyncio. Each connects in its own way, and asks on a connection or a cursor of its own."""

    made: Any = None
    """The connection that is not in autocommit, once there is one."""

    async def astop(self) -> None:
        await super().astop()
        if self.made is not None:
            await self.disconnect(self.made)

    async def in_transactions(self) -> Any:
        """A new connection that is not in autocommit."""
        raise NotImplementedError

    async def manual(self) -> Any:
        """The connection that is not in autocommit: it is chosen when one is opened, or takes round trips."""
        if self.made is None:
            self.made = await self.in_transactions()
        return self.made

    def repeating(self) -> Any:
        """What a statement is executed on again and again."""
        return self.conn

    async def ask(self, on: Any, /, statement: str, *values: int) -> Rows:  # type: ignore[override]
        """The rows of a query on what :meth:`repeating` returns."""
        return await self.rows_of(on, statement, *values)

    async def insert(self, conn: Any, statement: str, rows: Any) -> None:
        """Executes an INSERT for all rows."""
        await conn.cursor().executemany(statement, rows)

    async def streaming(self) -> Any:
        """A cursor that does not receive its result whole."""
        return self.conn.cursor()

    async def _one(self, inner: int, statement: str, *values: int) -> Rows:
        on = self.repeating()
        return list(await self.atimed(inner, lambda: self.ask(on, statement, *values)))

    async def select_one(self, size: int, inner: int, data: Any) -> Rows:
        return await self._one(inner, self.sql.select_one(self.mark), w.KEY)

    async def select_ten(self, size: int, inner: int, data: Any) -> Rows:
        return await self._one(inner, self.sql.select_ten(self.mark), 10)

    async def select_one_row(self, size: int, inner: int, data: Any) -> Rows:
        return await self._one(inner, data)

    select_systables_first_10 = select_one_row

    async def executemany(self, size: int, inner: int, data: Any) -> int:
        conn, statement = await self.manual(), self.sql.insert(self.mark)
        for _ in range(inner):
            await self.insert(conn, statement, data)
            await conn.commit()
        return size

    async def executemany_autocommit(self, size: int, inner: int, data: Any) -> int:
        statement = self.sql.insert(self.mark)
        for _ in range(inner):
            await self.insert(self.conn, statement, data)
        return size

    async def _one_by_one(self, statement: str, data: Any) -> Rows:
        on, rows = self.repeating(), Rows()
        for n in data:
            rows += await self.ask(on, statement, n)
        return rows

    async def pipeline(self, size: int, inner: int, data: Any) -> Rows:
        return await self._one_by_one(self.sql.pipeline(self.mark), data)

    async def pipeline_execute(self, size: int, inner: int, data: Any) -> Rows:
        return await self._one_by_one(self.sql.select_one(self.mark), data)

    async def stream(self, size: int, inner: int, data: Any) -> int:
        cursor = await self.streaming()
        await cursor.execute(self.sql.stream(size))
        while rows := await cursor.fetchmany(w.STREAM_BLOCK):
            self.take(rows)
        await cursor.close()
        return size
