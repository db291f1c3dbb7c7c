"""headrace: the blocks of a pipeline, the next one sent before the last one is waited for. What has no pipeline yet,
COPY and LOAD DATA, a thread calls."""

from __future__ import annotations

from abc import abstractmethod
from collections import deque
from collections.abc import Sequence
from contextlib import ExitStack
from typing import Any, Final

import headrace

from .base import RETRIED, Fault, Whole, places

DEPTH: Final = 2
"""Blocks on their way at least: the one that the server works on, and the next."""
DEPTH_MAX: Final = 64
"""Blocks on their way at most."""
ROWS_AHEAD: Final = 2_000
"""Rows on their way between those. A client that had to give its processor away comes back after milliseconds, in which
the server is to find enough that is sent. On a busy machine, 5 rows a commit and three indexes, MariaDB's thread slept
for 3.5 % of the time with 4 blocks on their way, for 2.4 % with 16 and for 1.0 % with 64."""


class HeadraceSession(Whole):
    """What is the same for all databases."""

    package = "headrace"
    place = ""
    """How the place of a value is written in a prepared statement."""
    mark = "%s"
    """How it is written in a query."""
    snapshot = ""
    """The script that begins a transaction which sees one state of the database."""

    @abstractmethod
    def connect(self) -> Any:
        """A connection in autocommit."""

    @abstractmethod
    def load(self, block: bytes) -> int:
        """Inserts a block by COPY or LOAD DATA."""

    async def open(self) -> None:
        self.conn = self.connect()
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
        number = str(error.sqlcode or "")
        # What has a number on the list and no SQLSTATE of its own, MariaDB's lock timeout, goes by its number.
        code = number if number in RETRIED and error.sqlstate in (None, "HY000") else error.sqlstate
        code = code or type(error).__name__
        return Fault(code, str(error), code in RETRIED)

    def run_text(self, sql: str) -> Any:
        """Runs a statement as it stands, and returns a cursor."""
        return self.conn.executescript(sql)

    async def execute(self, sql: str) -> int:
        cursor = self.run_text(sql)
        # In a pipeline the count is not asked of the server.
        cursor.wait()
        return int(cursor.rowcount)

    async def query(self, sql: str, args: Sequence[Any] = (), prepared: bool = False) -> list[Any]:
        if prepared:
            return list(self.conn.execute(sql.replace("%s", self.mark), tuple(args)).fetchall())
        return list(self.run_text(sql % tuple(args)).fetchall())

    async def begin(self) -> None:
        self.conn.executescript(self.snapshot)

    async def commit(self) -> None:
        self.conn.executescript("COMMIT")

    def prepare_insert(self, strategy: str, table: str, rows: int, overlap: bool) -> None:
        super().prepare_insert(strategy, table, rows, overlap and strategy == "copy")
        if strategy == "prepared":
            self.statement = self.head() + places(self.place, rows)
        elif strategy == "executemany":
            self.statement = self.database.insert_one(table)
        if strategy != "copy":
            self.splits = True
            self.depth = min(max(DEPTH, ROWS_AHEAD // rows), DEPTH_MAX)
            self.pipeline = self.stack.enter_context(self.conn.pipeline())

    def insert(self, block: Any) -> int:
        return self.load(block)

    async def encode(self, block: Any) -> None:
        if self.strategy == "text":
            self.waiting.append(self.conn.executescript(block))
        elif self.strategy == "prepared":
            self.waiting.append(self.conn.execute(self.statement, block))
        elif self.strategy == "executemany":
            self.waiting.append(self.conn.executemany(self.statement, block))
        else:
            await super().encode(block)

    async def send(self) -> None:
        if self.pipeline is not None:
            self.pipeline.flush()

    async def wait(self) -> int:
        if self.strategy == "copy":
            return await super().wait()
        oldest = self.waiting.popleft()
        if self.refused is not None:
            error, self.refused = self.refused, None
            raise error
        oldest.wait()
        return oldest.rowcount  # type: ignore[no-any-return]

    async def arrived(self) -> bool:
        if self.strategy == "copy":
            return await super().arrived()
        if self.refused is None:
            try:
                return bool(self.waiting[0].wait(0))
            except headrace.Error as error:
                self.refused = error
        return True
