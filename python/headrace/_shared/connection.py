"""The blocking connection, whatever the database."""

# Made by tools/async_to_sync.py of aio/_shared/connection.py: edit that file, and run the tool.

from __future__ import annotations

import contextlib
import time
from collections import deque
from collections.abc import Generator, Iterable
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar

from .. import defaults, errors
from .._native import Result, shortcut
from ..rows import RowFactory, tuple_row
from ..types import ParameterRows
from .arguments import checked_rows
from .arrow_queries import BlockingArrowQueries
from .core import Core, Pipelined, Rollback, check_keywords
from .cursor import BlockingCursor
from .cursor_base import Params
from .lease import NO_CORE
from .limits import until
from .modes import IsolationLevel, ResetMode
from .pipeline import Pipeline
from .transactions import Block
from .waiting import result_of

if TYPE_CHECKING:
    from ..sql import Statement

from .waiting import is_interrupted

R = TypeVar("R")
T = TypeVar("T")
C_co = TypeVar("C_co", bound=BlockingCursor[Any], covariant=True)
Self = TypeVar("Self", bound="BlockingConnection[Any]")


class BlockingCursors(Protocol[C_co]):
    """A connection, as far as the class of its cursors is the database's own."""

    row_factory: RowFactory[Any]

    @property
    def _cursor_type(self) -> type[C_co]: ...
    def _script(self, cursor: BlockingCursor[Any], sql: Statement, timeout: float | None) -> None: ...


