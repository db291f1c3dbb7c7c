"""What blocking and asyncio cursors share: results, and everything that needs no waiting."""

from __future__ import annotations

import copy
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, Final, Generic, NamedTuple, TypeVar

from .. import defaults
from .._native import ArrowResult, Result
from ..errors import DatabaseError, Error, InterfaceError, OperationalError, ProgrammingError
from ..rows import RowFactory
from ..types import TypeCode
from .arguments import checked_callable, checked_size, checked_whole
from .arrow import arrow_result, frame_maker, polars_maker, reader_maker, table_maker
from .loading import made_in_place
from .making import all_made, stopped

if TYPE_CHECKING:
    from .core import Pipelined

R = TypeVar("R")

Params = Sequence[Any] | Mapping[str, Any] | None


class Column(NamedTuple):
    """A column of a result, as PEP 249 describes it: a 7-tuple, with names."""

    name: str
    type_code: TypeCode
    """The SQL name of its type; equal also to the type's number, and to the PEP 249 type object of its group."""
    display_size: None
    internal_size: int | None
    precision: int | None
    scale: int | None
    null_ok: bool | None


def columns_of(result: Result) -> Any:
    """The columns of a result that has rows.

    Raises OperationalError where the server described none.
    """
    if result.columns is None:
        raise OperationalError("the server answered a query without describing its columns")
    return result.columns


_NAMES_SHOWN: Final = 10
"""Columns that the repr of a cursor names."""
HANDED_OVER: Final[list[Any]] = []
"""In place of rows that ``fetchall()`` has returned, and whose list is the program's."""
NOTHING_TOLD: Final[tuple[int, int | None]] = (-1, None)
"""What a cursor says of its last statement where there was none."""


