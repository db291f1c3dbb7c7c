"""Opening a blocking connection."""

from __future__ import annotations

import inspect
import socket
import time
from typing import Any

from .. import errors
from .._native import Wire
from ..errors import ConnectionTimeout, OperationalError, ProgrammingError
from ..rows import RowFactory, tuple_row
from .connection import Connection
from .core import MySqlCore
from .settings import ConnectOptions, connect_options


def connect(
    conninfo: str = "",
    /,
    *,
    autocommit: bool = False,
    row_factory: RowFactory[Any] | None = None,
    **keywords: Any,
) -> Connection[Any]:
    """Connects to MySQL or MariaDB.

    ``conninfo`` is a URL (``mysql://user@host/db`` or ``mariadb://...``); keywords can also be given one by one.

    Raises ProgrammingError for wrong settings, OperationalError when no connection can be made.
    """
    started = time.perf_counter_ns()
    options = connect_options(conninfo, keywords)
    core = _connect(options)
    connection = Connection(core, row_factory or tuple_row)
    try:
        connection._run(core.start(autocommit))
    except BaseException:
        core.wire.close()
        raise
    if core.timing:
        core.wire.count(0, time.perf_counter_ns() - started)
    return connection


def _connect(options: ConnectOptions) -> MySqlCore:
    failures: list[errors.Error] = []
    for address, name in addresses(options):
        password: Any = options.password
        if callable(password):
            password = password()
            if inspect.isawaitable(password):
                raise ProgrammingError("the password callable is asynchronous; a blocking connection needs a plain one")
        try:
            return _open(options, options.wire_options(address, name, password))
        except errors.Error as error:
            failures.append(error)
    raise no_connection(failures)


def no_connection(failures: list[errors.Error]) -> errors.Error:
    """The error for failed attempts."""
    if len(failures) == 1:
        return failures[0]
    return OperationalError("no connection could be made: " + "; ".join(str(error) for error in failures))


def addresses(options: ConnectOptions) -> list[tuple[tuple[str, int] | None, str]]:
    """The addresses to try in turn, each with the server's name for TLS; None is the Unix socket."""
    if options.socket:
        return [(None, "localhost")]
    out: list[tuple[tuple[str, int] | None, str]] = []
    for host, port in options.hosts:
        try:
            found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
        except OSError as error:
            raise OperationalError(f"host {host!r} is unknown: {error}") from None
        out.extend((address, host) for address in dict.fromkeys((str(entry[4][0]), port) for entry in found))
    return out


def _open(options: ConnectOptions, wire_options: dict[str, Any]) -> MySqlCore:
    wire = Wire(wire_options)
    timeout = options.timeout
    deadline = None if timeout is None else time.monotonic() + timeout
    try:
        wire.open(timeout)
        wire.wait(wire.ready(), None if deadline is None else max(0.0, deadline - time.monotonic()))
    except TimeoutError:
        wire.close()
        raise ConnectionTimeout(f"no session within connect_timeout={timeout} s") from None
    except BaseException:
        wire.close()
        raise
    return MySqlCore(wire, options, wire_options)
