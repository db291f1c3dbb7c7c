"""Opening a connection to MySQL or MariaDB, asyncio."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from ... import errors
from ..._native import MySqlWire
from ..._shared.loading import register_conversions
from ..._shared.opening import no_connection
from ...mysql.core import MySqlCore, is_refusal
from ...mysql.settings import ConnectOptions, known
from ...rows import Row, RowFactory, tuple_row
from .._shared.opening import Opening, open_wire, opening, password_of, resolve
from .._shared.watch import watch_over
from .connection import AsyncConnection

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
    """Connects to MySQL or MariaDB on the running event loop. A password function may be asynchronous.

    Args:
        conninfo: a URL (``mysql://user@host/db`` or ``mariadb://...``).
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
    core = await _connect(known.options(conninfo, keywords))
    connection = AsyncConnection(core, tuple_row if row_factory is None else row_factory)
    # blocking: connection._strict_close = strict_close
    try:
        await connection._run(core.start(autocommit))
    except BaseException:
        core.wire.close()
        raise
    register_conversions(connection, (json_loads, json_dumps), loaders, dumpers)
    connection._remember()
    if core.timing:
        core.wire.count("connect", time.perf_counter_ns() - started)
    return connection


async def _connect(options: ConnectOptions) -> MySqlCore:
    failures: list[errors.Error] = []
    for host, port in options.places():
        found: list[tuple[str, int] | None] = [None]
        if host is not None:
            try:
                found = [*await resolve(host, port, options.timeout)]
            except errors.Error as error:
                failures.append(error)
                continue
        for address in found:
            password = await password_of(options.password)
            wire_options = options.wire_options(address, host or "localhost", password)
            wire = MySqlWire(wire_options, asyncio.get_running_loop())  # blocking: wire = MySqlWire(wire_options)
            try:
                transport = await open_wire(wire, wire_options, options.timeout)  # asyncio only
                # blocking: open_wire(wire, options.timeout)
            except errors.Error as error:
                if is_refusal(error):
                    raise
                failures.append(error)
            else:
                core = MySqlCore(wire, options, wire_options)
                core.watch = watch_over(wire)  # asyncio only
                if core.watch is not None:  # asyncio only
                    core.watch.transport = transport
                return core
    raise no_connection(failures)
