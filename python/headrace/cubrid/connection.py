"""The blocking connection to CUBRID."""

# Made by tools/async_to_sync.py of aio/cubrid/connection.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Literal, TypeVar, overload

from .._native import Result, shortcut
from .._shared.arguments import checked_callable
from .._shared.blocks import BlockingBlocks
from .._shared.cursor_base import Column, Params
from .._shared.flows import Flow
from .._shared.modes import LobKind
from ..errors import ProgrammingError
from ..rows import RowFactory
from .connection_base import CubridBase
from .core import CubridCore, Schema
from .cursor import Cursor, ServerCursor, StreamCursor
from .largeobject import LargeObject
from .lobs import Locator, creating, loading, opening, storing
from .settings import CubridIsolation

if TYPE_CHECKING:
    from ..sql import Statement

R = TypeVar("R")
T = TypeVar("T")


class Connection(CubridBase[R], BlockingBlocks[R]):
    """A connection to CUBRID. Threads may share it: their calls are queued.

    As a context manager it commits at the end of the block, rolls back when the block raises an exception, and closes.
    """

    _core: CubridCore  # pyright: ignore[reportIncompatibleVariableOverride]
    _cursor_class = Cursor
    _cursor_type: type[Cursor[R]]  # pyright: ignore[reportIncompatibleVariableOverride]

    # executing

    @overload
    def cursor(self, *, row_factory: None = None, stream: Literal[True]) -> StreamCursor[R]: ...
    @overload
    def cursor(self, *, row_factory: RowFactory[T], stream: Literal[True]) -> StreamCursor[T]: ...
    @overload
    def cursor(
        self, *, row_factory: None = None, scrollable: Literal[True], withhold: bool = False
    ) -> ServerCursor[R]: ...
    @overload
    def cursor(
        self, *, row_factory: RowFactory[T], scrollable: Literal[True], withhold: bool = False
    ) -> ServerCursor[T]: ...
    @overload
    def cursor(
        self, *, row_factory: None = None, scrollable: bool = False, withhold: Literal[True]
    ) -> ServerCursor[R]: ...
    @overload
    def cursor(
        self, *, row_factory: RowFactory[T], scrollable: bool = False, withhold: Literal[True]
    ) -> ServerCursor[T]: ...
    @overload
    def cursor(self, *, row_factory: None = None, stream: bool = False) -> Cursor[R]: ...
    @overload
    def cursor(self, *, row_factory: RowFactory[T], stream: bool = False) -> Cursor[T]: ...
    @shortcut
    def cursor(
        self,
        *,
        row_factory: RowFactory[Any] | None = None,
        stream: bool = False,
        scrollable: bool = False,
        withhold: bool = False,
    ) -> Cursor[Any] | ServerCursor[Any]:
        """Opens a cursor. It is for one thread or task at a time.

        Args:
            row_factory: converts rows, see :mod:`headrace.rows`; None for the connection's.
            stream: receive rows while they are fetched, in bounded memory, as :meth:`stream` does. The connection is
                occupied until the last row is fetched or the cursor is closed.
            scrollable: keep the result open on the server, and fetch its rows on demand, in any order. The connection
                is not occupied. It needs a transaction, with whose end it ends.
            withhold: the same, and the result survives a commit; it needs no transaction.

        Returns:
            A cursor; with ``stream`` an :class:`StreamCursor`, with ``scrollable`` or ``withhold`` an
            :class:`ServerCursor`.

        Raises:
            ConnectionClosed: the connection is closed or was lost.
            ProgrammingError: ``stream`` goes with neither ``scrollable`` nor ``withhold``.
        """
        if self._core.wire.closed:
            raise self._core.why_closed()
        factory = self.row_factory if row_factory is None else checked_callable(row_factory, "row_factory")
        if scrollable or withhold:
            if stream:
                raise ProgrammingError(
                    "a cursor either streams or stays open on the server, with scrollable or withhold"
                )
            return ServerCursor(self, factory, withhold)
        if stream:
            return StreamCursor(self, factory)
        make = self._cursor_type
        return make(self, factory)

    def generated_keys(self, sql: Statement, params: Params = None, *, timeout: float | None = None) -> list[Any]:
        """Executes an INSERT, and returns the values that it has generated for an AUTO_INCREMENT column, of all of its
        rows. It takes a round trip more than :meth:`execute`; outside of a transaction two.

        Args:
            sql: the INSERT, of one row or many.
            params: a sequence of values; None for a statement without parameters.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The values, in the order of the rows.

        Raises:
            ProgrammingError: the parameters do not fit the statement, or it returns rows.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return self._run(self._core.generated_keys(sql, params), timeout)

    def execute_batch(self, statements: Iterable[str], *, timeout: float | None = None) -> Cursor[R]:
        """Executes the texts of statements, many with one round trip: all are applied, or none. For one statement with
        many rows of parameters :meth:`executemany` is much faster.

        The error of a statement has its number, from 0, as ``error.row``. Rows of queries are not returned.

        Args:
            statements: the texts, each of one statement without parameters that does not end the transaction.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            A cursor, whose ``rowcount`` is the sum.

        Raises:
            ProgrammingError: one of them is not the text of one such statement.
            DatabaseError: the server refused a statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return self._rows_of(self._core.execute_batch(statements), timeout)

    def plan(self, sql: Statement, *, timeout: float | None = None) -> str:
        """Returns the plan that the server makes for a statement, which is not executed.

        Args:
            sql: the statement.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The plan, as the server writes it.

        Raises:
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return self._run(self._core.plan(sql), timeout)

    def parameter_types(self, sql: Statement, *, timeout: float | None = None) -> list[Column]:
        """Returns the types that the server expects for the parameters of a statement, which is prepared and not
        executed. Values of other types are converted to them, if they can be.

        Args:
            sql: the statement.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            A description of each parameter, as :attr:`Cursor.description` has of columns, whose name is the number
            of its place in the statement. The type of one that may be of any type is ``NULL``.

        Raises:
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return self._run(self._core.parameter_types(sql), timeout)

    def returned_rows(self, value: int, *, timeout: float | None = None) -> Cursor[R]:
        """Reads the rows of a CURSOR that a procedure or function has returned, in its transaction.

        Args:
            value: the value of the CURSOR, as ``callproc`` returns it.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            A cursor with the rows.

        Raises:
            ProgrammingError: no transaction is open.
            DatabaseError: the server has no such result any more.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return self._rows_of(self._core.returned_rows(value), timeout)

    def schema_info(
        self, kind: Schema, name: str | None = None, other: str | None = None, *, timeout: float | None = None
    ) -> Cursor[R]:
        """Queries the catalogue, as the functions of the same purpose of CUBRID's own drivers do (SCHEMA_INFO).

        Args:
            kind: ``tables``, ``views``, ``view_query``, ``columns``, ``class_attributes``, ``methods``,
                ``class_methods``, ``method_files``, ``supertables``, ``subtables``, ``direct_supertables``,
                ``constraints``, ``triggers``, ``table_privileges``, ``column_privileges``, ``primary_key``,
                ``foreign_keys``, ``referencing_keys`` or ``cross_reference``.
            name: the table; of ``tables``, ``views``, ``triggers`` and ``table_privileges`` a pattern of LIKE.
            other: of ``columns``, ``class_attributes`` and ``column_privileges`` a pattern of LIKE for the column; of
                ``cross_reference`` the table that refers to it.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            A cursor with the rows.

        Raises:
            ProgrammingError: there is no such kind.
            DatabaseError: the server refused the query; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return self._rows_of(self._core.schema_info(kind, name, other), timeout)

    def _rows_of(self, flow: Flow[Result], timeout: float | None) -> Cursor[R]:
        """A cursor with the rows of a result."""
        cursor = Cursor(self, self.row_factory)
        cursor._take(self._run(flow, timeout))
        return cursor

    # large objects

    def open_lob(self, locator: Locator) -> LargeObject:
        """Opens a BLOB or CLOB as a binary file.

        Args:
            locator: the value of a BLOB or CLOB column.

        Returns:
            The open large object, at its beginning.

        Raises:
            ProgrammingError: it is not a locator.
        """
        return LargeObject(self, opening(self._core, locator))

    def create_lob(self, kind: LobKind = "blob", *, timeout: float | None = None) -> LargeObject:
        """Creates a large object in the open transaction, or in one that it begins.

        Its ``locator`` is the parameter that stores it in a row. The server removes an object that no row has at the
        end of the transaction.

        Args:
            kind: ``blob`` or ``clob``.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The open large object, which is empty.

        Raises:
            ProgrammingError: there is no such kind, or the connection is in autocommit outside of a block.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return LargeObject(self, self._run(creating(self._core, kind), timeout))

    def read_lob(self, locator: Locator, *, timeout: float | None = None) -> bytes | str:
        """Returns the content of a BLOB or CLOB.

        Args:
            locator: the value of a BLOB or CLOB column.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            Bytes of a BLOB, text of a CLOB.

        Raises:
            ProgrammingError: it is not a locator.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return self._run(loading(self._core, locator), timeout)

    def store_lob(self, content: bytes | str, *, timeout: float | None = None) -> Locator:
        """Creates a large object with this content, as :meth:`create_lob` does.

        Args:
            content: bytes for a BLOB, text for a CLOB.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The parameter that stores it in a row.

        Raises:
            ProgrammingError: the connection is in autocommit outside of a block.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return self._run(storing(self._core, content), timeout)

    # the session

    def last_insert_id(self, *, timeout: float | None = None) -> int | None:
        """Returns the value that the session's last INSERT has generated for an AUTO_INCREMENT column: of several rows
        that of the first. It takes a round trip.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The value, or None if none was generated.

        Raises:
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return self._run(self._core.last_insert_id(), timeout)

    def fetch_server_version(self, *, timeout: float | None = None) -> str:
        """Returns the version that the server reports, such as ``11.3.2.0``. It takes a round trip.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The version.

        Raises:
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return self._run(self._core.version(), timeout)

    @property
    def isolation_level(self) -> CubridIsolation | None:
        """The isolation level that was set for the session; None for the server's default."""
        return self._core.isolation_level

    @isolation_level.setter
    def isolation_level(self, value: CubridIsolation) -> None:
        self._run(self._core.set_isolation(value))

    @property
    def lock_timeout(self) -> float | None:
        """Seconds that the session waits for a lock, as set here: 0 not to wait, a negative number for no limit; None
        for the server's default."""
        return self._core.lock_timeout

    @lock_timeout.setter
    def lock_timeout(self, value: float | None) -> None:
        self._run(self._core.set_lock_timeout(value))
