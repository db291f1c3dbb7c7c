"""headrace on MariaDB and MySQL."""

from __future__ import annotations

from typing import Any

import headrace.mysql

from . import headrace_any


class Session(headrace_any.Session):
    place = "?"
    snapshot = "START TRANSACTION WITH CONSISTENT SNAPSHOT"
    roads = {"copy": "headrace.mysql has no LOAD DATA from bytes yet"}

    def connect(self) -> Any:
        return headrace.mysql.connect(self.url, autocommit=True)

    def load(self, block: bytes) -> int:
        raise NotImplementedError(self.roads["copy"])
