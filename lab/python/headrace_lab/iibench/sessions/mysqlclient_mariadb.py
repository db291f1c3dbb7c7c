"""mysqlclient. As text a block is sent, the next one made, then the answer read; by the other ways a thread makes the
calls."""

from __future__ import annotations

import select
from collections.abc import Sequence
from typing import Any

import MySQLdb

from . import mysqldb
from .base import Fault, Whole


class MysqlclientSession(Whole):
    package = "mysqlclient"
    strategies = {"prepared": "mysqlclient has no prepared statements"}
    binary_text = True

    async def open(self) -> None:
        given = mysqldb.keywords(self.url)
        self.conn: Any = MySQLdb.connect(**given, autocommit=True, local_infile=1, charset="utf8mb4")
        self.file = mysqldb.LoadFile()

    async def close(self) -> None:
        self.end_calls()
        self.file.close()
        self.conn.close()

    def fault(self, error: BaseException) -> Fault | None:
        return mysqldb.fault(error, MySQLdb.Error)

    async def execute(self, sql: str) -> int:
        with self.conn.cursor() as cursor:
            return int(cursor.execute(sql))

    async def query(self, sql: str, args: Sequence[Any] = (), prepared: bool = False) -> list[Any]:
        with self.conn.cursor() as cursor:
            cursor.execute(sql, tuple(args) or None)
            return list(cursor.fetchall())

    async def begin(self) -> None:
        await self.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")

    async def commit(self) -> None:
        await self.execute("COMMIT")

    def prepare_insert(self, strategy: str, table: str, rows: int, overlap: bool) -> None:
        super().prepare_insert(strategy, table, rows, overlap and strategy != "text")
        self.statement = self.database.insert_one(table)
        if strategy == "text":
            self.splits = True
            self.poll = select.poll()
            self.poll.register(self.conn.fileno(), select.POLLIN)

    def insert(self, block: Any) -> int:
        with self.conn.cursor() as cursor:
            if self.strategy == "copy":
                return int(cursor.execute(self.file.fill(block, self.table)))
            return mysqldb.insert_whole(self.conn, cursor, self.statement, block)

    async def encode(self, block: Any) -> None:
        if self.strategy == "text":
            self.conn.send_query(block)
        else:
            await super().encode(block)

    async def wait(self) -> int:
        if self.strategy != "text":
            return await super().wait()
        self.conn.read_query_result()
        return int(self.conn.affected_rows())

    async def arrived(self) -> bool:
        return bool(self.poll.poll(0)) if self.strategy == "text" else await super().arrived()


SESSION = MysqlclientSession
