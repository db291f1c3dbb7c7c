"""The blocking connection."""

from __future__ import annotations

import contextlib
import enum
import time
import weakref
from collections import deque
from collections.abc import Callable, Generator, Iterable, Iterator, Mapping, Sequence
from types import TracebackType
from typing import IO, Any, Generic, TypeVar, overload

from .. import defaults, errors
from .._native import PgResult, Wire
from ..errors import ConnectionClosed, InterfaceError, OperationalError, ProgrammingError
from ..rows import RowFactory, tuple_row
from ..types import Notice, Notify, TransactionStatus, Xid
from .adapters import Adapters
from .core import ConnectionCore, Flow, Params, quote_identifier
from .cursor import Cursor, ServerCursor

R = TypeVar("R")
T = TypeVar("T")


class Connection(Generic[R]):
    """A connection to PostgreSQL. Threads may share it: their calls queue up.

    As a context manager it commits at the end of the block, rolls back when the block raises, and closes.
    """

    Warning = errors.Warning
    Error = errors.Error
    InterfaceError = errors.InterfaceError
    DatabaseError = errors.DatabaseError
    DataError = errors.DataError
    OperationalError = errors.OperationalError
    IntegrityError = errors.IntegrityError
    InternalError = errors.InternalError
    ProgrammingError = errors.ProgrammingError
    NotSupportedError = errors.NotSupportedError

    def __init__(self, core: ConnectionCore, row_factory: RowFactory[R]) -> None:
        self._core = core
        self._adapters = Adapters(core.wire)
        # Not a reference of its own: a connection that nobody holds closes at once, not when cycles are collected.
        me = weakref.ref(self)

        def abandon(ticket: Any) -> None:
            connection = me()
            if connection is not None:
                connection._abandon(ticket)

        core.abandon = abandon
        self.row_factory: RowFactory[R] = row_factory
        self._strict_close = False

    # waiting

    def _wait(self, ticket: Any, timeout: float | None) -> Any:
        """The result of a ticket. An interrupted or overdue request is cancelled before the error goes on."""
        try:
            result = self._core.wire.wait(ticket, timeout)
        except TimeoutError:
            self._abandon(ticket)
            raise TimeoutError(f"the statement took longer than {timeout} s and was cancelled") from None
        except errors.Error:
            raise
        except BaseException:
            self._abandon(ticket)
            raise
        if self._core.wire.has_notices():
            self._core.notices()
        return result

    def _look(self, ticket: Any, timeout: float) -> Any:
        """The result of a ticket, or TimeoutError, after which the request is still in flight."""
        try:
            result = self._core.wire.wait(ticket, timeout)
        except (TimeoutError, errors.Error):
            raise
        except BaseException:
            self._abandon(ticket)
            raise
        if self._core.wire.has_notices():
            self._core.notices()
        return result

    def _run(self, flow: Flow[T]) -> T:
        """Runs a flow to its end."""
        try:
            ticket = next(flow)
            while True:
                try:
                    value = self._wait(ticket, None)
                except BaseException as error:
                    ticket = flow.throw(error)
                else:
                    ticket = flow.send(value)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]

    def _abandon(self, ticket: Any, reason: str | None = None) -> None:
        """Gets the connection back in step after a request that nobody waits for any more, or closes it."""
        wire = self._core.wire
        if wire.closed:
            return
        try:
            if reason is not None and wire.copy_state(ticket) == 1:
                wire.copy_end(ticket, reason)
            elif wire.discard(ticket):
                wire.push(0)
                self._send_cancel(defaults.CANCEL_TIMEOUT)
            wire.wait(wire.sync(), defaults.CANCEL_TIMEOUT)
        except BaseException:
            # Out of step, or a second interrupt: only a closed connection is safe now.
            wire.close()

    # executing

    @overload
    def cursor(self) -> Cursor[R]: ...
    @overload
    def cursor(self, *, row_factory: RowFactory[T]) -> Cursor[T]: ...
    @overload
    def cursor(
        self,
        name: str,
        *,
        row_factory: RowFactory[Any] | None = None,
        scrollable: bool | None = None,
        withhold: bool = False,
    ) -> ServerCursor[Any]: ...
    def cursor(
        self,
        name: str | None = None,
        *,
        row_factory: RowFactory[Any] | None = None,
        scrollable: bool | None = None,
        withhold: bool = False,
    ) -> Cursor[Any]:
        """A new cursor; with a ``name`` one that lives on the server and is fetched in blocks."""
        if self._core.wire.closed:
            raise InterfaceError("the connection is closed")
        factory = row_factory or self.row_factory
        if name is not None:
            return ServerCursor(self, factory, name, scrollable, withhold)
        return Cursor(self, factory)

    def execute(self, sql: str, params: Params = None, *, timeout: float | None = None) -> Cursor[R]:
        """Executes one statement on a new cursor, and gives the cursor."""
        return Cursor(self, self.row_factory).execute(sql, params, timeout=timeout)

    def executemany(self, sql: str, rows: Iterable[Any], *, returning: bool = False) -> Cursor[R]:
        """Executes a batch on a new cursor, and gives the cursor: see :meth:`Cursor.executemany`."""
        return Cursor(self, self.row_factory).executemany(sql, rows, returning=returning)

    def executescript(self, sql: str) -> Cursor[R]:
        """Executes statements separated by semicolons, without parameters, by the simple protocol. Each result
        is a set of the cursor that this gives."""
        core, cursor = self._core, Cursor(self, self.row_factory)
        ticket = core.submit_script(sql)
        if core.pipelined is not None:
            cursor._pending = ticket
            core.pipelined.append(cursor)
        else:
            cursor._set_all(self._wait(ticket, None))
        return cursor

    def _rows(self, factory: RowFactory[T], sql: str, args: tuple[Any, ...]) -> list[T]:
        core = self._core
        if core.pipelined is not None or core.timing:
            cursor = Cursor(self, factory).execute(sql, args or None)
            return cursor.fetchall()
        # What a cursor would give, without one.
        result: PgResult = self._wait(core.submit(sql, args or None), None)
        if factory is tuple_row and result.rows is not None:
            return result.rows  # type: ignore[return-value]
        cursor = Cursor(self, factory)
        cursor._set(result)
        return cursor._all()

    def fetch(self, sql: str, *args: Any) -> list[R]:
        """All rows of a query, its parameters given one by one."""
        return self._rows(self.row_factory, sql, args)

    def fetchrow(self, sql: str, *args: Any) -> R | None:
        """The first row of a query, or ``None``."""
        rows = self._rows(self.row_factory, sql, args)
        return rows[0] if rows else None

    def fetchval(self, sql: str, *args: Any) -> Any:
        """The first value of the first row of a query, or ``None``."""
        rows = self._rows(tuple_row, sql, args)
        return rows[0][0] if rows else None

    def fetchmany(self, sql: str, rows: Iterable[Any]) -> list[R]:
        """The rows of a query for every row of parameters, one after the other in one list; pipelined."""
        core = self._core
        cursor = Cursor(self, self.row_factory)
        cursor._set(
            self._wait(core.wire.execute_batch(sql, rows, prelude=core.begin, named=core.named, flat=True), None)
        )
        return cursor._all()

    def stream(self, sql: str, params: Params = None, *, fetch_size: int = defaults.FETCH_SIZE) -> Iterator[R]:
        """The rows of a query one by one, in bounded memory: ``fetch_size`` rows at a time, the next block on its
        way while this one is used. Opens a transaction for its duration where none is open."""
        with contextlib.closing(self.stream_blocks(sql, params, fetch_size=fetch_size)) as blocks:
            for block in blocks:
                yield from block

    def stream_blocks(
        self, sql: str, params: Params = None, *, fetch_size: int = defaults.FETCH_SIZE
    ) -> Generator[list[R]]:
        """The rows of a query in lists of ``fetch_size`` (the last one may be shorter): :meth:`stream` without the cost
        of a step per row."""
        if fetch_size < 1:
            raise ProgrammingError("fetch_size must be at least 1")
        with contextlib.ExitStack() as stack:
            if not self._core.in_transaction():
                stack.enter_context(self.transaction())
            yield from self._stream(sql, params, fetch_size)

    def _stream(self, sql: str, params: Params, fetch_size: int) -> Generator[list[R]]:
        core, wire = self._core, self._core.wire
        portal = f"headrace_{next(core.numbers)}"
        result: PgResult = self._wait(wire.execute(sql, params, portal=(portal, fetch_size), named=core.named), None)
        if result.columns is None:
            raise ProgrammingError("the statement returns no rows")
        make = None if self.row_factory is tuple_row else self.row_factory(result.columns.names)
        columns = result.columns
        ahead: Any = None
        try:
            while True:
                ahead = wire.fetch(portal, fetch_size, columns) if result.suspended else None
                if ahead is not None:
                    wire.push(0)
                rows: Any = result.rows
                if rows:
                    yield rows if make is None else list(map(make, rows))
                del rows
                if ahead is None:
                    return
                result = self._wait(ahead, None)
        finally:
            if not wire.closed and wire.last_status() == 2:
                if ahead is not None and not ahead.done():
                    wire.discard(ahead)
                self._wait(wire.close_portal(portal), None)

    # transactions

    def commit(self) -> None:
        """Commits the open transaction; nothing happens where none is open."""
        self._run(self._core.end("COMMIT"))

    def rollback(self) -> None:
        """Rolls the open transaction back; nothing happens where none is open."""
        self._run(self._core.end("ROLLBACK"))

    @contextlib.contextmanager
    def transaction(
        self, savepoint_name: str | None = None, *, force_rollback: bool = False
    ) -> Generator[Connection[R]]:
        """A block that is committed at its end and rolled back when it raises. Inside another transaction it is a
        savepoint. Raising :class:`Rollback` rolls back without an error outside."""
        core = self._core
        savepoint, outer = self._run(core.enter_transaction(savepoint_name))
        try:
            yield self
        except Rollback:
            self._run(core.leave_transaction(savepoint, outer, True))
        except BaseException as error:
            try:
                self._run(core.leave_transaction(savepoint, outer, True))
            except errors.Error as second:
                raise error from second
            raise
        else:
            self._run(core.leave_transaction(savepoint, outer, force_rollback))

    @contextlib.contextmanager
    def pipeline(self) -> Generator[Pipeline]:
        """A block in which statements are sent at once and their results read later.

        Each cursor has its own result and its own error, raised where it is fetched from, or at the end of the
        block. Outside a transaction each statement stands for itself; inside one an error ends them all.
        """
        core = self._core
        if core.pipelined is not None:
            yield Pipeline(self)
            return
        core.pipelined = deque()
        core.pipeline_sync = core.begin is None and not core.in_transaction()
        pipeline = Pipeline(self)
        try:
            yield pipeline
        except BaseException:
            cursors, core.pipelined = core.pipelined, None
            self._drain(cursors, quiet=True)
            raise
        else:
            cursors, core.pipelined = core.pipelined, None
            self._drain(cursors, quiet=False)

    def _drain(self, cursors: deque[Cursor[Any]], quiet: bool) -> None:
        core = self._core
        if core.wire.closed:
            return
        end = core.ask_for_answers()
        first: BaseException | None = None
        for cursor in cursors:
            try:
                cursor._resolve()
            except errors.PipelineAborted as error:
                first = first or error
            except errors.Error as error:
                if first is None or isinstance(first, errors.PipelineAborted):
                    first = error
        if end is not None:
            self._wait(end, None)
        if first is not None and not quiet:
            raise first

    @property
    def autocommit(self) -> bool:
        """Whether every statement is a transaction of its own. Changed only between transactions."""
        return self._core.autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        self._core.set_mode("autocommit", bool(value))

    @property
    def isolation_level(self) -> str | None:
        """Isolation level of transactions to come; ``None`` is the server's default."""
        return self._core.isolation_level

    @isolation_level.setter
    def isolation_level(self, value: str | None) -> None:
        self._core.set_mode("isolation_level", value)

    @property
    def read_only(self) -> bool | None:
        """Whether transactions to come are read-only; ``None`` is the server's default."""
        return self._core.read_only

    @read_only.setter
    def read_only(self, value: bool | None) -> None:
        self._core.set_mode("read_only", value)

    @property
    def deferrable(self) -> bool | None:
        """Whether transactions to come are deferrable; ``None`` is the server's default."""
        return self._core.deferrable

    @deferrable.setter
    def deferrable(self, value: bool | None) -> None:
        self._core.set_mode("deferrable", value)

    def xid(self, format_id: int, global_transaction_id: str, branch_qualifier: str) -> Xid:
        """A transaction id for two-phase commit."""
        return Xid(format_id, global_transaction_id, branch_qualifier)

    def tpc_begin(self, xid: Xid | str) -> None:
        """Begins a two-phase transaction."""
        self._run(self._core.tpc_begin(xid))

    def tpc_prepare(self) -> None:
        """First phase."""
        self._run(self._core.tpc_prepare())

    def tpc_commit(self, xid: Xid | str | None = None) -> None:
        """Second phase: commits."""
        self._run(self._core.tpc_finish("COMMIT", xid))

    def tpc_rollback(self, xid: Xid | str | None = None) -> None:
        """Second phase: rolls back."""
        self._run(self._core.tpc_finish("ROLLBACK", xid))

    def tpc_recover(self) -> list[Xid]:
        """The prepared transactions of this database."""
        return self._run(self._core.tpc_recover())

    # COPY

    def copy_in(
        self,
        table: str | Sequence[str],
        source: Iterable[Sequence[Any]] | bytes | IO[bytes] | IO[str],
        *,
        columns: Sequence[str] | None = None,
        format: str = "binary",
    ) -> int:
        """Copies rows, bytes or a file into a table, in blocks, and gives the number of rows.

        Rows travel in the binary format. Bytes and files must be in ``format``: ``binary``, ``text`` or ``csv``.
        """
        from .copy import copy_in

        return copy_in(self, table, source, columns, format)

    def copy_out(
        self,
        source: str | Sequence[str],
        *,
        columns: Sequence[str] | None = None,
        format: str = "binary",
        to: IO[bytes] | None = None,
    ) -> Any:
        """Copies a table or a query out: rows for ``binary``, blocks of bytes for ``text`` and ``csv``. With ``to``
        the bytes are written there, and the number of rows is returned."""
        from .copy import copy_out

        return copy_out(self, source, columns, format, to)

    # what comes unasked

    def listen(self, channel: str) -> None:
        """Subscribes to a channel."""
        self.execute(f"LISTEN {quote_identifier(channel)}")

    def unlisten(self, channel: str | None = None) -> None:
        """Ends a subscription, or all."""
        self.execute(f"UNLISTEN {'*' if channel is None else quote_identifier(channel)}")

    def notifies(self, timeout: float | None = None, stop_after: int | None = None) -> Iterator[Notify]:
        """Notifications as they come. Ends after ``timeout`` seconds without one, or after ``stop_after``."""
        count = 0
        while stop_after is None or count < stop_after:
            notify = self._core.notification()
            if notify is None:
                try:
                    self._core.wire.wait(self._core.wire.notified(), timeout)
                except TimeoutError:
                    return
                continue
            count += 1
            yield notify

    def add_notice_handler(self, handler: Callable[[Notice], None]) -> None:
        """Calls ``handler`` with every notice and warning of the server."""
        self._core.notice_handlers.append(handler)

    def remove_notice_handler(self, handler: Callable[[Notice], None]) -> None:
        """The inverse of :meth:`add_notice_handler`."""
        self._core.notice_handlers.remove(handler)

    # state

    @property
    def closed(self) -> bool:
        """True when the connection is closed, by whomever."""
        return self._core.wire.closed

    @property
    def broken(self) -> bool:
        """True when the connection was lost."""
        return self._core.wire.closed

    @property
    def transaction_status(self) -> TransactionStatus:
        """Where the connection stands."""
        return self._core.status()

    @property
    def parameters(self) -> Mapping[str, str]:
        """The server's parameters as last reported (``server_version``, ``TimeZone``, ...)."""
        return self._core.wire.parameters()

    @property
    def server_version(self) -> int:
        """The server's version as a number: 180004 for 18.4."""
        return server_version(self.parameters.get("server_version", ""))

    @property
    def backend_pid(self) -> int:
        """The process id of the server's end."""
        return self._core.wire.process_id

    @property
    def wire(self) -> Wire:
        """The engine's connection."""
        return self._core.wire

    def timings(self) -> dict[str, dict[str, int]]:
        """Counts and nanoseconds of connect, execute, fetch and close, where ``enable_timing`` is on."""
        return timings(self._core.wire)

    def reset_timings(self) -> None:
        """Sets the counters to zero."""
        self._core.wire.reset_counters()

    def register_adapters(
        self,
        loaders: Mapping[int, Callable[[bytes], Any]] | None = None,
        dumpers: Mapping[type, Callable[[Any], bytes | str]] | None = None,
        *,
        binary: Iterable[int] = (),
    ) -> None:
        """Registers loaders by type oid, which get the value's bytes (text format, or binary for the oids in
        ``binary``), and dumpers by class, which give str (text format) or bytes (binary format)."""
        self._adapters.add(loaders, dumpers, binary)

    def register_composite(self, name: str, factory: Callable[..., Any]) -> None:
        """Values of the composite type ``name``, which is written as in SQL, become ``factory(*attributes)``: a named
        tuple, a dataclass. Without this they are tuples.

        Raises UndefinedObject for an unknown type and ProgrammingError for one that is no composite.
        """
        self._run(self._adapters.composite(name, factory))

    def register_enum(self, name: str, kind: type[enum.Enum]) -> None:
        """Values of the enumeration ``name``, which is written as in SQL, become members of ``kind``, and members are
        sent as labels. A label belongs to the member with that value or, where not all labels are values, to the one
        with that name. Without this they are text.

        Raises UndefinedObject for an unknown type and ProgrammingError for one that is no enumeration, or where a label
        has no member.
        """
        self._run(self._adapters.enumeration(name, kind))

    # ending

    def check_alive(self) -> bool:
        """Whether an idle connection is still there, without a round trip."""
        return self._core.wire.is_alive()

    def reset(self, mode: str = "rollback") -> None:
        """Back to a fresh state: ``none``, ``rollback`` or ``discard`` (DISCARD ALL)."""
        self._run(self._core.reset(mode))

    def cancel(self) -> None:
        """Asks the server to cancel what this connection runs; callable from any thread."""
        self._send_cancel(defaults.CANCEL_TIMEOUT)

    def _send_cancel(self, timeout: float) -> None:
        core = self._core
        if core.wire.closed:
            return
        wire = Wire({**core.wire_options, "cancel": core.wire.cancel_key()})
        deadline = time.monotonic() + timeout
        try:
            wire.open(timeout)
            wire.wait(wire.ready(), max(0.0, deadline - time.monotonic()))
            # The server closes the connection once it has sent the signal.
            wire.wait(wire.notified(), max(0.0, deadline - time.monotonic()))
        except ConnectionClosed:
            pass
        except TimeoutError:
            raise OperationalError(f"the cancel request was not answered within {timeout} s") from None
        finally:
            wire.close()

    def close(self) -> None:
        """Closes the connection; an open transaction is rolled back by the server."""
        if self._strict_close and self.closed:
            raise InterfaceError("the connection is closed already")
        if self._core.timing:
            started = time.perf_counter_ns()
            self._core.wire.close()
            self._core.wire.count(3, time.perf_counter_ns() - started)
            return
        self._core.wire.close()

    def __enter__(self) -> Connection[R]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if not self.closed and self._core.tpc is None:
                if error is None:
                    self.commit()
                else:
                    with contextlib.suppress(errors.Error):
                        self.rollback()
        finally:
            self.close()

    def __repr__(self) -> str:
        state = "closed" if self.closed else self.transaction_status.name.lower()
        options = self._core.options
        where = f"{options.user}@{options.hosts[0]}/{options.dbname}"
        return f"<{type(self).__module__}.{type(self).__name__} {where} [{state}]>"


