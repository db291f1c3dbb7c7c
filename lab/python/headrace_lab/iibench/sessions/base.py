"""What the benchmark asks of a driver.

Methods that may wait for the server are coroutines, so that blocking drivers and those of asyncio are driven by the
same loops: a blocking driver's coroutines never suspend, and :func:`run` steps through them without an event loop.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Coroutine, Mapping, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from typing import Any, Final, TypeVar

from headrace_lab._iibench import IibenchRows

from ..databases.base import COLUMNS, BenchmarkDatabase

T = TypeVar("T")

RETRIED: Final = ("40001", "40P01", "1205", "1213")
"""Serialization failures, deadlocks, lock timeouts: what may succeed when it is tried again."""


class Fault(Exception):
    """What a server or driver refused. ``code`` is its SQLSTATE or, where the driver does not tell it, the server's
    error number."""

    def __init__(self, code: str, message: str, retry: bool) -> None:
        super().__init__(f"{code}: {message}")
        self.code = code
        self.message = message
        self.retry = retry


class BenchmarkSession(ABC):
    """One connection, in autocommit: every statement is a transaction."""

    package = ""
    """Name of the distribution, for its version."""
    depth = 1
    """Blocks that can be on their way at a time."""
    splits = False
    """Whether :meth:`send` comes back before the server has answered: what overlapping needs."""
    strategies: Mapping[str, str] = {}
    """For each way to insert that the driver has not, why."""
    binary_text = False
    """Whether the text of statements is bytes, not str."""

    def __init__(self, url: str, database: BenchmarkDatabase) -> None:
        self.url = url
        self.database = database
        self.strategy = "text"
        self.table = ""
        self.count = 0

    # connection

    @abstractmethod
    async def open(self) -> None:
        """Connects."""

    @abstractmethod
    async def close(self) -> None:
        """Disconnects."""

    @abstractmethod
    def fault(self, error: BaseException) -> Fault | None:
        """The driver's error in our words, or ``None`` for one that is not the driver's."""

    def run(self, coroutine: Coroutine[Any, Any, T]) -> T:
        """Runs a coroutine to its end."""
        try:
            coroutine.send(None)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]
        coroutine.close()
        raise RuntimeError("a blocking driver's coroutine has suspended")

    def end(self) -> None:
        """Disconnects for good."""
        self.run(self.close())

    async def sleep(self, seconds: float) -> None:
        """Waits without asking the server for anything."""
        time.sleep(seconds)

    # statements

    @abstractmethod
    async def execute(self, sql: str) -> int:
        """Runs one statement, and returns the number of rows it has changed."""

    @abstractmethod
    async def query(self, sql: str, args: Sequence[Any] = (), prepared: bool = False) -> list[Any]:
        """Runs a query, with ``%s`` for each of ``args``, and returns its rows."""

    @abstractmethod
    async def begin(self) -> None:
        """Begins a transaction that sees one state of the database until :meth:`commit`."""

    @abstractmethod
    async def commit(self) -> None:
        """Ends it."""

    # inserting

    def prepare_insert(self, strategy: str, table: str, rows: int, overlap: bool) -> None:
        """Sets how blocks will be inserted, and whether they are made while the server works: called once, when
        connected. Blocks are what :func:`make_block` makes."""
        self.strategy = strategy
        self.table = table
        self.count = rows

    def head(self) -> str:
        """What stands before the values of a text."""
        return self.database.insert_head(self.table)

    @abstractmethod
    async def encode(self, block: Any) -> None:
        """Hands a block to the driver."""

    async def send(self) -> None:
        """Sees that what was handed over is on its way."""
        return

    @abstractmethod
    async def wait(self) -> int:
        """Waits for the oldest block on its way, and returns the number of rows it has inserted."""

    @abstractmethod
    async def arrived(self) -> bool:
        """Whether the answer to the oldest block is there, good or bad, without waiting: for drivers that split."""


class Whole(BenchmarkSession):
    """A driver whose calls come back when the server has answered. Where rows are to be made meanwhile, a thread makes
    the calls."""

    def __init__(self, url: str, database: BenchmarkDatabase) -> None:
        super().__init__(url, database)
        self._kept: deque[Any] = deque()
        self._calls: ThreadPoolExecutor | None = None

    def prepare_insert(self, strategy: str, table: str, rows: int, overlap: bool) -> None:
        super().prepare_insert(strategy, table, rows, overlap)
        if overlap and self._calls is None:
            self.splits = True
            self._calls = ThreadPoolExecutor(1)

    @abstractmethod
    def insert(self, block: Any) -> int:
        """Inserts a block, and returns the number of rows."""

    async def encode(self, block: Any) -> None:
        self._kept.append(block if self._calls is None else self._calls.submit(self.insert, block))

    async def wait(self) -> int:
        oldest = self._kept.popleft()
        return oldest.result() if isinstance(oldest, Future) else self.insert(oldest)

    async def arrived(self) -> bool:
        return bool(self._kept[0].done())

    def end_calls(self) -> None:
        """Ends the thread; for :meth:`close`."""
        if self._calls is not None:
            self._calls.shutdown()


def make_block(rows: IibenchRows, strategy: str, head: str, binary: bool, first: int, count: int) -> Any:
    """Rows as a strategy takes them."""
    if strategy == "text":
        return rows.values_bytes(head.encode(), first, count) if binary else rows.values(head, first, count)
    if strategy == "copy":
        return rows.tabbed(first, count)
    if strategy == "executemany":
        return rows.tuples(first, count)
    return rows.flat(first, count)


def places(sign: str, rows: int) -> str:
    """``(s, s, s, s, s, s)`` for so many rows, with commas between them; a sign with ``{}`` is numbered from 1."""
    width = len(COLUMNS)
    one = ["(" + ", ".join(sign.format(row * width + n + 1) for n in range(width)) + ")" for row in range(rows)]
    return ", ".join(one)
