"""A cursor that stays open on the server: what the blocking and the asyncio one share."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from .. import defaults
from .._native import Result
from .._shared.arguments import checked_text, checked_whole
from .._shared.composing import composed
from .._shared.cursor_base import Params, columns_of
from .._shared.flows import Flow
from .._shared.making import all_made
from .._shared.server_cursor_base import ServerCursorBase
from ..errors import InterfaceError, NotSupportedError, ProgrammingError

if TYPE_CHECKING:
    from ..sql import Statement

_FOR_UPDATE = re.compile(r"\bfor\s+update\b", re.IGNORECASE)


class Declared(ServerCursorBase):
    """What blocking and asyncio cursors with a name share."""

    def _declare(self, name: str, scrollable: bool, withhold: bool) -> None:
        """Sets what it will be."""
        if not re.fullmatch(r"[A-Za-z_]\w{0,127}", checked_text(name, "the name of a cursor")):
            raise ProgrammingError(f"{name!r} is not the name of a cursor")
        self.name = name
        self.scrollable = scrollable
        self.withhold = withhold
        self.fetch_bytes: int = defaults.INFORMIX_FETCH_BYTES
        self._number = 0
        self._resets = 0
        self._open = False
        self._suspended = False
        # Of a scroll cursor: the number of the row that the next fetch returns, from 1.
        self._next = 1
        self._past = False

    def _made(self, rows: list[Any]) -> list[Any]:
        return rows if self._make is None else all_made(self._make, rows)

    # opening and closing

    def _opening(self, sql: Statement, params: Params) -> Flow[None]:
        self._check()
        core = self._core
        sql, params = composed(core.wire, sql, params)
        yield from self._closing()
        self._number = next(core.numbers)
        # WHERE CURRENT OF means the row that was fetched last, so nothing may be fetched ahead.
        self._resets = core.resets
        size = 1 if _FOR_UPDATE.search(sql) else self.fetch_bytes
        self._bytes = size
        result: Result = yield core.wire.declare(
            self._number,
            sql,
            params,
            name=self.name,
            scroll=self.scrollable,
            hold=self.withhold,
            begin=core.begins,
            bytes=size,
        )
        core.cursors.add(self._number)
        self._open = True
        self._suspended = result.suspended
        self._next, self._past = 1, False
        self._set(result)
        if self.scrollable and self._row_factory is not core.tuples:
            self._make = core.row_maker(self._row_factory, columns_of(result))

    def _closing(self) -> Flow[None]:
        if self._open:
            self._open = False
            self._clear()
            core = self._core
            if not core.wire.closed and core.resets == self._resets:
                core.cursors.discard(self._number)
                yield core.wire.close_cursor(self._number)

    def _must_be_open(self) -> None:
        self._check()
        if not self._open:
            raise ProgrammingError("the cursor was not executed")
        if self._core.resets != self._resets:
            raise InterfaceError(f"the cursor {self.name} is closed: the connection was reset while it was open")

    # reading on

    def _taking(self, size: int | None) -> Flow[list[Any]]:
        self._must_be_open()
        if self.scrollable:
            return (yield from self._by_number(size))
        taken: list[Any] = self._many(size) if size is not None else self._all()
        while self._suspended and (size is None or len(taken) < size):
            result: Result = yield self._core.wire.fetch(self._number, self._bytes)
            self._suspended = result.suspended
            self._set(result)
            taken += self._all() if size is None else self._many(size - len(taken))
        return taken

    def _by_number(self, size: int | None) -> Flow[list[Any]]:
        taken: list[Any] = []
        while not self._past and (size is None or len(taken) < size):
            many = min(defaults.INFORMIX_SCROLL_ROWS, defaults.INFORMIX_SCROLL_ROWS if size is None else size)
            many = many if size is None else min(many, size - len(taken))
            wire = self._core.wire
            # Sent together, answered together: one round trip.
            asked = [wire.scroll(self._number, self._next + at) for at in range(many)]
            for ticket in asked:
                result: Result = yield ticket
                if result.rows and not self._past:
                    taken += self._made(result.rows)
                    self._next += 1
                else:
                    self._past = True
        return taken

    # moving

    def _landing(self, row: int | None) -> Flow[Any]:
        self._must_be_open()
        if not self.scrollable:
            raise NotSupportedError("the cursor is not scrollable: open it with cursor(name, scrollable=True)")
        if row is not None and row < 1:
            self._next, self._past = 1, False
            return None
        result: Result = yield self._core.wire.scroll(self._number, row)
        if not result.rows:
            if row is not None:
                # After the end: the number of the last row is the number of rows.
                result = yield self._core.wire.scroll(self._number, None)
            self._next, self._past = (max(0, result.rowcount) if result.rows else 0) + 1, True
            return None
        self._next = (row if row is not None else max(1, result.rowcount)) + 1
        self._past = False
        return self._made(result.rows)[0]

    def _moving(self, value: int, mode: str) -> Flow[None]:
        self._must_be_open()
        if mode not in ("relative", "absolute"):
            raise ProgrammingError(f"scroll mode {mode!r} is neither 'relative' nor 'absolute'")
        if not self.scrollable:
            raise NotSupportedError("the cursor is not scrollable: open it with cursor(name, scrollable=True)")
        value = checked_whole(value, "the number of rows")
        if mode == "relative" and value == 0:
            return
        target = self.current + value if mode == "relative" else value
        if target < 0:
            raise IndexError("scroll leaves the result")
        if target > 0:
            here = self._next, self._past
            if (yield from self._landing(target)) is None:
                self._next, self._past = here
                raise IndexError("scroll leaves the result")
        self._next, self._past = target + 1, False

    @property
    def current(self) -> int:
        """The number of the current row of a scroll cursor, from 1: 0 before the first row, and the number of rows plus
        1 after the last."""
        return self._next if self._past else self._next - 1
