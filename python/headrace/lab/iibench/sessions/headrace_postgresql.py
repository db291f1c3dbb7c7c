"""headrace: the blocks of a pipeline, the next one sent before the last one is waited for. COPY has no such thing yet:
a thread makes the calls."""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any

import headrace

from ..databases.base import COLUMNS
from .base import RETRIED, Fault, Whole, places


class Session(Whole):
    package = "headrace"
    depth = 2

    async def open(self) -> None:
        self.conn = headrace.connect(self.url, autocommit=True)
        self.pipeline: Any = None
        self.waiting: deque[Any] = deque()
        self.refused: headrace.Error | None = None
        """Why the oldest was refused, where that was seen before it was waited for."""
        self.stack = ExitStack()

    async def close(self) -> None:
        self.end_calls()
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
        super().prepare_insert(road, table, rows, overlap and road == "copy")
        if road == "prepared":
            self.statement = self.head() + places("${}", rows)
        elif road == "executemany":
            self.statement = self.head() + places("%s", 1)
        if road != "copy":
            self.splits = True
            self.pipeline = self.stack.enter_context(self.conn.pipeline())

    def insert(self, block: Any) -> int:
        return self.conn.copy_in(self.table, block, columns=COLUMNS, format="text")

    async def encode(self, block: Any) -> None:
        if self.road == "text":
            self.waiting.append(self.conn.executescript(block))
        elif self.road == "prepared":
            self.waiting.append(self.conn.execute(self.statement, block))
        elif self.road == "executemany":
            self.waiting.append(self.conn.executemany(self.statement, block))
        else:
            await super().encode(block)

    async def send(self) -> None:
        if self.pipeline is not None:
            self.pipeline.flush()

    async def wait(self) -> int:
        if self.road == "copy":
            return await super().wait()
        oldest = self.waiting.popleft()
        if self.refused is not None:
            error, self.refused = self.refused, None
            raise error
        oldest.wait()
        return oldest.rowcount  # type: ignore[no-any-return]

    async def arrived(self) -> bool:
        if self.road == "copy":
            return await super().arrived()
        if self.refused is None:
            try:
                return bool(self.waiting[0].wait(0))
            except headrace.Error as error:
                self.refused = error
        return True
