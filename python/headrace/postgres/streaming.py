"""Rows of PostgreSQL in bounded memory, blocking."""

# Made by tools/async_to_sync.py of aio/postgres/streaming.py: edit that file, and run the tool.

from __future__ import annotations

import contextlib
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from .. import defaults, errors
from .._native import ArrowBatch, ArrowSink, Result
from .._shared.connection import BlockingConnection
from .._shared.cursor_base import Params
from .._shared.received import batches_of, lists_of
from .connection_base import PostgresBase
from .core import ConnectionCore
from .streams import BUSY, Reading

if TYPE_CHECKING:
    from ..sql import Statement

import threading

R = TypeVar("R")
T = TypeVar("T")


class Streaming(PostgresBase[R], BlockingConnection[R]):
    """A connection that reads rows in blocks."""

    _core: ConnectionCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def stream(
        self,
        sql: Statement,
        params: Params = None,
        *,
        fetch_size: int = defaults.FETCH_SIZE,
        timeout: float | None = None,
    ) -> Iterator[R]:
        """Executes a query and returns its rows one by one, in bounded memory.

        The stream reads in the open transaction. With autocommit off it begins one, which :meth:`commit` or
        :meth:`rollback` has to end. With autocommit on it has a transaction of its own, which ends with it; until then
        other statements of the thread or task that reads raise InterfaceError, and those of others wait.

        Close the stream if it is not read to its end. It may be continued by another thread or task.

        Args:
            sql: the query.
            params: a sequence of values, or a mapping for ``%(name)s``; None for a statement without parameters.
            fetch_size: rows for each block, at least 1; the next block is requested while one is used.
            timeout: seconds until each wait is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Yields:
            Rows, as the row factory makes them.

        Raises:
            ProgrammingError: the statement returns no rows, or ``fetch_size`` is less than 1.
            InterfaceError: the connection is occupied by another stream or COPY of the same thread or task.
            InvalidCursorName: the transaction in which it reads has ended.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: a wait was cancelled after ``timeout`` seconds.
        """
        reading = Reading(self._core, sql, params, fetch_size)
        return self._watched(reading, self._stream_rows(reading, timeout))

    def stream_blocks(
        self,
        sql: Statement,
        params: Params = None,
        *,
        fetch_size: int = defaults.FETCH_SIZE,
        timeout: float | None = None,
    ) -> Generator[list[R]]:
        """Executes a query and returns its rows in lists, in bounded memory: :meth:`stream` without the cost of a step
        for each row.

        The stream reads in the open transaction. With autocommit off it begins one, which :meth:`commit` or
        :meth:`rollback` has to end. With autocommit on it has a transaction of its own, which ends with it; until then
        other statements of the thread or task that reads raise InterfaceError, and those of others wait.

        Close the stream if it is not read to its end. It may be continued by another thread or task.

        Args:
            sql: the query.
            params: a sequence of values, or a mapping for ``%(name)s``; None for a statement without parameters.
            fetch_size: rows for each block, at least 1; the next block is requested while one is used.
            timeout: seconds until each wait is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Yields:
            Lists of ``fetch_size`` rows; the last may be shorter.

        Raises:
            ProgrammingError: the statement returns no rows, or ``fetch_size`` is less than 1.
            InterfaceError: the connection is occupied by another stream or COPY of the same thread or task.
            InvalidCursorName: the transaction in which it reads has ended.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: a wait was cancelled after ``timeout`` seconds.
        """
        reading = Reading(self._core, sql, params, fetch_size)
        return self._watched(reading, self._stream(reading, timeout))

    def _watched(self, reading: Reading, rows: Generator[T]) -> Generator[T]:
        """Notes when the generator is collected: an error cannot be raised then."""

        def gone(_: Any) -> None:
            reading.abandoned = True

        reading.watch = weakref.ref(rows, gone)
        return rows

    def _stream_rows(self, reading: Reading, timeout: float | None) -> Generator[R]:
        exclusive = self._exclusive_guard(reading, BUSY)
        with contextlib.closing(self._stream(reading, timeout, exclusive)) as blocks:
            for block in blocks:
                rows = iter(block)
                yield from islice(rows, 1)
                # Another thread may go on with it. A look after every row would cost more than the row.
                exclusive.pass_on()
                yield from rows

    def _stream(self, reading: Reading, timeout: float | None, exclusive: Any = None) -> Generator[list[R]]:
        return self._portal(reading, timeout, partial(lists_of, self._core, self.row_factory), exclusive)

    def _arrow_batches(
        self, sql: Statement, params: Params, sink: ArrowSink, timeout: float | None
    ) -> Generator[ArrowBatch]:
        reading = Reading(self._core, sql, params, sink.fetch_rows(), sink)
        return self._watched(reading, self._portal(reading, timeout, partial(batches_of, sink)))

    def _portal(
        self,
        reading: Reading,
        timeout: float | None,
        taking: Callable[[Result], Callable[[Result], Iterable[T]]],
        exclusive: Any = None,
    ) -> Generator[T]:
        """What is read from a portal, as what ``taking`` returns for the first result takes it of each."""
        exclusive = exclusive or self._exclusive_guard(reading, BUSY)
        told = True
        try:
            result: Result = self._wait(reading.begin(), timeout)
            reading.first(result, exclusive)
            taken_of = taking(result)
            while True:
                asked = reading.ahead(result)
                if asked:
                    self._push(0, timeout)
                for taken in taken_of(result):
                    yield taken
                    del taken
                    # Another thread may go on with it.
                    exclusive.pass_on()
                if not result.suspended:
                    told = False
                    return
                result = self._next_block(reading, timeout)
        except GeneratorExit:
            told = False
            raise
        finally:
            self._end_reading(reading, timeout, told)

    def _next_block(self, reading: Reading, timeout: float | None) -> Result:
        """Waits for the next block. Without it those that were asked for after it are not received either."""
        reading.check_open()
        try:
            return reading.check(self._wait(reading.awaited(), timeout))
        except errors.Error:
            raise
        except BaseException:
            if rest := reading.rest():
                self._discard_requests(rest)
            raise

    def _end_reading(self, reading: Reading, timeout: float | None, told: bool) -> None:
        """Ends the portal. Raises why the transaction of its own was not committed, unless the program is ``told`` of
        an error of the stream in any case."""
        try:
            ended = reading.end(told=told)
            if ended is not None:
                self._wait_for_end(ended, timeout)
        except errors.Error:
            if not (reading.ended or self.closed):
                # Collected in the middle of this thread's own request: the connection would stay occupied.
                ends = reading, timeout, True
                threading.Thread(target=self._end_reading, args=ends, daemon=True).start()
            # The rest of a portal in another transaction is lost with the connection.
            if reading.own and not (told or reading.abandoned):
                raise
        except BaseException:
            # An interrupt: it may have come before the end was queued, or before that was sent.
            reading.end_again()
            raise
