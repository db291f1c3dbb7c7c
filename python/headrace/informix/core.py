"""What blocking and asyncio connections to Informix share: every flow of requests is written here once.

A flow is a generator that yields tickets or futures and is sent their results: see :mod:`headrace._shared.flows`.
"""

from __future__ import annotations

import contextlib
import os
import re
import socket
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, Final

from .._native import ArrowSink, Columns, InformixWire, Result
from .._shared.arguments import checked_text
from .._shared.cancel_requests import UrgentRequest
from .._shared.core import Core
from .._shared.cursor_base import Column, Params
from .._shared.flows import Flow, PendingRequest, each
from .._shared.resets import unknown_before
from .._shared.transactions import Modes
from ..errors import NotSupportedError, ProgrammingError
from ..types import ParameterRows, TypeCode
from . import resets
from .names import NAMES
from .settings import ISOLATION_LEVELS, ConnectOptions, InformixIsolation, isolation, lock_mode

if TYPE_CHECKING:
    from ..sql import Statement

URGENT_LOOK: Final = 0.02
"""Seconds between two looks at whether the server has read the last urgent byte."""


def call_statement(name: str, count: int) -> str:
    """The statement that runs a routine with ``count`` arguments; routines that return rows are fetched from.

    >>> call_statement("audit.log", 2)
    'EXECUTE PROCEDURE audit.log(?, ?)'

    Raises ProgrammingError if it is not a name, or one that is too long.
    """
    if not re.fullmatch(r"[A-Za-z_][\w.:@]*", checked_text(name, "the name of a routine")):
        raise ProgrammingError(f"{name!r} is not the name of a routine")
    NAMES.check_sql(name)
    return f"EXECUTE PROCEDURE {name}({', '.join('?' * count)})"


def signature(routine: str) -> str:
    """A routine's signature as the fast path takes it.

    >>> signature("audit.total(integer, date)")
    'function audit.total(integer, date)'

    Raises ProgrammingError for what names no types of arguments.
    """
    text = checked_text(routine, "routine").strip()
    if not re.fullmatch(r"(?:(?:function|procedure)\s+)?[A-Za-z_][\w.:@]*\s*\(.*\)", text, re.IGNORECASE | re.DOTALL):
        raise ProgrammingError(
            f"{routine!r} is not a signature: write the routine and the types of its arguments, f(integer)"
        )
    return text if re.match(r"(?:function|procedure)\s", text, re.IGNORECASE) else f"function {text}"


