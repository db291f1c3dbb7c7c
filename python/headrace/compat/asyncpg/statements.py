"""Executing: what a connection sends, and the records that it makes of rows."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import time
from collections.abc import Callable, Generator, Iterable, Mapping, Sequence
from typing import Any, Final, NamedTuple, TypeVar

from ... import errors
from ..._native import Columns, Result
from ..._shared.arguments import checked_rows
from ..._shared.flows import PendingRequest
from ...aio.postgres import AsyncConnection
from ...postgres.core import ConnectionCore
from ...types import TransactionStatus
from . import exceptions
from .codecs import Codecs
from .exceptions import InterfaceError, raise_translated, translated
from .introspection import Types
from .record import Record, records_of
from .values import Shape, missing_types

T = TypeVar("T")
MAX_ARGUMENTS: Final = 32_767
"""Arguments of a statement, at most (asyncpg; the protocol has twice as many)."""
MAX_SHAPES: Final = 1000
"""Statements whose columns a connection keeps, at most."""


class LoggedQuery(NamedTuple):
    """A statement that was executed, for the functions of ``add_query_logger``. ``elapsed`` is in seconds."""

    query: str
    args: Any
    timeout: float | None
    elapsed: float
    exception: BaseException | None
    conn_addr: Any
    conn_params: Any


@contextlib.contextmanager
def as_asyncpg(query: str | None = None, args: Sequence[Any] = ()) -> Generator[None]:
    """A block in which headrace's errors are asyncpg's."""
    try:
        yield
    except errors.Error as error:
        raise_translated(error, query, args)


class Statements:
    """A connection, as far as it executes statements."""

    _driver: AsyncConnection[Any]
    _core: ConnectionCore
    _types: Types
    _codecs: Codecs
    _record_class: type[Record]
    _shapes: dict[str, Shape]
    _query_loggers: list[Callable[[LoggedQuery], Any]]
    _loop: asyncio.AbstractEventLoop

    def _check_open(self) -> None:
        if self._core.wire.closed:
            raise InterfaceError("connection is closed")

    # sending

    async def _wait(self, ask: Callable[[], PendingRequest[T]], timeout: float | None) -> T:
        """Queues a request, and waits for its result. Raises headrace's errors."""
        try:
            return await self._driver._wait(ask(), timeout)
        except BaseException as error:
            self._core.withdraw(error)
            raise

    async def _result(self, query: str, args: Sequence[Any], timeout: float | None, *, first: bool = False) -> Result:
        """Executes a statement by the extended protocol.

        Args:
            query: the statement.
            args: its arguments.
            timeout: seconds; None for ``command_timeout``.
            first: only the first row is needed.
        """
        self._check_open()
        _check_timeout(timeout)
        if len(args) > MAX_ARGUMENTS:
            raise InterfaceError(f"the number of query arguments cannot exceed {MAX_ARGUMENTS}")
        core = self._core
        started = time.monotonic() if self._query_loggers else 0.0
        failure: BaseException | None = None
        try:
            if args and self._codecs.encoders:
                args = (await self._encoded(query, [args], timeout))[0]
            ticket = core.wire.execute(query, args or None, None, core.named, first)
            return await self._driver._wait(ticket, timeout)
        except errors.Error as error:
            core.withdraw(error)
            # The table may have changed since.
            self._codecs.parameters.pop(query, None)
            failure = translated(error, query, args)
            raise failure from failure.__cause__ or error
        except BaseException as error:
            core.withdraw(error)
            failure = error
            raise
        finally:
            if self._query_loggers:
                self._log(query, args, timeout, time.monotonic() - started, failure)

    async def _script(self, query: str, timeout: float | None = None) -> list[Result]:
        """Executes statements by the simple protocol."""
        self._check_open()
        _check_timeout(timeout)
        started = time.monotonic()
        failure: BaseException | None = None
        try:
            with as_asyncpg(query):
                results = await self._wait(lambda: self._core.submit_script(query), timeout)
            if self._codecs.parameters and any(result.tag.startswith(_DEFINING) for result in results):
                self._codecs.parameters.clear()
            return results
        except BaseException as error:
            failure = error
            raise
        finally:
            if self._query_loggers:
                self._log(query, (), timeout, time.monotonic() - started, failure)

    async def _batch(
        self, query: str, rows: Iterable[Any], timeout: float | None, returning: bool
    ) -> Result | list[Result]:
        """Executes a statement for rows of arguments: for all, or for none."""
        self._check_open()
        _check_timeout(timeout)
        started = time.monotonic()
        failure: BaseException | None = None
        given = [] if not self._query_loggers else list(rows)
        rows = given or rows
        try:
            if self._codecs.encoders:
                rows = await self._encoded(query, [tuple(row) for row in rows], timeout)
            checked = _rows(rows)
            with as_asyncpg(query):
                return await self._wait(lambda: self._core.submit_batch(query, checked, returning), timeout)
        except InterfaceError as error:
            # What cannot be sent is a DataError in asyncpg, with the row in the text.
            cause = error.__cause__
            if isinstance(cause, errors.ProgrammingError) and cause.row is not None:
                failure = _of_row(cause)
                raise failure from cause
            failure = error
            raise
        except BaseException as error:
            failure = error
            raise
        finally:
            if self._query_loggers:
                self._log(query, given, timeout, time.monotonic() - started, failure)

    async def _encoded(self, query: str, rows: Sequence[Sequence[Any]], timeout: float | None) -> list[tuple[Any, ...]]:
        """Rows of arguments, as the encoders of the connection make them."""
        oids = await self._parameter_types(query, timeout)
        return [self._codecs.encoded(oids, row) for row in rows]

    async def _parameter_types(self, query: str, timeout: float | None) -> tuple[int, ...]:
        """The oids of a statement's parameters. The session keeps those of the statements that it has prepared."""
        known = self._codecs.parameters.get(query)
        if known is None:
            core = self._core
            with as_asyncpg(query):
                await self._wait(lambda: core.wire.describe(query), timeout)
                result = await self._wait(lambda: core.wire.execute(_PARAMETERS, (query,), None, core.named), timeout)
                rows = result.rows or [((),)]
                known = tuple(rows[0][0])
                await self._driver._run(self._types.look_up(known), timeout)
            self._codecs.remember(query, known)
        return known

    # records

    def _forget_types(self) -> None:
        self._types.forget()
        self._shapes.clear()
        self._codecs.parameters.clear()

    async def _shape(self, query: str, columns: Columns) -> Shape:
        """What becomes of the rows of a statement with these columns."""
        shape = self._shapes.get(query)
        if shape is not None and shape.columns is columns and not self._types.are_outdated(shape.composites):
            return shape
        # Described again: its columns may have other types than before.
        names = columns.names
        oids = tuple(field[1] for field in columns.fields)
        if self._types.are_outdated(self._types.composites(oids)):
            self._forget_types()
        elif shape is not None and shape.names == names and shape.oids == oids:
            shape.columns = columns
            return shape
        for is_last in (False, True):
            missing = missing_types(self._types, oids)
            if missing:
                with as_asyncpg(query):
                    await self._driver._run(self._types.look_up(missing))
            # What was known of a type within one that was looked up now may be outdated, too.
            if is_last or not self._types.are_outdated(self._types.composites(oids)):
                break
            self._forget_types()
        shape = Shape(columns, oids, self._types)
        if len(self._shapes) >= MAX_SHAPES:
            self._shapes.clear()
        self._shapes[query] = shape
        return shape

    async def _records(self, query: str, result: Result, kind: type[Record] | None) -> list[Any]:
        """The records of a result."""
        columns, rows = result.columns, result.rows
        if columns is None or not rows:
            return []
        shape = await self._shape(query, columns)
        return records_of(kind or self._record_class, shape.layout, shape.converted(rows))

    async def execute(self, query: str, *args: Any, timeout: float | None = None) -> str:
        """Executes a statement; without arguments also several, by the simple protocol.

        Args:
            query: the text.
            args: the arguments, for ``$1`` and so on.
            timeout: seconds until it is cancelled; None for ``command_timeout``.

        Returns:
            The status of the last statement, such as ``INSERT 0 1``.
        """
        if args:
            return (await self._result(query, args, timeout)).tag
        results = await self._script(query, timeout)
        return results[-1].tag if results else ""

    async def executemany(self, command: str, args: Iterable[Any], *, timeout: float | None = None) -> None:
        """Executes a statement for every row of arguments: for all of them, or for none.

        Args:
            command: the statement.
            args: an iterable of sequences.
            timeout: seconds until it is cancelled; None for ``command_timeout``.
        """
        await self._batch(command, args, timeout, False)

    async def fetch(
        self, query: str, *args: Any, timeout: float | None = None, record_class: type[Record] | None = None
    ) -> list[Any]:
        """Executes a query, and returns its rows as a list of records.

        Args:
            query: the text.
            args: the arguments, for ``$1`` and so on.
            timeout: seconds until it is cancelled; None for ``command_timeout``.
            record_class: the class of the records; None for the connection's.
        """
        result = await self._result(query, args, timeout)
        return await self._records(query, result, checked_record_class(record_class))

    async def fetchrow(
        self, query: str, *args: Any, timeout: float | None = None, record_class: type[Record] | None = None
    ) -> Any:
        """Executes a query, and returns its first row as a record, or None if there is none."""
        result = await self._result(query, args, timeout, first=True)
        records = await self._records(query, result, checked_record_class(record_class))
        return records[0] if records else None

    async def fetchval(self, query: str, *args: Any, column: int | str = 0, timeout: float | None = None) -> Any:
        """Executes a query, and returns a value of its first row, by number or name, or None if there is none."""
        result = await self._result(query, args, timeout, first=True)
        columns, rows = result.columns, result.rows
        if columns is None or not rows:
            return None
        shape = await self._shape(query, columns)
        number = shape.layout[column] if isinstance(column, str) else column
        return shape.converted(rows[:1])[0][number]

    async def fetchmany(
        self,
        query: str,
        args: Iterable[Any],
        *,
        timeout: float | None = None,
        record_class: type[Record] | None = None,
    ) -> list[Any]:
        """Executes a query for every row of arguments, and returns all rows of all results."""
        results = await self._batch(query, args, timeout, True)
        found: list[Any] = []
        for result in results if isinstance(results, list) else [results]:
            found += await self._records(query, result, checked_record_class(record_class))
        return found

    # logging

    def add_query_logger(self, callback: Callable[[LoggedQuery], Any]) -> None:
        """Adds a function that is called with a :class:`LoggedQuery` after each statement."""
        self._query_loggers.append(callback)

    def remove_query_logger(self, callback: Callable[[LoggedQuery], Any]) -> None:
        """Removes a function of :meth:`add_query_logger`."""
        with contextlib.suppress(ValueError):
            self._query_loggers.remove(callback)

    @contextlib.contextmanager
    def query_logger(self, callback: Callable[[LoggedQuery], Any]) -> Generator[None]:
        """A block in which a function is called after each statement."""
        self.add_query_logger(callback)
        try:
            yield
        finally:
            self.remove_query_logger(callback)

    def _log(self, query: str, args: Any, timeout: float | None, elapsed: float, failure: BaseException | None) -> None:
        options = self._core.options
        logged = LoggedQuery(query, args, timeout, elapsed, failure, options.hosts[0], options)
        for callback in list(self._query_loggers):
            if inspect.iscoroutinefunction(callback):
                task = self._loop.create_task(callback(logged))
                _TASKS.add(task)
                task.add_done_callback(_TASKS.discard)
            else:
                self._loop.call_soon(callback, logged)

    # state

    def is_closed(self) -> bool:
        """Returns true if the connection is closed, by either side."""
        return self._core.wire.closed

    def is_in_transaction(self) -> bool:
        """Returns true if a transaction is open."""
        status = self._core.wire.last_status()
        return not self._core.wire.closed and status in (TransactionStatus.INTRANS, TransactionStatus.INERROR)


