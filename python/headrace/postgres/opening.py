"""Opening a connection, blocking: the attempts of :mod:`headrace.postgres.attempts`, made one after the other."""

# Made by tools/async_to_sync.py of aio/postgres/opening.py: edit that file, and run the tool.

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import Any, TypeVar, overload

from .. import errors
from .._native import PostgresWire
from .._shared.loading import register_conversions
from .._shared.opening import lookup, open_wire, overdue, password_of
from ..defaults import DAEMON_STARTS
from ..rows import Row, RowFactory, tuple_row
from .attempts import Resolve, Step, Try, attempts, read_only_answer
from .connection import Connection
from .core import AttemptSession, ConnectionCore
from .settings import ConnectOptions, known

T = TypeVar("T")


@overload
def connect(
    conninfo: str = "",
    /,
    *,
    row_factory: None = None,
    autocommit: bool = False,
    strict_close: bool = False,
    **keywords: Any,
) -> Connection[Row]: ...
@overload
def connect(
    conninfo: str = "",
    /,
    *,
    row_factory: RowFactory[T],
    autocommit: bool = False,
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
    """Connects to PostgreSQL.

    Args:
        conninfo: a URL (``postgresql://user@host/db``) or keywords of libpq (``host=... dbname=...``). Settings that
            are not given are taken from the service file, the ``PG*`` environment variables and defaults.
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
    core = _through_daemon(options) if options.daemon else _connect(options)
    core.begin_session(autocommit)
    connection = Connection(core, tuple_row if row_factory is None else row_factory)
    connection._strict_close = strict_close
    register_conversions(connection, (json_loads, json_dumps), loaders, dumpers)
    connection._remember()
    if core.timing:
        core.wire.count("connect", time.perf_counter_ns() - started)
    return connection


def _through_daemon(options: ConnectOptions) -> ConnectionCore:
    """Connects to headraced, which is started if it does not run, or has ended at this moment."""
    from . import headraced
    from .through import through

    changed = through(options)
    folder = changed.hosts[0].host
    starts, core = 0, None
    while core is None:
        try:
            core = _connect(changed) if starts or headraced.check_folder(folder) else None
        except errors.OperationalError as error:
            if not headraced.is_missing(error) or starts == DAEMON_STARTS:
                raise
        if core is None:
            starts += 1
            headraced.start(folder)
    try:
        headraced.check_peer(core.wire.fileno())
    except BaseException:
        core.wire.close()
        raise
    return core


def _connect(options: ConnectOptions) -> ConnectionCore:
    plan = attempts(options)
    answer: Any = None
    try:
        step = next(plan)
        while True:
            try:
                answer = _step(step, options, answer)
            except (OSError, errors.Error) as error:
                step = plan.throw(error)
            else:
                step = plan.send(answer)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]


def _step(step: Step, options: ConnectOptions, session: Any) -> Any:
    if isinstance(step, Resolve):
        return lookup(step.host, step.port, options.connect_timeout or None)
    if isinstance(step, Try):
        return _open(step, options)
    timeout = options.connect_timeout or None
    asked = session.wire.script("SELECT pg_catalog.pg_is_in_recovery(); SHOW transaction_read_only")
    try:
        results: Any = session.wire.wait(asked, timeout)
    except TimeoutError:
        raise overdue(timeout) from None
    return read_only_answer(results)


def _open(step: Try, options: ConnectOptions) -> ConnectionCore:
    timeout = options.connect_timeout or None
    wire_options = {**step.options, "password": password_of(options.password_for(step.host))}
    wire = PostgresWire(wire_options)
    open_wire(wire, timeout)
    return AttemptSession(wire, options, wire_options)
