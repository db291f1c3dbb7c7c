"""Rows of CUBRID in bounded memory, asyncio."""

from __future__ import annotations

from collections.abc import AsyncGenerator, AsyncIterator
from typing import Any, TypeVar

from ... import defaults
from ..._native import ArrowBatch, ArrowSink
from ..._shared.arguments import MOST_ROWS, checked_count
from ..._shared.cursor_base import Params
from ..._shared.received import Received
from ...cubrid.connection_base import CubridBase
from ...cubrid.core import CubridCore
from .._shared.blocks import LoopBlocks, Reading, rows_of

R = TypeVar("R")


class AsyncStreaming(CubridBase[R], LoopBlocks[R]):
    """A connection that reads rows while they come."""

    _core: CubridCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def stream(
        self,
        sql: str,
        params: Params = None,
        *,
        fetch_size: int = defaults.FETCH_SIZE,
        timeout: float | None = None,
    ) -> AsyncIterator[R]:
        """Executes a query and returns its rows one by one, in bounded memory, while they are received.

        The stream occupies the connection until it is read to its end or closed: other statements of the thread or task
        that reads raise InterfaceError, and those of others wait.

        Args:
            sql: the query.
            params: a sequence of values, or a mapping for ``%(name)s``; None for a statement without parameters.
            fetch_size: rows for each block, at least 1.
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
        reading = Reading()
        return self._watched(reading, rows_of(reading, self._read(sql, params, fetch_size, reading, timeout)))

    def stream_blocks(
        self,
        sql: str,
        params: Params = None,
        *,
        fetch_size: int = defaults.FETCH_SIZE,
        timeout: float | None = None,
    ) -> AsyncGenerator[list[R]]:
        """Executes a query and returns its rows in lists, in bounded memory: :meth:`stream` without the cost of a step
        for each row.

        The stream occupies the connection until it is read to its end or closed: other statements of the thread or task
        that reads raise InterfaceError, and those of others wait.

        Args:
            sql: the query.
            params: a sequence of values, or a mapping for ``%(name)s``; None for a statement without parameters.
            fetch_size: rows for each block, at least 1.
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
        reading = Reading()
        return self._watched(reading, self._read(sql, params, fetch_size, reading, timeout))

    def _arrow_batches(
        self, sql: str, params: Params, sink: ArrowSink, timeout: float | None
    ) -> AsyncGenerator[ArrowBatch]:
        core, reading = self._core, Reading()
        batches = self._batches_of(lambda: core.stream_request(sql, params, 1, sink), sink, reading, timeout)
        return self._watched(reading, batches)

    def _stream_into(
        self, received: Received, sql: str, params: Params, size: int, timeout: float | None
    ) -> AsyncGenerator[list[Any]]:
        """The blocks of a cursor that streams, without its row factory."""
        reading = Reading()
        return self._watched(reading, self._read(sql, params, size, reading, timeout, received))

    def _read(
        self,
        sql: str,
        params: Params,
        size: int,
        reading: Reading,
        timeout: float | None,
        received: Received | None = None,
    ) -> AsyncGenerator[list[Any]]:
        size = min(checked_count(size, "fetch_size"), MOST_ROWS)
        return self._blocks_of(lambda: self._core.stream_request(sql, params, size), size, reading, timeout, received)
