"""LOAD DATA LOCAL, asyncio."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterable, Callable, Iterable, Sequence
from typing import IO, TYPE_CHECKING, Any, TypeVar

from ... import defaults, errors
from ..._native import ArrowSource, Columns, Result, Transfer
from ..._shared.arguments import checked_names, checked_rows
from ..._shared.composing import composed_text
from ..._shared.core import ExclusiveUse
from ..._shared.limits import Limit, afresh, until
from ..._shared.modes import Duplicates
from ...mysql import load
from ...mysql.connection_base import MySqlBase
from ...mysql.core import MySqlCore
from ...types import ParameterRows
from .._shared.connection import LoopConnection
from .._shared.deadlines import look_at

if TYPE_CHECKING:
    from ...sql import Statement

R = TypeVar("R")
T = TypeVar("T")


class AsyncLoading(MySqlBase[R], LoopConnection[R]):
    """A connection that loads rows and files by LOAD DATA LOCAL."""

    _core: MySqlCore  # pyright: ignore[reportIncompatibleVariableOverride]

    async def load_rows(
        self,
        table: str | Sequence[str],
        rows: ParameterRows | AsyncIterable[Any],
        *,
        columns: Sequence[str] | None = None,
        duplicates: Duplicates = "error",
        timeout: float | None = None,
    ) -> int:
        """Loads rows into a table by LOAD DATA LOCAL: all rows, or none. Needs a connection with ``local_infile=True``.

        The server only warns of values that it would refuse in an INSERT. Here the first warning rolls the load back
        and is raised, with the number of its row (``error.row``) if the server reports it.

        Args:
            table: its name as written in SQL, or a tuple of schema and name.
            rows: any iterable of rows, also an asynchronous one, or Arrow data.
            columns: names of the columns; None for those that Arrow data has, or all. Columns of Arrow
                data are paired with them by their names, and by position where they have none of these names.
            duplicates: for rows whose key exists: ``error``, ``ignore`` (skips the row) or ``replace`` (replaces the
                existing one).
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The number of rows.

        Raises:
            ProgrammingError: the connection was opened without ``local_infile``, or ``duplicates`` is not one of these.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        core = self._core
        limit = until(timeout)
        load.check_allowed(core)
        given = ArrowSource.of(rows, json=True) or checked_rows(rows, "rows", looping=True)  # asyncio only
        # blocking: given = ArrowSource.of(rows, json=True) or checked_rows(rows, "rows")
        if isinstance(given, ArrowSource):
            if columns:
                given.pair(checked_names(columns) or [])
            else:
                columns = given.column_names
        targets = await self._run(load.columns_of(core, table, columns), limit)
        sql = load.statement(table, targets, duplicates)

        async def send(ticket: Any) -> None:
            last: Any = given
            sent = 0
            if isinstance(given, AsyncIterable):  # asyncio only
                last = []
                async for row in given:  # pyright: ignore[reportUnknownVariableType]
                    last.append(row)
                    if len(last) == defaults.COPY_ROWS:
                        sent = await self._send_rows(ticket, last, targets, sent, limit)
                        last.clear()
            await self._send_rows(ticket, last, targets, sent, limit)

        result = await self._load(sql, send, duplicates, limit)
        return result.rowcount

    async def load_data(
        self, sql: Statement, source: bytes | IO[bytes] | IO[str] | Iterable[bytes], *, timeout: float | None = None
    ) -> int:
        """Executes a LOAD DATA LOCAL INFILE statement with data of the program in place of the file. Needs a connection
        with ``local_infile=True``.

        An error or warning rolls the load back, as with :meth:`load_rows`. No file is opened by its name, whichever the
        server requests.

        Args:
            sql: the statement; the name of the file is ignored.
            source: bytes, an open file, or an iterable of bytes.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The number of rows.

        Raises:
            ProgrammingError: the connection was opened without ``local_infile``.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        limit = until(timeout)
        load.check_allowed(self._core)
        wire = self._core.wire
        sql = composed_text(wire, sql)

        async def send(ticket: Any) -> None:
            for piece in load.pieces(source, defaults.COPY_BLOCK):
                if not wire.infile_data(ticket, piece):
                    return
                await self._send_off(limit)  # blocking: self._push(defaults.COPY_BLOCK, limit)

        result = await self._load(sql, send, "error", limit)
        return result.rowcount

    async def _send_rows(self, ticket: Any, rows: Any, targets: Columns, sent: int, limit: Limit) -> int:
        """Sends rows after the first ``sent`` ones; returns how many these are with them."""
        wire = self._core.wire
        given: Any = rows if isinstance(rows, ArrowSource) else iter(rows)
        ended = False
        while not ended:
            count, ended = wire.infile_rows(ticket, given, targets, sent)
            sent += count
            await self._send_off(limit)  # blocking: self._push(defaults.COPY_BLOCK, limit)
        return sent

    async def _load(self, sql: str, send: Callable[[Any], Any], duplicates: Duplicates, limit: Limit) -> Result:
        guard = load.Guard(self._core)
        return await self._guarded(guard, sql, send, duplicates, limit)  # asyncio only
        # blocking: try:
        # blocking:     return self._guarded(guard, sql, send, duplicates, limit)
        # blocking: finally:
        # blocking:     if not guard.left:
        # blocking:         # An interrupt while it was ended: the server may wait for data, others for the connection.
        # blocking:         self._core.wire.close()

    async def _guarded(
        self, guard: load.Guard, sql: str, send: Callable[[Any], Any], duplicates: Duplicates, limit: Limit
    ) -> Result:
        wire = self._core.wire
        opened = ExclusiveUse()
        exclusive = self._exclusive_guard(opened, load.LOADING)
        try:
            await self._run(guard.enter(), limit)
            ticket = guard.load(sql)
            # If the task is cancelled in the meantime, its error cannot be raised.  # asyncio only
            ticket.add_done_callback(look_at)  # asyncio only
            try:
                while wire.infile_state(ticket) == Transfer.WAITING:
                    await self._wait(wire.step(ticket), limit)
                if wire.infile_state(ticket) == Transfer.STREAMING:
                    wire.occupy(exclusive)
                    await send(ticket)
            finally:
                try:
                    opened.ended = True
                    wire.vacate(exclusive)
                    # What was waited for is a step of the request, not the request.
                    if wire.infile_state(ticket) == Transfer.WAITING:
                        self._abandon(ticket)
                finally:
                    # The protocol has no other way to end it than the end of the file.
                    wire.infile_end(ticket)
            results: list[Result] = await self._wait(ticket, limit)
            await self._run(load.check(guard, results[-1], duplicates), limit)
        except Exception:
            await asyncio.shield(self._run(guard.leave(True), afresh(limit)))  # asyncio only
            # blocking: self._run(guard.leave(True), afresh(limit))
            raise
        except BaseException:  # blocking: except BaseException as interrupt:
            # The load must be undone all the same, but what was interrupted does not wait for it.
            task = asyncio.get_running_loop().create_task(self._undo(guard))  # asyncio only
            self._leftovers.keep(task)  # asyncio only
            # blocking: self._leave_later(guard.leave(True), interrupt)
            raise
        await self._run(guard.leave(False), limit)
        return results[-1]

    async def _undo(self, guard: load.Guard) -> None:  # asyncio only
        """Undoes a load whose result is not needed."""
        with contextlib.suppress(errors.Error, TimeoutError):
            await self._run(guard.leave(True), afresh(None))
