"""Opening a connection to CUBRID, asyncio."""

from __future__ import annotations

import asyncio
import time
import weakref
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from ... import errors
from ..._native import CubridWire
from ..._shared.loading import register_conversions
from ..._shared.opening import left, no_connection, overdue, share
from ...cubrid.core import CubridCore
from ...cubrid.settings import ConnectOptions, is_refusal, known, unreachable
from ...errors import ConnectionTimeout
from ...rows import Row, RowFactory, tuple_row
from .._shared.opening import Opening, open_wire, opening, password_of, resolve
from .._shared.transport import open_transport
from .._shared.watch import Watch, watch_over
from .._shared.within import within
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
    """Connects to CUBRID on the running event loop. A password function may be asynchronous.

    Keywords: ``host`` and ``port`` (or lists of them), ``database``, ``user``, ``password``, ``alt_hosts``,
    ``load_balance``, ``rc_time``, ``ssl`` or ``sslmode`` and ``sslrootcert``, ``connect_timeout``, ``command_timeout``,
    ``read_timeout`` and ``lock_timeout`` (seconds), ``query_timeout`` (milliseconds), ``isolation_level``,
    ``keep_cas``, ``statement_cache_size``, ``enable_timing``. The names that CUBRID's own drivers have are understood,
    too.

    Args:
        conninfo: a URL (``cubrid://user@host:33000/db``), or a connection string of CUBRID's own drivers
            (``CUBRID:host:port:db:user:password:?...``, ``jdbc:cubrid:...``).
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


async def _connect(options: ConnectOptions) -> CubridCore:
    failures: list[errors.Error] = []
    timeout = options.connect_timeout
    deadline = None if timeout is None else time.monotonic() + timeout
    places = options.places()
    for number, (host, port) in enumerate(places):
        limit = share(deadline, len(places) - number)
        try:
            for address in await resolve(host, port, left(limit)):
                wire_options = options.wire_options(address, host, await password_of(options.password))
                wire = CubridWire(wire_options, asyncio.get_running_loop())  # blocking: wire = CubridWire(wire_options)
                watch = watch_over(wire)  # asyncio only
                # First: the broker may take the process back as soon as the session is open.  # asyncio only
                reconnects(wire, wire_options, timeout, watch)  # asyncio only
                try:
                    transport = await open_wire(wire, wire_options, left(limit))  # asyncio only
                    # blocking: open_wire(wire, left(limit))
                except errors.Error as error:
                    if is_refusal(error) or isinstance(error, ConnectionTimeout):
                        raise
                    failures.append(error)
                else:
                    unreachable.pop((host, port), None)
                    core = CubridCore(wire, options, wire_options)
                    if watch is not None:  # asyncio only
                        watch.transport, core.watch = transport, watch
                    return core
        except errors.OperationalError as error:
            if is_refusal(error):
                raise
            failures.append(error)
        unreachable[host, port] = time.monotonic()
    if isinstance(failures[-1], ConnectionTimeout):
        # A part of the time was what is named.
        raise overdue(timeout) from None
    raise no_connection(failures)


def reconnects(
    wire: CubridWire, options: dict[str, Any], timeout: float | None, watch: Watch | None
) -> None:  # asyncio only
    """Has the running loop connect ``wire`` again where its session goes on after the connection was lost. ``watch`` is
    what looks at it."""
    loop = asyncio.get_running_loop()
    me = weakref.ref(wire)
    watching = None if watch is None else weakref.ref(watch)
    tasks: set[asyncio.Task[None]] = set()

    async def again(wire: CubridWire, port: int) -> None:
        try:
            transport = await within(timeout, open_transport(loop, wire, {"tcp": (options["tcp"][0], port)}))
            if watching is not None and (watch := watching()) is not None:
                watch.transport = transport
        except (errors.Error, TimeoutError) as error:
            wire.give_up(f"the connection was lost, and cannot be made again: {error or 'it takes too long'}")

    def begin(port: int) -> None:
        wire = me()
        if wire is not None:
            task = loop.create_task(again(wire, port))
            tasks.add(task)
            task.add_done_callback(tasks.discard)

    wire.on_reconnect(begin)
