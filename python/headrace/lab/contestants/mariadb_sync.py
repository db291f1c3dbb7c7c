"""MariaDB Connector/Python: MariaDB's C library, prepared statements, bulk execution."""

from __future__ import annotations

from typing import Any

import mariadb

from .mysqldb_like import MySqlDbLike, parameters


class Contestant(MySqlDbLike):
    package = "mariadb"
    options = "binary=True cursors (prepared), executemany by bulk execution, unbuffered cursors for streams"
    mark = "?"

    def cursor(self) -> Any:
        return self.conn.cursor(binary=True)

    def connected(self) -> Any:
        return mariadb.connect(**parameters(self.url), autocommit=True, local_infile=True)

    def streaming(self) -> Any:
        return self.conn.cursor(buffered=False, binary=True)
