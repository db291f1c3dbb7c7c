"""informix-driver (imports as informix_db), pure Python. Its calls come back when the server has answered, so a thread
makes them while rows are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import informix_db

from ...contestants.informix_driver_sync import parameters
from .base import RETRIED, Fault, Whole

LOCKED = ("-244", "-143", "-245", "-246", "-233")
"""The server's codes for what a lock was in the way of."""


class InformixDriverSession(Whole):
    package = "informix-driver"

    async def open(self) -> None:
        self.conn: Any = informix_db.connect(**parameters(self.url))

    async def close(self) -> None:
        self.end_calls()
        self.conn.close()

    def fault(self, error: BaseException) -> Fault | None:
        if not isinstance(error, informix_db.Error):
            return None
        number = getattr(error, "sqlcode", None)
        code = str(number) if number else type(error).__name__
        return Fault(code, str(error), code in RETRIED or code in LOCKED)

    async def execute(self, sql: str) -> int:
        cursor = self.conn.cursor()
        cursor.execute(sql)
        rows = int(cursor.rowcount)
        cursor.close()
        return rows

    async def query(self, sql: str, args: Sequence[Any] = (), prepared: bool = False) -> list[Any]:
        cursor = self.conn.cursor()
        cursor.execute(sql % tuple("?" for _ in args), tuple(args)) if prepared else cursor.execute(sql % tuple(args))
        rows = list(cursor.fetchall())
        cursor.close()
        return rows

    async def begin(self) -> None:
        for statement in ("SET ISOLATION TO REPEATABLE READ", "BEGIN WORK"):
            await self.execute(statement)
        await self.query("SELECT tabid FROM systables WHERE tabid = 1")

    async def commit(self) -> None:
        self.conn.commit()

    def prepare_insert(self, strategy: str, table: str, rows: int, overlap: bool) -> None:
        super().prepare_insert(strategy, table, rows, overlap)
        self.statement = self.database.insert_one(table)
        # Its batches are whole only within a transaction.
        self.conn.autocommit = False

    def insert(self, block: Any) -> int:
        cursor = self.conn.cursor()
        try:
            cursor.executemany(self.statement, block)
            rows = int(cursor.rowcount)
            self.conn.commit()
        except BaseException:
            self.conn.rollback()
            raise
        finally:
            cursor.close()
        return rows


SESSION = InformixDriverSession
