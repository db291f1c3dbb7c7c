"""The blocking connection, whatever the database."""

from __future__ import annotations

import contextlib
import inspect
import sys
import time
import warnings
import weakref
from abc import abstractmethod
from collections import deque
from collections.abc import Generator, Iterable
from types import TracebackType
from typing import Any, NoReturn, TypeVar

from .. import defaults, errors
from .._native import Discarded, Result, Wire
from ..errors import ConnectionClosed, OperationalError
from ..rows import RowFactory, tuple_row
from .connection_base import ConnectionBase
from .core import Core, Pipelined, Rollback, no_keywords
from .cursor import BlockingCursor
from .flows import Flow
from .limits import Limit, Until, afresh, overdue, until
from .transactions import Block

R = TypeVar("R")
T = TypeVar("T")
Self = TypeVar("Self", bound="BlockingConnection[Any]")


class BlockingConnection(ConnectionBase[R]):
    """A connection that threads may share: their calls are queued.

    As a context manager it commits at the end of the block, rolls back when the block raises an exception, and closes.
    """

    def __init__(self, core: Core, row_factory: RowFactory[R]) -> None:
        super().__init__(core, row_factory)
        self._strict_close = False
        self._dropped = weakref.finalize(self, warn_dropped, weakref.ref(core.wire), core.where())
        self._dropped.atexit = False
        self._left: tuple[int | None, float] | None = None

    # what each database adds

    @abstractmethod
    def _cursor(self, factory: RowFactory[T]) -> BlockingCursor[T]:
        """A new cursor."""

    @abstractmethod
    def _send_cancel(self, timeout: float) -> float | None:
        """Requests the server to end what this connection runs, within ``timeout`` seconds. Returns the seconds after
        which to try again, if it cannot be sent yet."""

    # waiting

    def _wait(self, ticket: Any, limit: Limit) -> Any:
        """Waits for the result of a ticket, within a limit. An interrupted or overdue request is cancelled before the
        error is raised."""
        core = self._core
        # Fetched as attributes: as methods they would be looked for in the class first, at each statement.
        wait, has_notices = core.wait, core.has_notices
        if limit is None:
            limit = core.command_timeout
        try:
            if self._left is not None:
                self._see_to_left(*self._left)
            result = wait(ticket, limit.left() if isinstance(limit, Until) else limit)
        except TimeoutError:
            self._abandon(ticket)
            raise overdue(limit) from None
        except errors.Error:
            raise
        except BaseException:
            self._abandon(ticket)
            raise
        if has_notices():
            core.notices()
        return result

    def _look(self, ticket: Any, timeout: float) -> Any:
        """The result of a ticket, or TimeoutError, after which the request is still in flight."""
        try:
            result = self._core.wait(ticket, timeout)
        except (TimeoutError, errors.Error):
            raise
        except BaseException:
            self._abandon(ticket)
            raise
        if self._core.has_notices():
            self._core.notices()
        return result

    def _run(self, flow: Flow[T], limit: Limit = None) -> T:
        """Runs a flow to its end, within a limit for all of it. What it does after an error has as long again."""
        limit = until(limit)
        value: Any = None
        raised: BaseException | None = None
        ticket: Any = None
        try:
            while True:
                try:
                    while True:
                        ticket = flow.send(value) if raised is None else flow.throw(raised)
                        raised = None
                        value = self._wait(ticket, limit)
                        ticket = None
                except StopIteration as stop:
                    return stop.value  # type: ignore[no-any-return]
                except BaseException as error:
                    # An interrupt may come anywhere, also before anything was waited for: what is queued is sent in any
                    # case, or the end of a block would stay with its locks. And the flow is to undo what it has begun.
                    waited, ticket = ticket, None
                    if waited is not None and not isinstance(error, errors.Error):
                        # Nothing happens where that was done already.
                        self._abandon(waited)
                    if inspect.getgeneratorstate(flow) != inspect.GEN_SUSPENDED:
                        if not isinstance(error, Exception):
                            self._send_unsent()
                        raise
                    raised = error
                    limit = afresh(limit)
        finally:
            # Its traceback has this frame.
            raised = None

    def _send_unsent(self) -> None:
        """Sends what an interrupt has left in the queue, its ticket lost."""
        wire = self._core.wire
        if not wire.closed and wire.queued():
            with contextlib.suppress(TimeoutError, errors.Error):
                wire.push(0, _patience())

    def _push(self, most: int, limit: Limit) -> None:
        """Sends what is queued but for ``most`` bytes, within a limit."""
        core = self._core
        try:
            core.wire.push(most, core.seconds(limit))
        except TimeoutError:
            raise overdue(core.command_timeout if limit is None else limit) from None

    def _abandon(self, ticket: Any) -> None:
        """Gets the connection back in step after a request whose result is not needed any more, or closes it.

        If the server has only this request, it is cancelled. If requests of others were sent after it, a cancel request
        could end one of those: then it is executed to its end, and its reply is dropped.
        """
        wire = self._core.wire
        if wire.closed:
            return
        patience = _patience()
        try:
            discarded, number = wire.abandon(ticket)
            if discarded == Discarded.ALONE:
                self._cancel_abandoned(number, patience)
            elif discarded == Discarded.GONE and number:
                with contextlib.suppress(TimeoutError):
                    # The end of a block is sent in any case: by this, or by the next request that waits.
                    wire.outlast(number, min(patience, defaults.CANCEL_AGAIN))
        except BaseException:
            # Out of step, or a second interrupt: only a closed connection is safe now.
            wire.close()

    def _cancel_abandoned(self, number: int | None, patience: float) -> None:
        """Cancels what the server works on, and waits for the end of request ``number``. A cancel request that came too
        early is repeated. Raises TimeoutError if the server does not react in CANCEL_TIMEOUT seconds; if ``patience``
        is less, the next request waits for the rest."""
        wire = self._core.wire
        now = time.monotonic()
        deadline, patient = now + defaults.CANCEL_TIMEOUT, now + patience
        released = False
        again = min(defaults.CANCEL_AGAIN, patience / 2)
        try:
            while True:
                with contextlib.suppress(TimeoutError):
                    wire.push(0, again)
                pause: float | None = None
                delivered = False
                with contextlib.suppress(OSError, errors.Error):
                    # A server that cannot be reached may end the statement before the deadline nevertheless.
                    pause = self._send_cancel(max(0.1, patient - time.monotonic()))
                    delivered = True
                pause = pause or again
                left = patient - time.monotonic()
                try:
                    wire.outlast(None, max(0.0, min(left, pause)))
                    break
                except TimeoutError:
                    if left > pause:
                        continue
                    if patient >= deadline or not delivered:
                        # A late one could end the next statement.
                        raise
                    wire.leave_to_others(number, deadline - time.monotonic())
                    self._left = (number, deadline)
                    released = True
                    return
        finally:
            if not released:
                wire.pause_requests(False)
        try:
            wire.outlast(number, max(0.0, patient - time.monotonic()))
        except TimeoutError:
            if patient >= deadline:
                raise

    def _see_to_left(self, number: int | None, deadline: float) -> None:
        """Waits for the end of a request that was interrupted. The server may not have begun with it when it was
        cancelled, so the cancel request is repeated."""
        wire = self._core.wire
        while not wire.closed and wire.has_left() and (left := deadline - time.monotonic()) > 0:
            with contextlib.suppress(OSError, errors.Error):
                self._send_cancel(left)
            with contextlib.suppress(TimeoutError):
                wire.outlast(number, min(left, defaults.CANCEL_AGAIN))
        self._left = None

    # queries

    def _script(self, cursor: BlockingCursor[Any], sql: str, timeout: float | None) -> None:
        """Executes text without parameters; the results are those of the cursor."""
        core = self._core
        pipeline = core.pipeline() if core.pipelines else None
        ticket = core.submit_script(sql)
        if pipeline is not None:
            cursor._is_pending(ticket, pipeline)
            core.wire.nudge()
        else:
            try:
                cursor._take(self._wait(ticket, timeout))
            except errors.DatabaseError as error:
                cursor._failed(error)
                raise

    def _rows(self, factory: RowFactory[T], sql: str, args: tuple[Any, ...], timeout: float | None) -> list[T]:
        core = self._core
        if core.timing or (core.pipelines and core.pipeline() is not None):
            return self._cursor(factory).execute(sql, args or None, timeout=timeout).fetchall()
        # The same result as with a cursor, without one.
        result = self._wait(core.submit(sql, args or None), timeout)
        if factory is tuple_row and isinstance(result, Result) and result.rows is not None:
            return result.rows  # type: ignore[return-value]
        cursor = self._cursor(factory)
        cursor._take(result)
        return cursor._all()

    def fetch(self, sql: str, *args: Any, timeout: float | None = None, **named: NoReturn) -> list[R]:
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
        return self._rows(self.row_factory, sql, args, timeout)

    def fetchrow(self, sql: str, *args: Any, timeout: float | None = None, **named: NoReturn) -> R | None:
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
        rows = self._rows(self.row_factory, sql, args, timeout)
        return rows[0] if rows else None

    def fetchval(self, sql: str, *args: Any, timeout: float | None = None, **named: NoReturn) -> Any:
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
        rows = self._rows(tuple_row, sql, args, timeout)
        return rows[0][0] if rows else None

    # transactions

    def commit(self, *, timeout: float | None = None) -> None:
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
        self._run(self._core.end(False), timeout)

    def rollback(self, *, timeout: float | None = None) -> None:
        """Rolls the open transaction back. Does nothing if there is none.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            ProgrammingError: it was called inside a ``transaction()`` block.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        self._run(self._core.end(True), timeout)

    @contextlib.contextmanager
    def transaction(
        self: Self, savepoint_name: str | None = None, *, force_rollback: bool = False, timeout: float | None = None
    ) -> Generator[Self]:
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
        try:
            self._run(core.enter(block, savepoint_name), timeout)
            try:
                yield self
            except Rollback:
                self._run(core.leave(block, True), timeout)
            except BaseException as error:
                if _is_interrupted() and not core.wire.closed and core.wire.has_left():
                    self._leave_later(core.leave(block, True), error)
                    raise
                try:
                    self._run(core.leave(block, True), timeout)
                except errors.Error as second:
                    raise error from second
                raise
            else:
                self._run(core.leave(block, force_rollback), timeout)
        finally:
            if block in core.blocks:
                # An interrupt came before it was left: the next statement would be in it.
                self._run(core.leave(block, True), timeout)

    def _leave_later(self, flow: Flow[Any], interrupt: BaseException) -> None:
        """Queues the requests of a flow, which are sent with the next one: each of its waits is interrupted."""
        try:
            next(flow)
            while True:
                flow.throw(interrupt)
        except StopIteration:
            return
        except BaseException as raised:
            if raised is not interrupt:
                raise

    @contextlib.contextmanager
    def pipeline(self, *, timeout: float | None = None) -> Generator[Pipeline]:
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
            yield Pipeline(self, mine)
            return
        mine = core.begin_pipeline()
        cursors: deque[BlockingCursor[Any]] | None = None
        try:
            try:
                yield Pipeline(self, mine)
            except BaseException as error:
                cursors = core.leave_pipeline(mine)
                if isinstance(error, Exception) and not isinstance(error, TimeoutError):
                    self._drain(mine, cursors, True, timeout)
                else:
                    self._give_up(mine, cursors)
                raise
            else:
                cursors = core.leave_pipeline(mine)
                self._drain(mine, cursors, False, timeout)
        finally:
            if cursors is None:
                # An interrupt came before the pipeline was left: the next statement would be part of it.
                self._give_up(mine, core.leave_pipeline(mine))

    def _give_up(self, pipeline: Pipelined, cursors: deque[BlockingCursor[Any]]) -> None:
        """Ends a pipeline whose results are not needed."""
        if not self._core.wire.closed:
            self._core.ask_for_answers(pipeline)
            self._forsake(cursors)

    def _drain(
        self, pipeline: Pipelined, cursors: deque[BlockingCursor[Any]], quiet: bool, timeout: float | None
    ) -> None:
        core, limit = self._core, until(timeout)
        if core.wire.closed:
            return
        end = core.ask_for_answers(pipeline)
        first: BaseException | None = None
        try:
            for cursor in cursors:
                # Most are answered by the time that the first one is waited for.
                if cursor._pending is None or cursor._has_taken(cursor._pending.take_result()):
                    continue
                try:
                    cursor._resolve(limit)
                except errors.PipelineAborted as error:
                    first = first or error
                except errors.Error as error:
                    if first is None or isinstance(first, errors.PipelineAborted):
                        first = error
        except BaseException:
            self._forsake(cursors)
            raise
        if end is not None:
            self._wait(end, limit)
        if core.has_notices():
            core.notices()
        if first is not None and not quiet:
            raise first

    def _forsake(self, cursors: Iterable[BlockingCursor[Any]]) -> None:
        """Discards the unread results of a pipeline, and cancels the statement that the server executes: they are not
        needed after an interrupt or a timeout. One by one they would not be cancelled, as each has others after it."""
        wire = self._core.wire
        try:
            for cursor in cursors:
                ticket, cursor._pending = cursor._pending, None
                if ticket is not None:
                    wire.discard(ticket)
            if not wire.closed and wire.pause_at_discarded():
                self._cancel_abandoned(None, _patience())
        except BaseException:
            # Out of step, or a second interrupt: only a closed connection is safe now.
            wire.close()

    @property
    def autocommit(self) -> bool:
        """True if every statement is a transaction of its own. It can be changed between transactions only.

        Raises:
            ProgrammingError: it was set inside a transaction.
        """
        return self._core.autocommits()

    @autocommit.setter
    def autocommit(self, value: bool) -> None:
        self._run(self._core.set_autocommit(bool(value)))

    # ending

    def reset(self, mode: str = "rollback", *, timeout: float | None = None) -> None:
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
        self._run(self._core.renew(mode), timeout)

    def cancel(self, *, timeout: float | None = None) -> None:
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
        deadline = time.monotonic() + limit
        try:
            while (pause := self._send_cancel(limit)) is not None and not wire.closed:
                if time.monotonic() >= deadline:
                    raise OperationalError(f"the server did not read a cancel request in {limit} s")
                # Earlier replies are read by the requests that wait for them, or here.
                wire.nudge()
                time.sleep(pause)
        finally:
            wire.pause_requests(False)

    def close(self) -> None:
        """Closes the connection. The server rolls an open transaction back. Does nothing on a closed connection.

        Raises:
            ConnectionClosed: it is closed already, and was opened with ``strict_close=True``.
        """
        if self._strict_close and self.closed:
            raise ConnectionClosed("the connection is closed already")
        if self._core.timing:
            started = time.perf_counter_ns()
            self._core.wire.close()
            self._core.wire.count("close", time.perf_counter_ns() - started)
            return
        self._core.wire.close()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if not self.closed and not self._ends_itself():
                if error is None:
                    self.commit()
                else:
                    # Closing rolls back, too, and waits for nothing.
                    with contextlib.suppress(errors.Error):
                        if isinstance(error, Exception) or not self.wire.has_left():
                            self.rollback()
        finally:
            self.close()


def warn_dropped(ref: weakref.ref[Wire], where: str) -> None:
    """Warns of a connection that was collected before it was closed. The socket is closed with the last reference to
    the engine, which may have been collected before."""
    wire = ref()
    if wire is not None and not wire.closed:
        warnings.warn(f"a connection ({where}) was dropped without close()", ResourceWarning, stacklevel=2)


def _patience() -> float:
    """Seconds to wait for the server to end what was abandoned. An interrupt is raised soon; a timeout when the
    connection is in step."""
    return min(defaults.INTERRUPT_PATIENCE, defaults.CANCEL_TIMEOUT) if _is_interrupted() else defaults.CANCEL_TIMEOUT


def _is_interrupted() -> bool:
    """Returns true if an interrupt is handled, and not an error: KeyboardInterrupt, or an exception of a signal
    handler."""
    error = sys.exc_info()[1]
    return error is not None and not isinstance(error, (Exception, GeneratorExit))


class Pipeline:
    """A pipeline, of ``Connection.pipeline()``. It belongs to one thread."""

    def __init__(self, connection: BlockingConnection[Any], pipelined: Pipelined) -> None:
        self._connection = connection
        self._pipelined = pipelined

    def flush(self, *, timeout: float | None = None) -> None:
        """Sends queued statements, and waits only for room in the socket: the server executes them while the program
        continues.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the server did not read within ``timeout`` seconds.
        """
        self._connection._core.ask_for_answers(self._pipelined)
        self._connection._push(0, timeout)

    def sync(self, *, timeout: float | None = None) -> None:
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
        self._connection._drain(pipelined, cursors, False, timeout)
