"""PyMySQL: pure Python, text protocol."""

from __future__ import annotations

from typing import Any

import pymysql
import pymysql.cursors

from .mysqldb_like import MySqlDbLike, parameters


class Contestant(MySqlDbLike):
    package = "PyMySQL"
    alchemy = "pymysql"
    options = "text protocol, executemany of many rows per statement, SSCursor for streams"

    def connected(self) -> Any:
        return pymysql.connect(**parameters(self.url), charset="utf8mb4", autocommit=True, local_infile=True)

    def streaming(self) -> Any:
        return self.conn.cursor(pymysql.cursors.SSCursor)
