"""What connections, cursors and pools have that never waits, whatever the database: the same in both shells."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Protocol, TypeVar

from .._native import ArrowResult
from ..rows import RowFactory
from .cursor_base import Column
from .pool_actions import Pooled
from .pool_settings import PoolStats

R = TypeVar("R")


class CursorResult(Protocol):
    """The result of a cursor."""

    arraysize: int

    @property
    def closed(self) -> bool:
        """True after :meth:`close`."""
        ...

    @property
    def description(self) -> list[Column] | None:
        """The columns of the result, or None if the last statement returned no rows."""
        ...

    def fetch_arrow(self) -> ArrowResult:
        """Returns the rows of :meth:`execute_arrow` as Arrow record batches."""
        ...

    def fetch_arrow_table(self) -> Any:
        """Returns the rows of :meth:`execute_arrow` as a table of pyarrow."""
        ...

    def fetch_df(self) -> Any:
        """Returns the rows of :meth:`execute_arrow` as a data frame of pandas."""
        ...

    def fetch_polars(self) -> Any:
        """Returns the rows of :meth:`execute_arrow` as a data frame of polars."""
        ...

    def fetch_record_batch(self) -> Any:
        """Returns the rows of :meth:`execute_arrow` as a reader of pyarrow."""
        ...

    @property
    def lastrowid(self) -> int | None:
        """The value that the server generated for the last INSERT; None otherwise."""
        ...

    @property
    def row_factory(self) -> RowFactory[Any]:
        """Converts rows, see :mod:`headrace.rows`."""
        ...

    @property
    def rowcount(self) -> int:
        """The number of rows that the last statement affected or returned, also of a closed cursor."""
        ...

    @property
    def rownumber(self) -> int | None:
        """The index of the next row, from 0; None without a result."""
        ...

    def setinputsizes(self, sizes: Sequence[Any], /) -> None:
        """Does nothing, as PEP 249 allows."""
        ...

    def setoutputsize(self, size: int, column: int | None = None, /) -> None:
        """Does nothing, as PEP 249 allows."""
        ...

    @property
    def statusmessage(self) -> str | None:
        """The server's message about the last statement, such as ``INSERT 0 5``; None if there is none."""
        ...


class ConnectionState(Pooled, Protocol[R]):
    """The state of a connection, and what is registered on it."""

    row_factory: RowFactory[R]

    @property
    def isolation_level(self) -> str | None:
        """The isolation level of later transactions; None for the server's default."""
        ...

    def register_dumpers(self, dumpers: Mapping[type, Callable[[Any], bytes | str]]) -> None:
        """Registers what converts parameters of classes of the program's own."""
        ...

    def register_loaders(self, loaders: Mapping[str | int, Callable[[Any], Any] | None]) -> None:
        """Registers what makes objects of the values of columns of some types."""
        ...

    def register_json(
        self, loads: Callable[[str], Any] | None = None, dumps: Callable[[Any], str | bytes] | None = None
    ) -> None:
        """Registers what reads and writes JSON on this connection."""
        ...

    def reset_timings(self) -> None:
        """Sets the counters of :meth:`timings` to zero."""
        ...

    def timings(self) -> dict[str, dict[str, int]]:
        """Returns the counters of calls and time, which ``enable_timing`` turns on."""
        ...


class PoolState(Protocol):
    """The state of a pool."""

    name: str

    @property
    def closed(self) -> bool:
        """True if the pool is not open."""
        ...

    def resize(self, min_size: int, max_size: int | None = None) -> None:
        """Changes the number of connections."""
        ...

    def stats(self) -> PoolStats:
        """Returns a snapshot of the pool."""
        ...
