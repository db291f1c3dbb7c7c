"""What blocking and asyncio connections to MySQL and MariaDB share: every flow of requests is written here once."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from .. import _native
from .._native import ArrowSink, Columns, MySqlWire, Result
from .._shared.arguments import ARGUMENTS, checked_text, checked_values
from .._shared.cancel_requests import SessionRequest
from .._shared.cursor_base import Column, Params
from .._shared.flows import Flow, Outcome, PendingRequest, each
from .._shared.modes import IsolationLevel
from .._shared.two_phase_core import TwoPhaseCore
from ..errors import (
    DatabaseError,
    Error,
    InsufficientPrivilege,
    InvalidCatalogName,
    InvalidPassword,
    OperationalError,
    ProgrammingError,
)
from ..types import DIGITS, ParameterRows, TypeCode, Xid
from . import resets, xa
from .settings import ConnectOptions

if TYPE_CHECKING:
    from ..sql import Statement

ISOLATION_LEVELS: Final = ("read uncommitted", "read committed", "repeatable read", "serializable")

_BINARY_COLLATION: Final = 63
_BINARY: Final = 128
_TEXT_KINDS: Final = frozenset({15, 247, 248, 249, 250, 251, 252, 253, 254})
_UNPREPARED: Final = (1295, 1461)
"""The server, or a proxy, does not prepare this, or no more than it has prepared."""


def quote_identifier(name: str) -> str:
    """A name in backticks."""
    if "\0" in checked_text(name, "a name"):
        raise ProgrammingError("an identifier cannot hold a NUL character")
    return "`" + name.replace("`", "``") + "`"


def is_refusal(error: Error) -> bool:
    """Returns true if the server has refused who asks, or what for. Another address would refuse it too, and count one
    more attempt with a wrong password."""
    return isinstance(error, (InvalidPassword, InvalidCatalogName, InsufficientPrivilege))


def may_write(sql: Statement) -> bool:
    """Returns true if a statement that returns rows may change something: INSERT ... RETURNING, or a procedure."""
    # What is no text is refused where it would be sent.
    return not isinstance(sql, str) or _native.may_write(sql)


def first_of(outcome: Result | list[Result]) -> Result:
    """The first result: CALL has several, and no cursor."""
    return outcome[0] if isinstance(outcome, list) else outcome


STREAMING: Final = (
    "a stream is being read on this connection: read it to its end, close it, stream with on_server=True, or use a "
    "second connection"
)


class SessionState(NamedTuple):
    """What the server has reported of a session, as far as its ``session_track_...`` variables make it report. None is
    what it has never reported."""

    schema: str | None
    """The current database."""
    variables: Mapping[str, str]
    """System variables that have changed."""
    gtids: str | None
    """The last transactions' ids."""
    transaction_state: str | None
    """Eight characters: see ``session_track_transaction_info``."""
    transaction_characteristics: str | None
    """Statements that would begin a transaction like the present one."""


class ServerWarning(NamedTuple):
    """A line of SHOW WARNINGS."""

    level: str
    """``Note``, ``Warning`` or ``Error``."""
    code: int
    message: str


