"""Cursors: rows of a query in blocks, in the transaction that is open."""

from __future__ import annotations

from collections import deque
from collections.abc import AsyncIterator, Generator, Sequence
from typing import TYPE_CHECKING, Any, Final

from ..._native import Columns, Result
from ...errors import InvalidCursorName
from .exceptions import InterfaceError, class_of
from .record import Record, records_of
from .statements import as_asyncpg

if TYPE_CHECKING:
    from .connection import Connection

PREFETCH: Final = 50
"""Rows that an iteration asks for at a time."""
MAX_ROWS: Final = 2**31 - 1
"""Rows that an Execute can ask for ("Message Formats", PostgreSQL manual: Int32)."""


class _Portal:
    """A query that is executed by and by."""

    def __init__(
        self,
        connection: Connection,
        query: str,
        args: Sequence[Any],
        timeout: float | None,
        record_class: type[Record] | None,
    ) -> None:
        self._connection = connection
        self._query = query
        self._args = args
        self._timeout = timeout
        self._record_class = record_class
        self._portal: tuple[str, int] | None = None
        self._columns: Columns | None = None
        self._exhausted = False
        self._releases = connection._releases

    def _check(self) -> None:
        self._connection._check_open()
        if not self._connection.is_in_transaction():
            raise class_of("25P01")("cursor cannot be created outside of a transaction")

    async def _more(self, rows: int, timeout: float | None) -> list[Any]:
        """The next rows; fewer than asked for at the end."""
        if self._releases != self._connection._releases:
            raise InterfaceError("cannot read the cursor: the underlying connection has been released back to the pool")
        if self._exhausted:
            return []
        connection, core = self._connection, self._connection._core
        connection._check_open()
        timeout = self._timeout if timeout is None else timeout
        rows = min(rows, MAX_ROWS)
        with as_asyncpg(self._query, self._args):
            if self._portal is None or self._columns is None:
                result = await self._begin(rows, timeout)
            else:
                portal, columns = self._portal, self._columns
                result = await connection._wait(lambda: core.wire.fetch(portal, rows, columns), timeout)
                if not result.suspended and not result.tag:
                    raise InvalidCursorName(f"cursor {portal[0]!r} does not exist: its transaction has ended")
        if not result.suspended:
            # The tables that it reads are in use as long as it is open.
            self._close()
        if result.columns is not None:
            self._columns = result.columns
        if not result.rows or self._columns is None:
            return []
        shape = await connection._shape(self._query, self._columns)
        kind = self._record_class or connection._record_class
        return records_of(kind, shape.layout, shape.converted(result.rows))

    async def _begin(self, rows: int, timeout: float | None) -> Result:
        connection, core = self._connection, self._connection._core
        number = next(core.numbers)
        self._portal = portal = (f"headrace_{number}", number)
        args = self._args
        if args and connection._codecs.encoders:
            args = (await connection._encoded(self._query, [args], timeout))[0]
        return await connection._wait(
            lambda: core.wire.execute(self._query, args or None, None, core.named, portal=(portal, rows)), timeout
        )

    def _close(self) -> None:
        """Queues the end of a portal that is not read to its end."""
        core = self._connection._core
        if self._portal is not None and not core.wire.closed and core.wire.has_portal(self._portal[1]):
            ended: Any = core.wire.close_portal(self._portal)
            ended.add_done_callback(_look_at)
        self._exhausted = True


def _look_at(future: Any) -> None:
    """Retrieves the error of a future: asyncio would report it otherwise."""
    if not future.cancelled():
        future.exception()


class CursorIterator(_Portal, AsyncIterator[Any]):
    """The rows of a query one by one."""

    def __init__(self, *args: Any, prefetch: int | None) -> None:
        super().__init__(*args)
        self._prefetch = PREFETCH if prefetch is None else prefetch
        self._buffer: deque[Any] = deque()
        if self._prefetch <= 0:
            raise InterfaceError("prefetch argument must be greater than zero")

    def __aiter__(self) -> CursorIterator:
        return self

    async def __anext__(self) -> Any:
        if not self._buffer:
            if self._portal is None:
                self._check()
            self._buffer.extend(await self._more(self._prefetch, None))
        if not self._buffer:
            raise StopAsyncIteration
        return self._buffer.popleft()


class Cursor(_Portal):
    """The rows of a query in blocks."""

    async def fetch(self, n: int, *, timeout: float | None = None) -> list[Any]:
        """Returns the next ``n`` rows; fewer at the end."""
        if n <= 0:
            raise InterfaceError("n must be greater than zero")
        return await self._more(n, timeout)

    async def fetchrow(self, *, timeout: float | None = None) -> Any:
        """Returns the next row, or None at the end."""
        records = await self._more(1, timeout)
        return records[0] if records else None

    async def forward(self, n: int, *, timeout: float | None = None) -> int:
        """Skips ``n`` rows, and returns the number of those that there were."""
        if n <= 0:
            raise InterfaceError("n must be greater than zero")
        return len(await self._more(n, timeout))

    def __repr__(self) -> str:
        shown = f"{self._query[:30]}..." if len(self._query) > 33 else self._query
        state = "exhausted " if self._exhausted else ""
        return f'<asyncpg.{type(self).__qualname__} "{shown}" {state}{id(self):#x}>'


class CursorFactory:
    """What ``cursor()`` returns: awaited a cursor, iterated over the rows."""

    def __init__(
        self,
        connection: Connection,
        query: str,
        args: Sequence[Any],
        prefetch: int | None,
        timeout: float | None,
        record_class: type[Record] | None,
    ) -> None:
        self._given = connection, query, args, timeout, record_class
        self._prefetch = prefetch

    def __aiter__(self) -> CursorIterator:
        return CursorIterator(*self._given, prefetch=self._prefetch)

    def __await__(self) -> Generator[Any, None, Cursor]:
        if self._prefetch is not None:
            raise InterfaceError("prefetch argument can only be specified for iterable cursor")
        return self._opened().__await__()

    async def _opened(self) -> Cursor:
        cursor = Cursor(*self._given)
        cursor._check()
        return cursor
