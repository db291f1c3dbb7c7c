"""Pipelines of blocking connections."""

# Made by tools/async_to_sync.py of aio/_shared/pipeline.py: edit that file, and run the tool.

from __future__ import annotations

from collections import deque
from typing import TYPE_CHECKING, Any

from .core import Pipelined

if TYPE_CHECKING:
    from .connection import BlockingConnection


class Pipeline:
    """A pipeline, of ``Connection.pipeline()``. It belongs to one thread."""

    def __init__(self, connection: BlockingConnection[Any], pipelined: Pipelined) -> None:
        self._connection = connection
        self._pipelined = pipelined

    def flush(self, *, timeout: float | None = None) -> None:
        """Sends queued statements, and waits only for room in the socket: the server executes them while
        the program continues.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no
                limit.

        Raises:
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the server did not read within ``timeout`` seconds.
        """
        self._connection._core.ask_for_answers(self._pipelined)
        self._connection._push(0, timeout)

    def sync(self, *, timeout: float | None = None) -> None:
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
            self._connection._drain(pipelined, cursors, False, timeout)
        except BaseException:
            if any(cursor._pending is not None for cursor in cursors):
                # An interrupt came before they were given up.
                self._connection._discard_results(cursors, None)
            raise
