"""Opening a connection to MySQL or MariaDB, blocking."""

# Made by tools/async_to_sync.py of aio/mysql/opening.py: edit that file, and run the tool.

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from .. import errors
from .._native import MySqlWire
from .._shared.loading import register_conversions
from .._shared.opening import no_connection, open_wire, password_of, resolve
from ..rows import Row, RowFactory, tuple_row
from .connection import Connection
from .core import MySqlCore, is_refusal
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
    """Connects to MySQL or MariaDB.

    Args:
        conninfo: a URL (``mysql://user@host/db`` or ``mariadb://...``).
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
    core = _connect(known.options(conninfo, keywords))
    connection = Connection(core, tuple_row if row_factory is None else row_factory)
    connection._strict_close = strict_close
    try:
        connection._run(core.start(autocommit))
    except BaseException:
        core.wire.close()
        raise
    register_conversions(connection, (json_loads, json_dumps), loaders, dumpers)
    connection._remember()
    if core.timing:
        core.wire.count("connect", time.perf_counter_ns() - started)
    return connection


def _connect(options: ConnectOptions) -> MySqlCore:
    failures: list[errors.Error] = []
    for host, port in options.places():
        found: list[tuple[str, int] | None] = [None]
        if host is not None:
            try:
                found = [*resolve(host, port, options.timeout)]
            except errors.Error as error:
                failures.append(error)
                continue
        for address in found:
            password = password_of(options.password)
            wire_options = options.wire_options(address, host or "localhost", password)
            wire = MySqlWire(wire_options)
            try:
                open_wire(wire, options.timeout)
            except errors.Error as error:
                if is_refusal(error):
                    raise
                failures.append(error)
            else:
                return MySqlCore(wire, options, wire_options)
    raise no_connection(failures)
