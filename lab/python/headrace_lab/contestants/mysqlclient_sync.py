"""mysqlclient (MySQLdb): the C client library, text protocol."""

from __future__ import annotations

from typing import Any

import MySQLdb
import MySQLdb.cursors

from .mysqldb_like import MySqlDbLike, parameters


class Contestant(MySqlDbLike):
    package = "mysqlclient"
    alchemy = "mysqldb"
    options = "text protocol, executemany of many rows per statement, SSCursor for streams"

    def connected(self) -> Any:
        return MySQLdb.connect(**parameters(self.url), charset="utf8mb4", autocommit=True, local_infile=1)

    def streaming(self) -> Any:
        return self.conn.cursor(MySQLdb.cursors.SSCursor)
