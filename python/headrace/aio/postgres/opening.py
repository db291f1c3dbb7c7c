"""Opening an asyncio connection: the attempts of :mod:`headrace.postgres.attempts`, made one after the other."""

from __future__ import annotations

import asyncio
import contextlib
import ipaddress
import time
from typing import Any, TypeVar, overload

from ... import errors
from ..._native import PostgresWire
from ..._shared.opening import addresses
from ...postgres.attempts import Resolve, Step, Try, attempts
from ...postgres.core import ConnectionCore, Session
from ...postgres.opening import read_only_answer
from ...postgres.settings import ConnectOptions, connect_options
from ...rows import Row, RowFactory, tuple_row
from .._shared.opening import any_password, lookup, open_wire
from .connection import AsyncConnection

T = TypeVar("T")


@overload
async def connect(
    conninfo: str = "", /, *, row_factory: RowFactory[T], autocommit: bool = False, **keywords: Any
) -> AsyncConnection[T]: ...
@overload
async def connect(
    conninfo: str = "", /, *, row_factory: None = None, autocommit: bool = False, **keywords: Any
) -> AsyncConnection[Row]: ...
async def connect(
    conninfo: str = "",
    /,
    *,
    autocommit: bool = False,
    row_factory: RowFactory[Any] | None = None,
    **keywords: Any,
) -> AsyncConnection[Any]:
    """Connects to PostgreSQL on the running event loop. A password function may be asynchronous.

    Args:
        conninfo: a URL (``postgresql://user@host/db``) or keywords of libpq (``host=... dbname=...``). Settings that
            are not given are taken from the service file, the ``PG*`` environment variables and defaults.
        autocommit: true if every statement is to be a transaction of its own.
        row_factory: converts rows, see :mod:`headrace.rows`; None for tuples.
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
    core = await _connect(options)
    core.autocommit = autocommit
    core.refresh_begin()
    if core.timing:
        core.wire.count("connect", time.perf_counter_ns() - started)
    return AsyncConnection(core, row_factory or tuple_row)


async def _connect(options: ConnectOptions) -> ConnectionCore:
    plan = attempts(options)
    answer: Any = None
    try:
        step = next(plan)
        while True:
            try:
                answer = await _step(step, options, answer)
            except (OSError, errors.Error) as error:
                step = plan.throw(error)
            else:
                step = plan.send(answer)
    except StopIteration as stop:
        return stop.value  # type: ignore[no-any-return]


async def _step(step: Step, options: ConnectOptions, session: Any) -> Any:
    if isinstance(step, Resolve):
        return await _resolve(step)
    if isinstance(step, Try):
        return await _open(step, options)
    results = await session.wire.script("SELECT pg_catalog.pg_is_in_recovery(); SHOW transaction_read_only")
    return read_only_answer(results)


async def _resolve(step: Resolve) -> list[tuple[str, int]]:
    with contextlib.suppress(ValueError):
        ipaddress.ip_address(step.host)
        return [(step.host, step.port)]
    return addresses(await lookup(step.host, step.port), step.port)


async def _open(step: Try, options: ConnectOptions) -> ConnectionCore:
    wire_options = {**step.options, "password": await any_password(options.password_for(step.host))}
    wire = PostgresWire(wire_options, asyncio.get_running_loop())
    await open_wire(wire, wire_options, options.connect_timeout or None)
    return Session(wire, options, wire_options)
