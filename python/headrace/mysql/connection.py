"""The blocking connection to MySQL and MariaDB."""

# Made by tools/async_to_sync.py of aio/mysql/connection.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from .._shared.cursor_base import Params
from ..errors import ConnectionClosed
from ..rows import RowFactory
from .cancelling import Cancelling
from .core import MySqlCore, ServerWarning
from .cursor import Cursor
from .loading import Loading
from .streaming import Streaming

R = TypeVar("R")
T = TypeVar("T")


class Connection(Streaming[R], Loading[R], Cancelling[R]):
    """A connection to MySQL or MariaDB. Threads may share it: their calls queue up.

    As a context manager it commits at the end of the block, rolls back when the block raises, and closes.
    """

    _core: MySqlCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def _cursor(self, factory: RowFactory[T]) -> Cursor[T]:
        return Cursor(self, factory)

    def cursor(self, *, row_factory: RowFactory[Any] | None = None) -> Cursor[Any]:
        """A new cursor."""
        if self._core.wire.closed:
            raise ConnectionClosed("the connection is closed")
        return Cursor(self, row_factory or self.row_factory)

    def execute(self, sql: str, params: Params = None, *, timeout: float | None = None) -> Cursor[R]:
        """Executes one statement on a new cursor, and gives the cursor."""
        return Cursor(self, self.row_factory).execute(sql, params, timeout=timeout)

    def executemany(
        self, sql: str, rows: Iterable[Any], *, returning: bool = False, timeout: float | None = None
    ) -> Cursor[R]:
        """Executes a batch on a new cursor, all rows or none, and gives the cursor."""
        return Cursor(self, self.row_factory).executemany(sql, rows, returning=returning, timeout=timeout)

    def executescript(self, sql: str, *, timeout: float | None = None) -> Cursor[R]:
        """Executes text as it is, without parameters: one statement, or several separated by semicolons where
        ``multi_statements`` was set. Each result is a set of the cursor that this gives."""
        cursor = Cursor(self, self.row_factory)
        self._script(cursor, sql, timeout)
        return cursor

    def fetchmany(self, sql: str, rows: Iterable[Any], *, timeout: float | None = None) -> list[R]:
        """The rows of a query for every row of parameters, one after the other in one list; pipelined."""
        cursor = Cursor(self, self.row_factory)
        cursor._take(self._wait(self._core.submit_flat(sql, rows), timeout))
        return cursor._all()

    # the session

    @property
    def isolation_level(self) -> str | None:
        """Isolation level of transactions to come (``read committed`` ...); ``None`` is the server's default. Changed
        only between transactions."""
        return self._core.isolation_level

    @isolation_level.setter
    def isolation_level(self, value: str | None) -> None:
        self._run(self._core.set_isolation_level(value))

    @property
    def read_only(self) -> bool | None:
        """Whether transactions to come are read-only; ``None`` is the server's default. Changed only between
        transactions."""
        return self._core.read_only

    @read_only.setter
    def read_only(self, value: bool | None) -> None:
        self._run(self._core.set_read_only(value))

    def show_warnings(self, *, timeout: float | None = None) -> list[ServerWarning]:
        """The warnings of the last statement: their level, the server's code and its words."""
        results = self._wait(self._core.wire.query("SHOW WARNINGS"), timeout)
        return [ServerWarning(*row) for row in results[0].rows]

    def select_db(self, database: str, *, timeout: float | None = None) -> None:
        """Changes the current database (COM_INIT_DB)."""
        self._wait(self._core.wire.select_db(database), timeout)

    def ping(self, *, timeout: float | None = None) -> None:
        """A round trip that does nothing else (COM_PING). Raises OperationalError when the server is gone."""
        self._wait(self._core.round_trip(), timeout)
