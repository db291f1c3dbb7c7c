"""Rows of MySQL and MariaDB in bounded memory, blocking."""

# Made by tools/async_to_sync.py of aio/mysql/streaming.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Generator, Iterator
from typing import TYPE_CHECKING, TypeVar

from .. import defaults
from .._shared.blocks import BlockingBlocks, rows_of
from .._shared.cursor_base import Params
from .._shared.received import Reading, Received, block_size
from ..errors import Error
from .connection_base import MySqlBase
from .core import MySqlCore, first_of, may_write

if TYPE_CHECKING:
    from ..sql import Statement

R = TypeVar("R")


class Streaming(MySqlBase[R], BlockingBlocks[R]):
    """A connection that reads rows while they come."""

    _core: MySqlCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def _reading(self, sql: Statement) -> Reading:
        return Reading(may_write(sql))

    def stream(
        self,
        sql: Statement,
        params: Params = None,
        *,
        fetch_size: int = defaults.FETCH_SIZE,
        on_server: bool = False,
        timeout: float | None = None,
    ) -> Iterator[R]:
        """Executes a query and returns its rows one by one, in bounded memory, while they are received.

        The stream occupies the connection until it is read to its end or closed: other statements of the thread or task
        that reads raise InterfaceError, and those of others wait. With ``on_server`` they can be executed in between.

        Args:
            sql: the query.
            params: a sequence of values, or a mapping for ``%(name)s``; None for a statement without parameters.
            fetch_size: rows for each block, at least 1.
            on_server: keep the result in a cursor on the server, which is more work for the server.
            timeout: seconds until each wait is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Yields:
            Rows, as the row factory makes them.

        Raises:
            ProgrammingError: the statement returns no rows, or ``fetch_size`` is less than 1.
            InterfaceError: the connection is occupied by another stream or COPY of the same thread or task.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: a wait was cancelled after ``timeout`` seconds.
        """
        if on_server:
            return rows_of(Reading(), self._cursor_blocks(sql, params, fetch_size, timeout))
        return super().stream(sql, params, fetch_size=fetch_size, timeout=timeout)

    def stream_blocks(
        self,
        sql: Statement,
        params: Params = None,
        *,
        fetch_size: int = defaults.FETCH_SIZE,
        on_server: bool = False,
        timeout: float | None = None,
    ) -> Generator[list[R]]:
        """Executes a query and returns its rows in lists, in bounded memory: :meth:`stream` without the cost of a step
        for each row.

        The stream occupies the connection until it is read to its end or closed: other statements of the thread or task
        that reads raise InterfaceError, and those of others wait. With ``on_server`` they can be executed in between.

        Args:
            sql: the query.
            params: a sequence of values, or a mapping for ``%(name)s``; None for a statement without parameters.
            fetch_size: rows for each block, at least 1.
            on_server: keep the result in a cursor on the server, which is more work for the server.
            timeout: seconds until each wait is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Yields:
            Lists of ``fetch_size`` rows; the last may be shorter.

        Raises:
            ProgrammingError: the statement returns no rows, or ``fetch_size`` is less than 1.
            InterfaceError: the connection is occupied by another stream or COPY of the same thread or task.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: a wait was cancelled after ``timeout`` seconds.
        """
        if on_server:
            return self._cursor_blocks(sql, params, fetch_size, timeout)
        return super().stream_blocks(sql, params, fetch_size=fetch_size, timeout=timeout)

    def _cursor_blocks(
        self, sql: Statement, params: Params, fetch_size: int, timeout: float | None, received: Received | None = None
    ) -> Generator[list[R]]:
        """The blocks of a stream whose result is in a cursor on the server."""
        return self._fetched(sql, params, block_size(fetch_size), timeout, received)

    def _fetched(
        self, sql: Statement, params: Params, size: int, timeout: float | None, received: Received | None
    ) -> Generator[list[R]]:
        core, wire = self._core, self._core.wire
        ticket, number = core.open_cursor(sql, params, size)
        result = first_of(self._wait(ticket, timeout))
        if not self._has_rows(result, received):
            return
        suspended, ahead = result.suspended, None
        try:
            while True:
                ahead = wire.fetch(number, size) if suspended else None
                if ahead is not None:
                    self._push(0, timeout)
                if result.rows:
                    yield self._made(result.columns, result.rows, received)
                if ahead is None:
                    return
                result = self._wait(ahead, timeout)
                suspended = result.suspended
        finally:
            if ahead is not None and not ahead.done():
                wire.discard(ahead)
            if suspended and not wire.closed:
                try:
                    self._wait_for_end(wire.close_cursor(number), timeout)
                except Error:
                    # A cursor that was lost with its connection is closed.
                    if not wire.closed:
                        raise
