"""Opening a connection to Informix, blocking: the attempts of :mod:`headrace.informix.attempts`."""

# Made by tools/async_to_sync.py of aio/informix/opening.py: edit that file, and run the tool.

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from .. import errors
from .._native import InformixWire
from .._shared.loading import register_conversions
from .._shared.opening import left, open_wire, overdue, password_of, resolve, share
from ..errors import ConnectionTimeout
from ..rows import Row, RowFactory, tuple_row
from .attempts import Resolve, Turn, attempts
from .connection import Connection
from .conversing import converse
from .core import InformixCore
from .settings import ConnectOptions, known

T = TypeVar("T")


@overload
def connect(
    conninfo: str = "",
    /,
    *,
    autocommit: bool = False,
    row_factory: None = None,
    strict_close: bool = False,
    **keywords: Any,
) -> Connection[Row]: ...
@overload
def connect(
    conninfo: str = "",
    /,
    *,
    autocommit: bool = False,
    row_factory: RowFactory[T],
    strict_close: bool = False,
    **keywords: Any,
) -> Connection[T]: ...
def connect(
    conninfo: str = "",
    /,
    *,
    autocommit: bool = False,
    row_factory: RowFactory[Any] | None = None,
    json_loads: Callable[[str], Any] | None = None,
    json_dumps: Callable[[Any], str | bytes] | None = None,
    loaders: Mapping[str | int, Callable[[Any], Any] | None] | None = None,
    dumpers: Mapping[type, Callable[[Any], bytes | str]] | None = None,
    strict_close: bool = False,
    **keywords: Any,
) -> Connection[Any]:
    """Connects to Informix.

    Keywords: ``host``, ``port``, ``server``, ``database``, ``user``, ``password``, ``pam`` (a function that answers the
    server's questions at login, called with the question and whether the answer may be shown), ``sslmode``,
    ``sslrootcert``, ``connect_timeout`` (seconds, 0 for no limit), ``isolation_level``, ``lock_wait`` (seconds), and
    names in capitals (or ``env``) for variables of the session such as ``DB_LOCALE``. Without a host the server is
    looked up in the sqlhosts file.

    Args:
        conninfo: a URL (``informix://user@host:9088/db?server=name``), an ODBC string (``SERVER=...;DATABASE=...``) or
            a JDBC URL (``jdbc:informix-sqli://...``).
        autocommit: true if every statement is to be a transaction of its own.
        row_factory: converts rows, see :mod:`headrace.rows`; None for tuples.
        json_loads: makes objects of JSON text; None for what :func:`headrace.types.set_json` has set, or `json.loads`.
        json_dumps: makes JSON text of objects, likewise.
        loaders: make objects of the values of columns, as ``register_loaders`` takes them; None for what
            :func:`headrace.types.set_loaders` has set.
        dumpers: make parameters of objects, as ``register_dumpers`` takes them, likewise.
        strict_close: closing a closed connection raises ConnectionClosed, as PEP 249's compliance suite requires; by
            default it does nothing.
        keywords: settings, listed in the documentation of the database.

    Returns:
        An open connection.

    Raises:
        ProgrammingError: a setting is wrong or unknown.
        OperationalError: no connection could be opened; ``error.code`` is the reason.
        ConnectionTimeout: not within ``connect_timeout`` seconds.
    """
    started = time.perf_counter_ns()
    options = known.options(conninfo, keywords)
    core = _connect(options)
    core.begin_session(autocommit)
    connection = Connection(core, tuple_row if row_factory is None else row_factory)
    connection._strict_close = strict_close
    try:
        connection._run(core.start())
    except BaseException:
        core.wire.close()
        raise
    register_conversions(connection, (json_loads, json_dumps), loaders, dumpers)
    connection._remember()
    if core.timing:
        core.wire.count("connect", time.perf_counter_ns() - started)
    return connection


def _connect(options: ConnectOptions) -> InformixCore:
    if callable(options.password):
        options = options.with_password(password_of(options.password))
    plan = attempts(options)
    timeout = options.connect_timeout
    deadline = None if timeout is None else time.monotonic() + timeout
    limit = deadline
    answer: Any = None
    try:
        step = next(plan)
        while True:
            try:
                if isinstance(step, Turn):
                    limit = share(deadline, step.left)
                elif isinstance(step, Resolve):
                    answer = resolve(step.host, step.port, left(limit))
                else:
                    step.wire = InformixWire(step.options)
                    open_wire(step.wire, left(limit))
                    converse(step.wire, options, limit)
            except errors.Error as error:
                step = plan.throw(error)
            else:
                step = plan.send(answer)
    except StopIteration as stop:
        wire, wire_options = stop.value
    except ConnectionTimeout:
        # A part of the time was what is named.
        raise overdue(timeout) from None
    return InformixCore(wire, options, encrypted=wire_options["tls"] != "no")