class InformixCore(Core):
    wire: InformixWire  # pyright: ignore[reportIncompatibleVariableOverride]
    reset_modes = resets.MODES
    attributes = resets.ATTRIBUTES
    title = "Informix"

    def __init__(self, wire: InformixWire, options: ConnectOptions, encrypted: bool) -> None:
        super().__init__(wire, options.enable_timing, options.command_timeout)
        self.run, self.way = wire.run, self.begins
        self.options = options
        self.encrypted = encrypted
        self.isolation_level: InformixIsolation | None = None
        self.lock_wait: int | None = None
        self.cursors: set[int] = set()
        """The numbers of the cursors that streams and named cursors have open on the server."""

    def start(self) -> Flow[None]:
        """Sets up a new session with the settings of ``connect``."""
        if self.options.isolation_level is not None:
            yield from self.set_isolation(self.options.isolation_level)
        if self.options.lock_wait is not None:
            yield from self.set_lock_wait(self.options.lock_wait)

    def set_isolation(self, level: InformixIsolation) -> Flow[None]:
        """SET ISOLATION, for the rest of the session."""
        name = isolation(level)
        yield self.wire.execute(f"SET ISOLATION TO {ISOLATION_LEVELS[name]}")
        self.isolation_level = name
        self.altered = True

    def set_lock_wait(self, wait: int) -> Flow[None]:
        """SET LOCK MODE, for the rest of the session."""
        yield self.wire.execute(lock_mode(wait))
        self.lock_wait = wait
        self.altered = True

    def change(self, name: str, value: Any) -> Flow[None]:
        if name == "autocommit":
            yield from super().change(name, value)
        elif value is None:
            raise unknown_before(name)
        else:
            yield from (self.set_isolation(value) if name == "isolation_level" else self.set_lock_wait(value))

    # statements

    def submit(self, sql: Statement, params: Params) -> PendingRequest[Result]:
        return self.wire.execute(sql, params, self.begins)

    def submit_first(self, sql: Statement, params: Params) -> PendingRequest[Result]:
        return self.wire.execute(sql, params, self.begins, True)

    def submit_arrow(self, sql: Statement, params: Params, arrow: ArrowSink) -> PendingRequest[Result]:
        return self.wire.execute(sql, params, begin=self.begins, arrow=arrow)

    def submit_batch(self, sql: Statement, rows: ParameterRows, returning: bool) -> PendingRequest[Result]:
        if returning:
            raise NotSupportedError("Informix has no RETURNING, so a batch returns no rows")
        return self.wire.execute_batch(sql, rows, begin=self.begins)

    def submit_script(self, sql: Statement) -> PendingRequest[Result]:
        """Queues one statement without parameters."""
        return self.submit(sql, None)

    def fastpath(self, routine: str, arguments: Sequence[Any]) -> Flow[tuple[Any, ...]]:
        """What a routine returns that is called by its signature."""
        result = yield self.wire.routine(signature(routine), arguments, begin=self.begins)
        return result.rows[0] if result.rows else ()

    def drop(self, asked: Iterable[Any]) -> None:
        """Discards requests whose results are not needed any more."""
        for ticket in asked:
            if not ticket.done():
                self.wire.discard(ticket)
            elif (look := getattr(ticket, "exception", None)) is not None and not ticket.cancelled():
                # A future that failed would otherwise be reported as never looked at.
                look()

    def describe(self, columns: Columns) -> list[Column]:
        return [
            Column(name, TypeCode(sql, number, re.split(r"[ (]", sql)[0].lower()), None, size, precision, scale, null)
            for name, number, sql, size, precision, scale, null in columns.fields
        ]

    # transactions

    def is_begun(self) -> bool:
        """The engine sends COMMIT WORK and ROLLBACK WORK only where a transaction is open then."""
        return True

    def check_enter(self) -> None:
        if self.wire.session()[3] == "none":
            raise NotSupportedError("the database has no transactions (it is not logged)")

    def begin_with(self, modes: Modes) -> Flow[None]:
        """BEGIN WORK, which takes no modes, and a statement that sets them for its transaction."""
        level, read_only, _ = modes
        words = [] if level is None else [f"ISOLATION LEVEL {level.upper()}"]
        if read_only is not None:
            words.append("READ ONLY" if read_only else "READ WRITE")
        yield self.wire.execute(f"SET TRANSACTION {', '.join(words)}", begin=True)

    def savepoint_begins(self, outer: bool, open: bool) -> bool:
        """A block may have begun that has sent nothing yet."""
        return not open

    def is_left_open(self) -> bool:
        """Returns true if a stream is open that began in autocommit: it would read on within the transactions of the
        next user."""
        return bool(self.cursors)

    def reset(self, mode: str) -> Flow[None]:
        """Back to a fresh state: open cursors are closed, an open transaction is rolled back."""
        self.forget_blocks()
        self.pipelines.clear()
        while self.cursors:
            yield self.wire.close_cursor(self.cursors.pop())
        if mode == "rollback":
            yield from each(self.wire.verb("rollback", owed=True))

    def where(self) -> str:
        options = self.options
        return f"{options.user}@{options.host or ''}:{options.port or ''}/{options.database or ''} on {options.server}"

    # cancelling

    def cancel_request(self, password: str | None) -> UrgentRequest:
        """A byte of TCP's urgent data, on the connection itself."""
        return UrgentRequest(self._send_urgent)

    def _send_urgent(self) -> float | None:
        """Sends the urgent byte that interrupts the running statement; returns the seconds after which to ask again
        where the server may not have read the one before: of two TCP makes the first one a part of the stream.

        Raises NotSupportedError under TLS, which cannot carry one.
        """
        if self.encrypted:
            raise NotSupportedError("a statement cannot be interrupted over TLS; use a timeout, or close()")
        if self.wire.closed:
            return None
        said = self.wire.interrupt()
        # Of a connection on a loop the loop's own thread asks here, so that the number of its socket cannot become
        # another user's meanwhile.
        if said == "send" and (number := self.wire.fileno()) >= 0:
            with contextlib.closing(socket.socket(fileno=os.dup(number))) as urgent:
                urgent.send(b"B", socket.MSG_OOB)
        return URGENT_LOOK if said == "later" else None
