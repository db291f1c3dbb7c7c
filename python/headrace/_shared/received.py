"""What blocking and asyncio connections share that read rows in blocks while they come."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from .. import defaults
from .._native import ArrowBatch, ArrowSink, Columns, Result
from ..errors import ProgrammingError
from ..rows import RowFactory
from .arguments import MOST_ROWS, checked_count
from .connection_base import ConnectionBase
from .core import Core, ExclusiveUse
from .cursor_base import Column, CursorBase, columns_of
from .loading import made_in_place
from .making import all_made

R = TypeVar("R")

STREAMING: Final = "a stream is being read on this connection: read it to its end, close it, or use a second connection"


def block_size(fetch_size: int) -> int:
    """The rows of a block of a stream that was given ``fetch_size``. Raises ProgrammingError for less than 1."""
    return min(checked_count(fetch_size, "fetch_size"), MOST_ROWS)


class Reading(ExclusiveUse):
    """What a stream waits for, and whether it has the connection for itself."""

    ticket: Any = None
    exclusive: Any = None

    def __init__(self, writes: bool = False) -> None:
        self.writes = writes
        """The statement may change something, and is not cancelled when its stream is left: that would undo it."""


@dataclass
class Received:
    """What a cursor that streams has received of its result. It makes the rows itself."""

    columns: Columns | None = None
    """None before the first block, and if the statement returns no rows."""
    result: Result | None = None
    """The reply, after its last row or without rows; of a cursor on the server its beginning."""


class StreamCursorBase(CursorBase[Any]):
    """A cursor that receives its rows in blocks, as far as it has nothing to wait for."""

    def __init__(self, connection: Any, row_factory: RowFactory[Any]) -> None:
        super().__init__(connection, row_factory)
        self.itersize: int = defaults.FETCH_SIZE
        """Rows that are received at a time."""
        self._received = Received()
        self._passed = 0
        """Rows of the blocks before the present one."""

    @property
    def description(self) -> list[Column] | None:
        columns = self._received.columns
        return super().description if columns is None else self._core.describe(columns)

    @property
    def rownumber(self) -> int | None:
        return None if self._rows is None else self._passed + self._position


class Receiving(ConnectionBase[R]):
    """A connection that makes the rows of blocks, as far as it has nothing to wait for."""

    _streaming: str = STREAMING
    """The error of a statement of the thread or task that reads a stream."""

    def _made(self, columns: Any, rows: list[Any], received: Received | None = None) -> list[R]:
        if received is not None:
            received.columns = columns
            return rows
        return _row_maker(self._core, self.row_factory, columns)(rows)

    def _has_rows(self, result: Result, received: Received | None) -> bool:
        """Returns true if the statement of a stream returns rows. Only a cursor may execute one that does not."""
        if received is not None:
            received.columns, received.result = result.columns, result
        elif result.columns is None:
            raise ProgrammingError("the statement returns no rows")
        return result.columns is not None

    def _rows_left(self, size: int, received: Received | None, result: Result) -> Iterator[list[R]]:
        """The lists of rows that came with the end of a stream, which may be more than one block."""
        if self._has_rows(result, received):
            while result.rows:
                block = result.rows[:size]
                del result.rows[:size]
                yield self._made(result.columns, block, received)

    def _batches_left(self, sink: ArrowSink, result: Result) -> Iterator[ArrowBatch]:
        """The record batches that came with the end of a stream."""
        self._has_rows(result, None)
        yield from iter(sink.take, None)


def lists_of(core: Core, factory: RowFactory[R], first: Result) -> Callable[[Result], Iterable[list[R]]]:
    """What makes a list of rows of each result of a stream, and none of one without rows. ``first`` is the first."""
    make = _row_maker(core, factory, columns_of(first))

    def lists(result: Result) -> Iterable[list[R]]:
        return (make(result.rows),) if result.rows else ()

    return lists


def _row_maker(core: Core, factory: RowFactory[Any], columns: Any) -> Callable[[list[Any]], list[Any]]:
    """What makes rows of a list of tuples, which is nobody else's."""
    make = core.row_maker(factory, columns)

    def made(rows: list[Any]) -> list[Any]:
        rest = made_in_place(rows, make)
        return rows if rest is None else all_made(rest, rows)

    return made


def batches_of(sink: ArrowSink, _first: Result) -> Callable[[Result], Iterable[ArrowBatch]]:
    """What takes the record batches that have come with each result of a stream."""
    return lambda _: iter(sink.take, None)
