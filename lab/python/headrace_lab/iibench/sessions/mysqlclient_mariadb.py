"""mysqlclient. As text a block is sent, the next one made, then the answer read; by the other ways a thread makes the
calls."""

from __future__ import annotations

import select
from typing import Any

import MySQLdb

from . import mysqldb


class MysqlclientSession(mysqldb.LikeMySQLdb):
    package = "mysqlclient"
    strategies = {"prepared": "mysqlclient has no prepared statements"}
    module = MySQLdb

    def prepare_insert(self, strategy: str, table: str, rows: int, overlap: bool) -> None:
        super().prepare_insert(strategy, table, rows, overlap and strategy != "text")
        if strategy == "text":
            self.splits = True
            self.poll = select.poll()
            self.poll.register(self.conn.fileno(), select.POLLIN)

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
