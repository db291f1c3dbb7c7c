"""The blocking cursor, whatever the database."""

# Made by tools/async_to_sync.py of aio/_shared/cursor.py: edit that file, and run the tool.

from __future__ import annotations

import time
from collections.abc import Iterator
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from .. import defaults
from .._native import Result, shortcut
from ..errors import DatabaseError, InterfaceError, NotSupportedError
from ..types import ParameterRows
from .arrow import Numeric, arrow_sink
from .cursor_base import HANDED_OVER, CursorBase, Params
from .limits import Limit
from .modes import ScrollMode

if TYPE_CHECKING:
    from ..sql import Statement

R = TypeVar("R")
Self = TypeVar("Self", bound="BlockingCursor[Any]")


class BlockingCursor(CursorBase[R]):
    """Executes statements and holds their results (PEP 249). It is for one thread at a time.

    A result is received whole.
    """

    @property
    def connection(self) -> Any:
        """The connection to which the cursor belongs."""
        return self._connection

    def _script(self, sql: Statement) -> None:
        self._connection._script(self, sql, None)

    @shortcut
    def execute(self: Self, sql: Statement, params: Params = None, *, timeout: float | None = None) -> Self:
        """Executes one statement. In a pipeline, sends it without waiting.

        Opens a transaction if none is open, unless the connection is in autocommit. A call that is interrupted, or a
        task that is cancelled, cancels the statement on the server, too.

        Args:
            sql: the statement.
            params: a sequence of values, or a mapping for ``%(name)s``, in a style of the database; None for a
                statement without parameters.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The cursor itself.

        Raises:
            InterfaceError: the cursor is closed, or the connection is occupied by a stream or COPY of the same thread
                or task.
            ProgrammingError: the parameters do not fit the statement.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        if self._closed:
            raise InterfaceError("the cursor is closed")
        connection = self._connection
        core = connection._core
        started = time.perf_counter_ns() if core.timing else 0
        try:
            if core.pipelines and (pipeline := core.pipeline()) is not None:
                self._is_pending(core.submit_pipelined(pipeline, sql, params), pipeline)
                if pipeline.is_due(defaults.PIPELINE_PUMP):
                    core.wire.pump_once()
                return self
            # Before the statement is sent: two large results would be in memory at a time. What :meth:`_clear` does,
            # and :meth:`_set` for rows as they come, is done here: CPython takes as long for a call as for all of it.
            if self._pending is not None:
                self._clear()
            self._keeps_rows = True
            self._result = self._rows = self._arrow = self._error = None
            self._more = ()
            self._position = 0
            limit = core.command_timeout if timeout is None else timeout
            try:
                if connection._left is None and connection._ending is None:
                    outcome = core.run(sql, params, core.way, False, False, limit)
                else:
                    outcome = connection._wait(core.submit(sql, params), limit)
                if type(outcome) is not Result:
                    self._take(core.without_notices(outcome))
                elif self._row_factory is core.tuples:
                    self._result = outcome
                    self._rows = outcome.rows
                    self._make = None
                else:
                    self._set(outcome)
            except BaseException as error:
                if isinstance(error, DatabaseError):
                    self._failed(error)
                connection._unanswered(core, error, limit)
                raise
        except BaseException as error:
            connection._withdraw(core, error)
            raise
        finally:
            if started:
                core.wire.count("execute", time.perf_counter_ns() - started)
        return self

    def execute_arrow(
        self: Self,
        sql: Statement,
        params: Params = None,
        *,
        numeric: Numeric = "decimal",
        batch_rows: int = defaults.ARROW_BATCH_ROWS,
        batch_bytes: int = defaults.ARROW_BATCH_BYTES,
        timeout: float | None = None,
    ) -> Self:
        """Executes one statement whose rows become Arrow record batches, without making Python objects of the values:
        for :meth:`fetch_arrow`, :meth:`fetch_arrow_table`, :meth:`fetch_record_batch`, :meth:`fetch_df` and
        :meth:`fetch_polars`. Of several results it keeps the first that has rows. In a pipeline it waits for its own.

        Args:
            sql: the statement.
            params: a sequence of values, or a mapping for ``%(name)s``, in a style of the database; None for a
                statement without parameters.
            numeric: the Arrow type of exact numbers whose type has no precision: ``"decimal"`` for decimal128(38, 20),
                or what the numbers of the first batch need, ``"string"``, or ``"float64"``, which then holds for those
                with a precision, too. All others are decimals of their own precision and scale.
            batch_rows: rows of a record batch at most.
            batch_bytes: bytes of the values of a record batch after which it ends, however few its rows are.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The cursor itself.

        Raises:
            InterfaceError: the cursor is closed, or the connection is occupied by a stream or COPY of the same thread
                or task.
            NotSupportedError: the cursor is one that fetches its rows later.
            ProgrammingError: the parameters do not fit the statement.
            DataError: a value does not fit its column's Arrow type; the text names column and row. With
                ``unrepresentable="none"`` the value is null instead.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        self._check()
        if not self._has_arrow:
            raise NotSupportedError(
                "this cursor fetches its rows later, and as Python objects: stream_arrow() of the connection returns "
                "record batches in bounded memory"
            )
        core, arrow = self._connection._core, arrow_sink(numeric, batch_rows, batch_bytes)
        try:
            ticket = core.submit_arrow(sql, params, arrow)
            self._clear()
            self._take_arrow(self._connection._wait(ticket, timeout))
        except BaseException as error:
            core.withdraw(error)
            raise
        return self

    def executemany(
        self: Self, sql: Statement, rows: ParameterRows, *, returning: bool = False, timeout: float | None = None
    ) -> Self:
        """Executes one statement for every row of parameters: all rows are applied, or none.

        In autocommit the batch is one transaction. The error of a row has its number, from 0, as ``error.row``. On
        tables without transactions, rows before the error stay.

        Args:
            sql: the statement.
            rows: the rows of parameters: any iterable, or Arrow data, such as a table or a data frame.
            returning: keep what the statement returns: one result for each row, in turn by :meth:`nextset`. Otherwise
                ``rowcount`` is the sum.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The cursor itself.

        Raises:
            InterfaceError: the cursor is closed.
            ProgrammingError: the parameters of a row do not fit the statement.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        self._check()
        returning = bool(returning)
        if self._connection._core.fails_with_group():
            return self._executemany(sql, rows, returning, timeout)
        with self._connection._whole_batch(timeout):
            return self._executemany(sql, rows, returning, timeout)

    def _executemany(self: Self, sql: Statement, rows: ParameterRows, returning: bool, timeout: float | None) -> Self:
        core = self._core
        started = time.perf_counter_ns() if core.timing else 0
        self._clear()
        if core.pipelines and (pipeline := core.pipeline()) is not None:
            self._is_pending(core.submit_batch_pipelined(pipeline, sql, rows, returning), pipeline)
            self._keeps_rows = returning
            core.wire.pump_once()
            return self
        try:
            ticket = core.submit_batch(sql, rows, returning)
            self._keeps_rows = returning
            self._take(self._connection._wait(ticket, timeout))
        except BaseException as error:
            core.withdraw(error)
            raise
        if core.timing:
            core.wire.count("execute", time.perf_counter_ns() - started)
        return self

    def _resolve(self, limit: Limit) -> None:
        """Waits for the result of a pipelined statement."""
        pipeline = self._pipeline
        if self._pending is None or pipeline is None:
            return
        self._ask_for_answers()
        # From here on the pipeline's end does not see to it, but this does.
        ticket, self._pending = self._pending, None
        try:
            pipeline.resolved(self)
            self._take(self._connection._wait(ticket, limit))
        except DatabaseError as error:
            self._failed(error)
            raise
        except BaseException:
            # An interrupt before the wait; else nothing is left of it.
            self._core.forget(ticket)
            raise

    def _ask_for_answers(self) -> None:
        self._core.ask_for_answers(self._pipeline)

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the result of a pipelined statement.

        If it was not received in time, it is still in flight, and can be waited for again.

        Args:
            timeout: seconds to wait at most; 0 to check only, None for ``command_timeout``.

        Returns:
            True if the result was received.

        Raises:
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: without ``timeout``, the ``command_timeout`` is over, and the statement was cancelled.
        """
        if self._pending is not None:
            self._ask_for_answers()
            if timeout is not None:
                return self._connection._look(self, timeout)  # type: ignore[no-any-return]
            self._resolve(timeout)
        return True

    @shortcut
    def fetchone(self, *, timeout: float | None = None) -> R | None:
        """Returns the next row.

        Args:
            timeout: seconds to wait for the result of a pipelined statement, or for rows that are still at the server;
                None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The row, or None after the last.

        Raises:
            InterfaceError: the cursor is closed.
            ProgrammingError: nothing was executed, or the statement returned no rows.
            InvalidCursorName: the cursor is open on the server, and has ended with its transaction.
            DatabaseError: a pipelined statement failed, or the server refused to send rows.
            ConnectionClosed: the connection was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        if self._pending is not None:
            self._resolve(timeout)
        return self._timed(self._one) if self._core.timing else self._one()  # type: ignore[no-any-return]

    def fetchmany(self, size: int | None = None, *, timeout: float | None = None) -> list[R]:
        """Returns the next rows.

        Args:
            size: number of rows, None for ``arraysize``; at the end there may be fewer.
            timeout: seconds to wait for the result of a pipelined statement, or for rows that are still at the server;
                None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            A list of rows, empty after the last.

        Raises:
            InterfaceError: the cursor is closed.
            ProgrammingError: nothing was executed, or the statement returned no rows.
            InvalidCursorName: the cursor is open on the server, and has ended with its transaction.
            DatabaseError: a pipelined statement failed, or the server refused to send rows.
            ConnectionClosed: the connection was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        if self._pending is not None:
            self._resolve(timeout)
        return self._timed(partial(self._many, size)) if self._core.timing else self._many(size)

    @shortcut
    def fetchall(self, *, timeout: float | None = None) -> list[R]:
        """Returns all remaining rows.

        Args:
            timeout: seconds to wait for the result of a pipelined statement, or for rows that are still at the server;
                None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            A list of rows, empty after the last.

        Raises:
            InterfaceError: the cursor is closed.
            ProgrammingError: nothing was executed, or the statement returned no rows.
            InvalidCursorName: the cursor is open on the server, and has ended with its transaction.
            DatabaseError: a pipelined statement failed, or the server refused to send rows.
            ConnectionClosed: the connection was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        if self._pending is not None:
            self._resolve(timeout)
        if self._core.timing:
            return self._timed(self._all)  # type: ignore[no-any-return]
        rows = self._rows
        if rows is None or self._position or self._make is not None:
            return self._all()
        # All of them, as they are: for a small result a call would take as long as what it does.
        if rows:
            self._rows = HANDED_OVER
            self._position = len(rows)
        else:
            self._rows = []
        return rows

    def __iter__(self) -> Iterator[R]:
        return self

    def __next__(self) -> R:
        # A row factory may make None of a row.
        self._is_at_end = False
        row = self.fetchone()
        if row is None and self._is_at_end:
            raise StopIteration
        return row  # type: ignore[return-value]

    def nextset(self, *, timeout: float | None = None) -> bool | None:
        """Moves to the next result, of several statements in one text or of a batch with ``returning``.

        Args:
            timeout: seconds to wait for the result of a pipelined statement, or for rows that are still at the server;
                None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            True, or None if there is no other result.

        Raises:
            InterfaceError: the cursor is closed.
            DatabaseError: a pipelined statement failed.
            ConnectionClosed: the connection was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds.
        """
        self._resolve(timeout)
        return self._next_set()

    def scroll(self, value: int, mode: ScrollMode = "relative", *, timeout: float | None = None) -> None:
        """Moves within the result.

        Args:
            value: number of rows, from the current position or from the beginning.
            mode: ``relative`` or ``absolute``.
            timeout: seconds to wait for the result of a pipelined statement; None for ``command_timeout``.

        Raises:
            IndexError: the position is outside of the result; the cursor is not moved.
            ProgrammingError: the mode is not one of these, there is no result with rows, or ``fetchall()`` has
                returned them.
            InterfaceError: the cursor is closed.
            DatabaseError: a pipelined statement failed.
            TimeoutError: a pipelined statement was cancelled after ``timeout`` seconds.
        """
        self._resolve(timeout)
        self._scroll(value, mode)

    @shortcut
    def close(self, *, timeout: float | None = None) -> None:
        """Closes the cursor, on the server too if it is open there, and frees its result.

        Args:
            timeout: seconds to wait for a server on which it is open; None for ``command_timeout``.

        Raises:
            TimeoutError: the server did not answer within ``timeout`` seconds.
        """
        self._free()

    @shortcut
    def __enter__(self: Self) -> Self:
        return self

    @shortcut
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
