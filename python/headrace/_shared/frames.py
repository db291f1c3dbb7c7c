"""Queries whose rows are tables and data frames: of connections, and of pools."""

# Made by tools/async_to_sync.py of aio/_shared/frames.py: edit that file, and run the tool.

from __future__ import annotations

from abc import abstractmethod
from typing import TYPE_CHECKING, Any, NoReturn

from .._native import ArrowResult
from .arrow import Numeric, frame_maker, polars_maker, table_maker
from .core import check_keywords

if TYPE_CHECKING:
    from ..sql import Statement


class BlockingFrames:
    """What a connection or a pool has for programs that take the rows of a query as one table or data frame."""

    __slots__ = ()

    @abstractmethod
    def _whole(self, sql: Statement, args: tuple[Any, ...], numeric: Numeric, timeout: float | None) -> ArrowResult:
        """All rows of a query."""

    def fetch_arrow_table(
        self,
        sql: Statement,
        *args: Any,
        numeric: Numeric = "decimal",
        timeout: float | None = None,
        **named: NoReturn,
    ) -> Any:
        """Executes a query and returns its rows as a table of pyarrow. It is received whole.

        On a pool it is a transaction of its own, and its connection is back before the table is made.

        Args:
            sql: the query.
            args: the parameters, one by one, or one mapping for ``%(name)s``.
            numeric: the Arrow type of exact numbers whose type has no precision: ``"decimal"`` for decimal128(38, 20),
                or what the numbers of the first batch need, ``"string"``, or ``"float64"``, which then holds for those
                with a precision, too. All others are decimals of their own precision and scale.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit. A
                pool's own timeout is that of waiting for a connection.

        Returns:
            A ``pyarrow.Table``.

        Raises:
            ModuleNotFoundError: pyarrow is not installed.
            PoolTimeout: a pool had no connection within its timeout.
            DataError: a value does not fit its column's Arrow type; the text names column and row. With
                ``unrepresentable="none"`` the value is null instead.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
            ProgrammingError: the statement returned no rows.
        """
        check_keywords("fetch_arrow_table", named)
        made = table_maker("fetch_arrow_table")
        return made(self._whole(sql, args, numeric, timeout))

    def fetch_df(
        self,
        sql: Statement,
        *args: Any,
        numeric: Numeric = "decimal",
        timeout: float | None = None,
        **named: NoReturn,
    ) -> Any:
        """Executes a query and returns its rows as a data frame of pandas. It is received whole.

        On a pool it is a transaction of its own, and its connection is back before the frame is made.

        Args:
            sql: the query.
            args: the parameters, one by one, or one mapping for ``%(name)s``.
            numeric: the Arrow type of exact numbers whose type has no precision: ``"decimal"`` for decimal128(38, 20),
                or what the numbers of the first batch need, ``"string"``, or ``"float64"``, which then holds for those
                with a precision, too. All others are decimals of their own precision and scale.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit. A
                pool's own timeout is that of waiting for a connection.

        Returns:
            A ``pandas.DataFrame``, with the types that pyarrow gives it.

        Raises:
            ModuleNotFoundError: pandas or pyarrow is not installed.
            PoolTimeout: a pool had no connection within its timeout.
            DataError: a value does not fit its column's Arrow type; the text names column and row. With
                ``unrepresentable="none"`` the value is null instead.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
            ProgrammingError: the statement returned no rows.
        """
        check_keywords("fetch_df", named)
        made = frame_maker("fetch_df")
        return made(self._whole(sql, args, numeric, timeout))

    def fetch_polars(
        self,
        sql: Statement,
        *args: Any,
        numeric: Numeric = "decimal",
        timeout: float | None = None,
        **named: NoReturn,
    ) -> Any:
        """Executes a query and returns its rows as a data frame of polars. It is received whole.

        On a pool it is a transaction of its own, and its connection is back before the frame is made.

        Args:
            sql: the query.
            args: the parameters, one by one, or one mapping for ``%(name)s``.
            numeric: the Arrow type of exact numbers whose type has no precision: ``"decimal"`` for decimal128(38, 20),
                or what the numbers of the first batch need, ``"string"``, or ``"float64"``, which then holds for those
                with a precision, too. All others are decimals of their own precision and scale.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit. A
                pool's own timeout is that of waiting for a connection.

        Returns:
            A ``polars.DataFrame``.

        Raises:
            ModuleNotFoundError: polars is not installed.
            NotSupportedError: polars does not have the Arrow type of a column.
            PoolTimeout: a pool had no connection within its timeout.
            DataError: a value does not fit its column's Arrow type; the text names column and row. With
                ``unrepresentable="none"`` the value is null instead.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
            ProgrammingError: the statement returned no rows.
        """
        check_keywords("fetch_polars", named)
        made = polars_maker("fetch_polars")
        return made(self._whole(sql, args, numeric, timeout))
