"""Rows of PostgreSQL in bounded memory, asyncio."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterable
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, TypeVar

from ... import defaults, errors
from ..._native import ArrowBatch, ArrowSink, Result
from ..._shared.cursor_base import Params
from ..._shared.received import batches_of, lists_of
from ...postgres.connection_base import PostgresBase
from ...postgres.core import ConnectionCore
from ...postgres.streams import BUSY, Reading
from .._shared.connection import LoopConnection
from .._shared.deadlines import look_at

if TYPE_CHECKING:
    from ...sql import Statement

# blocking: import threading

R = TypeVar("R")
T = TypeVar("T")


def _end_abandoned(reading: Reading) -> None:  # asyncio only
    ended = reading.end(told=True)
    if ended is not None:
        ended.add_done_callback(look_at)


def _end_collected(reading: Reading) -> None:  # asyncio only
    """Ends what a generator reads from as soon as the generator is collected: its own end comes a turn of the loop
    later, and the next statement must not have to wait for that."""
    loop = reading.loop
    if loop is None or loop.is_closed():
        return
    try:
        running = asyncio.get_running_loop()
    except RuntimeError:
        running = None
    if running is loop:
        with contextlib.suppress(errors.Error):
            _end_abandoned(reading)
    if not reading.ended:
        # Another thread's, or the engine was in the middle of something when memory was collected.
        with contextlib.suppress(RuntimeError):
            loop.call_soon_threadsafe(_end_abandoned, reading)


class AsyncStreaming(PostgresBase[R], LoopConnection[R]):
    """A connection that reads rows in blocks."""

    _core: ConnectionCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def stream(
        self,
        sql: Statement,
        params: Params = None,
        *,
        fetch_size: int = defaults.FETCH_SIZE,
        timeout: float | None = None,
    ) -> AsyncIterator[R]:
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
    ) -> AsyncGenerator[list[R]]:
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

    def _watched(self, reading: Reading, rows: AsyncGenerator[T]) -> AsyncGenerator[T]:
        """Notes when the generator is collected: an error cannot be raised then."""

        def gone(_: Any) -> None:
            reading.abandoned = True
            _end_collected(reading)  # asyncio only

        reading.watch = weakref.ref(rows, gone)
        return rows

    async def _stream_rows(self, reading: Reading, timeout: float | None) -> AsyncGenerator[R]:
        exclusive = self._exclusive_guard(reading, BUSY)
        async with contextlib.aclosing(self._stream(reading, timeout, exclusive)) as blocks:
            async for block in blocks:
                rows = iter(block)
                for row in islice(rows, 1):  # asyncio only
                    yield row
                # blocking: yield from islice(rows, 1)
                # Another task may go on with it. A look after every row would cost more than the row.
                exclusive.pass_on()
                for row in rows:  # asyncio only
                    yield row
                # blocking: yield from rows

    def _stream(self, reading: Reading, timeout: float | None, exclusive: Any = None) -> AsyncGenerator[list[R]]:
        return self._portal(reading, timeout, partial(lists_of, self._core, self.row_factory), exclusive)

    def _arrow_batches(
        self, sql: Statement, params: Params, sink: ArrowSink, timeout: float | None
    ) -> AsyncGenerator[ArrowBatch]:
        reading = Reading(self._core, sql, params, sink.fetch_rows(), sink)
        return self._watched(reading, self._portal(reading, timeout, partial(batches_of, sink)))

    async def _portal(
        self,
        reading: Reading,
        timeout: float | None,
        taking: Callable[[Result], Callable[[Result], Iterable[T]]],
        exclusive: Any = None,
    ) -> AsyncGenerator[T]:
        """What is read from a portal, as what ``taking`` returns for the first result takes it of each."""
        reading.loop = asyncio.get_running_loop()  # asyncio only
        exclusive = exclusive or self._exclusive_guard(reading, BUSY)
        told = True
        try:
            result: Result = await self._wait(reading.begin(), timeout)
            reading.first(result, exclusive)
            taken_of = taking(result)
            while True:
                asked = reading.ahead(result)
                for ticket in asked:  # asyncio only
                    ticket.add_done_callback(look_at)
                # blocking: if asked:
                # blocking:     self._push(0, timeout)
                for taken in taken_of(result):
                    yield taken
                    del taken
                    # Another task may go on with it.
                    exclusive.pass_on()
                if not result.suspended:
                    told = False
                    return
                result = await self._next_block(reading, timeout)
        except GeneratorExit:
            told = False
            raise
        finally:
            await self._end_reading(reading, timeout, told)

    async def _next_block(self, reading: Reading, timeout: float | None) -> Result:
        """Waits for the next block. Without it those that were asked for after it are not received either."""
        reading.check_open()
        try:
            return reading.check(await self._wait(reading.awaited(), timeout))
        except errors.Error:
            raise
        except BaseException:
            if rest := reading.rest():
                self._discard_requests(rest)
            raise

    async def _end_reading(self, reading: Reading, timeout: float | None, told: bool) -> None:
        """Ends the portal. Raises why the transaction of its own was not committed, unless the program is ``told`` of
        an error of the stream in any case."""
        try:
            ended = reading.end(told=told)
            if ended is not None:
                await self._wait_for_end(ended, timeout)
        except errors.Error:
            # blocking: if not (reading.ended or self.closed):
            # blocking:     # Collected in the middle of this thread's own request: the connection would stay occupied.
            # blocking:     ends = reading, timeout, True
            # blocking:     threading.Thread(target=self._end_reading, args=ends, daemon=True).start()
            # The rest of a portal in another transaction is lost with the connection.
            if reading.own and not (told or reading.abandoned):
                raise
        # blocking: except BaseException:
        # blocking:     # An interrupt: it may have come before the end was queued, or before that was sent.
        # blocking:     reading.end_again()
        # blocking:     raise
