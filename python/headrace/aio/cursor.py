"""The asyncio cursor."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from .. import defaults
from .._postgres.core import Params, quote_identifier
from .._postgres.cursor_base import CursorBase
from ..errors import InterfaceError, NotSupportedError, ProgrammingError
from ..rows import RowFactory

if TYPE_CHECKING:
    from .connection import AsyncConnection
    from .copy import AsyncCopy

R = TypeVar("R")
Self = TypeVar("Self", bound="AsyncCursor[Any]")


class AsyncCursor(CursorBase[R]):
    """The twin of :class:`headrace.Cursor`."""

    def __init__(self, connection: AsyncConnection[Any], row_factory: RowFactory[R]) -> None:
        super().__init__(connection._core, row_factory)
        self._connection = connection

    @property
    def connection(self) -> AsyncConnection[Any]:
        """The connection it belongs to."""
        return self._connection

    async def execute(self: Self, sql: str, params: Params = None, *, timeout: float | None = None) -> Self:
        """Executes one statement: see :meth:`headrace.Cursor.execute`.

        A cancelled await is cancelled on the server too, and the connection stays usable.
        """
        if self._closed:
            raise InterfaceError("the cursor is closed")
        core = self._core
        started = time.perf_counter_ns() if core.timing else 0
        future = core.submit(sql, params)
        if core.pipelined is not None:
            self._clear()
            self._pending = future
            core.pipelined.append(self)
            return self
        result = await self._connection._wait(future, timeout)
        self._more = []
        self._set(result)
        if core.timing:
            core.wire.count(1, time.perf_counter_ns() - started)
        return self

    async def executemany(
        self: Self, sql: str, rows: Iterable[Any], *, returning: bool = False, timeout: float | None = None
    ) -> Self:
        """Executes a batch: see :meth:`headrace.Cursor.executemany`."""
        self._check()
        core = self._core
        started = time.perf_counter_ns() if core.timing else 0
        self._clear()
        future = core.submit_batch(sql, rows, returning)
        if core.pipelined is not None:
            self._pending = future
            core.pipelined.append(self)
            return self
        self._take(await self._connection._wait(future, timeout))
        if core.timing:
            core.wire.count(1, time.perf_counter_ns() - started)
        return self

    async def callproc(self, name: str, params: Sequence[Any] = ()) -> Sequence[Any]:
        """Calls a function: see :meth:`headrace.Cursor.callproc`."""
        places = ", ".join(f"${i + 1}" for i in range(len(params)))
        function = ".".join(quote_identifier(part) for part in name.split("."))
        await self.execute(f"SELECT * FROM {function}({places})", tuple(params) if params else None)
        return params

    async def _resolve(self) -> None:
        future, self._pending = self._pending, None
        if future is not None:
            self._ask_for_answers()
            self._core.resolved(self)
            self._take(await self._connection._wait(future, None))

    def _ask_for_answers(self) -> None:
        sync = self._core.ask_for_answers()
        if sync is not None:
            # Whatever ends it ends the statement before it too, which is what somebody waits for.
            sync.add_done_callback(lambda done: done.cancelled() or done.exception())

    async def wait(self, timeout: float | None = None) -> bool:
        """Waits for the result of a pipelined statement: see :meth:`headrace.Cursor.wait`."""
        if self._pending is not None:
            self._ask_for_answers()
            if timeout is not None and not (await asyncio.wait([self._pending], timeout=timeout))[0]:
                return False
            await self._resolve()
        return True

    async def fetchone(self) -> R | None:
        """The next row, or ``None`` after the last."""
        if self._pending is not None:
            await self._resolve()
        return self._one()  # type: ignore[no-any-return]

    async def fetchmany(self, size: int | None = None) -> list[R]:
        """The next ``size`` rows (``arraysize`` by default), fewer at the end."""
        if self._pending is not None:
            await self._resolve()
        return self._many(size)

    async def fetchall(self) -> list[R]:
        """All rows that are left."""
        if self._pending is not None:
            await self._resolve()
        if self._core.timing:
            started = time.perf_counter_ns()
            rows = self._all()
            self._core.wire.count(2, time.perf_counter_ns() - started)
            return rows
        return self._all()

    def __aiter__(self) -> AsyncIterator[R]:
        return self

    async def __anext__(self) -> R:
        row = await self.fetchone()
        if row is None and self._position >= len(self._rows or ()):
            raise StopAsyncIteration
        return row  # type: ignore[return-value]

    async def nextset(self) -> bool | None:
        """To the next result; ``None`` when there is none."""
        if self._pending is not None:
            await self._resolve()
        return self._next_set()

    async def scroll(self, value: int, mode: str = "relative") -> None:
        """Moves within the result. Raises IndexError beyond its ends."""
        if self._pending is not None:
            await self._resolve()
        self._scroll(value, mode)

    def copy(self, sql: str) -> AsyncCopy:
        """``COPY ... FROM STDIN`` or ``COPY ... TO STDOUT``, as an asynchronous context manager."""
        from .copy import AsyncCopy

        self._check()
        return AsyncCopy(self._connection, sql, self)

    async def close(self) -> None:
        """Frees the result. A closed cursor cannot be used any more."""
        self._closed = True
        self._rows = None
        self._result = None
        self._more = []

    async def __aenter__(self: Self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


class AsyncServerCursor(AsyncCursor[R]):
    """The twin of :class:`headrace._postgres.cursor.ServerCursor`."""

    def __init__(
        self,
        connection: AsyncConnection[Any],
        row_factory: RowFactory[R],
        name: str,
        scrollable: bool | None = None,
        withhold: bool = False,
    ) -> None:
        super().__init__(connection, row_factory)
        self.name = name
        self.scrollable = scrollable
        self.withhold = withhold
        self.itersize: int = defaults.FETCH_SIZE
        self._declared = False
        self._exhausted = False

    async def execute(self, sql: str, params: Params = None, *, timeout: float | None = None) -> Any:
        """Declares the cursor for a query."""
        self._check()
        if self._core.autocommit and not self.withhold and not self._core.in_transaction():
            raise ProgrammingError(
                "a server-side cursor needs a transaction: use conn.transaction(), or declare it withhold=True"
            )
        if self._declared:
            await self._forget()
        scroll = {None: "", True: "SCROLL ", False: "NO SCROLL "}[self.scrollable]
        hold = "WITH HOLD " if self.withhold else ""
        statement = f"DECLARE {quote_identifier(self.name)} {scroll}CURSOR {hold}FOR {sql}"
        await self._connection._wait(self._core.submit(statement, params), timeout)
        self._declared = True
        self._exhausted = False
        await self._fetch_block("FORWARD 0")
        return self

    async def executemany(
        self, sql: str, rows: Iterable[Any], *, returning: bool = False, timeout: float | None = None
    ) -> Any:
        """Not possible on the server's side."""
        raise NotSupportedError("a server-side cursor cannot execute batches")

    async def _fetch_block(self, what: str) -> None:
        if not self._declared:
            raise ProgrammingError("the cursor was not executed")
        statement = f"FETCH {what} FROM {quote_identifier(self.name)}"
        self._set(await self._connection._wait(self._core.submit(statement, None), None))

    async def fetchone(self) -> R | None:
        """The next row, or ``None`` after the last."""
        self._check()
        if self._position >= len(self._rows or ()) and not self._exhausted:
            await self._fetch_block(f"FORWARD {self.itersize}")
            self._exhausted = len(self._rows or ()) < self.itersize
        return self._one()  # type: ignore[no-any-return]

    async def fetchmany(self, size: int | None = None) -> list[R]:
        """The next ``size`` rows."""
        self._check()
        wanted = self.arraysize if size is None else size
        out = self._many(wanted)
        if len(out) < wanted and not self._exhausted:
            missing = wanted - len(out)
            await self._fetch_block(f"FORWARD {missing}")
            self._exhausted = len(self._rows or ()) < missing
            out += self._many(missing)
        return out

    async def fetchall(self) -> list[R]:
        """All rows that are left."""
        self._check()
        out = self._all()
        if not self._exhausted:
            await self._fetch_block("FORWARD ALL")
            self._exhausted = True
            out += self._all()
        return out

    async def scroll(self, value: int, mode: str = "relative") -> None:
        """Moves the server's cursor. What was fetched ahead is dropped."""
        self._check()
        if mode == "relative":
            value -= len(self._rows or ()) - self._position
        elif mode != "absolute":
            raise ProgrammingError(f"scroll mode {mode!r} is neither 'relative' nor 'absolute'")
        statement = f"MOVE {mode.upper()} {value} FROM {quote_identifier(self.name)}"
        await self._connection._wait(self._core.submit(statement, None), None)
        self._rows = []
        self._position = 0
        self._exhausted = False

    async def _forget(self) -> None:
        self._declared = False
        if not self._core.wire.closed and (self.withhold or self._core.wire.last_status() == 2):
            await self._connection._wait(self._core.submit(f"CLOSE {quote_identifier(self.name)}", None), None)

    async def close(self) -> None:
        """Closes the server's cursor."""
        if self._declared and not self._closed:
            await self._forget()
        await super().close()
