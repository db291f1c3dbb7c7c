"""Rows in bounded memory, blocking: a stream that has the connection for itself."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Generator
from itertools import islice
from typing import Any, TypeVar

from .connection import BlockingConnection
from .core import Gate
from .limits import overdue
from .received import Received, Receiving

R = TypeVar("R")
T = TypeVar("T")


def rows_of(gate: Gate, blocks: Generator[list[T]]) -> Generator[T]:
    """The rows of blocks."""
    with contextlib.closing(blocks):
        for block in blocks:
            rows = iter(block)
            yield from islice(rows, 1)
            # Another thread may go on with it. A look after every row would cost more than the row.
            gate.pass_on()
            yield from rows


class BlockingBlocks(Receiving[R], BlockingConnection[R]):
    """A connection that reads rows while they come."""

    def _blocks_of(
        self,
        submit: Callable[[], Any],
        size: int,
        timeout: float | None,
        gate: Gate | None,
        received: Received | None = None,
    ) -> Generator[list[R]]:
        """The rows of what ``submit`` queues, in lists of ``size``."""
        wire: Any = self._core.wire
        ticket = submit()
        gate = gate or Gate(self._core, self._streaming)
        wire.occupy(gate)
        try:
            while (taken := self._next_block(ticket, timeout)) is not None:
                columns, rows = taken
                yield self._made(columns, rows, received)
                # Another thread may go on with it.
                gate.pass_on()
            result = self._wait(ticket, timeout)
            wire.vacate(gate)
            if not self._has_rows(result, received):
                return
            while result.rows:
                # What came with the end may be more than one block.
                block = result.rows[:size]
                del result.rows[:size]
                yield self._made(result.columns, block, received)
        finally:
            wire.vacate(gate)
            if not wire.closed and wire.request_id(ticket) is not None:
                self._abandon(ticket)

    def _next_block(self, ticket: Any, timeout: float | None) -> Any:
        core = self._core
        wire: Any = core.wire
        try:
            return wire.next_block(ticket, core.seconds(timeout))
        except TimeoutError:
            raise overdue(core.command_timeout if timeout is None else timeout) from None
