"""What blocking and asyncio connections to PostgreSQL share: every flow of requests is written here once."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any, Final
from weakref import WeakValueDictionary

from .._native import ArrowSink, Columns, CopyBuffer, PostgresWire, Result, Transfer
from .._shared.cancel_requests import SessionRequest
from .._shared.core import Pipelined
from .._shared.cursor_base import Column, Params
from .._shared.flows import Flow, Outcome, PendingRequest, ask, each
from .._shared.modes import IsolationLevel
from .._shared.transactions import Modes
from .._shared.two_phase_core import TwoPhaseCore
from ..errors import Error, InFailedSqlTransaction, ProgrammingError
from ..types import Notice, Notify, ParameterRows, TypeCode, Xid
from . import resets
from .adapters import Adapters
from .settings import ConnectOptions
from .streams import Reading

if TYPE_CHECKING:
    from ..sql import Statement
    from .lobs import PostgresLob

ISOLATION_LEVELS = ("read uncommitted", "read committed", "repeatable read", "serializable")


def quote_literal(text: str) -> str:
    """Text as an SQL string literal, safe with standard_conforming_strings on or off."""
    if "\0" in text:
        raise ProgrammingError("a string cannot hold a NUL character")
    if "\\" in text:
        escaped = text.replace("\\", "\\\\").replace("'", "''")
        return f" E'{escaped}'"
    return "'" + text.replace("'", "''") + "'"


BEHIND_DAEMON: Final = "(headraced; "
"""In the version of a server that headraced stands for, with another database behind it."""


@dataclass(frozen=True)
class CopyOfRows:
    """A COPY of rows: what describes its columns, and the statement in each format."""

    query: str
    """A query with the columns that are copied."""
    left_out: str | None
    """A query for the numbers of those columns that COPY leaves out."""
    binary: str | None
    """The statement for the binary format, ``None`` where only text will do."""
    text: str
    into: bool
    """True if rows go to the server."""


class ConnectionCore(TwoPhaseCore):
    wire: PostgresWire  # pyright: ignore[reportIncompatibleVariableOverride]
    reset_modes = resets.MODES
    attributes = resets.ATTRIBUTES
    title = "PostgreSQL"
    block_modes = ("isolation", "read_only", "deferrable")

    def __init__(self, wire: PostgresWire, options: ConnectOptions, wire_options: dict[str, Any]) -> None:
        super().__init__(wire, options.enable_timing, options.command_timeout)
        self.options = options
        self.wire_options = wire_options
        self.isolation_level: IsolationLevel | None = None
        self.read_only: bool | None = None
        self.deferrable: bool | None = None
        self.begin: str | None = "BEGIN"
        self.named = options.prepared
        self.run = wire.run if self.named else functools.partial(wire.run, named=False)
        self.way = self.begin
        self.readings: set[Reading] = set()
        """The streams that are open."""
        self.notice_handlers: tuple[Callable[[Notice], None], ...] = ()
        self._notifications_lost = 0
        self.forget_two_phase()
        self.lobs: WeakValueDictionary[int, PostgresLob] = WeakValueDictionary()
        """The large objects that are open, by descriptor."""
        self.lob_numbers: list[int] = []
        """Numbers of large objects that were closed."""
        self.adapters = Adapters(wire)
        """What is registered for the user's own types."""
        self.abandon: Callable[[Any], None] = lambda ticket: None
        """The shell's way to get back in step after a request whose result is not needed any more."""

    # transactions

    @functools.cached_property
    def is_postgres(self) -> bool:
        """True if the server is PostgreSQL's own, and not another one behind headraced: a transaction has failed once
        a statement has, and what comes before a Sync is one transaction."""
        return BEHIND_DAEMON not in self.wire.parameters().get("server_version", "")

    def fails_with_statement(self) -> bool:
        """Another server behind headraced commits what has not failed."""
        return self.is_postgres

    def fails_with_group(self) -> bool:
        """Another server behind headraced keeps the rows before the one that fails."""
        return self.is_postgres

    def modes(self) -> Modes:
        return self.isolation_level, self.read_only, self.deferrable

    def begin_statement(self) -> str:
        """The statement that begins a transaction."""
        return PostgresWire.begin_statement(self.modes())

    def new_way(self) -> str | None:
        """Remakes the statement that begins a transaction."""
        self.begin = self.begin_statement() if self.begins else None
        return self.begin

    def set_mode(self, name: str, value: Any) -> None:
        if name == "isolation_level" and value is not None:
            value = str(value).replace("_", " ").lower()
            if value not in ISOLATION_LEVELS:
                raise ProgrammingError(f"isolation_level {value!r} is not one of {', '.join(ISOLATION_LEVELS)}")
        super().set_mode(name, value)

    def is_begun(self) -> bool:
        """Returns true if a transaction is open, or may be by what has been asked for. That of a stream is the
        stream's."""
        return not self.wire.is_reserved() and super().is_begun()

    has_block = is_begun

    def check_ended(self, rollback: bool, answers: Sequence[Any]) -> None:
        """Raises where a COMMIT was answered by a rollback."""
        if not rollback:
            check_committed(answers[0])

    def savepoint_begins(self, outer: bool, open: bool) -> bool:
        """BEGIN is only sent where none is open then."""
        return True

    def has_savepoint(self, rollback: bool) -> bool:
        """A RELEASE of what is gone is an error."""
        return not rollback or self.wire.in_transaction()

    # two-phase commit

    def start_two_phase(self, xid: Xid) -> Flow[None]:
        yield from each(self.wire.verb("begin", begin=self.modes()))

    def undo_two_phase(self, xid: Xid) -> Flow[None]:
        yield from each(self.wire.verb("rollback", owed=True))

    def prepare_two_phase(self, xid: Xid) -> Flow[None]:
        answers = yield from each(self.wire.verb("prepare", str(xid)))
        self._check_two_phase(answers[0])

    def end_two_phase(self, xid: Xid, rollback: bool) -> Flow[None]:
        answers = yield from each(self.wire.verb("rollback" if rollback else "commit"))
        if not rollback:
            self._check_two_phase(answers[0])

    def end_prepared(self, xid: Xid, rollback: bool) -> Flow[None]:
        yield from each(self.wire.verb("rollback_prepared" if rollback else "commit_prepared", str(xid)))

    def _check_two_phase(self, results: Sequence[Result]) -> None:
        """Returns true if a failed transaction was not rolled back instead: nothing of it is left then."""
        try:
            check_committed(results)
        except InFailedSqlTransaction:
            self.tpc = None
            raise

    def tpc_recover(self) -> Flow[list[Xid]]:
        """The prepared transactions of this database."""
        result = (
            yield self.wire.script(
                "SELECT gid FROM pg_catalog.pg_prepared_xacts WHERE database = pg_catalog.current_database()"
            )
        )[0]
        return [Xid.parse(row[0]) for row in result.rows]

    # statements

    def submit(self, sql: Statement, params: Params) -> PendingRequest[Result]:
        return self.wire.execute(sql, params, self.begin, self.named)

    def submit_first(self, sql: Statement, params: Params) -> PendingRequest[Result]:
        return self.wire.execute(sql, params, self.begin, self.named, True)

    def submit_arrow(self, sql: Statement, params: Params, arrow: ArrowSink) -> PendingRequest[Result]:
        return self.wire.execute(sql, params, prelude=self.begin, named=self.named, arrow=arrow)

    def submit_pipelined(self, pipeline: Pipelined, sql: Statement, params: Params) -> PendingRequest[Result]:
        ticket = self.wire.execute(sql, params, self.begin, self.named, False, pipeline.sync, True, pipeline.number)
        # Not where that is refused: in a COPY the pipeline's end would wait for the end of the COPY.
        pipeline.unanswered = not pipeline.sync
        return ticket

    def submit_batch_pipelined(
        self, pipeline: Pipelined, sql: Statement, rows: ParameterRows, returning: bool
    ) -> PendingRequest[Outcome]:
        return self.wire.execute_batch(
            sql, rows, prelude=self.begin, named=self.named, returning=returning, pipeline=pipeline.number
        )

    def submit_script(self, sql: Statement) -> PendingRequest[list[Result]]:
        """Queues statements of the simple protocol."""
        return self.wire.script(sql, prelude=self.begin)

    def submit_batch(self, sql: Statement, rows: ParameterRows, returning: bool) -> PendingRequest[Outcome]:
        return self.wire.execute_batch(
            sql,
            rows,
            prelude=self.begin,
            named=self.named,
            returning=returning,
            strategy=self.options.batch_strategy,
        )

    def submit_flat(self, sql: Statement, rows: ParameterRows) -> PendingRequest[Outcome]:
        """Queues a batch whose rows come as one list."""
        return self.wire.execute_batch(sql, rows, prelude=self.begin, named=self.named, flat=True)

    def cancel_request(self, password: str | None) -> SessionRequest:
        """A CancelRequest on a connection of its own, which the server closes once it has sent the signal."""
        options = {**self.wire_options, "cancel": self.wire.cancel_message()}
        return SessionRequest(PostgresWire, options, PostgresWire.notified, by_close=True)

    def round_trip(self) -> PendingRequest[Any]:
        return self.wire.sync()

    def settle(self) -> PendingRequest[Any]:
        """Queues an empty query: a Sync may be answered before what waits for the end of a stream."""
        return self.wire.script("")

    def begin_pipeline(self, pipeline: Pipelined) -> None:
        """Outside of a transaction each statement stands for itself."""
        pipeline.sync = self.begin is None and not self.in_transaction()
        super().begin_pipeline(pipeline)

    def ask_for_answers(self, pipeline: Pipelined | None) -> PendingRequest[Any] | None:
        """Queues a Sync after the statements of a pipeline if there is none; returns its ticket, or None."""
        if pipeline is None or not pipeline.unanswered or self.wire.closed:
            return None
        pipeline.unanswered = False
        return self.wire.sync()

    def describe(self, columns: Columns) -> list[Column]:
        return description(self, columns)

    # what comes unasked

    def notices(self) -> None:
        """Passes received notices to the handlers."""
        for fields in self.wire.take_notices():
            notice = Notice(fields.get("V") or fields.get("S", ""), fields.get("M", ""), fields)
            for handler in self.notice_handlers:
                try:
                    handler(notice)
                except Exception:
                    # Imported here, since most programs never need it.
                    import logging

                    # The statement that it came with is executed: an error would mean that it is not.
                    logging.getLogger("headrace").exception("the notice handler %r has failed", handler)

    def notification(self) -> Notify | None:
        """Takes the oldest notification."""
        taken = self.wire.take_notification()
        if taken is None:
            return None
        if (lost := self.wire.notifications_lost()) != self._notifications_lost:
            import logging

            # Without it a program would wait for what has come and gone.
            missing, self._notifications_lost = lost - self._notifications_lost, lost
            logging.getLogger("headrace").warning("%d notifications were dropped, as too many were not read", missing)
        return Notify(*taken)

    # COPY

    def copy_begin(self, statement: str | CopyOfRows, buffer: CopyBuffer, asked: list[Any]) -> Flow[None]:
        """Starts a COPY whose data arrives in ``buffer``; appends its ticket to ``asked``, which has it also where this
        is interrupted."""
        if isinstance(statement, str):
            ask(partial(self.wire.script, statement, prelude=self.begin, copy=buffer), asked)
        else:
            left_out = statement.left_out if self.has_generated_columns() else None
            ask(
                partial(
                    self.wire.copy,
                    buffer,
                    statement.query,
                    left_out,
                    statement.binary,
                    statement.text,
                    statement.into,
                    prelude=self.begin,
                ),
                asked,
            )
        ticket = asked[0]
        try:
            yield self.wire.copy_step(ticket)
        except BaseException:
            # What was waited for is a step of the request, not the request: it is still in flight.
            self.abandon(ticket)
            raise
        if buffer.shape is None and self.wire.copy_state(ticket) == Transfer.ENDED:
            try:
                yield ticket
            except Error as error:
                # The columns are described first, by a query of its own, and the position is one in that.
                if isinstance(statement, CopyOfRows) and buffer.columns is None and error.position is not None:
                    error.statement = statement.query
                raise
            raise ProgrammingError("the statement is not COPY ... FROM STDIN or COPY ... TO STDOUT")

    def has_generated_columns(self) -> bool:
        """Returns true if the server is one whose tables can have generated columns, which COPY leaves out."""
        major = self.wire.parameters().get("server_version", "").split(".")[0].split(" ")[0]
        return not major.isdigit() or int(major) >= 12

    def where(self) -> str:
        return f"{self.options.user}@{self.options.hosts[0]}/{self.options.dbname}"

    # closing down

    def is_left_open(self) -> bool:
        """Returns true also if a stream is open: whether it waits for rows or not, the next user would share it."""
        return bool(self.readings) or self.tpc_prepared

    def reset(self, mode: str) -> Flow[None]:
        """Back to a fresh state: ``rollback`` ends an open transaction, ``discard`` forgets all session state."""
        self.forget_blocks()
        self.leave_two_phase(mode)
        self.pipelines.clear()
        for reading in list(self.readings):
            ended = reading.end(told=True, discard=False)
            if ended is not None:
                yield ended
        if mode != "none":
            yield from self.end_block(True)
        if mode == "discard":
            yield from each(self.wire.verb("reset"))
            # What has come for the last user's subscriptions, which have ended.
            while self.notification() is not None:
                pass


def check_committed(results: Sequence[Result]) -> None:
    """Returns true if a COMMIT was one: of a failed transaction the server makes a ROLLBACK, without an error."""
    if results and results[-1].tag == "ROLLBACK":
        raise InFailedSqlTransaction(
            "the transaction was rolled back, not committed: one of its statements had failed. Call rollback() after "
            "an error, or put a transaction() block around what may fail, to keep the rest"
        )


def description(core: ConnectionCore, columns: Columns) -> list[Column]:
    """PEP 249's description: name, type code, display size, internal size, precision, scale, null ok."""
    out: list[Column] = []
    for name, oid, size, precision, scale, _, _ in columns.fields:
        base = core.wire.type_name(oid)
        full = base if precision is None else f"{base}({precision},{scale})"
        out.append(Column(name, TypeCode(full, oid, base), None, size, precision, scale, None))
    return out


class AttemptSession(ConnectionCore):
    """A session that an attempt to connect has opened."""

    def close(self) -> None:
        """Closes it: it does not suit."""
        self.wire.close()
