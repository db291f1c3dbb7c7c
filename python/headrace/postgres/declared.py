"""A cursor that was declared on the server: what the blocking and the asyncio one share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from .._native import Columns, Result
from .._shared.arguments import checked_count
from .._shared.composing import composed
from .._shared.cursor_base import Params
from ..errors import InvalidCursorName, ProgrammingError
from .core import ConnectionCore
from .names import NAMES, quote_identifier

if TYPE_CHECKING:
    from ..sql import Statement

MAX_FORWARD: Final = 2**31 - 1
"""Rows that FETCH counts ("FETCH", PostgreSQL manual: an integer)."""


def forward(rows: int) -> str:
    """What FETCH takes for the next rows. A number below zero would go backwards.

    Raises:
        ProgrammingError: the number is below 1.
    """
    return f"FORWARD {min(checked_count(rows, 'itersize'), MAX_FORWARD)}"


class Declared:
    """A cursor, with a number that distinguishes it from others of the same name.

    What uses it is sent only while it is open as of everything in front: an error of the server's would end the
    transaction that is open by then, which may be another thread's.
    """

    columns: Columns | None = None
    """Those of its rows, once it was described."""

    def __init__(self, core: ConnectionCore, name: str, hold: bool) -> None:
        if core.autocommit and not hold and not core.in_transaction():
            raise ProgrammingError(
                "a server-side cursor needs a transaction: use conn.transaction(), or declare it withhold=True"
            )
        self._core = core
        self._name = name
        self._hold = hold
        # The server shortens identifiers.
        self._portal = name.encode()[: NAMES.longest].decode(errors="ignore"), next(core.numbers)

    def declare(self, words: str, sql: Statement, params: Params) -> Any:
        """Queues the declaration; ``words`` stand between the name and CURSOR. Returns its ticket."""
        core = self._core
        hold = "WITH HOLD " if self._hold else ""
        sql, params = composed(core.wire, sql, params)
        name, rest = quote_identifier(self._name), f"{words}CURSOR {hold}FOR {sql}"
        text = f"DECLARE {name} {rest}"
        if params is not None and "%" in name:
            # Beside %s a percent sign of the name is none of theirs.
            doubled = f"DECLARE {name.replace('%', '%%')} {rest}"
            text = doubled if core.wire.convert(doubled, True).hinted else text
        declares = self._portal, self._hold
        return core.wire.execute(text, params, prelude=core.begin, named=core.named, declares=declares)

    def describe(self) -> Any:
        """Queues a description: its columns depend on the cursor, not on the text of the FETCH."""
        return self._core.wire.describe_portal(self._portal)

    def described(self, result: Result) -> Result:
        """The description, unless the cursor was gone before."""
        if result.columns is None:
            raise InvalidCursorName(self._gone())
        self.columns = result.columns
        return result

    def use(self, verb: str, what: str) -> Any:
        """Queues FETCH or MOVE; returns its ticket."""
        core = self._core
        text = f"{verb} {what} FROM {quote_identifier(self._name)}"
        return core.wire.execute(
            text,
            None,
            prelude=core.begin,
            named=core.named,
            uses=self._portal[1],
            expected=self.columns if verb == "FETCH" else None,
        )

    def used(self, result: Result) -> Result:
        """The result, unless the cursor had ended before."""
        if not result.tag:
            raise InvalidCursorName(self._gone())
        return result

    def close(self) -> Any:
        """Queues its end, not by CLOSE, which fails where the cursor is gone; returns its ticket, None where it is."""
        wire = self._core.wire
        if wire.closed or not wire.has_portal(self._portal[1]):
            return None
        return wire.close_portal(self._portal)

    def _gone(self) -> str:
        if self._hold:
            return (
                f"the cursor {self._name!r} is not open any more: the transaction that declared it was rolled back, or "
                "the session was reset; execute it again"
            )
        return (
            f"the cursor {self._name!r} is not open any more: the transaction that it was declared in was ended, or "
            "rolled back to an earlier savepoint; fetch its rows before, or declare it with withhold=True"
        )
