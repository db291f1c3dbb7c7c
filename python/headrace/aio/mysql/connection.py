"""The asyncio connection to MySQL and MariaDB."""

from __future__ import annotations

import asyncio
import contextlib
import weakref
from collections.abc import AsyncGenerator, AsyncIterable, AsyncIterator, Awaitable, Callable, Iterable, Sequence
from itertools import islice
from typing import IO, Any, TypeVar

from ... import defaults, errors
from ..._native import MySqlWire, Result, Transfer
from ..._shared.core import Opened
from ..._shared.cursor_base import Params
from ..._shared.limits import Limit, afresh, until
from ...errors import ConnectionClosed, ProgrammingError
from ...mysql import load
from ...mysql.connection_base import MySqlBase
from ...mysql.core import STREAMING, MySqlCore, ServerWarning, first_of
from ...rows import RowFactory
from .._shared.connection import LoopConnection
from .._shared.opened import TaskGate
from .._shared.opening import any_password, open_wire
from .._shared.watch import Watch
from .cursor import AsyncCursor

R = TypeVar("R")
T = TypeVar("T")


class _Reading(Opened):
    """What a stream waits for, and whether it has the connection for itself."""

    future: Any = None
    gate: TaskGate | None = None


async def _rows_of(reading: _Reading, blocks: AsyncGenerator[list[T]]) -> AsyncGenerator[T]:
    async with contextlib.aclosing(blocks):
        async for block in blocks:
            rows = iter(block)
            for row in islice(rows, 1):
                yield row
            if reading.gate is not None:
                # Another task may go on with it. A look after every row would cost as much as the step.
                reading.gate.pass_on()
            for row in rows:
                yield row


