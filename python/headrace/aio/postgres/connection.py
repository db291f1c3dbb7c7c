"""The asyncio connection to PostgreSQL."""

from __future__ import annotations

import asyncio
import contextlib
import enum
import weakref
from collections.abc import (
    AsyncGenerator,
    AsyncIterable,
    AsyncIterator,
    Callable,
    Iterable,
    Sequence,
)
from itertools import islice
from typing import IO, Any, TypeVar, overload

from ... import defaults, errors
from ..._native import PostgresWire, Result, Transfer
from ..._shared.core import Opened
from ..._shared.cursor_base import Params
from ..._shared.limits import until
from ...errors import ConnectionClosed
from ...postgres.connection_base import PostgresBase
from ...postgres.core import ConnectionCore, quote_identifier
from ...postgres.streams import BUSY, Reading
from ...rows import RowFactory, tuple_row
from ...types import Notify, Xid
from .._shared.connection import LoopConnection
from .._shared.opened import TaskGate
from .._shared.transport import open_transport
from .cursor import AsyncCursor, AsyncServerCursor

R = TypeVar("R")
T = TypeVar("T")


def _end_abandoned(reading: Reading) -> None:
    ended = reading.end()
    if ended is not None:
        ended.add_done_callback(_heard)


class AsyncConnection(PostgresBase[R], LoopConnection[R]):
    """The twin of :class:`headrace.Connection`. Tasks may share it: their awaits queue up and are pipelined."""

    _core: ConnectionCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def _cursor(self, factory: RowFactory[T]) -> AsyncCursor[T]:
        return AsyncCursor(self, factory)

    async def _abandon_copy(self, ticket: Any, reason: str) -> None:
        wire = self._core.wire
        if wire.closed:
            return
        try:
            if wire.copy_state(ticket) == Transfer.STREAMING:
                # The server's complaint about it is what was wanted, and nobody's to hear.
                ticket.add_done_callback(_heard)
                wire.copy_end(ticket, reason)
            else:
                self._abandon(ticket)
            await asyncio.wait_for(asyncio.shield(wire.sync()), defaults.CANCEL_TIMEOUT)
        except BaseException as error:
            wire.close()
            if not isinstance(error, Exception):
                raise

    # executing

    @overload
    def cursor(self) -> AsyncCursor[R]: ...
    @overload
    def cursor(self, *, row_factory: RowFactory[T]) -> AsyncCursor[T]: ...
    @overload
    def cursor(
        self,
        name: str,
        *,
        row_factory: RowFactory[Any] | None = None,
        scrollable: bool | None = None,
        withhold: bool = False,
    ) -> AsyncServerCursor[Any]: ...
    def cursor(
        self,
        name: str | None = None,
        *,
        row_factory: RowFactory[Any] | None = None,
        scrollable: bool | None = None,
        withhold: bool = False,
    ) -> AsyncCursor[Any]:
        """A new cursor; with a ``name`` one that lives on the server and is fetched in blocks."""
        if self._core.wire.closed:
            raise ConnectionClosed("the connection is closed")
        factory = row_factory or self.row_factory
        if name is not None:
            return AsyncServerCursor(self, factory, name, scrollable, withhold)
        return AsyncCursor(self, factory)

    async def execute(self, sql: str, params: Params = None, *, timeout: float | None = None) -> AsyncCursor[R]:
        """Executes one statement on a new cursor, and gives the cursor."""
        return await AsyncCursor(self, self.row_factory).execute(sql, params, timeout=timeout)

    async def executemany(
        self, sql: str, rows: Iterable[Any], *, returning: bool = False, timeout: float | None = None
    ) -> AsyncCursor[R]:
        """Executes a batch on a new cursor, and gives the cursor."""
        return await AsyncCursor(self, self.row_factory).executemany(sql, rows, returning=returning, timeout=timeout)

    async def executescript(self, sql: str, *, timeout: float | None = None) -> AsyncCursor[R]:
        """Executes statements separated by semicolons: see :meth:`headrace.Connection.executescript`."""
        cursor = AsyncCursor(self, self.row_factory)
        await self._script(cursor, sql, timeout)
        return cursor

    async def fetchmany(self, sql: str, rows: Iterable[Any], *, timeout: float | None = None) -> list[R]:
        """The rows of a query for every row of parameters, one after the other in one list; pipelined."""
        cursor = AsyncCursor(self, self.row_factory)
        cursor._set(await self._wait(self._core.submit_flat(sql, rows), timeout))
        return cursor._all()

    def stream(
        self, sql: str, params: Params = None, *, fetch_size: int = defaults.FETCH_SIZE, timeout: float | None = None
    ) -> AsyncIterator[R]:
        """The rows of a query one by one, in bounded memory: see :meth:`headrace.Connection.stream`. With autocommit
        on, statements of the task that reads, and of tasks that it made meanwhile, are refused until the stream has
        ended; those of other tasks wait."""
        reading = Reading(self._core, sql, params, fetch_size)
        return self._watched(reading, self._stream_rows(reading, timeout))

    def stream_blocks(
        self, sql: str, params: Params = None, *, fetch_size: int = defaults.FETCH_SIZE, timeout: float | None = None
    ) -> AsyncGenerator[list[R]]:
        """The rows of a query in lists of ``fetch_size``: see :meth:`headrace.Connection.stream_blocks`."""
        reading = Reading(self._core, sql, params, fetch_size)
        return self._watched(reading, self._stream(reading, timeout))

    def _watched(self, reading: Reading, rows: AsyncGenerator[T]) -> AsyncGenerator[T]:
        """Ends what a generator reads from as soon as the generator is collected: its own end comes a turn of the loop
        later, and the next statement must not have to wait for that."""

        def gone(_: Any) -> None:
            reading.abandoned = True
            loop = reading.loop
            if loop is None or loop.is_closed():
                return
            try:
                running = asyncio.get_running_loop()
            except RuntimeError:
                running = None
            if running is loop:
                with contextlib.suppress(errors.Error):
                    _end_abandoned(reading)
            if not reading.ended:
                # Another thread's, or the engine was in the middle of something when memory was collected.
                with contextlib.suppress(RuntimeError):
                    loop.call_soon_threadsafe(_end_abandoned, reading)

        reading.watch = weakref.ref(rows, gone)
        return rows

    async def _stream_rows(self, reading: Reading, timeout: float | None) -> AsyncGenerator[R]:
        gate = TaskGate(reading, BUSY)
        async with contextlib.aclosing(self._stream(reading, timeout, gate)) as blocks:
            async for block in blocks:
                rows = iter(block)
                for row in islice(rows, 1):
                    yield row
                # Another task may go on with it. A look after every row would cost as much as the step.
                gate.pass_on()
                for row in rows:
                    yield row

    async def _stream(
        self, reading: Reading, timeout: float | None, gate: TaskGate | None = None
    ) -> AsyncGenerator[list[R]]:
        reading.loop = asyncio.get_running_loop()
        gate = gate or TaskGate(reading, BUSY)
        try:
            result: Result = await self._wait(reading.begin(), timeout)
            reading.first(result, gate)
            assert result.columns is not None, "first() has looked"
            make = None if self.row_factory is tuple_row else self.row_factory(result.columns.names)
            while True:
                ahead = reading.ahead(result)
                if ahead is not None:
                    ahead.add_done_callback(_heard)
                rows: Any = result.rows
                if rows:
                    yield rows if make is None else list(map(make, rows))
                    # Another task may go on with it.
                    gate.pass_on()
                del rows
                if ahead is None:
                    return
                reading.check_open()
                result = reading.check(await self._wait(ahead, timeout))
        finally:
            await self._end_reading(reading, timeout)

    async def _end_reading(self, reading: Reading, timeout: float | None) -> None:
        try:
            ended = reading.end()
            if ended is not None:
                await self._see_out(ended, timeout)
        except errors.Error:
            if reading.own and not reading.abandoned:
                raise

    # transactions

    @property
    def isolation_level(self) -> str | None:
        """Isolation level of transactions to come."""
        return self._core.isolation_level

    async def set_isolation_level(self, value: str | None) -> None:
        """Changes the isolation level; only between transactions."""
        self._core.set_mode("isolation_level", value)

    @property
    def read_only(self) -> bool | None:
        """Whether transactions to come are read-only."""
        return self._core.read_only

    async def set_read_only(self, value: bool | None) -> None:
        """Changes it; only between transactions."""
        self._core.set_mode("read_only", value)

    @property
    def deferrable(self) -> bool | None:
        """Whether transactions to come are deferrable."""
        return self._core.deferrable

    async def set_deferrable(self, value: bool | None) -> None:
        """Changes it; only between transactions."""
        self._core.set_mode("deferrable", value)

    async def tpc_begin(self, xid: Xid | str, *, timeout: float | None = None) -> None:
        """Begins a two-phase transaction."""
        await self._run(self._core.tpc_begin(xid), timeout)

    async def tpc_prepare(self, *, timeout: float | None = None) -> None:
        """First phase."""
        await self._run(self._core.tpc_prepare(), timeout)

    async def tpc_commit(self, xid: Xid | str | None = None, *, timeout: float | None = None) -> None:
        """Second phase: commits."""
        await self._run(self._core.tpc_finish("COMMIT", xid), timeout)

    async def tpc_rollback(self, xid: Xid | str | None = None, *, timeout: float | None = None) -> None:
        """Second phase: rolls back."""
        await self._run(self._core.tpc_finish("ROLLBACK", xid), timeout)

    async def tpc_recover(self, *, timeout: float | None = None) -> list[Xid]:
        """The prepared transactions of this database."""
        return await self._run(self._core.tpc_recover(), timeout)

    # COPY

    async def copy_in(
        self,
        table: str | Sequence[str],
        source: Iterable[Sequence[Any]] | AsyncIterable[Sequence[Any]] | bytes | IO[bytes] | IO[str],
        *,
        columns: Sequence[str] | None = None,
        format: str = "binary",
        timeout: float | None = None,
    ) -> int:
        """Copies rows (also of an asynchronous iterable), bytes or a file into a table: see
        :meth:`headrace.Connection.copy_in`."""
        from .copy import copy_in

        return await copy_in(self, table, source, columns, format, timeout)

    async def copy_out(
        self,
        source: str | Sequence[str],
        *,
        columns: Sequence[str] | None = None,
        format: str = "binary",
        to: IO[bytes] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Copies a table or a query out: an asynchronous iterator of rows or blocks, or the number of rows written
        to ``to``."""
        from ...postgres.copy import copy_statement
        from .copy import AsyncCopy, copy_out

        if to is None:
            opened = Opened()

            def gone(_: Any) -> None:
                opened.ended = True

            rows = copy_out(self, source, columns, format, opened, timeout)
            opened.watch = weakref.ref(rows, gone)
            return rows
        async with AsyncCopy(self, copy_statement(source, columns, format, out=True), limit=until(timeout)) as copy:
            async for block in copy.blocks():
                to.write(block)
        return copy.rowcount

    # what comes unasked

    async def listen(self, channel: str, *, timeout: float | None = None) -> None:
        """Subscribes to a channel."""
        await self.execute(f"LISTEN {quote_identifier(channel)}", timeout=timeout)

    async def unlisten(self, channel: str | None = None, *, timeout: float | None = None) -> None:
        """Ends a subscription, or all."""
        await self.execute(f"UNLISTEN {'*' if channel is None else quote_identifier(channel)}", timeout=timeout)

    async def notifies(self, timeout: float | None = None, stop_after: int | None = None) -> AsyncIterator[Notify]:
        """Notifications as they come. Ends after ``timeout`` seconds without one, or after ``stop_after``."""
        count = 0
        while stop_after is None or count < stop_after:
            notify = self._core.notification()
            if notify is None:
                wire = self._core.wire
                waiting = wire.notified()
                try:
                    done, _ = await asyncio.wait([waiting], timeout=timeout)
                finally:
                    wire.forget_notified(waiting)
                if not done:
                    return
                waiting.result()
                continue
            count += 1
            yield notify

    # types of the database

    async def register_composite(self, name: str, factory: Callable[..., Any], *, timeout: float | None = None) -> None:
        """See :meth:`headrace.Connection.register_composite`."""
        await self._run(self._adapters.composite(name, factory), timeout)

    async def register_enum(self, name: str, kind: type[enum.Enum], *, timeout: float | None = None) -> None:
        """See :meth:`headrace.Connection.register_enum`."""
        await self._run(self._adapters.enumeration(name, kind), timeout)

    # ending

    async def _send_cancel(self) -> None:
        core = self._core
        loop = asyncio.get_running_loop()
        wire = PostgresWire({**core.wire_options, "cancel": core.wire.cancel_message()}, loop)
        waits = False
        try:
            await open_transport(loop, wire, core.wire_options)
            await wire.ready()
            # The server closes the connection once it has sent the signal.
            waits = True
            await wire.notified()
        except errors.ConnectionClosed:
            waits = False
        finally:
            wire.close()
            if waits:
                core.end_in_doubt()


def _heard(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()
