"""Opening an asyncio connection to Informix: the attempts of :mod:`headrace.informix.attempts`."""

from __future__ import annotations

import asyncio
import inspect
import time
from typing import Any

from ... import errors
from ..._native import InformixWire
from ..._shared.opening import left, overdue
from ...errors import ConnectionTimeout
from ...informix.attempts import Resolve, attempts
from ...informix.core import InformixCore
from ...informix.pam import Dialogue
from ...informix.settings import ConnectOptions, connect_options
from ...rows import RowFactory, tuple_row
from .._shared.opening import await_session, open_wire, resolve
from .._shared.within import within
from .connection import AsyncConnection


async def connect(
    conninfo: str = "",
    /,
    *,
    autocommit: bool = False,
    row_factory: RowFactory[Any] | None = None,
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
    connection = AsyncConnection(core, row_factory or tuple_row)
    try:
        await connection._run(core.start())
    except BaseException:
        core.wire.close()
        raise
    if core.timing:
        core.wire.count("connect", time.perf_counter_ns() - started)
    return connection


async def _converse(wire: InformixWire, options: ConnectOptions, deadline: float | None) -> None:
    """The asyncio form of the blocking one: the function ``pam`` may be asynchronous here."""
    dialogue = Dialogue(wire, options, deadline)

    async def talk() -> None:
        while (answer := dialogue.question()) is not None:
            dialogue.answer(await answer if inspect.isawaitable(answer) else answer)
            await await_session(wire)

    try:
        await within(left(deadline), talk())
    except TimeoutError:
        wire.close()
        raise overdue(options.connect_timeout) from None
    except BaseException:
        wire.close()
        raise


async def _connect(options: ConnectOptions) -> InformixCore:
    plan = attempts(options)
    timeout = options.connect_timeout
    deadline = None if timeout is None else time.monotonic() + timeout
    answer: Any = None
    try:
        step = next(plan)
        while True:
            try:
                if isinstance(step, Resolve):
                    answer = await resolve(step.host, step.port)
                else:
                    step.wire = InformixWire(step.options, asyncio.get_running_loop())
                    await open_wire(step.wire, step.options, left(deadline))
                    await _converse(step.wire, options, deadline)
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
