"""Rows in bounded memory, asyncio: a stream that has the connection for itself."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import AsyncGenerator, Callable
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from ... import errors
from ..._native import ArrowBatch, ArrowSink
from ..._shared.core import Opened
from ..._shared.flows import ask
from ..._shared.received import Received, Receiving
from .connection import LoopConnection

# blocking: from .limits import overdue

R = TypeVar("R")
T = TypeVar("T")


class Reading(Opened):
    """What a stream waits for, and whether it has the connection for itself."""

    ticket: Any = None
    gate: Any = None

    def __init__(self, writes: bool = False) -> None:
        self.writes = writes
        """The statement may change something, and is not cancelled when its stream is left: that would undo it."""


async def rows_of(reading: Reading, blocks: AsyncGenerator[list[T]]) -> AsyncGenerator[T]:
    """The rows of blocks."""
    async with contextlib.aclosing(blocks):
        async for block in blocks:
            rows = iter(block)
            for row in islice(rows, 1):  # asyncio only
                yield row
            # blocking: yield from islice(rows, 1)
            if reading.gate is not None:
                # Another task may go on with it. A look after every row would cost as much as the step.
                reading.gate.pass_on()
            for row in rows:  # asyncio only
                yield row
            # blocking: yield from rows


class LoopBlocks(Receiving[R], LoopConnection[R]):
    """A connection that reads rows while they come."""

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

    async def _blocks_of(
        self,
        submit: Callable[[], partial[Any]],
        size: int,
        reading: Reading,
        timeout: float | None,
        received: Received | None = None,
    ) -> AsyncGenerator[list[R]]:
        """The rows of what the request of ``submit`` queues, in lists of ``size``."""
        wire: Any = self._core.wire
        gate = reading.gate = self._gate(reading, self._streaming)
        asked: list[Any] = []
        answered = False
        try:
            ask(submit(), asked)
            ticket = reading.ticket = asked[0]
            wire.occupy(gate)
            self._begin_reading()  # asyncio only
            while not ticket.done():  # asyncio only
                taken = wire.take_block(ticket)
                if taken is None:
                    await self._wait(wire.step(ticket), timeout)
                    continue
                columns, rows = taken
                yield self._made(columns, rows, received)
                # Another task may go on with it.
                gate.pass_on()
            # blocking: while (taken := self._next_block(ticket, timeout)) is not None:
            # blocking:     columns, rows = taken
            # blocking:     yield self._made(columns, rows, received)
            # blocking:     # Another thread may go on with it.
            # blocking:     gate.pass_on()
            answered, result = True, await self._wait(ticket, timeout)
            # Other statements are executed while the last rows are used.
            reading.ended = True  # asyncio only
            # blocking: wire.vacate(gate)
            if not self._has_rows(result, received):
                return
            while result.rows:
                # What came with the end may be more than one block.
                block = result.rows[:size]
                del result.rows[:size]
                yield self._made(result.columns, block, received)
        except GeneratorExit:
            if reading.writes and asked and not (answered or reading.ended):
                await self._read_rest(asked[0], timeout)
            raise
        finally:
            reading.ended = True  # asyncio only
            try:
                if not self._core.is_inherited():
                    wire.vacate(gate)
            finally:
                if asked and not asked[0].done():  # asyncio only
                    self._abandon(asked[0])
                # blocking: if asked and not wire.closed and wire.request_id(asked[0]) is not None:
                # blocking:     self._abandon(asked[0])

    async def _batches_of(
        self, submit: Callable[[], partial[Any]], sink: ArrowSink, reading: Reading, timeout: float | None
    ) -> AsyncGenerator[ArrowBatch]:
        """The record batches of what the request of ``submit`` queues, which come through ``sink``."""
        wire: Any = self._core.wire
        gate = reading.gate = self._gate(reading, self._streaming)
        asked: list[Any] = []
        answered = False
        try:
            ask(submit(), asked)
            ticket = reading.ticket = asked[0]
            wire.occupy(gate)
            self._begin_reading()  # asyncio only
            while not ticket.done():  # asyncio only
                if wire.take_block(ticket) is None:
                    await self._wait(wire.step(ticket), timeout)
                elif (batch := sink.take()) is not None:
                    yield batch
                    # Another task may go on with it.
                    gate.pass_on()
            # blocking: while self._next_block(ticket, timeout) is not None:
            # blocking:     if (batch := sink.take()) is not None:
            # blocking:         yield batch
            # blocking:         # Another thread may go on with it.
            # blocking:         gate.pass_on()
            answered, result = True, await self._wait(ticket, timeout)
            # Other statements are executed while the last rows are used.
            reading.ended = True  # asyncio only
            # blocking: wire.vacate(gate)
            self._has_rows(result, None)
            while (batch := sink.take()) is not None:
                yield batch
        except GeneratorExit:
            if reading.writes and asked and not (answered or reading.ended):
                await self._read_rest(asked[0], timeout, sink)
            raise
        finally:
            reading.ended = True  # asyncio only
            try:
                if not self._core.is_inherited():
                    wire.vacate(gate)
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
