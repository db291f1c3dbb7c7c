"""Rows in bounded memory, asyncio: a stream that has the connection for itself."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import AsyncGenerator, Callable
from itertools import islice
from typing import Any, TypeVar

from ... import errors
from ..._shared.core import Opened
from ..._shared.received import Received, Receiving
from .connection import LoopConnection
from .opened import TaskGate

R = TypeVar("R")
T = TypeVar("T")


class Reading(Opened):
    """What a stream waits for, and whether it has the connection for itself."""

    future: Any = None
    gate: TaskGate | None = None


async def rows_of(reading: Reading, blocks: AsyncGenerator[list[T]]) -> AsyncGenerator[T]:
    """The rows of blocks."""
    async with contextlib.aclosing(blocks):
        async for block in blocks:
            rows = iter(block)
            for row in islice(rows, 1):
                yield row
            if reading.gate is not None:
                # Another task may go on with it. A look after every row would cost as much as the step.
                reading.gate.pass_on()
            for row in rows:
                yield row


class LoopBlocks(Receiving[R], LoopConnection[R]):
    """A connection that reads rows while they come."""

    def _begin_reading(self) -> None:
        """A stream begins."""

    def _watched(self, reading: Reading, rows: AsyncGenerator[T]) -> AsyncGenerator[T]:
        """Abandons a stream as soon as its generator is collected: the generator's own end comes a turn of the loop
        later, and the next statement would be refused until then."""
        me = weakref.ref(self)

        def gone(_: Any) -> None:
            connection, future = me(), reading.future
            if connection is None or future is None or future.get_loop().is_closed():
                return
            with contextlib.suppress(RuntimeError, errors.Error):
                if asyncio.get_running_loop() is future.get_loop() and not future.done():
                    reading.ended = True
                    connection._abandon(future)

        reading.watch = weakref.ref(rows, gone)
        return rows

    async def _blocks_of(
        self,
        submit: Callable[[], Any],
        size: int,
        reading: Reading,
        timeout: float | None,
        received: Received | None = None,
    ) -> AsyncGenerator[list[R]]:
        """The rows of what ``submit`` queues, in lists of ``size``."""
        wire: Any = self._core.wire
        future = reading.future = submit()
        gate = reading.gate = TaskGate(reading, self._streaming)
        wire.occupy(gate)
        self._begin_reading()
        try:
            while not future.done():
                taken = wire.take_block(future)
                if taken is None:
                    await self._wait(wire.step(future), timeout)
                    continue
                columns, rows = taken
                yield self._made(columns, rows, received)
                # Another task may go on with it.
                gate.pass_on()
            result = await self._wait(future, timeout)
            reading.ended = True
            if not self._has_rows(result, received):
                return
            while result.rows:
                # What came with the end may be more than one block.
                block = result.rows[:size]
                del result.rows[:size]
                yield self._made(result.columns, block, received)
        finally:
            reading.ended = True
            wire.vacate(gate)
            if not future.done():
                self._abandon(future)
