"""Where blocks come from: made one by one, made beforehand, or made by a process of their own."""

from __future__ import annotations

import itertools
import multiprocessing
import os
import queue
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
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


def maker(options: BenchmarkOptions, stream: int, strategy: str, head: str, binary: bool, count: int) -> Make:
    """What makes blocks of ``count`` rows of a client."""
    if options.generator == "python":
        slow = PythonRows(options, stream)
        if binary:
            return lambda first: slow.values(head, first, count).encode()
        return lambda first: slow.values(head, first, count)
    rows = options.rows(stream)
    if strategy == "text" and not binary:
        return lambda first: rows.values(head, first, count)
    return lambda first: make_block(rows, strategy, head, binary, first, count)


def together(count: int) -> int:
    """How many blocks of ``count`` rows are made at a time."""
    return max(1, MADE_TOGETHER // count)


def makes_together(options: BenchmarkOptions, strategy: str, count: int) -> bool:
    """Whether :func:`made_here` makes several blocks of ``count`` rows at a time."""
    return options.generator != "python" and strategy == "text" and together(count) > 1


def made_here(
    options: BenchmarkOptions,
    stream: int,
    strategy: str,
    head: str,
    binary: bool,
    first: int,
    count: int,
    blocks: int | None,
    measured: Callable[[Some], Some] | None = None,
) -> Iterator[Any]:
    """The blocks, made when they are asked for; small ones several at a time, and that ``measured``."""
    if not makes_together(options, strategy, count):
        return map(maker(options, stream, strategy, head, binary, count), firsts(first, count, blocks))
    rows, many = options.rows(stream), together(count)
    end = None if blocks is None else first + count * blocks
    starts = itertools.count(first, count * many) if end is None else range(first, end, count * many)

    def some(at: int) -> list[Any]:
        return rows.blocks(head, at, count, many if end is None else min(many, (end - at) // count), binary=binary)

    return itertools.chain.from_iterable(map(measured(some) if measured else some, starts))


def firsts(first: int, count: int, blocks: int | None) -> Iterator[int]:
    """The first rows of so many blocks, or of blocks without end."""
    return iter(range(first, first + count * blocks, count)) if blocks is not None else itertools.count(first, count)


def _end_with_parent() -> None:
    parent = multiprocessing.parent_process()
    assert parent is not None
    parent.join()
    os._exit(1)


def _produce(
    out: Any, options: BenchmarkOptions, stream: int, strategy: str, head: str, binary: bool, numbers: Any
) -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    first, count, blocks = numbers
    make = maker(options, stream, strategy, head, binary, count)
    for at in firsts(first, count, blocks):
        out.put(make(at))
    out.put(None)


@contextmanager
def made_elsewhere(
    options: BenchmarkOptions,
    stream: int,
    strategy: str,
    head: str,
    binary: bool,
    first: int,
    count: int,
    blocks: int | None,
) -> Iterator[Iterator[Any]]:
    """The blocks, made by a process of their own."""
    # Not a fork: what it is forked from has a connection, and a child would have its random state.
    context = multiprocessing.get_context("spawn")
    blocks_made: Any = context.Queue(QUEUED)
    arguments = (blocks_made, options, stream, strategy, head, binary, (first, count, blocks))
    process = context.Process(target=_produce, args=arguments, daemon=True)
    process.start()
    # Only that process writes. Otherwise one that was killed in the middle of a block would leave us waiting for the
    # rest of it for ever, because we could still write it ourselves.
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