_DEFINING: Final = ("CREATE", "ALTER", "DROP")
"""The tags of statements after which the parameters of others may have other types."""
_TASKS: Final[set[Any]] = set()
"""The loop keeps no reference of its own to a task."""
_PARAMETERS: Final = "SELECT parameter_types::oid[] FROM pg_catalog.pg_prepared_statements WHERE statement = $1 LIMIT 1"


def checked_record_class(kind: Any) -> Any:
    """A class of records, or None.

    Raises:
        InterfaceError: it is not one.
    """
    if kind is not None and not (isinstance(kind, type) and issubclass(kind, Record)):
        raise InterfaceError(f"record_class is expected to be a subclass of asyncpg.Record, got {kind!r}")
    if kind is not None and (kind.__new__ is not Record.__new__ or kind.__init__ is not Record.__init__):
        raise InterfaceError("record_class must not redefine __new__ or __init__")
    return kind


def _check_timeout(timeout: Any) -> None:
    """Raises ValueError for what is no number of seconds."""
    if timeout is not None and (isinstance(timeout, bool) or not isinstance(timeout, (int, float))):
        raise ValueError(f"invalid timeout value: expected non-negative float (got {timeout!r})")


def _rows(rows: Iterable[Any]) -> Any:
    """Rows of arguments: what is no sequence of them is an error before anything is sent."""
    return map(_row, range(2**62), checked_rows(rows, "args"))


def _row(number: int, row: Any) -> Any:
    if isinstance(row, (tuple, list)):
        return row  # pyright: ignore[reportUnknownVariableType]
    if isinstance(row, Mapping) or not isinstance(row, Iterable):
        raise exceptions.class_of("22000")(
            f"invalid input in executemany() argument sequence element #{number}: expected a sequence, got "
            f"{type(row).__name__}"  # pyright: ignore[reportUnknownArgumentType]
        )
    return tuple(row)  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def _of_row(error: errors.Error) -> Exception:
    text = Exception.__str__(error)
    return exceptions.class_of("22000")(
        f"invalid input in executemany() argument sequence element #{error.row}: {text}"
    )
