"""headrace on MariaDB and MySQL."""

from __future__ import annotations

from typing import Any

import headrace.mysql

from . import headrace_any
from .mysqldb import load_statement


class HeadraceMariaDBSession(headrace_any.HeadraceSession):
    place = "?"
    snapshot = "START TRANSACTION WITH CONSISTENT SNAPSHOT"

    def connect(self) -> Any:
        return headrace.mysql.connect(self.url, autocommit=True, local_infile=True)

    def load(self, block: bytes) -> int:
        return int(self.conn.load_data(load_statement("rows", self.table), block))


SESSION = HeadraceMariaDBSession
