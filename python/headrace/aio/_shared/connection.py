"""The asyncio connection, whatever the database."""

from __future__ import annotations

import asyncio
import contextlib
import math
import time
import warnings
import weakref
from abc import abstractmethod
from collections import deque
from collections.abc import AsyncGenerator, Iterable
from types import TracebackType
from typing import Any, NoReturn, TypeVar

from ... import defaults, errors
from ..._native import Discarded, Result, Wire
from ..._shared.connection_base import ConnectionBase
from ..._shared.core import Core, Pipelined, Rollback, no_keywords
from ..._shared.flows import Flow
from ..._shared.limits import Limit, Until, afresh, overdue, until
from ..._shared.transactions import Block
from ...errors import OperationalError
from ...rows import RowFactory, tuple_row
from .cursor import LoopCursor
from .within import within

R = TypeVar("R")
T = TypeVar("T")
Self = TypeVar("Self", bound="LoopConnection[Any]")


class LoopConnection(ConnectionBase[R]):
    """The asyncio form of :class:`headrace._shared.connection.BlockingConnection`. Tasks may share it: their requests
    are queued and are pipelined."""

    def __init__(self, core: Core, row_factory: RowFactory[R]) -> None:
        super().__init__(core, row_factory)
        core.me = asyncio.current_task
        # The loop holds the transport, and the transport the engine: nothing else would end the session. Not __del__:
        # a closed connection leaves nothing to run, in which an interrupt would be lost.
        self._dropped = weakref.finalize(
            self, close_dropped, weakref.ref(core.wire), asyncio.get_running_loop(), core.where()
        )
        self._dropped.atexit = False
        self._cancelling: set[asyncio.Task[None]] = set()

    # what each database adds

    @abstractmethod
    def _cursor(self, factory: RowFactory[T]) -> LoopCursor[T]:
        """A new cursor."""

    @abstractmethod
    async def _send_cancel(self) -> float | None:
        """Requests the server to end what this connection runs. Returns the seconds after which to try again, if it
        cannot be sent yet."""

    # waiting

    async def _wait(self, future: Any, limit: Limit) -> Any:
        if limit is None:
            limit = self._core.command_timeout
        try:
            seconds = limit.left() if isinstance(limit, Until) else limit
            if seconds is None or seconds == math.inf:
                result = await future
            else:
                # Not asyncio.timeout(), which Python 3.10 does not have.
                done, _ = await asyncio.wait([future], timeout=seconds)
                if not done:
                    self._abandon(future)
                    raise overdue(limit)
                result = future.result()
        except asyncio.CancelledError:
            self._abandon(future)
            raise
        if self._core.has_notices():
            self._core.notices()
        return result

    async def _see_out(self, future: Any, limit: Limit) -> Any:
        """Waits for a request that is sent even if the task is cancelled: the end of a block."""
        future.add_done_callback(_look_at)
        try:
            return await self._wait(asyncio.shield(future), limit)
        except TimeoutError:
            self._abandon(future)
            raise

    async def _run(self, flow: Flow[T], limit: Limit = None) -> T:
        limit = until(limit)
        try:
            future = next(flow)
            while True:
                try:
                    value = await self._wait(future, limit)
                except BaseException as error:
                    limit = afresh(limit)
                    future = flow.throw(error)
                else:
                    future = flow.send(value)
        except StopIteration as stop:
            return stop.value  # type: ignore[no-any-return]

    def _abandon(self, future: Any) -> None:
        """Abandons a request. If the server executes it and has no other, a cancel request is sent, and no request is
        started before that was processed: it must not end another statement."""
        wire = self._core.wire
        if future.done() and not future.cancelled():
            # Answered in the iteration of the loop in which its wait ended.
            _look_at(future)
        elif not wire.closed and wire.abandon(future)[0] == Discarded.ALONE:
            self._start_cancel()

    def _start_cancel(self) -> None:
        task = asyncio.get_running_loop().create_task(self._cancel_current())
        self._cancelling.add(task)
        task.add_done_callback(self._cancelling.discard)

    async def _cancel_current(self) -> None:
        """Cancels the statement that the server executes; closes the connection if it does not react."""
        wire = self._core.wire
        loop = asyncio.get_running_loop()
        deadline = loop.time() + defaults.CANCEL_TIMEOUT
        try:
            while not wire.closed:
                pause: float | None = None
                with contextlib.suppress(OSError, errors.Error, TimeoutError):
                    # A server that cannot be reached may end the statement before the deadline nevertheless.
                    pause = await within(max(0.0, deadline - loop.time()), self._send_cancel())
                if await self._left_discarded(min(deadline, loop.time() + (pause or defaults.CANCEL_AGAIN))):
                    return
                if loop.time() >= deadline:
                    limit = defaults.CANCEL_TIMEOUT
                    wire.give_up(
                        f"the connection was closed: the server did not react to a cancel request within {limit} s"
                    )
        finally:
            wire.pause_requests(False)

    async def _left_discarded(self, deadline: float) -> bool:
        """Returns true if the cancelled request has ended before the deadline. Otherwise the cancel request may have
        come too early, and is repeated."""
        loop = asyncio.get_running_loop()
        pause = defaults.CANCEL_CHECK / 64
        while not self._core.wire.closed and self._core.wire.at_discarded():
            if loop.time() >= deadline:
                return False
            await asyncio.sleep(pause)
            pause = min(2 * pause, defaults.CANCEL_CHECK)
        return True

    # queries

    async def _script(self, cursor: LoopCursor[Any], sql: str, timeout: float | None) -> None:
        """Executes text without parameters; the results are those of the cursor."""
        core = self._core
        pipeline = core.pipeline() if core.pipelines else None
        ticket = core.submit_script(sql)
        if pipeline is not None:
            cursor._is_pending(ticket, pipeline)
            if pipeline.is_due(defaults.PIPELINE_TURN):
                await asyncio.sleep(0)
        else:
            try:
                cursor._take(await self._wait(ticket, timeout))
            except errors.DatabaseError as error:
                cursor._failed(error)
                raise

    async def _rows(self, factory: RowFactory[T], sql: str, args: tuple[Any, ...], timeout: float | None) -> list[T]:
        core = self._core
        if core.timing or (core.pipelines and core.pipeline() is not None):
            cursor = await self._cursor(factory).execute(sql, args or None, timeout=timeout)
            return await cursor.fetchall()
        # The same result as with a cursor, without one.
        result = await self._wait(core.submit(sql, args or None), timeout)
        if factory is tuple_row and isinstance(result, Result) and result.rows is not None:
            return result.rows  # type: ignore[return-value]
        cursor = self._cursor(factory)
        cursor._take(result)
        return cursor._all()

    async def fetch(self, sql: str, *args: Any, timeout: float | None = None, **named: NoReturn) -> list[R]:
        """Executes a query and returns all of its rows.

        Args:
            sql: the query.
            args: the parameters, one by one, or one mapping for ``%(name)s``.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The rows, as the row factory makes them.

        Raises:
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
            ProgrammingError: the statement returned no rows.
        """
        if named:
            raise no_keywords("fetch", named)
        return await self._rows(self.row_factory, sql, args, timeout)

    async def fetchrow(self, sql: str, *args: Any, timeout: float | None = None, **named: NoReturn) -> R | None:
        """Executes a query and returns its first row.

        Args:
            sql: the query.
            args: the parameters, one by one, or one mapping for ``%(name)s``.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The row, or None if there is none.

        Raises:
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
            ProgrammingError: the statement returned no rows.
        """
        if named:
            raise no_keywords("fetchrow", named)
        rows = await self._rows(self.row_factory, sql, args, timeout)
        return rows[0] if rows else None

    async def fetchval(self, sql: str, *args: Any, timeout: float | None = None, **named: NoReturn) -> Any:
        """Executes a query and returns the first value of its first row.

        Args:
            sql: the query.
            args: the parameters, one by one, or one mapping for ``%(name)s``.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The value, or None if there is no row.

        Raises:
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
            ProgrammingError: the statement returned no rows.
        """
        if named:
            raise no_keywords("fetchval", named)
        rows = await self._rows(tuple_row, sql, args, timeout)
        return rows[0][0] if rows else None

    # transactions

    async def commit(self, *, timeout: float | None = None) -> None:
        """Commits the open transaction. Does nothing if there is none.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            ProgrammingError: it was called inside a ``transaction()`` block.
            InFailedSqlTransaction: the transaction had failed, and was rolled back (PostgreSQL).
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        await self._run(self._core.end(False), timeout)

    async def rollback(self, *, timeout: float | None = None) -> None:
        """Rolls the open transaction back. Does nothing if there is none.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            ProgrammingError: it was called inside a ``transaction()`` block.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        await self._run(self._core.end(True), timeout)

    @contextlib.asynccontextmanager
    async def transaction(
        self: Self, savepoint_name: str | None = None, *, force_rollback: bool = False, timeout: float | None = None
    ) -> AsyncGenerator[Self]:
        """Opens a block that is committed at its end, and rolled back when it raises an exception.

        Inside another transaction the block is a savepoint. Raising :class:`headrace.Rollback` in it rolls it back
        without an error outside. All threads and tasks of a connection share its transaction.

        Args:
            savepoint_name: the name of the savepoint; None for a generated one.
            force_rollback: roll back in any case, also at a normal end.
            timeout: seconds for the beginning and for the end, each; None for ``command_timeout``.

        Returns:
            A context manager; its value is the connection.

        Raises:
            InterfaceError: at its end, if the transaction around the block had ended before.
            InFailedSqlTransaction: at its end, if the transaction had failed (PostgreSQL).
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        core = self._core
        block = Block()
        await self._run(core.enter(block, savepoint_name), timeout)
        try:
            yield self
        except Rollback:
            await self._run(core.leave(block, True), timeout)
        except BaseException as error:
            try:
                await self._run(core.leave(block, True), timeout)
            except errors.Error as second:
                raise error from second
            raise
        else:
            await self._run(core.leave(block, force_rollback), timeout)

    @contextlib.asynccontextmanager
    async def pipeline(self, *, timeout: float | None = None) -> AsyncGenerator[AsyncPipeline]:
        """Opens a block in which statements are sent without waiting, and their results are read later.

        Each cursor has its own result and error. The error is raised when the cursor is fetched from, or at the end of
        the block. In autocommit each statement is a transaction of its own; inside a transaction the first error ends
        all of them on PostgreSQL.

        The block belongs to the thread or task that entered it: statements of others on the same connection are not
        part of it.

        Args:
            timeout: seconds for the end of the block; None for ``command_timeout``.

        Returns:
            A context manager; its value is the pipeline.

        Raises:
            PipelineAborted: at the end, for a statement that was not executed because an earlier one failed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        core = self._core
        mine = core.pipeline()
        if mine is not None:
            yield AsyncPipeline(self, mine)
            return
        mine = core.begin_pipeline()
        try:
            yield AsyncPipeline(self, mine)
        except (asyncio.CancelledError, TimeoutError):
            cursors = core.leave_pipeline(mine)
            if not core.wire.closed:
                self._forsake(cursors, core.ask_for_answers(mine))
            raise
        except BaseException:
            await self._drain(mine, core.leave_pipeline(mine), True, timeout)
            raise
        else:
            await self._drain(mine, core.leave_pipeline(mine), False, timeout)

    async def _drain(
        self, pipeline: Pipelined, cursors: deque[LoopCursor[Any]], quiet: bool, timeout: float | None
    ) -> None:
        core, limit = self._core, until(timeout)
        if core.wire.closed:
            return
        end = core.ask_for_answers(pipeline)
        first: BaseException | None = None
        try:
            for cursor in cursors:
                # Most are answered by the time that the first one is waited for.
                if cursor._pending is None or cursor._has_taken(_result_of(cursor._pending)):
                    continue
                try:
                    await cursor._resolve(limit)
                except errors.PipelineAborted as error:
                    first = first or error
                except errors.Error as error:
                    if first is None or isinstance(first, errors.PipelineAborted):
                        first = error
        except BaseException:
            self._forsake(cursors, end)
            raise
        if end is not None:
            await self._wait(end, limit)
        if core.has_notices():
            core.notices()
        if first is not None and not quiet:
            raise first

    def _forsake(self, cursors: Iterable[LoopCursor[Any]], end: Any) -> None:
        """Discards the unread results of a pipeline, and cancels the statement that the server executes: they are not
        needed after a cancellation or a timeout. One by one they would not be cancelled, as each has others after it.
        ``end`` is the Sync after them, or None."""
        wire = self._core.wire
        if end is not None:
            end.add_done_callback(_look_at)
        for cursor in cursors:
            future, cursor._pending = cursor._pending, None
            if future is None:
                continue
            if future.done():
                _look_at(future)
            else:
                wire.discard(future)
        if not wire.closed and wire.pause_at_discarded():
            self._start_cancel()

    async def set_autocommit(self, value: bool, *, timeout: float | None = None) -> None:
        """Sets autocommit. It can be changed between transactions only.

        Args:
            value: true if every statement is to be a transaction of its own.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            ProgrammingError: a transaction is open.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        await self._run(self._core.set_autocommit(bool(value)), timeout)

    # ending

    async def reset(self, mode: str = "rollback", *, timeout: float | None = None) -> None:
        """Resets the session, as a pool does when a connection is returned.

        Args:
            mode: ``none``, ``rollback`` (rolls an open transaction back) or ``discard`` (also resets settings,
                temporary tables and other state of the session; not on Informix).
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            ProgrammingError: the mode is not one of these.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        await self._run(self._core.renew(mode), timeout)

    async def cancel(self, *, timeout: float | None = None) -> None:
        """Requests the server to cancel the statement that this connection executes. Does nothing if there is none.

        May be called by any thread, or by another task. The cancelled call raises QueryCanceled.

        Args:
            timeout: seconds for the cancel request; None for :data:`headrace.defaults.CANCEL_TIMEOUT`.

        Raises:
            OperationalError: the server did not accept the request in time, or could not be reached.
            NotSupportedError: the connection is to Informix and uses TLS.
        """
        wire = self._core.wire
        if wire.closed:
            return
        limit = defaults.CANCEL_TIMEOUT if timeout is None else timeout
        # No request is started in the meantime: the cancel request could end it instead of the current one.
        wire.pause_requests(True)

        async def send() -> None:
            while (pause := await self._send_cancel()) is not None and not wire.closed:
                await asyncio.sleep(pause)

        try:
            await within(limit, send())
        except TimeoutError:
            raise OperationalError(f"the cancel request was not answered within {limit} s") from None
        finally:
            wire.pause_requests(False)

    async def close(self) -> None:
        """Closes the connection. The server rolls an open transaction back. Does nothing on a closed connection."""
        started = time.perf_counter_ns()
        for task in list(self._cancelling):
            task.cancel()
        self._dropped.detach()
        self._core.wire.close()
        if self._core.timing:
            self._core.wire.count("close", time.perf_counter_ns() - started)

    async def __aenter__(self: Self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if not self.closed and not self._ends_itself():
                if error is None:
                    await self.commit()
                else:
                    with contextlib.suppress(errors.Error):
                        await self.rollback()
        finally:
            await self.close()


def close_dropped(ref: weakref.ref[Wire], loop: asyncio.AbstractEventLoop, where: str) -> None:
    """Closes a session whose connection was collected, in whichever thread that was. Where the engine was collected
    with it, so was the socket."""
    wire = ref()
    if wire is None or wire.closed:
        return
    # A loop that is closed takes no callback; the transport goes with the last reference to it.
    with contextlib.suppress(RuntimeError):
        if loop.is_running():
            loop.call_soon_threadsafe(wire.close)
        else:
            wire.close()
    warnings.warn(f"an asyncio connection ({where}) was dropped without close()", ResourceWarning, stacklevel=2)


def _result_of(future: asyncio.Future[Any]) -> Any | None:
    """The result of a future, or None if there is none yet or it is an error."""
    return future.result() if future.done() and not future.cancelled() and future.exception() is None else None


def _look_at(future: asyncio.Future[Any]) -> None:
    """Retrieves the error of a future: asyncio would report it otherwise."""
    if not future.cancelled():
        future.exception()


class AsyncPipeline:
    """A pipeline, of ``AsyncConnection.pipeline()``. It belongs to one task."""

    def __init__(self, connection: LoopConnection[Any], pipelined: Pipelined) -> None:
        self._connection = connection
        self._pipelined = pipelined

    async def sync(self, *, timeout: float | None = None) -> None:
        """Waits for all results so far.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            PipelineAborted: an earlier statement failed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        pipelined = self._pipelined
        cursors, pipelined.cursors = pipelined.cursors, deque()
        await self._connection._drain(pipelined, cursors, False, timeout)
