"""A cursor that stays open on the server: what the blocking and the asyncio one share.

Every result of CUBRID is complete before its first row is sent, and its rows are fetched by their numbers, in pages
whose size the server chooses. Servers up to CUBRID 11.0 may send other rows than those that they are asked for, unless
these are the next ones (``BrokerInfo::seeks`` in the engine): their pages are fetched in order and kept.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .._native import Result
from .._shared.arguments import checked_whole
from .._shared.cursor_base import Params, columns_of
from .._shared.flows import Flow
from .._shared.making import all_made
from .._shared.server_cursor_base import ServerCursorBase
from ..errors import InvalidCursorName, ProgrammingError

if TYPE_CHECKING:
    from ..sql import Statement

KEPT_ROWS: Final = 256
"""The most rows that are taken at a time from pages that are kept."""


class Declared(ServerCursorBase):
    """What blocking and asyncio cursors that stay open share."""

    def _declare(self, withhold: bool) -> None:
        """Sets what it will be."""
        self.withhold = withhold
        self._number = 0
        self._open = False
        # The number of the row that the next fetch returns, and the rows of the page that came last.
        self._next, self._total = 1, 0
        self._page: list[Any] = []
        self._page_begin = 1
        self._seeks = True

    # opening and closing

    def _opening(self, sql: Statement, params: Params) -> Flow[None]:
        self._check()
        yield from self._closing()
        core = self._core
        if core.autocommit and not self.withhold and not core.in_transaction():
            raise ProgrammingError(
                "a server-side cursor needs a transaction: use conn.transaction(), or open it with withhold=True"
            )
        self._number = next(core.numbers)
        core.held.add(self._number)
        result: Result = yield core.wire.open_cursor(self._number, sql, params, holds=self.withhold, begin=core.begins)
        self._open = True
        self._next, self._total = 1, result.rowcount
        self._seeks = core.wire.seeks()
        self._keep(result, 1)
        if self._row_factory is core.tuples:
            self._set(result)
        else:
            # The rows of a page become what they become when they are fetched, those of the result at once.
            self._page = self._page.copy()
            self._set(result)
            self._make = core.row_maker(self._row_factory, columns_of(result))

    def _keep(self, result: Result, begin: int) -> None:
        self._page, self._page_begin = result.rows or [], begin

    def _closing(self) -> Flow[None]:
        if self._open:
            self._open = False
            self._page = []
            self._clear()
            core = self._core
            core.held.discard(self._number)
            if not core.wire.closed:
                yield core.wire.close_cursor(self._number)

    def _must_be_open(self) -> None:
        self._check()
        if not self._open:
            raise ProgrammingError("the cursor was not executed")

    # reading on

    def _rows_at(self, row: int) -> Flow[list[Any]]:
        """The rows of a page from this one on."""
        at = row - self._page_begin
        if not self._seeks:
            while at >= len(self._page):
                result = yield from self._page_at(self._page_begin + len(self._page))
                if not result.rows:
                    break
                self._page += result.rows
            return self._page[at : at + KEPT_ROWS]
        if not 0 <= at < len(self._page):
            self._keep((yield from self._page_at(row)), row)
            at = 0
        return self._page[at:]

    def _page_at(self, row: int) -> Flow[Result]:
        """The page that begins with this row."""
        core = self._core
        if self._number not in core.held or not core.wire.has_cursor(self._number):
            raise InvalidCursorName(
                "the cursor is not open any more: the connection was reset, or has lost its process"
            )
        result: Result = yield core.wire.fetch_at(self._number, row)
        return result

    def _taking(self, size: int | None) -> Flow[list[Any]]:
        self._must_be_open()
        left = max(0, self._total - self._next + 1)
        wanted = left if size is None else min(size, left)
        taken: list[Any] = []
        while len(taken) < wanted:
            rows = yield from self._rows_at(self._next)
            if not rows:
                break
            rows = rows[: wanted - len(taken)]
            self._next += len(rows)
            taken += rows if self._make is None else all_made(self._make, rows)
        if size is None or wanted < size:
            self._next = self._total + 2
        return taken

    # moving

    def _landing(self, row: int | None) -> Flow[Any]:
        self._must_be_open()
        row = self._total if row is None else row
        if not 1 <= row <= self._total:
            self._next = 1 if row < 1 else self._total + 2
            return None
        rows = yield from self._rows_at(row)
        self._next = row + 1
        return rows[0] if self._make is None else self._make(rows[0])

    def _moving(self, value: int, mode: str) -> Flow[None]:
        self._must_be_open()
        if mode not in ("relative", "absolute"):
            raise ProgrammingError(f"scroll mode {mode!r} is neither 'relative' nor 'absolute'")
        value = checked_whole(value, "the number of rows")
        if mode == "relative" and value == 0:
            return
        target = self.current + value if mode == "relative" else value
        if not 0 <= target <= self._total:
            raise IndexError("scroll leaves the result")
        self._next = target + 1
        yield from ()

    @property
    def current(self) -> int:
        return self._next - 1