class Rollback(Exception):
    """Raised inside a ``transaction()`` block it rolls the block back, and is not seen outside."""


class Pipeline:
    """What ``Connection.pipeline()`` gives."""

    def __init__(self, connection: Connection[Any]) -> None:
        self._connection = connection

    def flush(self) -> None:
        """Sends what is queued, and waits for nothing but room in the socket: the server works on it from now on, while
        the caller does something else."""
        core = self._connection._core
        core.ask_for_answers()
        core.wire.push(0)

    def sync(self) -> None:
        """Waits for all results so far; raises the first error."""
        core = self._connection._core
        if core.pipelined is not None:
            cursors, core.pipelined = core.pipelined, deque()
            self._connection._drain(cursors, quiet=False)


def server_version(text: str) -> int:
    """``18.4 (Debian 18.4-1)`` as 180004, ``9.6.24`` as 90624."""
    parts = [int(p) if p.isdigit() else 0 for p in text.split(" ")[0].split(".")]
    if not parts or not parts[0]:
        return 0
    if parts[0] >= 10:
        return parts[0] * 10000 + (parts[1] if len(parts) > 1 else 0)
    minor, patch = [*parts[1:3], 0, 0][:2]
    return parts[0] * 10000 + minor * 100 + patch


def timings(wire: Wire) -> dict[str, dict[str, int]]:
    """The counters by name."""
    names = ("connect", "execute", "fetch", "close")
    return {name: {"count": c, "ns": ns} for name, (c, ns) in zip(names, wire.counters(), strict=True)}
