"""Where blocks come from: made one by one, made beforehand, or made by a process of their own."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any, Final

from .options import BenchmarkOptions
from .reference import PythonRows
from .sessions.base import make_block

QUEUED: Final = 8
"""Blocks that the process which makes them may be ahead, as in iibench.py."""
MADE_TOGETHER: Final = 1_000
"""Rows that are made at a time where blocks are smaller, as many as the default block has. With caches that other work
has emptied, 64 MiB of it, a row took 0.44 µs in blocks of five made 100 rows at a time, and takes 0.20 µs."""
GIVE_UP_SECONDS: Final = 10.0
"""How long the process may take to end, or to start making."""

Make = Callable[[int], Any]
"""Makes the block that begins with a row."""
Some = Callable[[int], list[Any]]
"""Makes several blocks, the first of which begins with a row."""


@dataclass(frozen=True)
class Source:
    """Blocks of ``count`` rows of a client."""

    options: BenchmarkOptions
    stream: int
    """The client's number."""
    strategy: str
    head: str
    """What stands before the values of an INSERT."""
    binary: bool
    """Text is bytes."""
    first: int
    """The number of the first row."""
    count: int
    blocks: int | None
    """How many there are; None for blocks without end."""

    def maker(self) -> Make:
        """What makes one of them."""
        head, binary, count = self.head, self.binary, self.count
        if self.options.generator == "python":
            slow = PythonRows(self.options, self.stream)
            if binary:
                return lambda first: slow.values(head, first, count).encode()
            return lambda first: slow.values(head, first, count)
        rows, strategy = self.options.rows(self.stream), self.strategy
        if strategy == "text" and not binary:
            return lambda first: rows.values(head, first, count)
        return lambda first: make_block(rows, strategy, head, binary, first, count)

    def firsts(self) -> Iterator[int]:
        """Their first rows."""
        if self.blocks is None:
            return itertools.count(self.first, self.count)
        return iter(range(self.first, self.first + self.count * self.blocks, self.count))

    def one_by_one(self) -> Iterator[Any]:
        """Each is made when it is asked for."""
        return map(self.maker(), self.firsts())

    @property
    def _many(self) -> int:
        return max(1, MADE_TOGETHER // self.count)

    @property
    def makes_together(self) -> bool:
        """Whether :meth:`made_here` makes several at a time."""
        return self.options.generator != "python" and self.strategy == "text" and self._many > 1

    def made_here(self, measured: Callable[[Some], Some] | None = None) -> Iterator[Any]:
        """They are made when they are asked for; small ones several at a time, and that ``measured``."""
        if not self.makes_together:
            return self.one_by_one()
        rows, count, many = self.options.rows(self.stream), self.count, self._many
        end = None if self.blocks is None else self.first + count * self.blocks

        def some(at: int) -> list[Any]:
            most = many if end is None else min(many, (end - at) // count)
            return rows.blocks(self.head, at, count, most, binary=self.binary)

        starts = itertools.count(self.first, count * many) if end is None else range(self.first, end, count * many)
        return itertools.chain.from_iterable(map(measured(some) if measured else some, starts))

    @contextmanager
    def made_elsewhere(self) -> Iterator[Iterator[Any]]:
        """They are made by a process of their own."""
        # Not a fork: what it is forked from has a connection, and a child would have its random state.
        context = multiprocessing.get_context("spawn")
        blocks_made: Any = context.Queue(QUEUED)
        process = context.Process(target=_produce, args=(blocks_made, self), daemon=True)
        process.start()
        # Only that process writes. Otherwise one that was killed in the middle of a block would leave us waiting for
        # the rest of it for ever, because we could still write it ourselves.
        blocks_made._writer.close()

        def take() -> Any:
            while True:
                try:
                    return blocks_made.get(timeout=1.0)
                except (queue.Empty, EOFError, OSError) as error:
                    if not isinstance(error, queue.Empty):
                        process.join(GIVE_UP_SECONDS)
                    if not process.is_alive():
                        raise RuntimeError(f"the process that makes rows ended with code {process.exitcode}") from None

        try:
            yield iter(take, None)
        finally:
            process.terminate()
            process.join(GIVE_UP_SECONDS)
            blocks_made.close()
            blocks_made.cancel_join_thread()


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _produce(out: Any, source: Source) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    for block in source.one_by_one():
        out.put(block)
    out.put(None)
