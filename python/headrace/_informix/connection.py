"""The blocking connection to Informix."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Generator, Iterable
from types import TracebackType
from typing import Any, Generic, TypeVar

from .. import defaults, errors
from .._cursor import BlockingCursor
from .._cursor_base import Params
from .._native import Wire
from .._postgres.connection import Rollback, timings
from ..errors import ConnectionTimeout, InterfaceError, OperationalError, ProgrammingError
from ..rows import RowFactory, tuple_row
from ..types import TransactionStatus
from .core import Flow, InformixCore
from .settings import ConnectOptions, connect_options

R = TypeVar("R")
T = TypeVar("T")

REDIRECTS = 8
"""How often a server may send a client on to another one."""


class Cursor(BlockingCursor[R]):
    """Executes statements and holds their results (PEP 249). Parameters are written ``?`` or ``:1``."""

    @property
    def connection(self) -> Connection[Any]:
        """The connection it belongs to."""
        return self._connection  # type: ignore[no-any-return]


class Connection(Generic[R]):
    """One session. Threads may share it; their statements queue up."""

    def __init__(self, core: InformixCore, row_factory: RowFactory[R]) -> None:
        self._core = core
        self.row_factory: RowFactory[R] = row_factory

    # waiting

    def _wait(self, ticket: Any, timeout: float | None) -> Any:
        try:
            return self._core.wire.wait(ticket, timeout)
        except TimeoutError:
            self._abandon(ticket)
            raise TimeoutError(f"the statement took longer than {timeout} s and was cancelled") from None
        except errors.Error:
            raise
        except BaseException:
            self._abandon(ticket)
            raise

    def _run(self, flow: Flow[T]) -> T:
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

    def _abandon(self, ticket: Any) -> None:
        """Gets the connection back in step after a request that nobody waits for any more, or closes it."""
        wire = self._core.wire
        if wire.closed:
            return
        try:
            if wire.discard(ticket):
                wire.push(0)
                self._core.send_urgent()
            wire.wait(wire.sqli_ping(), defaults.CANCEL_TIMEOUT)
        except BaseException:
            # Out of step, or a second interrupt: only a closed connection is safe now.
            wire.close()

    # executing

    def cursor(self, *, row_factory: RowFactory[Any] | None = None) -> Cursor[Any]:
        """A new cursor."""
        if self._core.wire.closed:
            raise InterfaceError("the connection is closed")
        return Cursor(self, row_factory or self.row_factory)

    def execute(self, sql: str, params: Params = None, *, timeout: float | None = None) -> Cursor[R]:
        """Executes one statement on a new cursor, and gives the cursor."""
        return Cursor(self, self.row_factory).execute(sql, params, timeout=timeout)

    def executemany(self, sql: str, rows: Iterable[Any]) -> Cursor[R]:
        """Executes a batch on a new cursor, all rows or none, and gives the cursor."""
        return Cursor(self, self.row_factory).executemany(sql, rows)

    def fetch(self, sql: str, *args: Any) -> list[R]:
        """All rows of a query, its parameters given one by one."""
        return self.execute(sql, args or None).fetchall()

    def fetchrow(self, sql: str, *args: Any) -> R | None:
        """The first row of a query, or ``None``."""
        return self.execute(sql, args or None).fetchone()

    def fetchval(self, sql: str, *args: Any) -> Any:
        """The first value of the first row of a query, or ``None``."""
        row = Cursor(self, tuple_row).execute(sql, args or None).fetchone()
        return None if row is None else row[0]

    # transactions

    def commit(self) -> None:
        """Commits the open transaction; nothing happens where none is open."""
        self._run(self._core.end(False))

    def rollback(self) -> None:
        """Rolls the open transaction back; nothing happens where none is open."""
        self._run(self._core.end(True))

    @contextlib.contextmanager
    def transaction(
        self, savepoint_name: str | None = None, *, force_rollback: bool = False
    ) -> Generator[Connection[R]]:
        """A block that is committed at its end and rolled back when it raises. Inside another transaction it is a
        savepoint. Raising :class:`Rollback` rolls back without an error outside."""
        core = self._core
        savepoint = self._run(core.enter_transaction(savepoint_name))
        try:
            yield self
        except Rollback:
            self._run(core.leave_transaction(savepoint, True))
        except BaseException as error:
            try:
                self._run(core.leave_transaction(savepoint, True))
            except errors.Error as second:
                raise error from second
            raise
        else:
            self._run(core.leave_transaction(savepoint, force_rollback))

    @property
    def autocommit(self) -> bool:
        """Whether every statement is a transaction of its own. Changed only between transactions."""
        return self._core.autocommit

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        self._core.set_autocommit(bool(value))

    @property
    def transaction_status(self) -> TransactionStatus:
        """Where the connection stands."""
        return self._core.status()

    # the session

    @property
    def server_version(self) -> str:
        """The server's banner. What a server can do is negotiated; nothing depends on this text."""
        return self._core.wire.sqli_session()[0]

    @property
    def encoding(self) -> str:
        """The code set of the database, in which text travels."""
        return self._core.wire.sqli_session()[2]

    @property
    def logging(self) -> str:
        """How the database treats transactions: ``none``, ``logged`` or ``ansi``."""
        return self._core.wire.sqli_session()[3]

    @property
    def timings(self) -> dict[str, dict[str, int]]:
        """Counts and nanoseconds of connect, execute, fetch and close, with ``enable_timing``."""
        return timings(self._core.wire)

    @property
    def closed(self) -> bool:
        """Whether the connection is closed, for whatever reason."""
        return self._core.wire.closed

    def ping(self) -> None:
        """A round trip that does nothing else (SQ_VERSION). Raises OperationalError when the server is gone."""
        self._wait(self._core.wire.sqli_ping(), None)

    def check_alive(self) -> bool:
        """Whether an idle connection is still there, without a round trip."""
        return self._core.wire.is_alive()

    def cancel(self) -> None:
        """Interrupts what this connection runs, by an urgent byte; callable from any thread.

        Raises NotSupportedError under TLS, which cannot carry one.
        """
        if not self._core.send_urgent() and not self.closed:
            raise errors.NotSupportedError("a statement cannot be interrupted over TLS; use a timeout, or close()")

    def reset(self, mode: str = "rollback") -> None:
        """Back to a fresh state: ``none`` or ``rollback``."""
        if mode not in ("none", "rollback"):
            raise ProgrammingError(f"reset={mode!r} is not one of none, rollback")
        if mode == "rollback":
            self._run(self._core.reset())

    def close(self) -> None:
        """Closes the connection; an open transaction is rolled back by the server."""
        self._core.wire.close()

    def __enter__(self) -> Connection[R]:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if not self.closed:
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
        where = f"{options.user}@{options.host}:{options.port}/{options.database or ''}"
        return f"<headrace.informix.Connection {where} [{state}]>"


