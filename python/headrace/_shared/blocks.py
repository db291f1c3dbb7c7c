"""Rows in bounded memory, blocking: a stream that has the connection for itself."""

# Made by tools/async_to_sync.py of aio/_shared/blocks.py: edit that file, and run the tool.

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from functools import partial
from itertools import islice
from typing import Any, TypeVar

from .._native import ArrowBatch, ArrowSink
from .connection import BlockingConnection
from .core import Opened
from .flows import ask
from .limits import overdue
from .received import Received, Receiving

R = TypeVar("R")
T = TypeVar("T")


class Reading(Opened):
    """What a stream waits for, and whether it has the connection for itself."""

    ticket: Any = None
    gate: Any = None

    def __init__(self, writes: bool = False) -> None:
        self.writes = writes
        """The statement may change something, and is not cancelled when its stream is left: that would undo it."""


def rows_of(reading: Reading, blocks: Generator[list[T]]) -> Generator[T]:
    """The rows of blocks."""
    with contextlib.closing(blocks):
        for block in blocks:
            rows = iter(block)
            yield from islice(rows, 1)
            if reading.gate is not None:
                # Another thread may go on with it. A look after every row would cost as much as the step.
                reading.gate.pass_on()
            yield from rows


class BlockingBlocks(Receiving[R], BlockingConnection[R]):
    """A connection that reads rows while they come."""

    def _watched(self, _reading: Reading, rows: Generator[T]) -> Generator[T]:
        return rows  # Its own end abandons it, as soon as it is collected.

    def _blocks_of(
        self,
        submit: Callable[[], partial[Any]],
        size: int,
        reading: Reading,
        timeout: float | None,
        received: Received | None = None,
    ) -> Generator[list[R]]:
        """The rows of what the request of ``submit`` queues, in lists of ``size``."""
        wire: Any = self._core.wire
        gate = reading.gate = self._gate(reading, self._streaming)
        asked: list[Any] = []
        answered = False
        try:
            ask(submit(), asked)
            ticket = reading.ticket = asked[0]
            wire.occupy(gate)
            while (taken := self._next_block(ticket, timeout)) is not None:
                columns, rows = taken
                yield self._made(columns, rows, received)
                # Another thread may go on with it.
                gate.pass_on()
            answered, result = True, self._wait(ticket, timeout)
            # Other statements are executed while the last rows are used.
            wire.vacate(gate)
            if not self._has_rows(result, received):
                return
            while result.rows:
                # What came with the end may be more than one block.
                block = result.rows[:size]
                del result.rows[:size]
                yield self._made(result.columns, block, received)
        except GeneratorExit:
            if reading.writes and asked and not (answered or reading.ended):
                self._read_rest(asked[0], timeout)
            raise
        finally:
            try:
                if not self._core.is_inherited():
                    wire.vacate(gate)
            finally:
                if asked and not wire.closed and wire.request_id(asked[0]) is not None:
                    self._abandon(asked[0])

    def _batches_of(
        self, submit: Callable[[], partial[Any]], sink: ArrowSink, reading: Reading, timeout: float | None
    ) -> Generator[ArrowBatch]:
        """The record batches of what the request of ``submit`` queues, which come through ``sink``."""
        wire: Any = self._core.wire
        gate = reading.gate = self._gate(reading, self._streaming)
        asked: list[Any] = []
        answered = False
        try:
            ask(submit(), asked)
            ticket = reading.ticket = asked[0]
            wire.occupy(gate)
            while self._next_block(ticket, timeout) is not None:
                if (batch := sink.take()) is not None:
                    yield batch
                    # Another thread may go on with it.
                    gate.pass_on()
            answered, result = True, self._wait(ticket, timeout)
            # Other statements are executed while the last rows are used.
            wire.vacate(gate)
            self._has_rows(result, None)
            while (batch := sink.take()) is not None:
                yield batch
        except GeneratorExit:
            if reading.writes and asked and not (answered or reading.ended):
                self._read_rest(asked[0], timeout, sink)
            raise
        finally:
            try:
                if not self._core.is_inherited():
                    wire.vacate(gate)
            finally:
                if asked and not wire.closed and wire.request_id(asked[0]) is not None:
                    self._abandon(asked[0])

    def _read_rest(self, ticket: Any, timeout: float | None, sink: ArrowSink | None = None) -> None:
        """Receives, and drops, what is left of a statement whose stream was left. Raises its error."""
        while self._next_block(ticket, timeout) is not None:
            while sink is not None and sink.take() is not None:
                pass
        self._wait(ticket, timeout)

    def _next_block(self, ticket: Any, timeout: float | None) -> Any:
        """Waits in the engine, without a step of Python for each reply that has no block."""
        core = self._core
        wire: Any = core.wire
        try:
            return wire.next_block(ticket, core.seconds(timeout))
        except TimeoutError:
            raise overdue(core.command_timeout if timeout is None else timeout) from None
