"""The queries of a connection whose rows are Arrow, whatever the database."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ... import defaults
from ..._native import ArrowBatch, ArrowResult, ArrowSink
from ..._shared.arrow import Numeric, arrow_rows, arrow_sink, reader_maker
from ..._shared.core import check_keywords
from ..._shared.cursor_base import Params
from .arrow_stream import AsyncArrowStream
from .cancelling import LoopCancelling
from .frames import LoopFrames

if TYPE_CHECKING:
    from ...sql import Statement

R = TypeVar("R")


class LoopArrowQueries(LoopFrames, LoopCancelling[R]):
    """What a connection has for programs that take record batches, tables or data frames instead of rows."""

    @abstractmethod
    def _arrow_batches(
        self, sql: Statement, params: Params, sink: ArrowSink, timeout: float | None
    ) -> AsyncGenerator[ArrowBatch]:
        """The record batches of a query, through ``sink``, while they come."""

    async def fetch_arrow(
        self,
        sql: Statement,
        *args: Any,
        numeric: Numeric = "decimal",
        batch_rows: int = defaults.ARROW_BATCH_ROWS,
        batch_bytes: int = defaults.ARROW_BATCH_BYTES,
        timeout: float | None = None,
        **named: NoReturn,
    ) -> ArrowResult:
        """Executes a query and returns its rows as Arrow record batches, without making Python objects of the values.

        ``pyarrow.table(result)``, ``polars.DataFrame(result)`` and every other library with the Arrow PyCapsule
        interface take the result; none of them is needed for it. It is received whole.

        Args:
            sql: the query.
            args: the parameters, one by one, or one mapping for ``%(name)s``.
            numeric: the Arrow type of exact numbers whose type has no precision: ``"decimal"`` for decimal128(38, 20),
                or what the numbers of the first batch need, ``"string"``, or ``"float64"``, which then holds for those
                with a precision, too. All others are decimals of their own precision and scale.
            batch_rows: rows of a record batch at most.
            batch_bytes: bytes of the values of a record batch after which it ends, however few its rows are.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The rows.

        Raises:
            DataError: a value does not fit its column's Arrow type; the text names column and row. With
                ``unrepresentable="none"`` the value is null instead.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
            ProgrammingError: the statement returned no rows.
        """
        check_keywords("fetch_arrow", named)
        core, arrow = self._core, arrow_sink(numeric, batch_rows, batch_bytes)
        try:
            return arrow_rows(await self._wait(core.submit_arrow(sql, args or None, arrow), timeout))
        except BaseException as error:
            core.withdraw(error)
            raise

    async def _whole(
        self, sql: Statement, args: tuple[Any, ...], numeric: Numeric, timeout: float | None
    ) -> ArrowResult:
        return await self.fetch_arrow(sql, *args, numeric=numeric, timeout=timeout)

    async def fetch_record_batch(
        self,
        sql: Statement,
        *args: Any,
        numeric: Numeric = "decimal",
        batch_rows: int = defaults.ARROW_BATCH_ROWS,
        batch_bytes: int = defaults.ARROW_BATCH_BYTES,
        timeout: float | None = None,
        **named: NoReturn,
    ) -> Any:
        """Executes a query and returns its rows as a reader of pyarrow.

        On a blocking connection they are received while they are read, as :meth:`stream_arrow` does, so that the reader
        occupies the connection until its end or its ``close()``, and ``timeout`` is for each wait. With
        ``headrace.aio`` they are received whole: a reader cannot wait for a loop.

        Args:
            sql: the query.
            args: the parameters, one by one, or one mapping for ``%(name)s``.
            numeric: the Arrow type of exact numbers whose type has no precision: ``"decimal"`` for decimal128(38, 20),
                or what the numbers of the first batch need, ``"string"``, or ``"float64"``, which then holds for those
                with a precision, too. All others are decimals of their own precision and scale.
            batch_rows: rows of a record batch at most.
            batch_bytes: bytes of the values of a record batch after which it ends, however few its rows are.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            A ``pyarrow.RecordBatchReader``.

        Raises:
            ModuleNotFoundError: pyarrow is not installed.
            DataError: a value does not fit its column's Arrow type; the text names column and row. With
                ``unrepresentable="none"`` the value is null instead.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
            ProgrammingError: the statement returned no rows.
        """
        check_keywords("fetch_record_batch", named)
        made = reader_maker("fetch_record_batch")
        # blocking: batches = self.stream_arrow(
        batches = await self.fetch_arrow(  # asyncio only
            sql, *args, numeric=numeric, batch_rows=batch_rows, batch_bytes=batch_bytes, timeout=timeout
        )
        # blocking:     sql, *args, numeric=numeric, batch_rows=batch_rows, batch_bytes=batch_bytes, timeout=timeout
        # blocking: )
        return made(batches)

    def stream_arrow(
        self,
        sql: Statement,
        *args: Any,
        numeric: Numeric = "decimal",
        batch_rows: int = defaults.ARROW_BATCH_ROWS,
        batch_bytes: int = defaults.ARROW_BATCH_BYTES,
        timeout: float | None = None,
        **named: NoReturn,
    ) -> AsyncArrowStream:
        """Executes a query and returns its rows as Arrow record batches while they are received, in bounded memory.

        The statement is executed with the first batch. The stream reads in the same transaction as :meth:`stream`, and
        occupies the connection as that does. Close it if it is not read to its end: a server that still sends rows is
        stopped. It may be continued by another task.

        Args:
            sql: the query.
            args: the parameters, one by one, or one mapping for ``%(name)s``.
            numeric: the Arrow type of exact numbers whose type has no precision: ``"decimal"`` for decimal128(38, 20),
                or what the numbers of the first batch need, ``"string"``, or ``"float64"``, which then holds for those
                with a precision, too. All others are decimals of their own precision and scale.
            batch_rows: rows of a record batch at most.
            batch_bytes: bytes of the values of a record batch after which it ends, however few its rows are.
            timeout: seconds until each wait is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The record batches, one after the other.

        Raises:
            ProgrammingError: the statement returns no rows, or ``batch_rows`` or ``batch_bytes`` is less than 1.
            InterfaceError: the connection is occupied by another stream or COPY of the same thread or task.
            DataError: a value does not fit its column's Arrow type, after the batches before it.
            InvalidCursorName: the transaction in which it reads has ended.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: a wait was cancelled after ``timeout`` seconds.
        """
        check_keywords("stream_arrow", named)
        sink = arrow_sink(numeric, batch_rows, batch_bytes)
        return AsyncArrowStream(self._arrow_batches(sql, args or None, sink, timeout), sink)
