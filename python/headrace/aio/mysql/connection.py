"""The asyncio connection to MySQL and MariaDB."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from ..._shared.cursor_base import Params
from ...errors import ConnectionClosed
from ...mysql.core import MySqlCore, ServerWarning
from ...rows import RowFactory
from .cancelling import AsyncCancelling
from .cursor import AsyncCursor
from .loading import AsyncLoading
from .streaming import AsyncStreaming

R = TypeVar("R")
T = TypeVar("T")


class AsyncConnection(AsyncStreaming[R], AsyncLoading[R], AsyncCancelling[R]):
    """A connection to MySQL or MariaDB. Tasks may share it: their awaits queue up.

    As a context manager it commits at the end of the block, rolls back when the block raises, and closes.
    """

    _core: MySqlCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def _cursor(self, factory: RowFactory[T]) -> AsyncCursor[T]:
        return AsyncCursor(self, factory)

    def cursor(self, *, row_factory: RowFactory[Any] | None = None) -> AsyncCursor[Any]:
        """A new cursor."""
        if self._core.wire.closed:
            raise ConnectionClosed("the connection is closed")
        return AsyncCursor(self, row_factory or self.row_factory)

    async def execute(self, sql: str, params: Params = None, *, timeout: float | None = None) -> AsyncCursor[R]:
        """Executes one statement on a new cursor, and gives the cursor."""
        return await AsyncCursor(self, self.row_factory).execute(sql, params, timeout=timeout)

    async def executemany(
        self, sql: str, rows: Iterable[Any], *, returning: bool = False, timeout: float | None = None
    ) -> AsyncCursor[R]:
        """Executes a batch on a new cursor, all rows or none, and gives the cursor."""
        return await AsyncCursor(self, self.row_factory).executemany(sql, rows, returning=returning, timeout=timeout)

    async def executescript(self, sql: str, *, timeout: float | None = None) -> AsyncCursor[R]:
        """Executes text as it is, without parameters: one statement, or several separated by semicolons where
        ``multi_statements`` was set. Each result is a set of the cursor that this gives."""
        cursor = AsyncCursor(self, self.row_factory)
        await self._script(cursor, sql, timeout)
        return cursor

    async def fetchmany(self, sql: str, rows: Iterable[Any], *, timeout: float | None = None) -> list[R]:
        """The rows of a query for every row of parameters, one after the other in one list; pipelined."""
        cursor = AsyncCursor(self, self.row_factory)
        cursor._take(await self._wait(self._core.submit_flat(sql, rows), timeout))
        return cursor._all()

    # the session

    @property
    def isolation_level(self) -> str | None:
        """Isolation level of transactions to come (``read committed`` ...); ``None`` is the server's default. Changed
        only between transactions."""
        return self._core.isolation_level

    async def set_isolation_level(self, value: str | None, *, timeout: float | None = None) -> None:  # asyncio only
        """Changes it; only between transactions."""
        await self._run(self._core.set_isolation_level(value), timeout)

    # blocking: @isolation_level.setter
    # blocking: def isolation_level(self, value: str | None) -> None:
    # blocking:     self._run(self._core.set_isolation_level(value))

    @property
    def read_only(self) -> bool | None:
        """Whether transactions to come are read-only; ``None`` is the server's default. Changed only between
        transactions."""
        return self._core.read_only

    async def set_read_only(self, value: bool | None, *, timeout: float | None = None) -> None:  # asyncio only
        """Changes it; only between transactions."""
        await self._run(self._core.set_read_only(value), timeout)

    # blocking: @read_only.setter
    # blocking: def read_only(self, value: bool | None) -> None:
    # blocking:     self._run(self._core.set_read_only(value))

    async def show_warnings(self, *, timeout: float | None = None) -> list[ServerWarning]:
        """The warnings of the last statement: their level, the server's code and its words."""
        results = await self._wait(self._core.wire.query("SHOW WARNINGS"), timeout)
        return [ServerWarning(*row) for row in results[0].rows]

    async def select_db(self, database: str, *, timeout: float | None = None) -> None:
        """Changes the current database (COM_INIT_DB)."""
        await self._wait(self._core.wire.select_db(database), timeout)

    async def ping(self, *, timeout: float | None = None) -> None:
        """A round trip that does nothing else (COM_PING). Raises OperationalError when the server is gone."""
        await self._wait(self._core.round_trip(), timeout)
