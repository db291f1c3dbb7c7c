"""What blocking and asyncio connections to CUBRID share: every flow of requests is written here once.

A flow is a generator that yields tickets or futures and is sent their results: see :mod:`headrace._shared.flows`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, get_args

from .._native import ArrowSink, Columns, CubridWire, Result
from .._shared.arguments import checked_rows, checked_text, checked_whole
from .._shared.cancel_requests import MessageRequest
from .._shared.composing import composed_text
from .._shared.core import Core
from .._shared.cursor_base import Column, Params, columns_of
from .._shared.flows import Flow, PendingRequest, each
from .._shared.limits import checked_seconds
from .._shared.resets import unknown_before
from ..errors import NotSupportedError, OperationalError, ProgrammingError
from ..types import ParameterRows, TypeCode
from . import resets
from .names import NAMES
from .settings import CODECS, ISOLATION_LEVELS, ConnectOptions, CubridIsolation, isolation

if TYPE_CHECKING:
    from ..sql import Statement

CHARSET_NUMBERS: Final = {3: "iso88591", 4: "euckr", 5: "utf8"}
"""The character sets of databases by their numbers in the catalogue."""
Schema: TypeAlias = Literal[
    "tables",
    "views",
    "view_query",
    "columns",
    "class_attributes",
    "methods",
    "class_methods",
    "method_files",
    "supertables",
    "subtables",
    "constraints",
    "triggers",
    "table_privileges",
    "column_privileges",
    "direct_supertables",
    "primary_key",
    "foreign_keys",
    "referencing_keys",
    "cross_reference",
]
"""The queries of the catalogue."""
SCHEMA: Final[dict[str, tuple[int, int]]] = {
    "tables": (1, 1),
    "views": (2, 1),
    "view_query": (3, 0),
    "columns": (4, 2),
    "class_attributes": (5, 2),
    "methods": (6, 0),
    "class_methods": (7, 0),
    "method_files": (8, 0),
    "supertables": (9, 0),
    "subtables": (10, 0),
    "constraints": (11, 0),
    "triggers": (12, 1),
    "table_privileges": (13, 1),
    "column_privileges": (14, 2),
    "direct_supertables": (15, 0),
    "primary_key": (16, 0),
    "foreign_keys": (17, 0),
    "referencing_keys": (18, 0),
    "cross_reference": (19, 0),
}
"""Queries of the catalogue: the number of each, and which of its names are patterns (1 the first, 2 the second)."""
_OF_COLUMNS: Final = frozenset({4, 5, 14})
CANCEL_ANSWER_BYTES: Final = 4
"""Bytes of the broker's answer to a cancel request: a number, 0 or the reason why nothing was cancelled."""
_NOT_BUSY: Final = -10019
"""The process is not busy any more."""


_MOST_MILLIS: Final = 2**31 - 1
"""Of a lock timeout: the protocol has 32 bits for it."""


_MOST_HANDLES: Final = 2**31 - 1
"""The protocol has 32 bits for the number of a result."""


def milliseconds(seconds: float) -> int:
    """A lock timeout in the unit of the protocol; -1 for no limit.

    Raises TypeError or ProgrammingError for what is no number of seconds.
    """
    checked = checked_seconds(seconds, "lock_timeout")
    return -1 if checked < 0 or checked * 1000 > _MOST_MILLIS else round(checked * 1000)


def checked_handle(value: int) -> int:
    """The value of a CURSOR that a procedure has returned.

    Raises TypeError or ProgrammingError for what is none.
    """
    number = checked_whole(value, "the value of a CURSOR")
    if not 0 <= number <= _MOST_HANDLES:
        raise ProgrammingError(f"{number} is not the value of a CURSOR")
    return number


def check_cancelled(answer: bytes) -> None:
    """Raises OperationalError for a cancel request that the broker has refused. One that came when the statement had
    ended is none."""
    code = int.from_bytes(answer, "big", signed=True)
    if code < 0 and code != _NOT_BUSY:
        raise OperationalError(f"the broker has refused the cancel request (error {code})")


def call_statement(name: str, count: int) -> str:
    """The statement that calls a procedure or function with ``count`` arguments, and returns their values.

    >>> call_statement("totals", 2)
    '? = CALL totals(?, ?)'

    Raises ProgrammingError if it is not a name, or one that is too long.
    """
    if not re.fullmatch(r"[^\W\d][\w.]*", checked_text(name, "the name of a routine")):
        raise ProgrammingError(f"{name!r} is not the name of a procedure")
    NAMES.check_sql(name)
    return f"? = CALL {name}({', '.join('?' * count)})"