class CursorBase(Generic[R]):
    """The results of what a cursor executed last."""

    arraysize: int = defaults.ARRAY_SIZE
    """The number of rows that ``fetchmany`` returns by default."""
    _has_arrow: ClassVar[bool] = True
    """False for cursors that fetch their rows later."""

    # Slots, which shortcuts of the engine read where they are: see crates/python/src/shortcuts/.
    __slots__ = (
        "__dict__",
        "__weakref__",
        "_arrow",
        "_closed",
        "_connection",
        "_core",
        "_error",
        "_keeps_rows",
        "_make",
        "_more",
        "_pending",
        "_position",
        "_result",
        "_row_factory",
        "_rows",
        "_told",
    )

    # What few cursors need is not set by each.
    _pipeline: Pipelined | None = None
    """The pipeline in which it has executed its last statement but those that it has executed outside of one."""
    _is_at_end: bool = False
    """There was no row where one was looked for last: a row factory may make None of a row, too."""

    def __init__(self, connection: Any, row_factory: RowFactory[R]) -> None:
        self._connection = connection
        # What a connection of any database shares with its cursors: requests, columns, timing.
        self._core: Any = connection._core
        self._row_factory: RowFactory[Any] = row_factory
        self._closed = False
        self._pending: Any = None
        self._result: Result | None = None
        self._more: list[Result] | tuple[()] = ()
        """Further results, the last one first. No list where there are none: the collector would look at each."""
        self._rows: list[Any] | None = None
        self._position = 0
        self._make: Callable[[Any], Any] | None = None
        self._keeps_rows = True
        """False for a batch without ``returning``."""
        self._error: Error | None = None
        """Why there is no result: the end of a pipeline has found that before anybody fetched."""
        self._arrow: ArrowResult | None = None
        """The rows of ``execute_arrow``."""
        self._told: tuple[int, int | None] = NOTHING_TOLD
        """The number of rows and the value generated of the result that a closed cursor had."""

    def _is_several(self, sql: str) -> bool:
        """Returns true if a text has several statements, as the database reads it."""
        return self._core.wire.is_several(sql)  # type: ignore[no-any-return]

    # results

    def _clear(self) -> None:
        if self._pending is not None:
            if self._pipeline is not None:
                # Used again in a pipeline that has not read its result: its error is still the pipeline's to raise.
                self._pipeline.leave(self, copy.copy(self))
            self._pending = None
        self._keeps_rows = True
        self._result = None
        self._more = ()
        self._rows = None
        self._arrow = None
        self._position = 0
        self._error = None

    def _is_pending(self, ticket: Any, pipeline: Pipelined) -> None:
        """The result is one that a pipeline has not read yet."""
        self._clear()
        self._pending = ticket
        self._pipeline = pipeline
        pipeline.cursors.append(self)

    def _set(self, result: Result) -> None:
        self._result = result
        self._position = 0
        rows = result.rows if self._keeps_rows else None
        self._rows = rows
        factory = self._row_factory
        if rows is not None and factory is not self._core.tuples:
            self._rows = None
            self._make = made_in_place(rows, self._core.row_maker(factory, columns_of(result)))
            self._rows = rows
        else:
            self._make = None

    def _set_all(self, results: Sequence[Result]) -> None:
        if not results:
            self._clear()
            return
        self._more = list(results[:0:-1])
        self._set(results[0])

    def _take(self, outcome: Any) -> None:
        if isinstance(outcome, Result):
            self._more = ()
            self._set(outcome)
        else:
            self._set_all(outcome)

    def _has_taken(self, outcome: Any) -> bool:
        """Takes the result that was pending; returns false if it is None, as there is none yet."""
        if outcome is None:
            return False
        self._pending = None
        self._take(outcome)
        return True

    def _timed(self, fetch: Callable[[], Any]) -> Any:
        """Counts a fetch, and the time for it."""
        started = time.perf_counter_ns()
        result = fetch()
        self._core.wire.count("fetch", time.perf_counter_ns() - started)
        return result

    def _failed(self, error: DatabaseError) -> None:
        """Keeps what came before the statement that failed, where there were several in one text."""
        results = error.__dict__.pop("_results", None)
        if results is not None:
            self._set_all(results)
            error.cursor = self

    def _keep_error(self, error: Error) -> None:
        """A copy for whoever fetches later: its traceback would keep the connection alive."""
        if self._result is None:
            self._error = copy.copy(error)

    def _check(self) -> None:
        if self._closed:
            raise InterfaceError("the cursor is closed")

    def _buffer(self) -> list[Any]:
        self._check()
        if self._rows is None:
            if self._arrow is not None:
                raise ProgrammingError("the rows of execute_arrow() are record batches: fetch_arrow() returns them")
            if not self._keeps_rows and self._result is not None and self._result.columns is not None:
                raise ProgrammingError("executemany() keeps the rows that a statement returns with returning=True only")
            if self._error is not None:
                raise copy.copy(self._error)
            raise ProgrammingError(
                "no result with rows: "
                + (
                    "nothing was executed"
                    if self._result is None
                    else f"the last statement was {self._result.tag or 'empty'}"
                )
            )
        return self._rows

    def _one(self) -> Any:
        # A closed cursor has none either: what that is, and any other reason, is found where there are none.
        rows = self._rows
        if rows is None:
            rows = self._buffer()
        at = self._position
        if at >= len(rows):
            self._is_at_end = True
            return None
        self._position = at + 1
        if self._make is None:
            return rows[at]
        try:
            return self._make(rows[at])
        except StopIteration as error:
            raise stopped() from error

    def _wanted(self, size: int | None) -> int:
        """The number of rows that ``fetchmany`` is asked for."""
        return checked_size(self.arraysize if size is None else size)

    def _many(self, size: int | None) -> list[Any]:
        rows = self._rows
        if rows is None:
            rows = self._buffer()
        at = self._position
        taken = rows[at : at + self._wanted(size)]
        self._is_at_end = at >= len(rows)
        self._position = at + len(taken)
        return taken if self._make is None else all_made(self._make, taken)

    def _all(self) -> list[Any]:
        rows = self._rows
        if rows is None:
            rows = self._buffer()
        at = self._position
        self._position = max(at, len(rows))
        if at:
            rows = rows[at:]
        elif self._make is None:
            # The list is returned itself; the cursor keeps no second one.
            self._rows = HANDED_OVER if rows else []
            return rows
        return rows if self._make is None else all_made(self._make, rows)

    def _take_arrow(self, outcome: Any) -> None:
        """Takes what ``execute_arrow`` has waited for."""
        self._result, self._arrow = arrow_result(outcome)

    def fetch_arrow(self) -> ArrowResult:
        """Returns the rows of :meth:`execute_arrow` as Arrow record batches. They can be fetched again.

        Returns:
            The rows, which every library with the Arrow PyCapsule interface takes.

        Raises:
            InterfaceError: the cursor is closed.
            ProgrammingError: the last statement was not executed by :meth:`execute_arrow`, or returned no rows.
        """
        return self._arrow_rows("fetch_arrow")

    def _arrow_rows(self, method: str) -> ArrowResult:
        self._check()
        if self._arrow is None:
            raise ProgrammingError(
                f"no Arrow result for {method}(): "
                + (
                    "execute() has made Python objects of the rows already; use "
                    f"connection.{method}(sql, ...), or execute_arrow() in place of execute()"
                    if self._rows is not None or self._pending is not None
                    else "nothing was executed by execute_arrow(), or the statement returned no rows"
                )
            )
        return self._arrow

    def fetch_arrow_table(self) -> Any:
        """Returns the rows of :meth:`execute_arrow` as a table of pyarrow.

        Returns:
            A ``pyarrow.Table``.

        Raises:
            ModuleNotFoundError: pyarrow is not installed.
            InterfaceError: the cursor is closed.
            ProgrammingError: the last statement was not executed by :meth:`execute_arrow`, or returned no rows.
        """
        return table_maker("fetch_arrow_table")(self._arrow_rows("fetch_arrow_table"))

    def fetch_record_batch(self) -> Any:
        """Returns the rows of :meth:`execute_arrow` as a reader of pyarrow.

        Returns:
            A ``pyarrow.RecordBatchReader``.

        Raises:
            ModuleNotFoundError: pyarrow is not installed.
            InterfaceError: the cursor is closed.
            ProgrammingError: the last statement was not executed by :meth:`execute_arrow`, or returned no rows.
        """
        return reader_maker("fetch_record_batch")(self._arrow_rows("fetch_record_batch"))

    def fetch_df(self) -> Any:
        """Returns the rows of :meth:`execute_arrow` as a data frame of pandas.

        Returns:
            A ``pandas.DataFrame``, with the types that pyarrow gives it.

        Raises:
            ModuleNotFoundError: pandas or pyarrow is not installed.
            InterfaceError: the cursor is closed.
            ProgrammingError: the last statement was not executed by :meth:`execute_arrow`, or returned no rows.
        """
        return frame_maker("fetch_df")(self._arrow_rows("fetch_df"))

    def fetch_polars(self) -> Any:
        """Returns the rows of :meth:`execute_arrow` as a data frame of polars.

        Returns:
            A ``polars.DataFrame``.

        Raises:
            ModuleNotFoundError: polars is not installed.
            NotSupportedError: polars does not have the Arrow type of a column.
            InterfaceError: the cursor is closed.
            ProgrammingError: the last statement was not executed by :meth:`execute_arrow`, or returned no rows.
        """
        return polars_maker("fetch_polars")(self._arrow_rows("fetch_polars"))

    def _next_set(self) -> bool | None:
        self._check()
        if not self._more:
            self._clear()
            return None
        self._set(self._more.pop())
        return True

    def _scroll(self, value: int, mode: str) -> None:
        rows = self._buffer()
        if mode not in ("relative", "absolute"):
            raise ProgrammingError(f"scroll mode {mode!r} is neither 'relative' nor 'absolute'")
        value = checked_whole(value, "the number of rows")
        if rows is HANDED_OVER:
            raise ProgrammingError(
                "fetchall() has returned the rows themselves, and the cursor keeps none of them to move to: scroll "
                "within the list, or read with fetchmany() or fetchone()"
            )
        target = self._position + value if mode == "relative" else value
        if not 0 <= target <= len(rows):
            raise IndexError("scroll leaves the result")
        self._position = target

    def _keep_counts(self) -> None:
        """Keeps what a closed cursor still says of its last statement."""
        if self._result is not None:
            self._told = self._result.rowcount, self._result.generated

    def _free(self) -> None:
        """Closes the cursor, of which nothing waits."""
        self._closed = True
        self._keep_counts()
        self._rows = None
        self._arrow = None
        self._result = None
        self._more = ()

    def __repr__(self) -> str:
        """Its result, as far as that is there: nothing is waited for."""
        result = self._result
        if self._closed:
            state = "closed"
        elif result is None:
            state = "no result"
        else:
            state = result.tag or f"rowcount {result.rowcount}"
            if result.columns is not None:
                names = result.columns.names
                state += f": {', '.join(names[:_NAMES_SHOWN])}{', ...' * (len(names) > _NAMES_SHOWN)}"
        return f"<{type(self).__module__}.{type(self).__name__} [{state}]>"

    def _repr_html_(self) -> str:
        """The columns with their types, and the first rows, of those that are in memory: nothing is fetched, waited for
        or taken from those who fetch. Notebooks call it."""
        from .html import ROWS, table

        result = self._result
        if self._closed or result is None or result.columns is None:
            return table([], [], repr(self))
        columns = [(name, str(code)) for name, code, *_ in self._core.describe(result.columns)]
        rows = self._rows or []
        shown = f"the first {ROWS} of {len(rows)} rows" if len(rows) > ROWS else f"{len(rows)} rows"
        if self._rows is None or (not rows and result.rowcount > 0):
            shown = "no rows in memory"
        return table(columns, rows[:ROWS], f"{result.tag or 'result'}: {shown}")

    # PEP 249

    @property
    def description(self) -> list[Column] | None:
        """The columns of the result, or None if the last statement returned no rows. A ``type_code`` is a
        :class:`headrace.types.TypeCode`."""
        if self._result is None or self._result.columns is None:
            return None
        return self._core.describe(self._result.columns)  # type: ignore[no-any-return]

    @property
    def rowcount(self) -> int:
        """The number of rows that the last statement affected or returned, also of a closed cursor; -1 if the server
        does not report it."""
        return self._told[0] if self._result is None else self._result.rowcount

    @property
    def lastrowid(self) -> int | None:
        """The value that the server generated for the last INSERT (Informix: SERIAL; MySQL, MariaDB
        and CUBRID: AUTO_INCREMENT); None otherwise, and on asyncio for CUBRID, which is queried for it."""
        return self._told[1] if self._result is None else self._result.generated

    @property
    def rownumber(self) -> int | None:
        """The index of the next row, from 0; None without a result."""
        return None if self._rows is None else self._position

    @property
    def statusmessage(self) -> str | None:
        """The server's message about the last statement, such as ``INSERT 0 5``; None if there is none."""
        return None if self._result is None else self._result.tag

    @property
    def closed(self) -> bool:
        """True after :meth:`close`."""
        return self._closed

    @property
    def row_factory(self) -> RowFactory[Any]:
        """Converts rows, see :mod:`headrace.rows`. A new one applies from the next statement on."""
        return self._row_factory

    @row_factory.setter
    def row_factory(self, factory: RowFactory[Any]) -> None:
        self._row_factory = checked_callable(factory, "row_factory")

    def setinputsizes(self, sizes: Sequence[Any], /) -> None:
        """Does nothing, as PEP 249 allows.

        Args:
            sizes: ignored.

        Raises:
            InterfaceError: the cursor is closed.
        """
        self._check()

    def setoutputsize(self, size: int, column: int | None = None, /) -> None:
        """Does nothing, as PEP 249 allows.

        Args:
            size: ignored.
            column: ignored.

        Raises:
            InterfaceError: the cursor is closed.
        """
        self._check()