class MySqlCore(TwoPhaseCore):
    wire: MySqlWire  # pyright: ignore[reportIncompatibleVariableOverride]
    reset_modes = resets.MODES
    attributes = resets.ATTRIBUTES
    title = "MySQL and MariaDB"

    def __init__(self, wire: MySqlWire, options: ConnectOptions, wire_options: dict[str, Any]) -> None:
        super().__init__(wire, options.enable_timing, options.command_timeout)
        self.options = options
        # A password stays where it was given: see `cancel_request`.
        self.wire_options = wire_options
        wire_options["password"] = None
        self.isolation_level: IsolationLevel | None = None
        self.read_only: bool | None = None
        self.forget_two_phase()
        self.text = self.way = not options.prepared
        self.run = wire.run
        self.noted: set[str] = set()
        """Attributes of which a user variable has what the session had before they were changed."""

    def new_way(self) -> bool:
        """Whether statements go as text."""
        return self.text

    @property
    def thread_id(self) -> int:
        """The connection's number, which KILL takes. Never waits for a statement that runs."""
        return self.wire.process_id & 0xFFFF_FFFF

    def start(self, autocommit: bool) -> Flow[None]:
        """Sets the session up; autocommit is turned off with the first request."""
        self.begin_session(autocommit)
        if not autocommit:
            self.wire.commit_manually()
        tickets: list[Any] = []
        variables = self.options.session_variables()
        if variables:
            tickets.append(self.wire.query(variables))
        if self.options.init_command:
            tickets.append(self.wire.query(self.options.init_command))
        yield from each(tickets)

    def cancel_password(self) -> Any:
        """The password, or the function that returns it."""
        return self.options.password

    def cancel_request(self, password: str | None) -> SessionRequest:
        """KILL QUERY on a session of its own."""
        # With the password as it is by now.
        options = {**self.wire_options, "password": password}
        return SessionRequest(
            MySqlWire,
            options,
            lambda wire: wire.query(self.wire.cancel_statement()),
            ask=lambda wire: wire.query(self.wire.cancel_question(wire.process_id)),
            check=lambda _, answer: self._check_beside(answer),
        )

    def _check_beside(self, answer: Any) -> None:
        """Raises OperationalError if the session that is to send KILL QUERY is with another server: the answer to its
        question has a row. A server that has refused to answer is believed to be the same."""
        if answer is not None and answer[0].rows:
            raise OperationalError(
                f"the statement was not cancelled: KILL QUERY {self.thread_id} would have reached another server; "
                "there is more than one behind this address"
            )

    # statements

    def submit(self, sql: Statement, params: Params) -> PendingRequest[Outcome]:
        return self.wire.execute(sql, params, self.text)

    def submit_first(self, sql: Statement, params: Params) -> PendingRequest[Outcome]:
        return self.wire.execute(sql, params, self.text, True)

    def submit_arrow(self, sql: Statement, params: Params, arrow: ArrowSink) -> PendingRequest[Outcome]:
        return self.wire.execute(sql, params, text=self.text, arrow=arrow)

    def stream_request(self, sql: Statement, params: Params, size: int, arrow: ArrowSink | None = None) -> partial[Any]:
        """What queues one statement whose rows are taken in blocks while they come."""
        return partial(self.wire.execute, sql, params, text=self.text, block=size, arrow=arrow)

    def open_cursor(self, sql: Statement, params: Params, size: int) -> tuple[PendingRequest[Outcome], int]:
        """Queues a query whose rows stay on the server; returns its number too, which fetches are asked by. Where
        nothing is prepared the result comes whole."""
        if self.text:
            return self.submit(sql, params), 0
        return self.wire.open_cursor(sql, params, size)

    def submit_batch(self, sql: Statement, rows: ParameterRows, returning: bool) -> PendingRequest[Outcome]:
        return self.wire.execute_batch(sql, rows, returning=returning, text=self.text)

    def submit_flat(self, sql: Statement, rows: ParameterRows) -> PendingRequest[Outcome]:
        """Queues a batch whose rows come as one list."""
        return self.wire.execute_batch(sql, rows, flat=True, atomic=False, text=self.text)

    def submit_script(self, sql: Statement) -> PendingRequest[list[Result]]:
        """Queues a COM_QUERY: text as it is."""
        return self.wire.query(sql)

    def describe(self, columns: Columns) -> list[Column]:
        return [
            Column(
                name,
                TypeCode(base, kind, plain=_is_plain(base, flags, length, precision)),
                None,
                length if precision is None else None,
                precision,
                None if precision is None else decimals,
                is_nullable,
            )
            for name, kind, base, flags, _, length, decimals, _, precision, is_nullable in columns.fields
        ]

    def session_state(self) -> SessionState:
        """What the server has reported of the session."""
        known = self.wire.session()
        return SessionState(
            known["schema"],
            known["variables"],
            known["gtids"],
            known["transaction_state"],
            known["transaction_characteristics"],
        )

    # procedures

    def call(self, name: str, args: Sequence[Any]) -> Flow[tuple[list[Result], list[Any]]]:
        """CALL; returns its results, and the arguments with the values of OUT and INOUT parameters."""
        target = ".".join(map(quote_identifier, checked_text(name, "the name of a routine").split(".")))
        out = list(checked_values(args, ARGUMENTS))
        if self.text and args:
            return (yield from self._call_by_variables(target, out))
        places = ", ".join("?" * len(args))
        try:
            outcome = yield self.wire.execute(
                f"CALL {target}({places})", tuple(args) or None, text=self.text, prepared=not self.text
            )
        except DatabaseError as error:
            if error.sqlcode not in _UNPREPARED or not args:
                raise
            # A literal is not an OUT parameter.
            return (yield from self._call_by_variables(target, out))
        results = cast("list[Result]", outcome if isinstance(outcome, list) else [outcome])
        for result in results:
            if result.out_params and result.rows:
                values = result.rows[0]
                places_out = [*range(len(out))]
                if len(values) != len(out):
                    places_out = yield from self._places_out(name)
                texts = yield from self._texts_out(name, result, places_out)
                for place, value, text in zip(places_out, values, texts, strict=True):
                    out[place] = value if text is None else text
        return [result for result in results if not result.out_params], out

    def _places_out(self, name: str) -> Flow[list[int]]:
        """Which arguments of a procedure are OUT or INOUT, from 0."""
        rows = yield from self._parameters_of(name, "parameter_mode", "parameter_mode IN ('OUT', 'INOUT')")
        return [place for place, _ in rows]

    def _texts_out(self, name: str, result: Result, places: list[int]) -> Flow[list[str | None]]:
        """What OUT parameters are as text, None for those that are none. MySQL sends text in the parameter's own
        character set, and is marked as binary, without the flag BINARY."""
        texts: list[str | None] = [None] * len(places)
        if result.columns is None or not result.rows:
            return texts
        sets: dict[int, str] | None = None
        for i, (field, value) in enumerate(zip(result.columns.fields, result.rows[0], strict=True)):
            _, kind, _, flags, collation, *_ = field
            if not isinstance(value, bytes) or collation != _BINARY_COLLATION or flags & _BINARY:
                continue
            if kind not in _TEXT_KINDS:
                continue
            if value.isascii() and b"\0" not in value:
                texts[i] = value.decode("ascii")
                continue
            if sets is None:
                sets = yield from self._sets_out(name)
            charset = sets.get(places[i], "")
            if charset.startswith("utf8"):
                texts[i] = value.decode()
            elif charset:
                answer = yield self.wire.query(f"SELECT CONVERT(_{charset} 0x{value.hex()} USING utf8mb4)")
                texts[i] = answer[0].rows[0][0]
        return texts

    def _sets_out(self, name: str) -> Flow[dict[int, str]]:
        """The character sets of a procedure's parameters, by their places from 0."""
        rows = yield from self._parameters_of(name, "character_set_name", "character_set_name IS NOT NULL")
        return dict(rows)

    def _parameters_of(self, name: str, column: str, which: str) -> Flow[list[Any]]:
        """The places, from 0 and in order, of some of a procedure's parameters, and what the catalog has of each."""
        schema, dot, routine = name.rpartition(".")
        result = yield self.wire.execute(
            f"SELECT ordinal_position - 1, {column} FROM information_schema.parameters WHERE {which} "
            "AND routine_type = 'PROCEDURE' AND specific_schema = coalesce(?, database()) AND specific_name = ? "
            "ORDER BY 1",
            (schema if dot else None, routine),
        )
        return list(result.rows)

    def _call_by_variables(self, target: str, out: list[Any]) -> Flow[tuple[list[Result], list[Any]]]:
        """The same where nothing can be prepared: the arguments are variables of the session."""
        names = [f"@headrace_{i}" for i in range(len(out))]
        sets = ", ".join(f"{name} = ?" for name in names)
        # Another thread's call would set the same variables.
        reserved, mine = self.wire.reserve()
        try:
            yield reserved
            tickets = [
                self.wire.execute(f"SET {sets}", tuple(out), text=True, reservation=mine),
                self.wire.query(f"CALL {target}({', '.join(names)})", reservation=mine),
                self.wire.query(f"SELECT {', '.join(names)}", reservation=mine),
            ]
            answers = yield from each(tickets)
        finally:
            self.wire.release(mine)
        return answers[1], list(answers[2][0].rows[0])

    # transactions

    def autocommits(self) -> bool:
        """Returns true if every statement is a transaction of its own: SET of the user's may have changed it."""
        reported = None if self.wire.closed else self.wire.autocommits()
        return self.autocommit if reported is None else reported

    def is_begun(self) -> bool:
        """Returns true if a transaction is open, or may be, or if a statement that failed may have left locks, or if
        SET TRANSACTION has decided something for the next one, which a COMMIT or ROLLBACK ends though none is open."""
        return super().is_begun() or self._holds_locks() or self._sets_next()

    def remember(self) -> None:
        """The attributes as they are now are those that a reset sets back: autocommit as the server has reported it."""
        self.autocommit = self.autocommits()
        self.noted.clear()
        super().remember()

    def change(self, name: str, value: Any) -> Flow[None]:
        """Changes an attribute, on the server too: back to what the session had before it was first changed, if the
        driver has not set that."""
        if name in self.noted and value is None:
            self.set_mode(name, value)
            self.noted.discard(name)
            yield self.wire.query(f"SET SESSION {self.variable(name)} = @headrace_{name}")
        elif name == "autocommit":
            yield from self.set_autocommit(value)
        elif name == "read_only":
            yield from self.set_read_only(value)
        else:
            yield from self.set_isolation_level(value)

    def is_set(self, name: str, value: Any) -> bool:
        """Returns true if an attribute has this value: autocommit on the server."""
        return self.autocommits() == value if name == "autocommit" else super().is_set(name, value)

    def is_streaming(self) -> bool:
        """Returns true while a stream is open: its rows come whether they are read or not."""
        return not self.wire.closed and self.wire.is_occupied()

    def is_left_open(self) -> bool:
        """Returns true also if autocommit was changed by a statement, if tables are locked, or if locks of a statement
        that failed are held."""
        wire = self.wire
        return self.tpc_prepared or (not wire.closed and wire.is_left_changed(self.kept["autocommit"]))

    def _holds_locks(self) -> bool:
        return not self.wire.closed and self.wire.holds_locks()

    def _sets_next(self) -> bool:
        return not self.wire.closed and self.wire.sets_next_transaction()

    def variable(self, name: str) -> str:
        """The variable of the session that an attribute is on the server."""
        server = self.wire.session()
        is_old = server["mariadb"] or str(server["server_version"]).startswith("5.")
        return f"{'tx' if is_old else 'transaction'}_{'isolation' if name == 'isolation_level' else name}"

    def assign(self, name: str, value: Any, statement: str) -> Flow[None]:
        """Changes an attribute by a statement; before the first time a user variable notes what the session had."""
        is_first = getattr(self, name) is None and name not in self.noted
        self.set_mode(name, value)
        tickets: list[Any] = []
        if is_first:
            self.noted.add(name)
            tickets.append(self.wire.query(f"SET @headrace_{name} = @@session.{self.variable(name)}"))
        tickets.append(self.wire.query(statement))
        yield from each(tickets)

    def set_autocommit(self, value: bool) -> Flow[None]:
        """Changes autocommit, on the server too."""
        self.set_mode("autocommit", value)
        yield self.wire.query(f"SET autocommit={int(value)}")

    def set_isolation_level(self, value: IsolationLevel | None) -> Flow[None]:
        """Changes the isolation level of transactions to come; None is the server's default."""
        level = None if value is None else str(value).replace("_", " ").lower()
        if level is not None and level not in ISOLATION_LEVELS:
            raise ProgrammingError(f"isolation_level {value!r} is not one of {', '.join(ISOLATION_LEVELS)}")
        default = f"{self.variable('isolation_level')} = DEFAULT"
        statement = default if level is None else f"TRANSACTION ISOLATION LEVEL {level.upper()}"
        yield from self.assign("isolation_level", level, f"SET SESSION {statement}")

    def set_read_only(self, value: bool | None) -> Flow[None]:
        """Changes whether transactions to come are read-only."""
        mode = f"TRANSACTION READ {'ONLY' if value else 'WRITE'}"
        statement = f"{self.variable('read_only')} = DEFAULT" if value is None else mode
        yield from self.assign("read_only", value, f"SET SESSION {statement}")

    # two-phase commit: "XA Transactions"

    def check_xid(self, xid: Xid) -> Xid:
        return xa.checked(xid)

    def start_two_phase(self, xid: Xid) -> Flow[None]:
        yield self.wire.query(f"XA START {xa.literal(xid)}")

    def undo_two_phase(self, xid: Xid) -> Flow[None]:
        try:
            yield from self._end_branch(xid)
        except DatabaseError as error:
            # It was never begun: XA ROLLBACK would hit what another session has prepared by the same id.
            if not xa.must_roll_back(error):
                return
        yield self.wire.query(f"XA ROLLBACK {xa.literal(xid)}")

    def prepare_two_phase(self, xid: Xid) -> Flow[None]:
        yield from self._end_branch(xid)
        yield self.wire.query(f"XA PREPARE {xa.literal(xid)}")

    def end_two_phase(self, xid: Xid, rollback: bool) -> Flow[None]:
        if rollback:
            try:
                yield from self._end_branch(xid)
            except DatabaseError as error:
                # Ended by a deadlock, or prepared by a request whose answer was not waited for: rolled back now.
                if not xa.may_roll_back(error):
                    raise
            yield self.wire.query(f"XA ROLLBACK {xa.literal(xid)}")
        else:
            yield from self._end_branch(xid)
            yield self.wire.query(f"XA COMMIT {xa.literal(xid)} ONE PHASE")

    def _end_branch(self, xid: Xid) -> Flow[None]:
        yield self.wire.query(f"XA END {xa.literal(xid)}")

    def end_prepared(self, xid: Xid, rollback: bool) -> Flow[None]:
        statement = f"XA {'ROLLBACK' if rollback else 'COMMIT'} {xa.literal(xid)}"
        if self.tpc is not None and self.wire.in_transaction():
            # MariaDB, and MySQL before 8.0.29: it is still this session's.
            yield self.wire.query(statement)
            return
        # Of a session without autocommit the servers take that for a statement within a transaction. Another thread's
        # statement in between would be committed by itself.
        reserved, mine = self.wire.reserve()
        try:
            yield reserved
            if self.wire.in_transaction():
                raise ProgrammingError(
                    "a prepared transaction is ended outside of transactions: call commit() or rollback() first"
                )
            alone = self.autocommits()
            try:
                if not alone:
                    yield self.wire.query("SET autocommit=1", reservation=mine)
                yield self.wire.query(statement, reservation=mine)
            finally:
                if not (alone or self.wire.closed):
                    self.wire.commit_manually()
        finally:
            self.wire.release(mine)

    def tpc_recover(self) -> Flow[list[Xid]]:
        results = yield self.wire.query("XA RECOVER")
        return xa.recovered(results[0].rows)

    begin_travels = False

    def has_savepoint(self, rollback: bool) -> bool:
        """A deadlock, or a statement that commits by itself, may have ended the transaction."""
        return self.wire.in_transaction() and super().has_savepoint(rollback)

    def reset(self, mode: str) -> Flow[None]:
        """Back to a fresh state: ``rollback`` ends an open transaction, ``discard`` forgets all session state."""
        self.forget_blocks()
        self.pipelines.clear()
        left = self.leave_two_phase(mode)
        if mode == "rollback" and left is not None:
            yield from self.undo_two_phase(left)
        if mode == "rollback" and self.is_begun():
            yield from each(self.wire.verb("rollback", owed=True))
        if mode == "rollback" and self.wire.holds_tables():
            # After the transaction, which it would commit.
            yield self.wire.query("UNLOCK TABLES")
        if mode == "discard":
            self.isolation_level = self.read_only = None
            self.noted.clear()
            yield from each(self.wire.verb("reset"))
            yield from self.restore_role()
            # The server keeps the schema. Whether it reports every change of it is up to the user.
            if self.options.database:
                yield self.wire.select_db(self.options.database)
            yield from self.start((self.opened or self.kept)["autocommit"])

    def restore_role(self) -> Flow[None]:
        """Goes back to the role that the session began with, which COM_RESET_CONNECTION does not."""
        if not self.wire.take_role_changed():
            return
        role = "DEFAULT"
        if self.wire.session()["mariadb"]:
            query = "SELECT role_name FROM information_schema.applicable_roles WHERE is_default = 'YES'"
            found = yield self.wire.query(query)
            role = quote_identifier(found[0].rows[0][0]) if found[0].rows else "NONE"
        yield self.wire.query(f"SET ROLE {role}")
        self.wire.take_role_changed()

    def where(self) -> str:
        options = self.options
        place = options.socket or ",".join(f"[{h}]:{p}" if ":" in h else f"{h}:{p}" for h, p in options.hosts)
        return f"{options.user}@{place}/{options.database or ''}"


_UNSIGNED = 32
"""The flag of a column: "Column Definition Flags", MySQL's documentation of its source."""


def _is_plain(base: str, flags: int, length: int, precision: int | None) -> bool | None:
    """Whether the name of a type means the same everywhere; None where the name alone decides."""
    if precision is not None:
        return precision <= DIGITS
    if base.endswith("int"):
        # The length is that of the text, which others take for bytes.
        return not flags & _UNSIGNED and length not in (2, 4, 8)
    return None