def call_parameters(arguments: Sequence[Any]) -> tuple[Any, ...]:
    """The parameters of :func:`call_statement`."""
    return (None, *arguments)


def returned_arguments(row: Sequence[Any], arguments: Sequence[Any]) -> list[Any]:
    """The arguments after a call, from the row that it has returned: the objects that were given where the value is the
    same."""
    return [
        given if type(given) is type(value) and given == value else value
        for given, value in zip(arguments, row[1:], strict=True)
    ]


class CubridCore(Core):
    wire: CubridWire  # pyright: ignore[reportIncompatibleVariableOverride]
    reset_modes = resets.MODES
    attributes = resets.ATTRIBUTES
    title = "CUBRID"
    isolation_levels = get_args(CubridIsolation)
    block_modes = ("isolation",)

    def __init__(self, wire: CubridWire, options: ConnectOptions, wire_options: dict[str, Any]) -> None:
        super().__init__(wire, options.enable_timing, options.command_timeout)
        self.run, self.way = wire.run, self.begins
        self.options = options
        # A password stays where it was given.
        self.wire_options = wire_options
        wire_options["password"] = None
        self.isolation_level: CubridIsolation | None = None
        self.lock_timeout: float | None = None
        self.charset = "utf8"
        self.held: set[int] = set()
        """The numbers of the cursors that stay open at the server."""

    @property
    def codec(self) -> str:
        """Python's name for the character set of the database."""
        return CODECS[self.charset]

    def start(self, autocommit: bool) -> Flow[None]:
        """Sets up a new session with the settings of ``connect``."""
        self.begin_session(autocommit)
        options = self.options
        self.charset = options.charset
        if options.charset == "auto":
            result: Any = yield self.wire.execute("SELECT charset FROM db_root", None)
            self.charset = CHARSET_NUMBERS[result.rows[0][0]]
            self.wire.set_charset(self.charset)
        if options.isolation_level is not None:
            yield from self.set_isolation(options.isolation_level)
        if options.lock_timeout is not None:
            yield from self.set_lock_timeout(options.lock_timeout)

    def set_isolation(self, level: CubridIsolation) -> Flow[None]:
        """Sets the isolation level for the rest of the session."""
        name = isolation(level)
        self.set_mode("isolation_level", name)
        yield self.wire.set_isolation(ISOLATION_LEVELS[name])

    def set_lock_timeout(self, seconds: float | None) -> Flow[None]:
        """Sets how long a lock is waited for; None is the server's default, and a negative number no limit."""
        millis = -2 if seconds is None else milliseconds(seconds)
        yield self.wire.set_lock_timeout(millis)
        self.lock_timeout = seconds
        self.altered = True

    def change(self, name: str, value: Any) -> Flow[None]:
        if name == "autocommit":
            yield from super().change(name, value)
        elif name == "lock_timeout":
            yield from self.set_lock_timeout(value)
        elif value is None:
            raise unknown_before(name)
        else:
            yield from self.set_isolation(value)

    def version(self) -> Flow[str]:
        """The version that the server reports."""
        result = yield self.wire.version()
        return str(result.rows[0][0])

    def last_insert_id(self) -> Flow[int | None]:
        """The value that the session's last INSERT has generated."""
        result = yield self.wire.last_insert_id()
        return result.generated  # type: ignore[no-any-return]

    def generated_keys(self, sql: Statement, params: Params) -> Flow[list[Any]]:
        """The values that an INSERT generates, of all of its rows."""
        result: Result = yield self.wire.generated_keys(sql, params, begin=self.begins)
        return [row[0] for row in result.rows or ()]

    def execute_batch(self, statements: Iterable[str]) -> Flow[Result]:
        """The sum of the rows that the texts of statements change."""
        if isinstance(statements, str):
            raise ProgrammingError("execute_batch takes several texts: a list of them, not one str")
        checked_rows(statements, "the statements of execute_batch()")
        rows: Iterable[tuple[str]] = ((statement,) for statement in statements)
        if isinstance(statements, Sequence):
            # What can be read again is sent again where the broker has taken the process back.
            rows = list(rows)
        result: Result = yield self.wire.execute_texts(rows, begin=self.begins)
        return result

    def schema_info(self, kind: str, name: str | None, other: str | None) -> Flow[Result]:
        """The rows of a query of the catalogue."""
        query = SCHEMA.get(checked_text(kind, "kind").lower().replace(" ", "_"))
        if query is None:
            raise ProgrammingError(f"{kind!r} is not one of {', '.join(SCHEMA)}")
        for given, what in ((name, "name"), (other, "other")):
            if given is not None:
                checked_text(given, what)
        number, patterns = query
        if number in _OF_COLUMNS and other is None:
            # Without a pattern the server returns no rows.
            other = "%"
        result: Result = yield self.wire.schema_info(number, name, other, patterns)
        return result

    def plan(self, sql: Statement) -> Flow[str]:
        """The plan of a statement, as text."""
        result = yield self.wire.plan(composed_text(self.wire, sql))
        return str(result.rows[0][0])

    def parameter_types(self, sql: Statement) -> Flow[list[Column]]:
        """The types that the server expects for the parameters of a statement."""
        result: Result = yield self.wire.parameter_types(sql)
        return self.describe(columns_of(result))

    def returned_rows(self, value: int) -> Flow[Result]:
        """The rows of a CURSOR that a procedure has returned."""
        result: Result = yield self.wire.returned_rows(checked_handle(value))
        return result

    # statements

    def submit(self, sql: Statement, params: Params) -> PendingRequest[Result]:
        return self.wire.execute(sql, params, self.begins)

    def submit_first(self, sql: Statement, params: Params) -> PendingRequest[Result]:
        return self.wire.execute(sql, params, self.begins, True)

    def submit_arrow(self, sql: Statement, params: Params, arrow: ArrowSink) -> PendingRequest[Result]:
        return self.wire.execute(sql, params, begin=self.begins, arrow=arrow)

    def cancel_request(self, password: str | None) -> MessageRequest | None:
        """A message to the broker."""
        if self.wire.only_fetches():
            # The rows were made when the statement was executed. A process of the server that is interrupted while it
            # sends them crashes.
            return None
        # The broker answers in the clear, also where its sessions are encrypted.
        return MessageRequest(
            self.wire_options["tcp"], self.wire.cancel_message(), CANCEL_ANSWER_BYTES, check_cancelled
        )

    def stream_request(self, sql: Statement, params: Params, size: int, arrow: ArrowSink | None = None) -> partial[Any]:
        """What queues one statement whose rows are taken in blocks while they come."""
        return partial(self.wire.execute, sql, params, begin=self.begins, block=size, arrow=arrow)

    def submit_batch(self, sql: Statement, rows: ParameterRows, returning: bool) -> PendingRequest[Result]:
        if returning:
            raise NotSupportedError("CUBRID has no RETURNING, so a batch returns no rows")
        return self.wire.execute_batch(sql, rows, begin=self.begins)

    def submit_script(self, sql: Statement) -> PendingRequest[Result]:
        """Queues one statement without parameters."""
        return self.submit(sql, None)

    def describe(self, columns: Columns) -> list[Column]:
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
        """The engine ends a transaction only where one is open then. A connection that was lost with none is not made
        again for it."""
        return not self.wire.has_nothing_to_end()

    def savepoint_begins(self, outer: bool, open: bool) -> bool:
        """The engine begins a transaction only where none is open then."""
        return True

    def has_savepoint(self, rollback: bool) -> bool:
        """A deadlock may have ended the transaction."""
        return self.wire.in_transaction() and super().has_savepoint(rollback)

    def is_streaming(self) -> bool:
        """Returns true while a stream is open: its rows come whether they are read or not."""
        return not self.wire.closed and self.wire.is_occupied()

    def is_left_open(self) -> bool:
        """Returns true if a cursor stays open: it keeps the broker from using the process for others."""
        return bool(self.held)

    def reset(self, mode: str) -> Flow[None]:
        """Back to a fresh state: an open transaction is rolled back."""
        self.forget_blocks()
        self.pipelines.clear()
        while self.held:
            yield self.wire.close_cursor(self.held.pop())
        if mode == "rollback":
            yield from each(self.wire.verb("rollback", owed=True))

    def where(self) -> str:
        options = self.options
        host, port = self.wire_options["server_name"], self.wire_options["tcp"][1]
        return f"{options.user}@{host}:{port}/{options.database}"
