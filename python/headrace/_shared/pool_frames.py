"""Queries of a pool whose rows are tables and data frames."""

# Made by tools/async_to_sync.py of aio/_shared/pool_frames.py: edit that file, and run the tool.

from __future__ import annotations

from abc import abstractmethod
from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NoReturn

from .._native import ArrowResult
from .arrow import Numeric, frame_maker, polars_maker, table_maker
from .core import no_keywords

if TYPE_CHECKING:
    from ..sql import Statement


class PoolFrames:
    """What a pool has for programs that take one table or data frame of a connection."""

    @abstractmethod
    def connection(self, timeout: float | None = None) -> AbstractContextManager[Any]:
        """Opens a block with a connection."""

    def _rows(self, sql: Statement, args: tuple[Any, ...], numeric: Numeric, timeout: float | None) -> ArrowResult:
        # The connection is back before a table or a frame is made of the rows.
        with self.connection() as connection:
            return connection.fetch_arrow(sql, *args, numeric=numeric, timeout=timeout)  # type: ignore[no-any-return]

    def fetch_arrow_table(
        self,
        sql: Statement,
        *args: Any,
        numeric: Numeric = "decimal",
        timeout: float | None = None,
        **named: NoReturn,
    ) -> Any:
        """Executes a query on a connection of the pool and returns its rows as a table of pyarrow.

        It has a transaction of its own, is received whole, and its connection is back before the table is made.

        Args:
            sql: the query.
            args: the parameters, one by one, or one mapping for ``%(name)s``.
            numeric: the Arrow type of exact numbers whose type has no precision, as for ``fetch_arrow`` of connections.
            timeout: seconds until the query is cancelled; None for ``command_timeout``, ``math.inf`` for no limit. The
                pool's own timeout is that of waiting for a connection.

        Returns:
            A ``pyarrow.Table``.

        Raises:
            ModuleNotFoundError: pyarrow is not installed.
            PoolTimeout: there was no connection within the pool's timeout.
            DataError: a value does not fit its column's Arrow type; the text names column and row. With
                ``unrepresentable="none"`` the value is null instead.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds.
            ProgrammingError: the statement returned no rows.
        """
        if named:
            raise no_keywords("fetch_arrow_table", named)
        made = table_maker("fetch_arrow_table")
        return made(self._rows(sql, args, numeric, timeout))

    def fetch_df(
        self,
        sql: Statement,
        *args: Any,
        numeric: Numeric = "decimal",
        timeout: float | None = None,
        **named: NoReturn,
    ) -> Any:
        """Executes a query on a connection of the pool and returns its rows as a data frame of pandas.

        It has a transaction of its own, is received whole, and its connection is back before the frame is made.

        Args:
            sql: the query.
            args: the parameters, one by one, or one mapping for ``%(name)s``.
            numeric: the Arrow type of exact numbers whose type has no precision, as for ``fetch_arrow`` of connections.
            timeout: seconds until the query is cancelled; None for ``command_timeout``, ``math.inf`` for no limit. The
                pool's own timeout is that of waiting for a connection.

        Returns:
            A ``pandas.DataFrame``, with the types that pyarrow gives it.

        Raises:
            ModuleNotFoundError: pandas or pyarrow is not installed.
            PoolTimeout: there was no connection within the pool's timeout.
            DataError: a value does not fit its column's Arrow type; the text names column and row. With
                ``unrepresentable="none"`` the value is null instead.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds.
            ProgrammingError: the statement returned no rows.
        """
        if named:
            raise no_keywords("fetch_df", named)
        made = frame_maker("fetch_df")
        return made(self._rows(sql, args, numeric, timeout))

    def fetch_polars(
        self,
        sql: Statement,
        *args: Any,
        numeric: Numeric = "decimal",
        timeout: float | None = None,
        **named: NoReturn,
    ) -> Any:
        """Executes a query on a connection of the pool and returns its rows as a data frame of polars.

        It has a transaction of its own, is received whole, and its connection is back before the frame is made.

        Args:
            sql: the query.
            args: the parameters, one by one, or one mapping for ``%(name)s``.
            numeric: the Arrow type of exact numbers whose type has no precision, as for ``fetch_arrow`` of connections.
            timeout: seconds until the query is cancelled; None for ``command_timeout``, ``math.inf`` for no limit. The
                pool's own timeout is that of waiting for a connection.

        Returns:
            A ``polars.DataFrame``.

        Raises:
            ModuleNotFoundError: polars is not installed.
            NotSupportedError: polars does not have the Arrow type of a column.
            PoolTimeout: there was no connection within the pool's timeout.
            DataError: a value does not fit its column's Arrow type; the text names column and row. With
                ``unrepresentable="none"`` the value is null instead.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds.
            ProgrammingError: the statement returned no rows.
        """
        if named:
            raise no_keywords("fetch_polars", named)
        made = polars_maker("fetch_polars")
        return made(self._rows(sql, args, numeric, timeout))
