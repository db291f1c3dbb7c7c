"""A query whose rows are read in blocks: what blocking and asyncio streams share."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Any, Final

from .._native import ArrowSink, Columns, Result
from .._shared.arguments import checked_count
from .._shared.core import ExclusiveUse
from .._shared.cursor_base import Params
from .._shared.flows import ask
from ..errors import InterfaceError, InvalidCursorName, ProgrammingError

MAX_ROWS: Final = 2**31 - 1
"""Rows that an Execute can ask for ("Message Formats", PostgreSQL manual: Int32)."""

if TYPE_CHECKING:
    import asyncio

    from ..sql import Statement
    from .core import ConnectionCore

BUSY: Final = (
    "a stream is being read on this connection, in a transaction of its own because autocommit is on: read it to its "
    "end or close it first; or stream inside a transaction() block or with autocommit off, use a second connection, or "
    "a named cursor with withhold=True"
)
_ENDED: Final = (
    "the stream cannot be read on: the transaction that it reads in was ended while it was open, by commit(), "
    "rollback() or the end of a transaction() block, or was rolled back to an earlier savepoint; collect its rows "
    "first, use a second connection, or a named cursor with withhold=True"
)
_ARROW_AHEAD: Final = 2
"""Fetches of record batches that are asked for at a time: the server sends one while another is decoded."""
_RESET: Final = "the stream cannot be read on: the connection was reset while it was open"

COPYING: Final = (
    "a COPY is under way on this connection, and a statement would wait for its end: end its block first, or use a "
    "second connection"
)


class Reading(ExclusiveUse):
    """A portal from which a stream reads.

    With autocommit on and no transaction open the portal gets a transaction of its own, and the connection for itself
    until it is closed. Otherwise it lives in the transaction that is open, or that its query begins.
    """

    def __init__(
        self, core: ConnectionCore, sql: Statement, params: Params, fetch_size: int, arrow: ArrowSink | None = None
    ) -> None:
        self._core = core
        self._query = (sql, params)
        self._fetch_size = min(checked_count(fetch_size, "fetch_size"), MAX_ROWS)
        self._arrow = arrow
        number = next(core.numbers)
        self._portal = f"headrace_{number}", number
        self._columns: Columns | None = None
        self._ahead = 1 if arrow is None else _ARROW_AHEAD
        self._asked: deque[Any] = deque()
        """The tickets of the blocks that are asked for, in their order, from the one that is received next."""
        self._exclusive: Callable[[], None] | None = None
        self._resets = core.resets
        self.began = False
        self.own = False
        """It has a transaction of its own."""
        self.abandoned = False
        """True if it cannot be read any more, and errors cannot be raised."""
        self.loop: asyncio.AbstractEventLoop | None = None

    def begin(self) -> Any:
        """Queues the query; returns its ticket."""
        core = self._core
        self._resets = core.resets
        self.began = True
        core.readings.add(self)
        request = partial(
            core.wire.execute,
            *self._query,
            prelude=core.begin_statement(),
            portal=(self._portal, self._fetch_size),
            named=core.named,
            arrow=self._arrow,
        )
        ask(request, self._asked)
        return self._asked[-1]

    def first(self, result: Result, exclusive: Callable[[], None]) -> None:
        """The first block is there. ``exclusive`` refuses other statements of the reader while the connection is the
        portal's."""
        if result.columns is None:
            raise ProgrammingError("the statement returns no rows")
        self._columns = result.columns
        # Not whether it has the connection for itself: that may be lost since the block came, with the transaction.
        self.own = self._core.wire.owns_transaction(self._portal[1])
        if self.own and not self._core.wire.closed:
            self._exclusive = exclusive
            self._core.wire.occupy(exclusive)

    def ahead(self, result: Result) -> list[Any]:
        """Queues fetches of the blocks after ``result``, up to as many as are asked for at a time; returns the tickets
        of those that were not asked for before."""
        asked = self._asked
        asked.popleft()
        if not result.suspended:
            return []
        assert self._columns is not None, "rows have columns"
        if self._arrow is not None:
            self._fetch_size = self._arrow.fetch_rows()
        known = len(asked)
        while len(asked) < self._ahead:
            asked.append(self._core.wire.fetch(self._portal, self._fetch_size, self._columns, arrow=self._arrow))
        return list(asked)[known:]

    def awaited(self) -> Any:
        """The ticket of the block that is received next."""
        return self._asked[0]

    def rest(self) -> list[Any]:
        """The tickets of all blocks that are not there yet, which are not going to be asked for."""
        left = [asked for asked in self._asked if not asked.done()]
        self._asked.clear()
        return left

    def check(self, result: Result) -> Result:
        """A block, unless the transaction was over when it was asked for."""
        if not result.suspended and not result.tag:
            raise InvalidCursorName(_ENDED)
        return result

    def check_open(self) -> None:
        """Returns true if there is anything left to wait for."""
        if self.ended:
            raise InterfaceError(_RESET)

    def end(self, *, told: bool, discard: bool = True) -> Any:
        """Queues the end of the portal and of a transaction of its own; returns its ticket, or None where there is
        nothing to end. Whatever was asked ahead is dropped.

        Raises why the transaction of its own was lost with the connection, unless the program is ``told`` of an error
        of the stream in any case.
        """
        core = self._core
        if self.ended or not self.began:
            return None
        # First, as it raises where a generator is collected in the middle of a request of the same thread: then nothing
        # has ended, and this has to be called again.
        if self._exclusive is not None and not core.wire.closed:
            core.wire.vacate(self._exclusive)
        is_open = not core.wire.closed and core.wire.has_portal(self._portal[1])
        self.ended = True
        self.watch = None
        core.readings.discard(self)
        if core.wire.closed:
            if self.own and not (told or self.abandoned) and core.status_at_end() is not None:
                # What the query has changed is lost with its transaction.
                raise core.loss(is_all=False)
            return None
        if core.resets != self._resets:
            return None
        if discard:
            for asked in self.rest():
                core.wire.discard(asked)
        return core.wire.close_portal(self._portal) if is_open else None

    def end_again(self) -> None:
        """The same after an interrupt, which may have come at any point of it. The end is sent with what comes next."""
        self.ended = False
        self.end(told=True)
