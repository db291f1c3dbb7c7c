"""A query whose rows are read in blocks: what blocking and asyncio streams share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .._native import ArrowSink, Result
from .._shared.arguments import MOST_ROWS, checked_count
from .._shared.cursor_base import Params
from .._shared.flows import Flow
from ..errors import Error, InterfaceError, InvalidCursorName
from .core import InformixCore

if TYPE_CHECKING:
    from ..sql import Statement

_NOT_OPEN = -400
_ENDED = (
    "the stream cannot be read on: the transaction that it reads in was ended, by commit() or rollback() while it was "
    "open, perhaps of another thread or task; collect its rows first, use a second connection, or a named cursor with "
    "withhold=True"
)


_RESET: Final = "the stream cannot be read on: the connection was reset while it was open"


class Stream:
    """A query whose rows come in blocks, the next one on its way while one is used."""

    def __init__(self, core: InformixCore, fetch_bytes: int, arrow: ArrowSink | None = None) -> None:
        self.core = core
        self.fetch_bytes = min(checked_count(fetch_bytes, "fetch_bytes"), MOST_ROWS)
        self.arrow = arrow
        self.number = next(core.numbers)
        self.resets = core.resets
        self.ahead: Any = None

    def open(self, sql: Statement, params: Params) -> Flow[Result]:
        """The first block."""
        core = self.core
        # In autocommit other statements commit while it is read, and the transaction is not the stream's.
        held = core.autocommit and not core.in_transaction()
        result: Result = yield core.wire.declare(
            self.number, sql, params, hold=held, begin=core.begins, bytes=self.fetch_bytes, arrow=self.arrow
        )
        core.cursors.add(self.number)
        return result

    def ask(self, result: Result) -> None:
        """Requests the block after ``result``."""
        self._check()
        more = result.suspended
        self.ahead = self.core.wire.fetch(self.number, self.fetch_bytes, arrow=self.arrow) if more else None

    def following(self) -> Flow[Result]:
        """The block that was asked for."""
        try:
            result: Result = yield self.ahead
        except InvalidCursorName as error:
            if error.sqlcode != _NOT_OPEN:
                raise
            ended = InvalidCursorName(_ENDED)
            ended.sqlcode = error.sqlcode
            raise ended from error
        self._check()
        return result

    def _check(self) -> None:
        if self.core.resets != self.resets:
            raise InterfaceError(_RESET)

    def close(self) -> Flow[None]:
        """Closes the cursor, wherever it stands."""
        wire, ahead = self.core.wire, self.ahead
        self.ahead = None
        if wire.closed or self.core.resets != self.resets:
            return
        self.core.cursors.discard(self.number)
        if ahead is not None and not ahead.done():
            wire.discard(ahead)
        try:
            yield wire.close_cursor(self.number)
        except Error:
            # A cursor that was lost with its connection is closed.
            if not wire.closed:
                raise