class AsyncConnection(MySqlBase[R], LoopConnection[R]):
    """The twin of :class:`headrace.mysql.Connection`."""

    _core: MySqlCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def __init__(self, core: MySqlCore, row_factory: RowFactory[R], watch: Watch | None = None) -> None:
        super().__init__(core, row_factory)
        self._watch = watch

    async def _wait(self, future: Any, limit: Limit) -> Any:
        if self._watch is not None:
            self._watch.start()
        return await super()._wait(future, limit)

    def _cursor(self, factory: RowFactory[T]) -> AsyncCursor[T]:
        return AsyncCursor(self, factory)

    def cursor(self, *, row_factory: RowFactory[Any] | None = None) -> AsyncCursor[Any]:
        """A new cursor."""
        if self._core.wire.closed:
            raise ConnectionClosed("the connection is closed")
        return AsyncCursor(self, row_factory or self.row_factory)

    async def execute(self, sql: str, params: Params = None, *, timeout: float | None = None) -> AsyncCursor[R]:
        """Executes one statement on a new cursor, and gives the cursor."""
        return await AsyncCursor(self, self.row_factory).execute(sql, params, timeout=timeout)

    async def executemany(
        self, sql: str, rows: Iterable[Any], *, returning: bool = False, timeout: float | None = None
    ) -> AsyncCursor[R]:
        """Executes a batch on a new cursor, all rows or none, and gives the cursor."""
        return await AsyncCursor(self, self.row_factory).executemany(sql, rows, returning=returning, timeout=timeout)

    async def executescript(self, sql: str, *, timeout: float | None = None) -> AsyncCursor[R]:
        """Executes text as it is: see :meth:`headrace.mysql.Connection.executescript`."""
        cursor = AsyncCursor(self, self.row_factory)
        await self._script(cursor, sql, timeout)
        return cursor

    async def fetchmany(self, sql: str, rows: Iterable[Any], *, timeout: float | None = None) -> list[R]:
        """The rows of a query for every row of parameters, one after the other in one list; pipelined."""
        cursor = AsyncCursor(self, self.row_factory)
        cursor._take(await self._wait(self._core.submit_flat(sql, rows), timeout))
        return cursor._all()

    # streaming

    def stream(
        self,
        sql: str,
        params: Params = None,
        *,
        fetch_size: int = defaults.FETCH_SIZE,
        on_server: bool = False,
        timeout: float | None = None,
    ) -> AsyncIterator[R]:
        """The rows of a query one by one, in bounded memory: see :meth:`headrace.mysql.Connection.stream`. Other tasks'
        requests wait for its end; the task that reads it, and those that it makes meanwhile, get InterfaceError."""
        reading = _Reading()
        blocks = self._read(sql, params, fetch_size, on_server, reading, timeout)
        return self._watched(reading, _rows_of(reading, blocks))

    def stream_blocks(
        self,
        sql: str,
        params: Params = None,
        *,
        fetch_size: int = defaults.FETCH_SIZE,
        on_server: bool = False,
        timeout: float | None = None,
    ) -> AsyncGenerator[list[R]]:
        """The rows of a query in lists of ``fetch_size``: see :meth:`headrace.mysql.Connection.stream_blocks`."""
        reading = _Reading()
        return self._watched(reading, self._read(sql, params, fetch_size, on_server, reading, timeout))

    def _read(
        self,
        sql: str,
        params: Params,
        size: int,
        on_server: bool,
        reading: _Reading,
        timeout: float | None,
    ) -> AsyncGenerator[list[R]]:
        if size < 1:
            raise ProgrammingError("fetch_size must be at least 1")
        if on_server:
            return self._cursor_blocks(sql, params, size, timeout)
        return self._blocks(sql, params, size, reading, timeout)

    def _watched(self, reading: _Reading, rows: AsyncGenerator[T]) -> AsyncGenerator[T]:
        """Abandons a stream as soon as its generator is collected: the generator's own end comes a turn of the loop
        later, and the next statement would be refused until then."""
        me = weakref.ref(self)

        def gone(_: Any) -> None:
            connection, future = me(), reading.future
            if connection is None or future is None or future.get_loop().is_closed():
                return
            with contextlib.suppress(RuntimeError, errors.Error):
                if asyncio.get_running_loop() is future.get_loop() and not future.done():
                    reading.ended = True
                    connection._abandon(future)

        reading.watch = weakref.ref(rows, gone)
        return rows

    async def _blocks(
        self, sql: str, params: Params, size: int, reading: _Reading, timeout: float | None
    ) -> AsyncGenerator[list[R]]:
        core, wire = self._core, self._core.wire
        future = reading.future = wire.execute(sql, params, text=core.text, block=size)
        gate = reading.gate = TaskGate(reading, STREAMING)
        wire.occupy(gate)
        if self._watch is not None:
            self._watch.start()
        try:
            while not future.done():
                taken = wire.take_block(future)
                if taken is None:
                    await self._wait(wire.step(future), timeout)
                    continue
                columns, rows = taken
                yield self._made(columns, rows)
                # Another task may go on with it.
                gate.pass_on()
            result = await self._wait(future, timeout)
            reading.ended = True
            if result.columns is None:
                raise ProgrammingError("the statement returns no rows")
            while result.rows:
                # What came with the end may be more than one block.
                block = result.rows[:size]
                del result.rows[:size]
                yield self._made(result.columns, block)
        finally:
            reading.ended = True
            wire.vacate(gate)
            if not future.done():
                self._abandon(future)

    async def _cursor_blocks(
        self, sql: str, params: Params, size: int, timeout: float | None
    ) -> AsyncGenerator[list[R]]:
        core, wire = self._core, self._core.wire
        future, number = core.open_cursor(sql, params, size)
        result = first_of(await self._wait(future, timeout))
        if result.columns is None:
            raise ProgrammingError("the statement returns no rows")
        suspended, ahead = result.suspended, None
        try:
            while True:
                ahead = wire.fetch(number, size) if suspended else None
                if result.rows:
                    yield self._made(result.columns, result.rows)
                if ahead is None:
                    return
                result = await self._wait(ahead, timeout)
                suspended = result.suspended
        finally:
            if ahead is not None and not ahead.done():
                wire.discard(ahead)
            if suspended and not wire.closed:
                try:
                    await self._see_out(wire.close_cursor(number), timeout)
                except errors.Error:
                    # A cursor that was lost with its connection is closed.
                    if not wire.closed:
                        raise

    # LOAD DATA LOCAL

    async def load_rows(
        self,
        table: str | Sequence[str],
        rows: Iterable[Any] | AsyncIterable[Any],
        *,
        columns: Sequence[str] | None = None,
        duplicates: str = "error",
        timeout: float | None = None,
    ) -> int:
        """Loads rows (also of an asynchronous iterable) into a table: see
        :meth:`headrace.mysql.Connection.load_rows`."""
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
        """Executes a LOAD DATA LOCAL INFILE of your own with ``source`` in place of the file: see
        :meth:`headrace.mysql.Connection.load_data`."""
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
        """Undoes a load that nobody waits for."""
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
            # Whoever is cancelled meanwhile has nobody left to hear of its error.
            future.add_done_callback(_heard)
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

    # the session

    @property
    def isolation_level(self) -> str | None:
        """Isolation level of transactions to come; ``None`` is the server's default."""
        return self._core.isolation_level

    async def set_isolation_level(self, value: str | None, *, timeout: float | None = None) -> None:
        """Changes it; only between transactions."""
        await self._run(self._core.set_isolation_level(value), timeout)

    @property
    def read_only(self) -> bool | None:
        """Whether transactions to come are read-only; ``None`` is the server's default."""
        return self._core.read_only

    async def set_read_only(self, value: bool | None, *, timeout: float | None = None) -> None:
        """Changes it; only between transactions."""
        await self._run(self._core.set_read_only(value), timeout)

    async def show_warnings(self, *, timeout: float | None = None) -> list[ServerWarning]:
        """The warnings of the last statement: see :meth:`headrace.mysql.Connection.show_warnings`."""
        results = await self._wait(self._core.wire.query("SHOW WARNINGS"), timeout)
        return [ServerWarning(*row) for row in results[0].rows]

    async def select_db(self, database: str, *, timeout: float | None = None) -> None:
        """Changes the current database (COM_INIT_DB)."""
        await self._wait(self._core.wire.select_db(database), timeout)

    async def ping(self, *, timeout: float | None = None) -> None:
        """A round trip that does nothing else (COM_PING). Raises OperationalError when the server is gone."""
        await self._wait(self._core.round_trip(), timeout)

    async def _send_cancel(self) -> None:
        core = self._core
        options = core.cancel_options(await any_password(core.options.password))
        wire = MySqlWire(options, asyncio.get_running_loop())
        await open_wire(wire, options, None)
        answered = False
        try:
            await wire.query(core.wire.cancel_statement())
            answered = True
        except errors.Error:
            answered = not wire.closed
            raise
        finally:
            wire.close()
            if not answered:
                core.end_in_doubt()


def _heard(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()
