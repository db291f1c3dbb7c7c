"""PyMySQL. Its calls come back when the server has answered, so a thread makes them while rows are made."""

from __future__ import annotations

from typing import Any

import pymysql

from . import mysqldb


class PyMySQLSession(mysqldb.LikeMySQLdb):
    package = "PyMySQL"
    strategies = {"prepared": "PyMySQL has no prepared statements"}
    module = pymysql

    def insert(self, block: Any) -> int:
        return int(self.conn.query(block)) if self.strategy == "text" else super().insert(block)


SESSION = PyMySQLSession
