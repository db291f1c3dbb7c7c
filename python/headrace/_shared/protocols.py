"""What connections, cursors and pools have whatever the database: for programs that are written for all of them."""

# Made by tools/async_to_sync.py of aio/_shared/protocols.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from types import TracebackType
from typing import TYPE_CHECKING, Any, NoReturn, Protocol, TypeVar, overload

from .. import defaults
from .._native import ArrowResult
from ..rows import RowFactory
from ..types import ParameterRows
from .arrow import Numeric
from .arrow_stream import ArrowStream
from .cursor_base import Params
from .modes import CommonIsolation, ResetMode, ScrollMode
from .pipeline import Pipeline
from .states import ConnectionState, CursorResult, PoolState

if TYPE_CHECKING:
    from ..sql import Statement

R = TypeVar("R")
T = TypeVar("T")
C = TypeVar("C")
Self = TypeVar("Self")


class CursorProtocol(CursorResult, Protocol[R]):
    """A cursor of any database, blocking."""

    def callproc(self, name: str, params: Sequence[Any] = (), *, timeout: float | None = None) -> Sequence[Any]:
        """Calls a procedure or function."""
        ...

    def close(self, *, timeout: float | None = None) -> None:
        """Closes the cursor and frees its result."""
        ...

    @property
    def connection(self) -> ConnectionProtocol[Any]:
        """The connection to which the cursor belongs."""
        ...

    def execute(self: Self, sql: Statement, params: Params = None, *, timeout: float | None = None) -> Self:
        """Executes one statement."""
        ...

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
        """Executes one statement whose rows become Arrow record batches."""
        ...

    def executemany(
        self: Self, sql: Statement, rows: ParameterRows, *, returning: bool = False, timeout: float | None = None
    ) -> Self:
        """Executes one statement for every row of parameters: all rows are applied, or none."""
        ...

    def fetchall(self, *, timeout: float | None = None) -> list[R]:
        """Returns all remaining rows."""
        ...

    def fetchmany(self, size: int | None = None, *, timeout: float | None = None) -> list[R]:
        """Returns the next rows."""
        ...

    def fetchone(self, *, timeout: float | None = None) -> R | None:
        """Returns the next row."""
        ...

    def nextset(self, *, timeout: float | None = None) -> bool | None:
        """Moves to the next result, of several statements in one text or of a batch with ``returning``."""
        ...

    def scroll(self, value: int, mode: ScrollMode = "relative", *, timeout: float | None = None) -> None:
        """Moves within the result."""
        ...

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the result of a pipelined statement."""
        ...

    def __iter__(self) -> Iterator[R]: ...
    def __next__(self) -> R: ...
    def __enter__(self: Self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class QueriesProtocol(Protocol[R]):
    """What connections and pools of any database have, blocking. A pool does it on one of its connections."""

    def execute(self, sql: Statement, params: Params = None, *, timeout: float | None = None) -> CursorProtocol[R]:
        """Executes one statement on a new cursor."""
        ...

    def executemany(
        self, sql: Statement, rows: ParameterRows, *, returning: bool = False, timeout: float | None = None
    ) -> CursorProtocol[R]:
        """Executes one statement for every row of parameters, on a cursor of its own: all rows are applied, or none."""
        ...

    def fetch(self, sql: Statement, *args: Any, timeout: float | None = None, **named: NoReturn) -> list[R]:
        """Executes a query and returns all of its rows."""
        ...

    def fetch_arrow_table(
        self, sql: Statement, *args: Any, numeric: Numeric = "decimal", timeout: float | None = None, **named: NoReturn
    ) -> Any:
        """Executes a query and returns its rows as a table of pyarrow."""
        ...

    def fetch_df(
        self, sql: Statement, *args: Any, numeric: Numeric = "decimal", timeout: float | None = None, **named: NoReturn
    ) -> Any:
        """Executes a query and returns its rows as a data frame of pandas."""
        ...

    def fetch_polars(
        self, sql: Statement, *args: Any, numeric: Numeric = "decimal", timeout: float | None = None, **named: NoReturn
    ) -> Any:
        """Executes a query and returns its rows as a data frame of polars."""
        ...

    def fetchrow(self, sql: Statement, *args: Any, timeout: float | None = None, **named: NoReturn) -> R | None:
        """Executes a query and returns its first row."""
        ...

    def fetchval(self, sql: Statement, *args: Any, timeout: float | None = None, **named: NoReturn) -> Any:
        """Executes a query and returns the first value of its first row."""
        ...


class ConnectionProtocol(ConnectionState[R], QueriesProtocol[R], Protocol[R]):
    """A connection to any database, blocking."""

    @property
    def autocommit(self) -> bool:
        """True if every statement is a transaction of its own."""
        ...

    @autocommit.setter
    def autocommit(self, value: bool) -> None: ...

    def cancel(self, *, timeout: float | None = None) -> None:
        """Requests the server to cancel the statement that this connection executes."""
        ...

    def close(self) -> None:
        """Closes the connection."""
        ...

    def commit(self, *, timeout: float | None = None) -> None:
        """Commits the open transaction."""
        ...

    @overload
    def cursor(self, *, row_factory: None = None) -> CursorProtocol[R]: ...
    @overload
    def cursor(self, *, row_factory: RowFactory[T]) -> CursorProtocol[T]: ...
    def cursor(self, *, row_factory: Any = None) -> CursorProtocol[Any]:
        """Opens a cursor."""
        ...

    def fetch_arrow(
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

    def fetch_record_batch(
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

    def fetchmany(self, sql: Statement, rows: Iterable[Any], *, timeout: float | None = None) -> list[R]:
        """Executes a query for every row of parameters, pipelined."""
        ...

    def ping(self, *, timeout: float | None = None) -> None:
        """Makes a round trip without any other effect."""
        ...

    def pipeline(self, *, timeout: float | None = None) -> AbstractContextManager[Pipeline]:
        """Opens a block in which statements are sent without waiting, and their results are read later."""
        ...

    def reset(self, mode: ResetMode = "rollback", *, timeout: float | None = None) -> None:
        """Resets the session, as a pool does when a connection is returned."""
        ...

    def rollback(self, *, timeout: float | None = None) -> None:
        """Rolls the open transaction back."""
        ...

    def stream(self, sql: Statement, params: Params = None, *, timeout: float | None = None) -> Iterator[R]:
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
    ) -> ArrowStream:
        """Executes a query and returns its rows as Arrow record batches while they are received, in bounded memory."""
        ...

    def stream_blocks(
        self, sql: Statement, params: Params = None, *, timeout: float | None = None
    ) -> Iterator[list[R]]:
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
    ) -> AbstractContextManager[Self]:
        """Opens a block that is committed at its end, and rolled back when it raises an exception."""
        ...

    def __enter__(self: Self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...


class PoolProtocol(PoolState, QueriesProtocol[Any], Protocol[C]):
    """A pool of connections to any database, blocking."""

    def close(self, timeout: float = 5.0) -> None:
        """Closes the pool."""
        ...

    def connection(self, timeout: float | None = None) -> AbstractContextManager[C]:
        """Opens a block with a connection: commits at its end, and rolls back when it raises an exception."""
        ...

    def drain(self) -> None:
        """Replaces every connection, for example after a failover."""
        ...

    def getconn(self, timeout: float | None = None) -> C:
        """Lends a connection, which :meth:`putconn` returns."""
        ...

    def open(self) -> None:
        """Opens the pool."""
        ...

    def putconn(self, connection: C) -> None:
        """Takes a connection back: resets it, or closes it if its state is unknown."""
        ...

    def wait(self, timeout: float = defaults.POOL_TIMEOUT) -> None:
        """Waits until ``min_size`` connections are open."""
        ...

    def __enter__(self: Self) -> Self: ...
    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None: ...
