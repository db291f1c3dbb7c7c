"""PyMySQL. Its calls come back when the server has answered, so a thread makes them while rows are made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pymysql

from . import mysqldb
from .base import Fault, Whole


class PyMySQLSession(Whole):
    package = "PyMySQL"
    strategies = {"prepared": "PyMySQL has no prepared statements"}
    binary_text = True

    async def open(self) -> None:
        given = mysqldb.keywords(self.url)
        self.conn: Any = pymysql.connect(**given, autocommit=True, local_infile=True, charset="utf8mb4")
        self.file = mysqldb.LoadFile()

    async def close(self) -> None:
        self.end_calls()
        self.file.close()
        self.conn.close()

    def fault(self, error: BaseException) -> Fault | None:
        return mysqldb.fault(error, pymysql.MySQLError)

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
        super().prepare_insert(strategy, table, rows, overlap)
        self.statement = self.database.insert_one(table)

    def insert(self, block: Any) -> int:
        if self.strategy == "text":
            return int(self.conn.query(block))
        with self.conn.cursor() as cursor:
            if self.strategy == "copy":
                return int(cursor.execute(self.file.fill(block, self.table)))
            return mysqldb.insert_whole(self.conn, cursor, self.statement, block)


SESSION = PyMySQLSession