class BlockingConnection(BlockingArrowQueries[R]):
    """A connection. Threads may share it: their calls are queued.

    As a context manager it commits at the end of the block, rolls back when the block raises an exception, and closes.
    """

    _cursor_type: type[BlockingCursor[Any]]  # pyright: ignore[reportIncompatibleVariableOverride]

    # statements

    @shortcut
    def execute(
        self: BlockingCursors[C_co], sql: Statement, params: Params = None, *, timeout: float | None = None
    ) -> C_co:
        """Executes one statement on a new cursor. In a pipeline, sends it without waiting.

        Args:
            sql: the statement.
            params: a sequence of values, or a mapping for ``%(name)s``; None for a statement without parameters.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The cursor, with the result.

        Raises:
            ProgrammingError: the parameters do not fit the statement.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        # Not called as a method: CPython 3.11 does not specialise that for what is in a slot.
        make = self._cursor_type
        return make(self, self.row_factory).execute(sql, params, timeout=timeout)

    def executemany(
        self: BlockingCursors[C_co],
        sql: Statement,
        rows: ParameterRows,
        *,
        returning: bool = False,
        timeout: float | None = None,
    ) -> C_co:
        """Executes one statement for every row of parameters, on a new cursor: all rows are applied, or none.

        The error of a row has its number, from 0, as ``error.row``.

        Args:
            sql: the statement.
            rows: the rows of parameters: any iterable, or Arrow data, such as a table or a data frame.
            returning: keep what the statement returns, one result for each row. Informix and CUBRID cannot.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The cursor, with the results.

        Raises:
            NotSupportedError: ``returning`` is true, and the database does not have it.
            ProgrammingError: the parameters of a row do not fit the statement.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        cursor = self._cursor_type(self, self.row_factory)
        return cursor.executemany(sql, rows, returning=returning, timeout=timeout)

    def fetchmany(self, sql: Statement, rows: Iterable[Any], *, timeout: float | None = None) -> list[R]:
        """Executes a query for every row of parameters, pipelined.

        Args:
            sql: the query.
            rows: the rows of parameters: any iterable; on PostgreSQL, MySQL and MariaDB also Arrow data, such as a
                table or a data frame.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            All rows of all results, in one list.

        Raises:
            ProgrammingError: the parameters of a row do not fit the statement.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        cursor, out = self._cursor_type(self, self.row_factory), list[R]()
        limit = until(timeout)
        asked = deque[Any]()

        def take() -> None:
            cursor._take(self._wait(asked.popleft(), limit))
            out.extend(cursor._all())

        try:
            for row in checked_rows(rows, "rows"):
                asked.append(self._core.submit(sql, row))
                if len(asked) >= defaults.FETCHMANY_IN_FLIGHT:
                    take()
            while asked:
                take()
        except BaseException as error:
            self._core.withdraw(error)
            raise
        finally:
            # After an error the other results are not needed.
            while asked and not self.closed:
                self._core.wire.discard(asked.pop())
        return out

    # queries

    def _script(self, cursor: BlockingCursor[Any], sql: Statement, timeout: float | None) -> None:
        """Executes text without parameters; the results are those of the cursor."""
        core = self._core
        if core.pipelines and (pipeline := core.pipeline()) is not None:
            cursor._is_pending(core.submit_script(sql), pipeline)
            core.wire.pump_once()
            return
        try:
            ticket = core.submit_script(sql)
            try:
                cursor._take(self._wait(ticket, timeout))
            except errors.DatabaseError as error:
                cursor._failed(error)
                raise
        except BaseException as error:
            core.withdraw(error)
            raise

    def _rows(
        self, factory: RowFactory[T], sql: Statement, args: tuple[Any, ...], timeout: float | None, first: bool = False
    ) -> list[T]:
        core = self._core
        if core.timing or (core.pipelines and core.pipeline() is not None):
            cursor = self._cursor_type(self, factory).execute(sql, args or None, timeout=timeout)
            return cursor.fetchall()
        # The same result as with a cursor, without one.
        bare = factory is core.tuples
        limit = core.command_timeout if timeout is None else timeout
        try:
            try:
                if self._left is None and self._ending is None:
                    result = core.run(sql, args or None, core.way, first, bare, limit)
                else:
                    submit, bare = core.submit_first if first else core.submit, False
                    result = self._wait(submit(sql, args or None), limit)
                if type(result) is list and bare:
                    return result  # pyright: ignore[reportUnknownVariableType]
                result = core.without_notices(result)
            except BaseException as error:
                self._unanswered(core, error, limit)
                raise
            if type(result) is list and bare:
                return result  # pyright: ignore[reportUnknownVariableType]
        except BaseException as error:
            self._withdraw(core, error)
            raise
        return self._made_rows(core, factory, result)

    def _made_rows(self, core: Core, factory: RowFactory[T], result: Any) -> list[T]:
        """The rows of what the engine has returned for a query."""
        if factory is core.tuples and isinstance(result, Result) and result.rows is not None:
            return result.rows  # type: ignore[return-value]  # pyright: ignore[reportReturnType]
        cursor = self._cursor_type(self, factory)
        cursor._take(result)
        return cursor._all()

    @shortcut
    def fetch(self, sql: Statement, *args: Any, timeout: float | None = None, **named: NoReturn) -> list[R]:
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
            check_keywords("fetch", named)
        return self._rows(self.row_factory, sql, args, timeout)

    @shortcut
    def fetchrow(self, sql: Statement, *args: Any, timeout: float | None = None, **named: NoReturn) -> R | None:
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
            check_keywords("fetchrow", named)
        rows = self._rows(self.row_factory, sql, args, timeout, True)
        return rows[0] if rows else None

    @shortcut
    def fetchval(self, sql: Statement, *args: Any, timeout: float | None = None, **named: NoReturn) -> Any:
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
            check_keywords("fetchval", named)
        rows = self._rows(tuple_row, sql, args, timeout, True)
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
        self._tell_failures(timeout)
        self._committed(self._core.end(False), timeout)

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
    def _whole_batch(self, timeout: float | None) -> Generator[None]:
        """A block around a batch whose rows the server would keep that come before the one that fails."""
        core = self._core
        if not core.autocommits() and not core.in_transaction():
            # It goes on after the batch.
            self._run(core.begin_transaction(), timeout)
        with self.transaction(timeout=timeout):
            yield

    def _tell_failures(self, timeout: float | None) -> None:
        """Raises the first error of the pipeline's statements so far. A server that does not refuse to commit after an
        error would store the others."""
        core = self._core
        if core.pipelines and not core.fails_with_statement() and (mine := core.pipeline()) is not None:
            Pipeline(self, mine).sync(timeout=timeout)

    def _committed(self, end: Any, timeout: float | None) -> None:
        """Commits, and counts it."""
        core = self._core
        started = time.perf_counter_ns() if core.timing else 0
        try:
            self._run(end, timeout)
        finally:
            if core.timing:
                core.wire.count("commit", time.perf_counter_ns() - started)

    @contextlib.contextmanager
    def transaction(
        self: Self,
        savepoint_name: str | None = None,
        *,
        isolation: IsolationLevel | None = None,
        read_only: bool | None = None,
        deferrable: bool | None = None,
        force_rollback: bool = False,
        timeout: float | None = None,
    ) -> Generator[Self]:
        """Opens a block that is committed at its end, and rolled back when it raises an exception.

        Inside another transaction the block is a savepoint. Raising :class:`headrace.Rollback` in it rolls it back
        without an error outside. All threads and tasks of a connection share its transaction.

        Args:
            savepoint_name: the name of the savepoint; None for a generated one.
            isolation: the isolation level of this transaction only; None for the session's.
            read_only: true if this transaction only reads, false if it may write; None for the session's. CUBRID does
                not have it.
            deferrable: true if a serializable transaction that only reads waits for a snapshot with which it cannot
                fail; None for the session's. Only PostgreSQL has it.
            force_rollback: roll back in any case, also at a normal end.
            timeout: seconds for the beginning and for the end, each; None for ``command_timeout``.

        Returns:
            A context manager; its value is the connection.

        Raises:
            ProgrammingError: ``isolation``, ``read_only`` or ``deferrable`` is given inside a transaction, or there is
                no such level.
            NotSupportedError: the database does not have one of these, or not this level.
            InterfaceError: at its end, if the transaction around the block had ended before.
            InFailedSqlTransaction: at its end, if the server has ended the transaction because of an error. Until then
                statements in the block raise it, too, and are not executed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        core = self._core
        block = Block(modes=core.modes_of(isolation, read_only, deferrable))
        try:
            self._run(core.enter(block, savepoint_name), timeout)
            try:
                yield self
                if not force_rollback:
                    self._tell_failures(timeout)
            except Rollback:
                self._run(self._core.leave(block, True), timeout)
            except BaseException as error:
                if core.is_inherited():
                    # A fork inside of the block: the parent ends it, and the child's exception is its own.
                    raise
                if is_interrupted() and not core.wire.closed and core.wire.has_left():
                    self._leave_later(core.leave(block, True), error)
                    raise
                try:
                    self._run(self._core.leave(block, True), timeout)
                except errors.Error as second:
                    raise error from second
                raise
            else:
                # Another core where the connection went back to its pool meanwhile, which raises that.
                if block.begins and not force_rollback:
                    self._committed(self._core.leave(block, False), timeout)
                else:
                    self._run(self._core.leave(block, force_rollback), timeout)
        finally:
            if block in core.blocks and core is self._core and not core.is_inherited():
                # An interrupt came before it was left: the next statement would be in it.
                self._run(core.leave(block, True), timeout)
            # One that came after that: the next block is the first again.
            core.unfinished.discard(block)

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
        mine = Pipelined(next(core.numbers))
        cursors: deque[BlockingCursor[Any]] | None = None
        ended = False
        try:
            try:
                # Not before: after an interrupt all that this thread executes later would be part of it.
                core.begin_pipeline(mine)
                yield Pipeline(self, mine)
            except BaseException as error:
                cursors = core.leave_pipeline(mine)
                # and neither has it gone back to its pool, nor is this the child of a fork
                here = self._core is core and not core.is_inherited()
                if here and isinstance(error, Exception) and not isinstance(error, TimeoutError):
                    lost = self._drain(mine, cursors, True, timeout)
                    if isinstance(lost, errors.ConnectionClosed) and core.wire.has_refused(error):
                        # Its statement was not sent, but those in flight may have been executed.
                        error.args = (str(lost),)
                else:
                    self._give_up(mine, cursors)
                ended = True
                raise
            else:
                cursors = core.leave_pipeline(mine)
                self._drain(mine, cursors, False, timeout)
                ended = True
        finally:
            if cursors is None:
                # An interrupt came before the pipeline was left: the next statement would be part of it.
                self._give_up(mine, core.leave_pipeline(mine))
            elif not ended and any(cursor._pending is not None for cursor in cursors):
                # One that came before they were given up.
                self._discard_results(cursors, None)
            # Each of the cursors refers to the pipeline: they would wait for the collector of cycles, with their rows.
            mine.left = deque()

    def _give_up(self, pipeline: Pipelined, cursors: deque[BlockingCursor[Any]]) -> None:
        """Ends a pipeline whose results are not needed."""
        core = self._core
        if core.is_inherited():
            return
        if core is NO_CORE:
            self._discard_results(cursors, None)
            return
        core.withdraw()
        self._discard_results(cursors, core.ask_for_answers(pipeline))

    def _drain(
        self, pipeline: Pipelined, cursors: deque[BlockingCursor[Any]], quiet: bool, timeout: float | None
    ) -> BaseException | None:
        """Takes the results of a pipeline; raises the first error among them, or returns it if it is to be ``quiet``.
        On a closed connection each has one."""
        core, limit = self._core, until(timeout)
        end = core.ask_for_answers(pipeline)
        first: BaseException | None = None
        try:
            for cursor in cursors:
                # Most are answered by the time that the first one is waited for.
                if cursor._pending is None or cursor._has_taken(result_of(cursor._pending)):
                    continue
                try:
                    cursor._resolve(limit)
                except errors.Error as error:
                    cursor._keep_error(error)
                    if first is None or (
                        isinstance(first, errors.PipelineAborted) and not isinstance(error, errors.PipelineAborted)
                    ):
                        first = error
        except BaseException:
            self._discard_results(cursors, end)
            raise
        if end is not None:
            try:
                self._wait(end, limit)
            except errors.Error as error:
                first = first or error
        if core.noticed:
            core.notices()
        if first is not None and not quiet:
            raise first
        return first

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

    def ping(self, *, timeout: float | None = None) -> None:
        """Makes a round trip without any other effect.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds.
        """
        self._wait(self._core.round_trip(), timeout)

    # ending

    def reset(self, mode: ResetMode = "rollback", *, timeout: float | None = None) -> None:
        """Resets the session, as a pool does when a connection is returned. Attributes of the connection are set back
        to what they were after ``connect``; the manual of pools has a table of what else is.

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
        self._set_back(mode)

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if self.closed or self._ends_itself():
                if error is None:
                    self._core.check_lost()
            elif error is None:
                self.commit()
            else:
                # Closing rolls back, too, and waits for nothing.
                with contextlib.suppress(errors.Error):
                    if isinstance(error, Exception) or not self._core.wire.has_left():
                        self.rollback()
        finally:
            self.close()
