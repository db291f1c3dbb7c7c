"""Pipelines of asyncio connections."""

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from ..._shared.core import Pipelined

if TYPE_CHECKING:
    from .connection import LoopConnection


class AsyncPipeline:
    """A pipeline, of ``AsyncConnection.pipeline()``. It belongs to one task."""

    def __init__(self, connection: LoopConnection[Any], pipelined: Pipelined) -> None:
        self._connection = connection
        self._pipelined = pipelined

    # blocking: def flush(self, *, timeout: float | None = None) -> None:
    # blocking:     """Sends queued statements, and waits only for room in the socket: the server executes them while
    # blocking:     the program continues.
    # blocking:
    # blocking:     Args:
    # blocking:         timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no
    # blocking:             limit.
    # blocking:
    # blocking:     Raises:
    # blocking:         ConnectionClosed: the connection is closed or was lost.
    # blocking:         TimeoutError: the server did not read within ``timeout`` seconds.
    # blocking:     """
    # blocking:     self._connection._core.ask_for_answers(self._pipelined)
    # blocking:     self._connection._push(0, timeout)

    async def sync(self, *, timeout: float | None = None) -> None:
        """Waits for all results so far.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            PipelineAborted: an earlier statement failed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        pipelined = self._pipelined
        cursors, pipelined.cursors = pipelined.cursors, deque()
        try:
            await self._connection._drain(pipelined, cursors, False, timeout)
        except BaseException:
            if any(cursor._pending is not None for cursor in cursors):
                # An interrupt came before they were given up.
                self._connection._discard_results(cursors, None)
            raise
