"""headrace: the blocks of a pipeline, the next one sent before the last one is waited for."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import headrace

from ..databases.base import COLUMNS
from . import base
from .base import RETRIED, Fault, places


class Session(base.Session):
    package = "headrace"
    depth = 2
    splits = True

    async def open(self) -> None:
        self.conn = headrace.connect(self.url, autocommit=True)
        self.pipeline: Any = None
        self.waiting: deque[Any] = deque()
        self.stack = ExitStack()

    async def close(self) -> None:
        self.conn.close()
        self.stack.close()

    def fault(self, error: BaseException) -> Fault | None:
        if not isinstance(error, headrace.Error):
            return None
        code = error.sqlstate or type(error).__name__
        return Fault(code, str(error), code in RETRIED)

    async def execute(self, sql: str) -> int:
        return self.conn.execute(sql).rowcount

    async def query(self, sql: str, args: Sequence[Any] = (), prepared: bool = False) -> list[Any]:
        if prepared or not args:
            return self.conn.execute(sql, tuple(args) or None).fetchall()
        return self.conn.executescript(sql % tuple(args)).fetchall()

    async def begin(self) -> None:
        self.conn.executescript("BEGIN ISOLATION LEVEL REPEATABLE READ; SELECT 1")

    async def commit(self) -> None:
        self.conn.executescript("COMMIT")

    def prepare_insert(self, road: str, table: str, rows: int, overlap: bool) -> None:
        super().prepare_insert(road, table, rows, overlap)
        if road == "prepared":
            self.statement = self.head() + places("${}", rows)
        elif road == "executemany":
            self.statement = self.head() + places("%s", 1)
        if road == "copy":
            self.splits = False
        else:
            self.pipeline = self.stack.enter_context(self.conn.pipeline())

    async def encode(self, block: Any) -> None:
        if self.road == "text":
            self.waiting.append(self.conn.executescript(block))
        elif self.road == "prepared":
            self.waiting.append(self.conn.execute(self.statement, block))
        elif self.road == "executemany":
            self.waiting.append(self.conn.executemany(self.statement, block))
        else:
            self.waiting.append(block)

    async def send(self) -> None:
        if self.pipeline is not None:
            self.pipeline.flush()

    async def wait(self) -> int:
        oldest = self.waiting.popleft()
        if self.road == "copy":
            return self.conn.copy_in(self.table, oldest, columns=COLUMNS, format="text")
        oldest.wait()
        return oldest.rowcount  # type: ignore[no-any-return]

    async def arrived(self) -> bool:
        return self.waiting[0].wait(0)  # type: ignore[no-any-return]