def connect(
    conninfo: str = "",
    /,
    *,
    autocommit: bool = False,
    row_factory: RowFactory[Any] | None = None,
    **keywords: Any,
) -> Connection[Any]:
    """Connects to Informix.

    ``conninfo`` is a URL (``informix://user@host:9088/db?server=name``), an ODBC string (``SERVER=...;DATABASE=...``)
    or a JDBC URL (``jdbc:informix-sqli://...``); keywords can also be given one by one: ``host``, ``port``, ``server``,
    ``database``, ``user``, ``password``, ``sslmode``, ``connect_timeout`` (seconds), and names in capitals (or ``env``)
    for variables of the session such as ``DB_LOCALE``.

    Raises ProgrammingError for wrong settings, OperationalError when no connection can be made.
    """
    started = time.perf_counter_ns()
    options = connect_options(conninfo, keywords)
    core = _connect(options)
    core.autocommit = autocommit
    if core.timing:
        core.wire.count(0, time.perf_counter_ns() - started)
    return Connection(core, row_factory or tuple_row)


def _connect(options: ConnectOptions) -> InformixCore:
    deadline = None if options.connect_timeout is None else time.monotonic() + options.connect_timeout
    host, port, server = options.host, options.port, options.server
    for _ in range(REDIRECTS):
        wire, error = _try(options, host, port, server, deadline)
        if error is None:
            core = InformixCore(wire, options)
            core.socket = wire.fileno() if options.sslmode == "disable" else None
            return core
        redirect = wire.sqli_redirect()
        if redirect is None:
            raise error
        server, host, port = redirect
    raise OperationalError(f"the server redirects more than {REDIRECTS} times")


def _try(
    options: ConnectOptions, host: str, port: int, server: str, deadline: float | None
) -> tuple[Wire, BaseException | None]:
    try:
        found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    except OSError as failure:
        raise OperationalError(f"host {host!r} is unknown: {failure}") from None
    wire, error = None, None
    for address in dict.fromkeys((str(entry[4][0]), port) for entry in found):
        wire = Wire(options.wire_options(address, server))
        try:
            wire.open(_left(deadline))
            wire.wait(wire.ready(), _left(deadline))
        except TimeoutError:
            wire.close()
            raise ConnectionTimeout(f"no session within connect_timeout={options.connect_timeout} s") from None
        except errors.Error as failure:
            wire.close()
            error = failure
            if wire.sqli_redirect() is not None or failure.sqlcode is not None:
                break
        except BaseException:
            wire.close()
            raise
        else:
            return wire, None
    assert wire is not None, "getaddrinfo gives an address or raises"
    return wire, error


def _left(deadline: float | None) -> float | None:
    return None if deadline is None else max(0.0, deadline - time.monotonic())
