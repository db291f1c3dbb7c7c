"""Rows in bounded memory, asyncio: a stream that has the connection for itself."""

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
from ..._shared.flows import ask
from ..._shared.received import Reading, Received, Receiving, block_size
from .connection import LoopConnection

if TYPE_CHECKING:
    from ...sql import Statement

# blocking: from .limits import overdue

R = TypeVar("R")
T = TypeVar("T")


async def rows_of(reading: Reading, blocks: AsyncGenerator[list[T]]) -> AsyncGenerator[T]:
    """The rows of blocks."""
    async with contextlib.aclosing(blocks):
        async for block in blocks:
            rows = iter(block)
            for row in islice(rows, 1):  # asyncio only
                yield row
            # blocking: yield from islice(rows, 1)
            if reading.exclusive is not None:
                # Another task may go on with it. A look after every row would cost as much as the step.
                reading.exclusive.pass_on()
            for row in rows:  # asyncio only
                yield row
            # blocking: yield from rows


class LoopBlocks(Receiving[R], LoopConnection[R]):
    """A connection that reads rows while they come."""

    def _reading(self, sql: Statement) -> Reading:
        """What a stream of this statement waits for."""
        return Reading()

    def stream(
        self,
        sql: Statement,
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
        reading = self._reading(sql)
        blocks = self._blocks_of(sql, params, block_size(fetch_size), reading, timeout)
        return self._watched(reading, rows_of(reading, blocks))

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
        return self._stream_into(None, sql, params, fetch_size, timeout)

    def _stream_into(
        self, received: Received | None, sql: Statement, params: Params, fetch_size: int, timeout: float | None
    ) -> AsyncGenerator[list[R]]:
        """The blocks of a stream; of a cursor that streams, with ``received``, without its row factory."""
        reading = self._reading(sql)
        blocks = self._blocks_of(sql, params, block_size(fetch_size), reading, timeout, received)
        return self._watched(reading, blocks)

    def _watched(self, reading: Reading, rows: AsyncGenerator[T]) -> AsyncGenerator[T]:  # asyncio only
        """Abandons a stream as soon as its generator is collected: the generator's own end comes a turn of the loop
        later, and the next statement would be refused until then."""
        me = weakref.ref(self)

        def gone(_: Any) -> None:
            connection, future = me(), reading.ticket
            if connection is None or future is None or future.get_loop().is_closed():
                return
            with contextlib.suppress(RuntimeError, errors.Error):
                if asyncio.get_running_loop() is future.get_loop() and not future.done():
                    reading.ended = True
                    if reading.writes:
                        connection._core.wire.discard(future)
                    else:
                        connection._abandon(future)

        reading.watch = weakref.ref(rows, gone)
        return rows

    # blocking: def _watched(self, _reading: Reading, rows: Generator[T]) -> Generator[T]:
    # blocking:     return rows  # Its own end abandons it, as soon as it is collected.

    def _blocks_of(
        self,
        sql: Statement,
        params: Params,
        size: int,
        reading: Reading,
        timeout: float | None,
        received: Received | None = None,
    ) -> AsyncGenerator[list[R]]:
        """The rows of a query, in lists of ``size``."""
        core: Any = self._core
        made = partial(self._made, received=received)
        left = partial(self._rows_left, size, received)
        return self._occupying(lambda: core.stream_request(sql, params, size), reading, timeout, made, left)

    def _arrow_batches(
        self, sql: Statement, params: Params, sink: ArrowSink, timeout: float | None
    ) -> AsyncGenerator[ArrowBatch]:
        core: Any = self._core
        reading = self._reading(sql)
        batches = self._occupying(
            lambda: core.stream_request(sql, params, 1, sink),
            reading,
            timeout,
            lambda _columns, _rows: sink.take(),
            partial(self._batches_left, sink),
            sink,
        )
        return self._watched(reading, batches)

    async def _occupying(
        self,
        submit: Callable[[], partial[Any]],
        reading: Reading,
        timeout: float | None,
        made: Callable[[Any, Any], T | None],
        left: Callable[[Result], Iterable[T]],
        sink: ArrowSink | None = None,
    ) -> AsyncGenerator[T]:
        """The blocks of what the request of ``submit`` queues, which has the connection for itself until its last row
        has come: each as ``made`` makes it of its columns and rows, at the end those that are ``left``."""
        wire: Any = self._core.wire
        exclusive = reading.exclusive = self._exclusive_guard(reading, self._streaming)
        asked: list[Any] = []
        answered = False
        try:
            ask(submit(), asked)
            ticket = reading.ticket = asked[0]
            wire.occupy(exclusive)
            self._begin_reading()  # asyncio only
            while not ticket.done():  # asyncio only
                taken = wire.take_block(ticket)
                if taken is None:
                    await self._wait(wire.step(ticket), timeout)
                elif (block := made(*taken)) is not None:
                    del taken
                    yield block
                    del block
                    # Another task may go on with it.
                    exclusive.pass_on()
            # blocking: while (taken := self._next_block(ticket, timeout)) is not None:
            # blocking:     if (block := made(*taken)) is not None:
            # blocking:         del taken
            # blocking:         yield block
            # blocking:         del block
            # blocking:         # Another thread may go on with it.
            # blocking:         exclusive.pass_on()
            answered, result = True, await self._wait(ticket, timeout)
            # Other statements are executed while the last rows are used.
            reading.ended = True  # asyncio only
            # blocking: wire.vacate(exclusive)
            for last in left(result):
                yield last
        except GeneratorExit:
            if reading.writes and asked and not (answered or reading.ended):
                await self._read_rest(asked[0], timeout, sink)
            raise
        finally:
            reading.ended = True  # asyncio only
            try:
                if not self._core.is_inherited():
                    wire.vacate(exclusive)
            finally:
                if asked and not asked[0].done():  # asyncio only
                    self._abandon(asked[0])
                # blocking: if asked and not wire.closed and wire.request_id(asked[0]) is not None:
                # blocking:     self._abandon(asked[0])

    async def _read_rest(self, ticket: Any, timeout: float | None, sink: ArrowSink | None = None) -> None:
        """Receives, and drops, what is left of a statement whose stream was left. Raises its error."""
        wire: Any = self._core.wire  # asyncio only
        while not ticket.done():  # asyncio only
            if wire.take_block(ticket) is None:
                await self._wait(wire.step(ticket), timeout)
            while sink is not None and sink.take() is not None:
                pass
        # blocking: while self._next_block(ticket, timeout) is not None:
        # blocking:     while sink is not None and sink.take() is not None:
        # blocking:         pass
        await self._wait(ticket, timeout)

    # blocking: def _next_block(self, ticket: Any, timeout: float | None) -> Any:
    # blocking:     """Waits in the engine, without a step of Python for each reply that has no block."""
    # blocking:     core = self._core
    # blocking:     wire: Any = core.wire
    # blocking:     try:
    # blocking:         return wire.next_block(ticket, core.seconds(timeout))
    # blocking:     except TimeoutError:
    # blocking:         raise overdue(core.command_timeout if timeout is None else timeout) from None
