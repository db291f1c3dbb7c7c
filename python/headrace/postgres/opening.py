"""Opening a blocking connection: the attempts of :mod:`.attempts`, made one after the other."""

from __future__ import annotations

import time
from typing import Any, TypeVar, overload

from .. import errors
from .._native import PostgresWire, Result
from .._shared.opening import lookup, open_wire, plain_password
from ..rows import Row, RowFactory, tuple_row
from .attempts import Resolve, Step, Try, attempts
from .connection import Connection
from .core import ConnectionCore, Session
from .settings import ConnectOptions, connect_options

T = TypeVar("T")


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
def connect(
    conninfo: str = "",
    /,
    *,
    autocommit: bool = False,
    row_factory: RowFactory[Any] | None = None,
    strict_close: bool = False,
    **keywords: Any,
) -> Connection[Any]:
    """Connects to PostgreSQL.

    Args:
        conninfo: a URL (``postgresql://user@host/db``) or keywords of libpq (``host=... dbname=...``). Settings that
            are not given are taken from the service file, the ``PG*`` environment variables and defaults.
        autocommit: true if every statement is to be a transaction of its own.
        row_factory: converts rows, see :mod:`headrace.rows`; None for tuples.
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
    options = connect_options(conninfo, keywords)
    core = _connect(options)
    core.autocommit = autocommit
    core.refresh_begin()
    if core.timing:
        core.wire.count("connect", time.perf_counter_ns() - started)
    connection = Connection(core, row_factory or tuple_row)
    connection._strict_close = strict_close
    return connection


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
    result: Result = session.wire.wait(
        session.wire.script("SELECT pg_catalog.pg_is_in_recovery(); SHOW transaction_read_only"),
        options.connect_timeout or None,
    )
    return read_only_answer(result)


def read_only_answer(results: Any) -> tuple[str, str]:
    """in_hot_standby and default_transaction_read_only, as the server would report them."""
    recovery, read_only = results[0].rows[0][0], results[1].rows[0][0]
    return ("on" if recovery else "off", read_only)


def _open(step: Try, options: ConnectOptions) -> ConnectionCore:
    wire_options = {**step.options, "password": plain_password(options.password_for(step.host))}
    return Session(open_wire(PostgresWire(wire_options), options.connect_timeout or None), options, wire_options)
