"""Statements of a pool, each on a connection that is lent for it."""

# Made by tools/async_to_sync.py of aio/_shared/pool_queries.py: edit that file, and run the tool.

from __future__ import annotations

from contextlib import AbstractContextManager
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar

from .._native import ArrowResult
from ..types import ParameterRows
from .arrow import Numeric
from .core import check_keywords
from .cursor_base import Params
from .frames import BlockingFrames
from .protocols import ConnectionProtocol, CursorProtocol

if TYPE_CHECKING:
    from ..sql import Statement

R = TypeVar("R")


class Lends(Protocol[R]):
    """A pool, as far as its statements need it."""

    def connection(self, timeout: float | None = None) -> AbstractContextManager[ConnectionProtocol[R]]:
        """Opens a block with a connection."""
        ...


class PoolQueries(BlockingFrames):
    """What a pool has for programs that execute one statement."""

    def _whole(
        self: Lends[Any], sql: Statement, args: tuple[Any, ...], numeric: Numeric, timeout: float | None
    ) -> ArrowResult:
        with self.connection() as connection:
            return connection.fetch_arrow(sql, *args, numeric=numeric, timeout=timeout)

    def execute(
        self: Lends[R], sql: Statement, params: Params = None, *, timeout: float | None = None
    ) -> CursorProtocol[R]:
        """Executes one statement on a connection of the pool. It is a transaction of its own, which is committed.

        Args:
            sql: the statement.
            params: a sequence of values, or a mapping for ``%(name)s``; None for a statement without parameters.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit. The
                pool's own timeout is that of waiting for a connection.

        Returns:
            A cursor with the result, which can be fetched; it cannot execute anything.

        Raises:
            PoolTimeout: there was no connection within the pool's timeout.
            PoolClosed: the pool is closed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds.
            ProgrammingError: the parameters do not fit the statement.
        """
        with self.connection() as connection:
            return connection.execute(sql, params, timeout=timeout)

    def executemany(
        self: Lends[R],
        sql: Statement,
        rows: ParameterRows,
        *,
        returning: bool = False,
        timeout: float | None = None,
    ) -> CursorProtocol[R]:
        """Executes one statement for every row of parameters on a connection of the pool: all are applied, or none.

        Args:
            sql: the statement.
            rows: the rows of parameters: any iterable, or Arrow data, such as a table or a data frame.
            returning: keep what the statement returns, one result for each row.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit. The
                pool's own timeout is that of waiting for a connection.

        Returns:
            A cursor with the results, which can be fetched; it cannot execute anything.

        Raises:
            PoolTimeout: there was no connection within the pool's timeout.
            PoolClosed: the pool is closed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds.
            ProgrammingError: the parameters of a row do not fit the statement.
            NotSupportedError: ``returning`` is true, and the database has no RETURNING.
        """
        with self.connection() as connection:
            return connection.executemany(sql, rows, returning=returning, timeout=timeout)

    def fetch(self: Lends[R], sql: Statement, *args: Any, timeout: float | None = None, **named: NoReturn) -> list[R]:
        """Executes a query on a connection of the pool and returns all of its rows.

        It is a transaction of its own, which is committed.

        Args:
            sql: the query.
            args: the parameters, one by one, or one mapping for ``%(name)s``.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit. The
                pool's own timeout is that of waiting for a connection.

        Returns:
            The rows, as the row factory makes them.

        Raises:
            PoolTimeout: there was no connection within the pool's timeout.
            PoolClosed: the pool is closed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds.
            ProgrammingError: the statement returned no rows.
        """
        check_keywords("fetch", named)
        with self.connection() as connection:
            return connection.fetch(sql, *args, timeout=timeout)

    def fetchrow(
        self: Lends[R], sql: Statement, *args: Any, timeout: float | None = None, **named: NoReturn
    ) -> R | None:
        """Executes a query on a connection of the pool and returns its first row.

        It is a transaction of its own, which is committed.

        Args:
            sql: the query.
            args: the parameters, one by one, or one mapping for ``%(name)s``.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit. The
                pool's own timeout is that of waiting for a connection.

        Returns:
            The row, or None if there is none.

        Raises:
            PoolTimeout: there was no connection within the pool's timeout.
            PoolClosed: the pool is closed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds.
            ProgrammingError: the statement returned no rows.
        """
        check_keywords("fetchrow", named)
        with self.connection() as connection:
            return connection.fetchrow(sql, *args, timeout=timeout)

    def fetchval(self: Lends[R], sql: Statement, *args: Any, timeout: float | None = None, **named: NoReturn) -> Any:
        """Executes a query on a connection of the pool and returns the first value of its first row.

        It is a transaction of its own, which is committed.

        Args:
            sql: the query.
            args: the parameters, one by one, or one mapping for ``%(name)s``.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit. The
                pool's own timeout is that of waiting for a connection.

        Returns:
            The value, or None if there is no row.

        Raises:
            PoolTimeout: there was no connection within the pool's timeout.
            PoolClosed: the pool is closed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds.
            ProgrammingError: the statement returned no rows.
        """
        check_keywords("fetchval", named)
        with self.connection() as connection:
            return connection.fetchval(sql, *args, timeout=timeout)
