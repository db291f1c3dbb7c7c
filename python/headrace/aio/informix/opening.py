"""Opening a connection to Informix, asyncio: the attempts of :mod:`headrace.informix.attempts`."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from ... import errors
from ..._native import InformixWire
from ..._shared.loading import register_conversions
from ..._shared.opening import left, overdue, share
from ...errors import ConnectionTimeout
from ...informix.attempts import Resolve, Turn, attempts
from ...informix.core import InformixCore
from ...informix.settings import ConnectOptions, known
from ...rows import Row, RowFactory, tuple_row
from .._shared.opening import Opening, open_wire, opening, password_of, resolve
from .connection import AsyncConnection
from .conversing import converse

T = TypeVar("T")


@overload
def connect(
    conninfo: str = "",
    /,
    *,
    autocommit: bool = False,
    row_factory: None = None,
    # blocking: strict_close: bool = False,
    **keywords: Any,
) -> Opening[AsyncConnection[Row]]: ...
@overload
def connect(
    conninfo: str = "",
    /,
    *,
    autocommit: bool = False,
    row_factory: RowFactory[T],
    # blocking: strict_close: bool = False,
    **keywords: Any,
) -> Opening[AsyncConnection[T]]: ...
@opening  # blocking:
async def connect(
    conninfo: str = "",
    /,
    *,
    autocommit: bool = False,
    row_factory: RowFactory[Any] | None = None,
    json_loads: Callable[[str], Any] | None = None,
    json_dumps: Callable[[Any], str | bytes] | None = None,
    loaders: Mapping[str | int, Callable[[Any], Any] | None] | None = None,
    dumpers: Mapping[type, Callable[[Any], bytes | str]] | None = None,
    # blocking: strict_close: bool = False,
    **keywords: Any,
) -> AsyncConnection[Any]:
    """Connects to Informix on the running event loop. The function ``pam`` may be asynchronous.

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
    core = await _connect(options)
    core.begin_session(autocommit)
    connection = AsyncConnection(core, tuple_row if row_factory is None else row_factory)
    # blocking: connection._strict_close = strict_close
    try:
        await connection._run(core.start())
    except BaseException:
        core.wire.close()
        raise
    register_conversions(connection, (json_loads, json_dumps), loaders, dumpers)
    connection._remember()
    if core.timing:
        core.wire.count("connect", time.perf_counter_ns() - started)
    return connection


async def _connect(options: ConnectOptions) -> InformixCore:
    if callable(options.password):
        options = options.with_password(await password_of(options.password))
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
                    answer = await resolve(step.host, step.port, left(limit))
                else:
                    step.wire = InformixWire(step.options, asyncio.get_running_loop())  # asyncio only
                    # blocking: step.wire = InformixWire(step.options)
                    await open_wire(step.wire, step.options, left(limit))  # asyncio only
                    # blocking: open_wire(step.wire, left(limit))
                    await converse(step.wire, options, limit)
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
