"""What blocking and asyncio connections to CUBRID share: every flow of requests is written here once.

A flow is a generator that yields tickets or futures and is sent their results: see :mod:`headrace._shared.flows`.
"""

from __future__ import annotations

import re
from typing import Any, Final

from .._native import ArrowSink, Columns, CubridWire
from .._shared.core import Core
from .._shared.cursor_base import Column, Params
from .._shared.flows import Flow, each
from ..errors import NotSupportedError, OperationalError, ProgrammingError
from ..types import ParameterRows, TypeCode
from .settings import ConnectOptions, isolation

CANCEL_ANSWER_BYTES: Final = 4
"""Bytes of the broker's answer to a cancel request: a number, 0 or the reason why nothing was cancelled."""
_NOT_BUSY: Final = -10019
"""The process is not busy any more."""


def check_cancelled(answer: bytes) -> None:
    """Raises OperationalError for a cancel request that the broker has refused. One that came when the statement had
    ended is none."""
    code = int.from_bytes(answer, "big", signed=True)
    if len(answer) == CANCEL_ANSWER_BYTES and code < 0 and code != _NOT_BUSY:
        raise OperationalError(f"the broker has refused the cancel request (error {code})")


def call_statement(name: str, count: int) -> str:
    """The statement that calls a procedure with ``count`` arguments.

    >>> call_statement("totals", 2)
    'CALL totals(?, ?)'

    Raises ProgrammingError if it is not a name.
    """
    if not re.fullmatch(r"[^\W\d][\w.]*", name):
        raise ProgrammingError(f"{name!r} is not the name of a procedure")
    return f"CALL {name}({', '.join('?' * count)})"


class CubridCore(Core):
    """State and flows of a connection."""

    wire: CubridWire  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, wire: CubridWire, options: ConnectOptions, wire_options: dict[str, Any]) -> None:
        super().__init__(wire, options.enable_timing, options.command_timeout)
        self.options = options
        # A password stays where it was given.
        self.wire_options: dict[str, Any] = {**wire_options, "password": None}
        self.isolation_level: str | None = None
        self.lock_timeout: float | None = None

    def start(self, autocommit: bool) -> Flow[None]:
        """Sets up a new session with the settings of ``connect``."""
        self.autocommit = autocommit
        self.refresh_begin()
        options = self.options
        if options.isolation_level is not None:
            yield from self.set_isolation(options.isolation_level)
        if options.lock_timeout is not None:
            yield from self.set_lock_timeout(options.lock_timeout)

    def set_isolation(self, level: str) -> Flow[None]:
        """Sets the isolation level for the rest of the session."""
        number = isolation(level)
        self.set_mode("isolation_level", level)
        yield self.wire.set_isolation(number)

    def set_lock_timeout(self, seconds: float | None) -> Flow[None]:
        """Sets how long a lock is waited for; None is the server's default, and a negative number no limit."""
        millis = -2 if seconds is None else -1 if seconds < 0 else round(seconds * 1000)
        yield self.wire.set_lock_timeout(millis)
        self.lock_timeout = seconds

    def version(self) -> Flow[str]:
        """The version that the server reports."""
        result = yield self.wire.version()
        return str(result.rows[0][0])

    def last_insert_id(self) -> Flow[int | None]:
        """The value that the session's last INSERT has generated."""
        result = yield self.wire.last_insert_id()
        return result.generated  # type: ignore[no-any-return]

    # statements

    def submit(self, sql: str, params: Params) -> Any:
        """Queues one statement."""
        return self.wire.execute(sql, params, begin=self.begins)

    def submit_arrow(self, sql: str, params: Params, arrow: ArrowSink) -> Any:
        """Queues one statement whose rows become Arrow record batches."""
        return self.wire.execute(sql, params, begin=self.begins, arrow=arrow)

    def submit_stream(self, sql: str, params: Params, size: int, arrow: ArrowSink | None = None) -> Any:
        """Queues one statement whose rows are taken in blocks while they come."""
        return self.wire.execute(sql, params, begin=self.begins, block=size, arrow=arrow)

    def submit_batch(self, sql: str, rows: ParameterRows, returning: bool) -> Any:
        """Queues a batch."""
        if returning:
            raise NotSupportedError("CUBRID has no RETURNING, so a batch returns no rows")
        return self.wire.execute_batch(sql, rows, begin=self.begins)

    def submit_script(self, sql: str) -> Any:
        """Queues one statement without parameters."""
        return self.submit(sql, None)

    def describe(self, columns: Columns) -> list[Column]:
        """PEP 249's description of a result."""
        return [
            Column(
                name,
                TypeCode(sql, number, sql.split(" ")[0].lower()),
                None,
                None,
                precision if precision > 0 else None,
                scale if precision > 0 else None,
                null,
            )
            for name, number, sql, precision, scale, _, _, null in columns.fields
        ]

    # transactions

    begin_travels = True

    def is_begun(self) -> bool:
        """The engine ends a transaction only where one is open then."""
        return True

    def savepoint_begins(self, outer: bool, open: bool) -> bool:
        """The engine begins a transaction only where none is open then."""
        return True

    def has_savepoint(self, rollback: bool) -> bool:
        """A deadlock may have ended the transaction."""
        return self.wire.in_transaction()

    def reset(self, mode: str) -> Flow[None]:
        """Back to a fresh state: an open transaction is rolled back."""
        if mode not in ("none", "rollback"):
            raise ProgrammingError(f"reset={mode!r} is not one of none, rollback")
        self.forget_blocks()
        self.pipelines.clear()
        if mode == "rollback":
            yield from each(self.wire.verb("rollback", owed=True))

    def where(self) -> str:
        """User, server and database, for messages."""
        options = self.options
        host, port = self.wire_options["server_name"], self.wire_options["tcp"][1]
        return f"{options.user}@{host}:{port}/{options.database}"
