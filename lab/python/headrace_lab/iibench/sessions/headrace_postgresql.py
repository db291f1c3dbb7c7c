"""headrace on PostgreSQL."""

from __future__ import annotations

from typing import Any

import headrace

from ..databases.base import COLUMNS
from . import headrace_any


class HeadracePostgreSQLSession(headrace_any.HeadraceSession):
    place = "${}"
    snapshot = "BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1"

    def connect(self) -> Any:
        return headrace.connect(self.url, autocommit=True)

    def load(self, block: bytes) -> int:
        return int(self.conn.copy_in(self.table, block, columns=COLUMNS, format="text"))


SESSION = HeadracePostgreSQLSession
