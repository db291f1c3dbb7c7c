"""Connections, blocking, to servers that take several statements in one text, and a batch of queries."""

# Made by tools/async_to_sync.py of aio/_shared/scripts.py: edit that file, and run the tool.

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeVar

from ..types import ParameterRows
from .connection import BlockingConnection, BlockingCursors, C_co

if TYPE_CHECKING:
    from ..sql import Statement

R = TypeVar("R")


class BlockingScripts(BlockingConnection[R]):
    """A connection to a server that takes several statements in one text, and a batch of queries."""

    def executescript(self: BlockingCursors[C_co], sql: Statement, *, timeout: float | None = None) -> C_co:
        """Executes text without parameters: one statement, or several, separated by semicolons. MySQL and MariaDB take
        several with ``multi_statements=True``.

        Args:
            sql: the statements.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            A cursor with one result for each statement, in turn by ``nextset()``. After an error of MySQL or MariaDB,
            ``error.cursor`` has the results before it.

        Raises:
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        cursor = self._cursor_type(self, self.row_factory)
        self._script(cursor, sql, timeout)
        return cursor

    def fetchmany(self, sql: Statement, rows: ParameterRows, *, timeout: float | None = None) -> list[R]:
        cursor = self._cursor_type(self, self.row_factory)
        core: Any = self._core
        try:
            cursor._take(self._wait(core.submit_flat(sql, rows), timeout))
        except BaseException as error:
            core.withdraw(error)
            raise
        return cursor._all()
