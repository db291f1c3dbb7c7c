"""What connections, cursors and pools have whatever the database: for programs that are written for all of them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable, Sequence
from contextlib import AbstractAsyncContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar, overload

from ... import defaults
from ..._native import ArrowResult
from ..._shared.arrow import Numeric
from ..._shared.cursor_base import Params
from ..._shared.modes import CommonIsolation, ResetMode, ScrollMode
from ..._shared.states import ConnectionState, CursorResult, PoolState
from ...rows import RowFactory
from ...types import ParameterRows
from .arrow_stream import AsyncArrowStream
from .pipeline import AsyncPipeline

if TYPE_CHECKING:
    from ...sql import Statement

R = TypeVar("R")
T = TypeVar("T")
C = TypeVar("C")
Self = TypeVar("Self")


class AsyncCursorProtocol(CursorResult, Protocol[R]):
    """A cursor of any database, asyncio."""

    async def callproc(self, name: str, params: Sequence[Any] = (), *, timeout: float | None = None) -> Sequence[Any]:
        """Calls a procedure or function."""
        ...

    async def close(self, *, timeout: float | None = None) -> None:
        """Closes the cursor and frees its result."""
        ...

    @property
    def connection(self) -> AsyncConnectionProtocol[Any]:
        """The connection to which the cursor belongs."""
        ...

    async def execute(self: Self, sql: Statement, params: Params = None, *, timeout: float | None = None) -> Self:
        """Executes one statement."""
        ...

    async def execute_arrow(
        self: Self,
        sql: Statement,
        params: Params = None,
        *,
        numeric: Numeric = "decimal",
        batch_rows: int = defaults.ARROW_BATCH_ROWS,
        batch_bytes: int = defaults.ARROW_BATCH_BYTES,
        timeout: float | None = None,
    ) -> Self:
        """Executes one statement whose rows become Arrow record batches."""
        ...

    async def executemany(
        self: Self, sql: Statement, rows: ParameterRows, *, returning: bool = False, timeout: float | None = None
    ) -> Self:
        """Executes one statement for every row of parameters: all rows are applied, or none."""
        ...

    async def fetchall(self, *, timeout: float | None = None) -> list[R]:
        """Returns all remaining rows."""
        ...

    async def fetchmany(self, size: int | None = None, *, timeout: float | None = None) -> list[R]:
        """Returns the next rows."""
        ...

    async def fetchone(self, *, timeout: float | None = None) -> R | None:
        """Returns the next row."""
        ...

    async def nextset(self, *, timeout: float | None = None) -> bool | None:
        """Moves to the next result, of several statements in one text or of a batch with ``returning``."""
        ...

    async def scroll(self, value: int, mode: ScrollMode = "relative", *, timeout: float | None = None) -> None:
        """Moves within the result."""
        ...

    async def wait(self, timeout: float | None = None) -> bool:
        """Waits for the result of a pipelined statement."""
        ...

    def __aiter__(self) -> AsyncIterator[R]: ...
    async def __anext__(self) -> R: ...
    async def __aenter__(self: Self) -> Self: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class AsyncQueriesProtocol(Protocol[R]):
    """What connections and pools of any database have, asyncio. A pool does it on one of its connections."""

    async def execute(
        self, sql: Statement, params: Params = None, *, timeout: float | None = None
    ) -> AsyncCursorProtocol[R]:
        """Executes one statement on a new cursor."""
        ...

    async def executemany(
        self, sql: Statement, rows: ParameterRows, *, returning: bool = False, timeout: float | None = None
    ) -> AsyncCursorProtocol[R]:
        """Executes one statement for every row of parameters, on a cursor of its own: all rows are applied, or none."""
        ...

    async def fetch(self, sql: Statement, *args: Any, timeout: float | None = None, **named: NoReturn) -> list[R]:
        """Executes a query and returns all of its rows."""
        ...

    async def fetch_arrow_table(
        self, sql: Statement, *args: Any, numeric: Numeric = "decimal", timeout: float | None = None, **named: NoReturn
    ) -> Any:
        """Executes a query and returns its rows as a table of pyarrow."""
        ...

    async def fetch_df(
        self, sql: Statement, *args: Any, numeric: Numeric = "decimal", timeout: float | None = None, **named: NoReturn
    ) -> Any:
        """Executes a query and returns its rows as a data frame of pandas."""
        ...

    async def fetch_polars(
        self, sql: Statement, *args: Any, numeric: Numeric = "decimal", timeout: float | None = None, **named: NoReturn
    ) -> Any:
        """Executes a query and returns its rows as a data frame of polars."""
        ...

    async def fetchrow(self, sql: Statement, *args: Any, timeout: float | None = None, **named: NoReturn) -> R | None:
        """Executes a query and returns its first row."""
        ...

    async def fetchval(self, sql: Statement, *args: Any, timeout: float | None = None, **named: NoReturn) -> Any:
        """Executes a query and returns the first value of its first row."""
        ...


class AsyncConnectionProtocol(ConnectionState[R], AsyncQueriesProtocol[R], Protocol[R]):
    """A connection to any database, asyncio."""

    @property
    def autocommit(self) -> bool:
        """True if every statement is a transaction of its own."""
        ...

    # blocking: @autocommit.setter
    # blocking: def autocommit(self, value: bool) -> None: ...

    async def cancel(self, *, timeout: float | None = None) -> None:
        """Requests the server to cancel the statement that this connection executes."""
        ...

    async def close(self) -> None:
        """Closes the connection."""
        ...

    async def commit(self, *, timeout: float | None = None) -> None:
        """Commits the open transaction."""
        ...

    @overload
    def cursor(self, *, row_factory: None = None) -> AsyncCursorProtocol[R]: ...
    @overload
    def cursor(self, *, row_factory: RowFactory[T]) -> AsyncCursorProtocol[T]: ...
    def cursor(self, *, row_factory: Any = None) -> AsyncCursorProtocol[Any]:
        """Opens a cursor."""
        ...

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
        """Executes a query and returns its rows as Arrow record batches."""
        ...

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
        """Executes a query and returns its rows as a reader of pyarrow."""
        ...

    async def fetchmany(self, sql: Statement, rows: Iterable[Any], *, timeout: float | None = None) -> list[R]:
        """Executes a query for every row of parameters, pipelined."""
        ...

    async def ping(self, *, timeout: float | None = None) -> None:
        """Makes a round trip without any other effect."""
        ...

    def pipeline(self, *, timeout: float | None = None) -> AbstractAsyncContextManager[AsyncPipeline]:
        """Opens a block in which statements are sent without waiting, and their results are read later."""
        ...

    async def reset(self, mode: ResetMode = "rollback", *, timeout: float | None = None) -> None:
        """Resets the session, as a pool does when a connection is returned."""
        ...

    async def rollback(self, *, timeout: float | None = None) -> None:
        """Rolls the open transaction back."""
        ...

    async def set_autocommit(self, value: bool, *, timeout: float | None = None) -> None:  # asyncio only
        """Sets autocommit."""
        ...

    async def set_isolation_level(  # asyncio only
        self, value: CommonIsolation, *, timeout: float | None = None
    ) -> None:
        """Sets the isolation level."""
        ...

    def stream(self, sql: Statement, params: Params = None, *, timeout: float | None = None) -> AsyncIterator[R]:
        """Executes a query and returns its rows one by one, in bounded memory."""
        ...

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
        """Executes a query and returns its rows as Arrow record batches while they are received, in bounded memory."""
        ...

    def stream_blocks(
        self, sql: Statement, params: Params = None, *, timeout: float | None = None
    ) -> AsyncIterator[list[R]]:
        """Executes a query and returns its rows in lists, in bounded memory."""
        ...

    def transaction(
        self: Self,
        savepoint_name: str | None = None,
        *,
        isolation: CommonIsolation | None = None,
        read_only: bool | None = None,
        deferrable: bool | None = None,
        force_rollback: bool = False,
        timeout: float | None = None,
    ) -> AbstractAsyncContextManager[Self]:
        """Opens a block that is committed at its end, and rolled back when it raises an exception."""
        ...

    async def __aenter__(self: Self) -> Self: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class AsyncPoolProtocol(PoolState, AsyncQueriesProtocol[Any], Protocol[C]):
    """A pool of connections to any database, asyncio."""

    async def close(self, timeout: float = 5.0) -> None:
        """Closes the pool."""
        ...

    def connection(self, timeout: float | None = None) -> AbstractAsyncContextManager[C]:
        """Opens a block with a connection: commits at its end, and rolls back when it raises an exception."""
        ...

    async def drain(self) -> None:
        """Replaces every connection, for example after a failover."""
        ...

    async def getconn(self, timeout: float | None = None) -> C:
        """Lends a connection, which :meth:`putconn` returns."""
        ...

    async def open(self) -> None:
        """Opens the pool."""
        ...

    async def putconn(self, connection: C) -> None:
        """Takes a connection back: resets it, or closes it if its state is unknown."""
        ...

    async def wait(self, timeout: float = defaults.POOL_TIMEOUT) -> None:
        """Waits until ``min_size`` connections are open."""
        ...

    async def __aenter__(self: Self) -> Self: ...
    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
