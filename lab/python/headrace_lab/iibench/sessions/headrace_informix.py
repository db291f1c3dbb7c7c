"""headrace on Informix."""

from __future__ import annotations

from typing import Any

import headrace.informix

from . import headrace_any


class HeadraceInformixSession(headrace_any.HeadraceSession):
    place = mark = "?"

    def connect(self) -> Any:
        return headrace.informix.connect(self.url, autocommit=True)

    def load(self, block: bytes) -> int:
        raise NotImplementedError(self.database.strategies["copy"])

    def run_text(self, sql: str) -> Any:
        return self.conn.execute(sql)

    async def begin(self) -> None:
        for statement in (
            "SET ISOLATION TO REPEATABLE READ",
            "BEGIN WORK",
            "SELECT tabid FROM systables WHERE tabid = 1",
        ):
            self.conn.execute(statement)

    async def commit(self) -> None:
        self.conn.execute("COMMIT WORK")


SESSION = HeadraceInformixSession
