"""The blocking connection to Informix."""

from __future__ import annotations

import socket
import time
from collections.abc import Iterable
from typing import Any, TypeVar

from .. import errors
from .._connection import BlockingConnection
from .._cursor import BlockingCursor
from .._cursor_base import Params
from .._native import Wire
from ..errors import ConnectionTimeout, InterfaceError, OperationalError
from ..rows import RowFactory, tuple_row
from .core import InformixCore
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


class Connection(BlockingConnection[R]):
    """A connection to Informix. Threads may share it: their calls queue up."""

    _core: InformixCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def _cursor(self, factory: RowFactory[T]) -> Cursor[T]:
        return Cursor(self, factory)

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

    def ping(self) -> None:
        """A round trip that does nothing else (SQ_VERSION). Raises OperationalError when the server is gone."""
        self._wait(self._core.wire.sqli_ping(), None)

    def _send_cancel(self, timeout: float) -> None:
        # An urgent byte; TLS cannot carry one.
        if not self._core.send_urgent():
            raise errors.NotSupportedError("a statement cannot be interrupted over TLS; use a timeout, or close()")


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
