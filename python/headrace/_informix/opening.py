"""Opening a connection: the server's addresses in turn, and the server that it redirects to."""

from __future__ import annotations

import time
from collections.abc import Generator
from dataclasses import dataclass
from typing import Any, Final

from .. import errors
from .._native import Wire
from .._opening import no_connection, open_wire, resolve
from ..errors import OperationalError
from ..rows import RowFactory, tuple_row
from .connection import Connection
from .core import InformixCore
from .settings import ConnectOptions, connect_options

REDIRECTS: Final = 8
"""How often a server may send a client on to another one."""


@dataclass(frozen=True)
class Resolve:
    """To be answered with the addresses of a host."""

    host: str
    port: int


@dataclass(frozen=True)
class Try:
    """To be answered with a session made with these options; with the wire and the error where there is none."""

    options: dict[str, Any]


Plan = Generator["Resolve | Try", Any, Wire]


def attempts(options: ConnectOptions) -> Plan:
    """What to try, one after the other; gives the session. Raises OperationalError."""
    host, port, server = options.host, options.port, options.server
    for _ in range(REDIRECTS):
        failures: list[errors.Error] = []
        redirect: tuple[str, str, int] | None = None
        for address in (yield Resolve(host, port)):
            wire, failure = yield Try(options.wire_options(address, server))
            if failure is None:
                return wire  # type: ignore[no-any-return]
            failures.append(failure)
            redirect = wire.sqli_redirect()
            # A server that was reached and said no has the last word.
            if redirect is not None or failure.sqlcode is not None:
                break
        if redirect is None:
            raise no_connection(failures)
        server, host, port = redirect
    raise OperationalError(f"the server redirects more than {REDIRECTS} times")


def connect(
    conninfo: str = "",
    /,
    *,
    autocommit: bool = False,
    row_factory: RowFactory[Any] | None = None,
    strict_close: bool = False,
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
    core = InformixCore(_connect(options), options)
    core.autocommit = autocommit
    core.socket = core.wire.fileno() if options.sslmode == "disable" else None
    if core.timing:
        core.wire.count(0, time.perf_counter_ns() - started)
    connection = Connection(core, row_factory or tuple_row)
    connection._strict_close = strict_close
    return connection


def _connect(options: ConnectOptions) -> Wire:
    deadline = None if options.connect_timeout is None else time.monotonic() + options.connect_timeout
    plan = attempts(options)
    answer: Any = None
    try:
        while True:
            step = plan.send(answer)
            if isinstance(step, Resolve):
                answer = resolve(step.host, step.port)
                continue
            wire = Wire(step.options)
            try:
                open_wire(wire, None if deadline is None else max(0.0, deadline - time.monotonic()))
            except errors.ConnectionTimeout:
                raise
            except errors.Error as failure:
                answer = wire, failure
            else:
                answer = wire, None
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]
