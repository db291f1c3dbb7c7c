"""LOAD DATA LOCAL, asyncio."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterable, Awaitable, Callable, Iterable, Sequence
from typing import IO, Any, TypeVar

from ... import defaults, errors
from ..._native import Result, Transfer
from ..._shared.core import Opened
from ..._shared.limits import Limit, afresh, until
from ...mysql import load
from ...mysql.core import MySqlCore
from .._shared.opened import TaskGate
from .._shared.waiting import look_at
from .watched import Watched

R = TypeVar("R")
T = TypeVar("T")


class AsyncLoading(Watched[R]):
    """A connection that loads rows and files by LOAD DATA LOCAL."""

    _core: MySqlCore  # pyright: ignore[reportIncompatibleVariableOverride]

    async def load_rows(
        self,
        table: str | Sequence[str],
        rows: Iterable[Any] | AsyncIterable[Any],
        *,
        columns: Sequence[str] | None = None,
        duplicates: str = "error",
        timeout: float | None = None,
    ) -> int:
        """Loads rows into a table by LOAD DATA LOCAL: all rows, or none. Needs a connection with ``local_infile=True``.

        The server only warns of values that it would refuse in an INSERT. Here the first warning rolls the load back
        and is raised, with the number of its row (``error.row``) if the server reports it.

        Args:
            table: its name as written in SQL, or a tuple of schema and name.
            rows: any iterable of rows (on asyncio also an asynchronous one).
            columns: names of the columns; None for all.
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
        core, wire = self._core, self._core.wire
        limit = until(timeout)
        load.check_allowed(core)
        targets = await self._run(load.columns_of(core, table, columns), limit)
        sql = load.statement(table, targets, duplicates)

        async def send_block(future: Any, block: Iterable[Any], sent: int) -> int:
            iterator, ended = iter(block), False
            while not ended:
                count, ended = wire.infile_rows(future, iterator, targets, sent)
                sent += count
                await self._wait(wire.drained(), limit)
            return sent

        async def send(future: Any) -> None:
            if not isinstance(rows, AsyncIterable):
                await send_block(future, rows, 0)
                return
            block: list[Any] = []
            sent = 0
            async for row in rows:
                block.append(row)
                if len(block) == defaults.COPY_ROWS:
                    sent = await send_block(future, block, sent)
                    block.clear()
            await send_block(future, block, sent)

        return (await self._load(sql, send, duplicates, limit)).rowcount

    async def load_data(
        self, sql: str, source: bytes | IO[bytes] | IO[str] | Iterable[bytes], *, timeout: float | None = None
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

        async def send(future: Any) -> None:
            for piece in load.pieces(source, defaults.COPY_BLOCK):
                if not wire.infile_data(future, piece):
                    return
                await self._wait(wire.drained(), limit)

        return (await self._load(sql, send, "error", limit)).rowcount

    async def _undo(self, guard: load.Guard) -> None:
        """Undoes a load whose result is not needed."""
        with contextlib.suppress(errors.Error, TimeoutError):
            await self._run(guard.leave(True), afresh(None))

    async def _load(self, sql: str, send: Callable[[Any], Awaitable[None]], duplicates: str, limit: Limit) -> Result:
        core, wire = self._core, self._core.wire
        guard = load.Guard(core)
        opened = Opened()
        gate = TaskGate(opened, load.LOADING)
        try:
            await self._run(guard.enter(), limit)
            future = guard.query(sql, infile=True)
            # If the task is cancelled in the meantime, its error cannot be raised.
            future.add_done_callback(look_at)
            try:
                while wire.infile_state(future) == Transfer.WAITING:
                    await self._wait(wire.step(future), limit)
                if wire.infile_state(future) == Transfer.STREAMING:
                    wire.occupy(gate)
                    await send(future)
            finally:
                opened.ended = True
                wire.vacate(gate)
                # The protocol has no other way to end it than the end of the file.
                if wire.infile_state(future) == Transfer.WAITING:
                    self._abandon(future)
                wire.infile_end(future)
            results: list[Result] = await self._wait(future, limit)
            await self._run(load.check(guard, results[-1], duplicates), limit)
        except Exception:
            await asyncio.shield(self._run(guard.leave(True), afresh(limit)))
            raise
        except BaseException:
            # The load must be undone all the same, but the cancelled task does not wait for it.
            task = asyncio.get_running_loop().create_task(self._undo(guard))
            self._cancelling.add(task)
            task.add_done_callback(self._cancelling.discard)
            raise
        await self._run(guard.leave(False), limit)
        return results[-1]
