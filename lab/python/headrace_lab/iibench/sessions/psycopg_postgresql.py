"""psycopg 3. As text a block is sent by libpq's own asynchronous call, and its answer read after the next one was made;
by the other ways a thread makes the calls."""

from __future__ import annotations

import select
from collections.abc import Sequence
from typing import Any

import psycopg
from psycopg.pq import ExecStatus

from ..databases.base import COLUMNS
from .base import RETRIED, Fault, Whole, places


class PsycopgSession(Whole):
    package = "psycopg"

    async def open(self) -> None:
        self.conn = psycopg.connect(self.url, autocommit=True, prepare_threshold=None)

    async def close(self) -> None:
        self.end_calls()
        self.conn.close()

    def fault(self, error: BaseException) -> Fault | None:
        if not isinstance(error, psycopg.Error):
            return None
        code = error.sqlstate or type(error).__name__
        return Fault(code, str(error), code in RETRIED)

    async def execute(self, sql: str) -> int:
        return self.conn.execute(sql).rowcount

    async def query(self, sql: str, args: Sequence[Any] = (), prepared: bool = False) -> list[Any]:
        if prepared:
            return self.conn.execute(sql, args, prepare=True, binary=True).fetchall()
        return self.conn.execute(sql % tuple(args)).fetchall()

    async def begin(self) -> None:
        self.conn.execute("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")

    async def commit(self) -> None:
        self.conn.execute("COMMIT")

    def prepare_insert(self, strategy: str, table: str, rows: int, overlap: bool) -> None:
        super().prepare_insert(strategy, table, rows, overlap and strategy != "text")
        if strategy == "text":
            self.splits, self.binary_text = True, True
            self.poll = select.poll()
            self.poll.register(self.conn.fileno(), select.POLLIN)
        elif strategy == "prepared":
            self.statement = self.head() + places("%s", rows)
        elif strategy == "executemany":
            self.statement = self.database.insert_one(table)

    def insert(self, block: Any) -> int:
        if self.strategy == "prepared":
            return self.conn.execute(self.statement, block, prepare=True).rowcount
        with self.conn.cursor() as cursor:
            if self.strategy == "executemany":
                with self.conn.transaction():
                    cursor.executemany(self.statement, block)
            else:
                with cursor.copy(f"COPY {self.table} ({', '.join(COLUMNS)}) FROM STDIN") as copy:
                    copy.write(block)
            return cursor.rowcount

    async def encode(self, block: Any) -> None:
        if self.strategy == "text":
            self.conn.pgconn.send_query(block)
        else:
            await super().encode(block)

    async def wait(self) -> int:
        if self.strategy != "text":
            return await super().wait()
        results: list[Any] = []
        while (result := self.conn.pgconn.get_result()) is not None:
            results.append(result)
        if results[-1].status != ExecStatus.COMMAND_OK:
            raise psycopg.errors.error_from_result(results[-1])
        return results[-1].command_tuples or 0

    async def arrived(self) -> bool:
        return bool(self.poll.poll(0)) if self.strategy == "text" else await super().arrived()


SESSION = PsycopgSession
