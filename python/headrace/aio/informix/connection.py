"""The asyncio connection to Informix."""

from __future__ import annotations

import asyncio
import contextlib
from collections import deque
from collections.abc import AsyncGenerator, AsyncIterator, Iterable
from typing import Any, TypeVar, overload

from ... import defaults
from ..._shared.cursor_base import Params, columns_of
from ..._shared.limits import until
from ...errors import ConnectionClosed
from ...informix.connection_base import InformixBase
from ...informix.core import InformixCore
from ...informix.lobs import Locator, creating, opening
from ...informix.streams import Stream
from ...rows import RowFactory, tuple_row
from .._shared.connection import LoopConnection
from .cursor import AsyncCursor, AsyncServerCursor
from .largeobject import AsyncLargeObject

R = TypeVar("R")
T = TypeVar("T")


class AsyncConnection(InformixBase[R], LoopConnection[R]):
    """A connection to Informix. Tasks may share it: their awaits queue up."""

    _core: InformixCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def _cursor(self, factory: RowFactory[T]) -> AsyncCursor[T]:
        return AsyncCursor(self, factory)

    # executing

    @overload
    def cursor(self, *, row_factory: RowFactory[Any] | None = None) -> AsyncCursor[Any]: ...
    @overload
    def cursor(
        self,
        name: str,
        *,
        row_factory: RowFactory[Any] | None = None,
        scrollable: bool = False,
        withhold: bool = False,
    ) -> AsyncServerCursor[Any]: ...
    def cursor(
        self,
        name: str | None = None,
        *,
        row_factory: RowFactory[Any] | None = None,
        scrollable: bool = False,
        withhold: bool = False,
    ) -> AsyncCursor[Any] | AsyncServerCursor[Any]:
        """A new cursor; with a ``name`` one that stays open on the server, and whose rows are fetched as they are asked
        for."""
        if self._core.wire.closed:
            raise ConnectionClosed("the connection is closed")
        factory = row_factory or self.row_factory
        if name is not None:
            return AsyncServerCursor(self, factory, name, scrollable, withhold)
        return AsyncCursor(self, factory)

    async def execute(self, sql: str, params: Params = None, *, timeout: float | None = None) -> AsyncCursor[R]:
        """Executes one statement on a new cursor, and gives the cursor."""
        return await AsyncCursor(self, self.row_factory).execute(sql, params, timeout=timeout)

    async def executemany(self, sql: str, rows: Iterable[Any], *, timeout: float | None = None) -> AsyncCursor[R]:
        """Executes a batch on a new cursor, all rows or none, and gives the cursor."""
        return await AsyncCursor(self, self.row_factory).executemany(sql, rows, timeout=timeout)

    async def fetchmany(self, sql: str, rows: Iterable[Any], *, timeout: float | None = None) -> list[R]:
        """The rows of a query for every row of parameters, one after the other in one list; pipelined."""
        cursor, out = AsyncCursor(self, self.row_factory), list[R]()
        limit = until(timeout)
        asked = deque[Any]()

        async def take() -> None:
            cursor._take(await self._wait(asked.popleft(), limit))
            out.extend(cursor._all())

        try:
            for row in rows:
                asked.append(self._core.submit(sql, row))
                if len(asked) >= defaults.INFORMIX_FETCHMANY_IN_FLIGHT:
                    await take()
            while asked:
                await take()
        finally:
            # After an error nobody waits for the others.
            while asked and not self.closed:
                self._core.wire.discard(asked.pop())
        return out

    async def stream(
        self,
        sql: str,
        params: Params = None,
        *,
        fetch_bytes: int = defaults.INFORMIX_FETCH_BYTES,
        timeout: float | None = None,
    ) -> AsyncIterator[R]:
        """The rows of a query one by one, in bounded memory: up to ``fetch_bytes`` of them at a time (and one where
        that is larger), the next block on its way while this one is used."""
        async with contextlib.aclosing(
            self.stream_blocks(sql, params, fetch_bytes=fetch_bytes, timeout=timeout)
        ) as blocks:
            async for block in blocks:
                for row in block:  # asyncio only
                    yield row
                # blocking: yield from block

    async def stream_blocks(
        self,
        sql: str,
        params: Params = None,
        *,
        fetch_bytes: int = defaults.INFORMIX_FETCH_BYTES,
        timeout: float | None = None,
    ) -> AsyncGenerator[list[R]]:
        """The rows of a query in lists, as many in each as the server sends in ``fetch_bytes``: :meth:`stream` without
        the cost of a step per row. The end of its transaction ends it; in autocommit it stays when other statements
        commit, and ends with a rollback."""
        core = self._core
        stream = Stream(core, fetch_bytes)
        result = await self._run(stream.open(sql, params), timeout)
        make = None
        try:
            if self.row_factory is not tuple_row:
                make = self.row_factory(columns_of(result).names)
            while True:
                stream.ask(result)
                # blocking: if stream.ahead is not None:
                # blocking:     self._push(0, timeout)
                rows: Any = result.rows
                if rows:
                    yield rows if make is None else list(map(make, rows))
                del rows
                if stream.ahead is None:
                    return
                result = await self._run(stream.following(), timeout)
        finally:
            await self._run(stream.close(), timeout)

    # routines and large objects

    async def fastpath(self, routine: str, *arguments: Any, timeout: float | None = None) -> tuple[Any, ...]:
        """Calls a routine over the fast path: no statement is prepared, and its handle is asked for only once.

        Args:
            routine: its signature, ``f(integer, lvarchar)``; the types decide how the arguments are sent.
            arguments: as many as it names.

        Returns:
            What it returns, as one row.

        Raises:
            ProgrammingError: for what is no signature, or another number of arguments, or no such routine.
        """
        return await self._run(self._core.fastpath(routine, arguments), timeout)

    async def open_lob(self, locator: Locator, mode: str = "rb", *, timeout: float | None = None) -> AsyncLargeObject:
        """Opens the BLOB or CLOB that a column's value names, as a binary file.

        Args:
            locator: what the column gave.
            mode: ``rb`` to read, ``r+b`` to read and write, ``wb`` to write it anew.

        Raises:
            ProgrammingError: for what is no locator, or another mode.
        """
        return AsyncLargeObject(self, await self._run(opening(self._core, locator, mode), timeout))

    async def create_lob(
        self, kind: str = "blob", *, column: str | None = None, timeout: float | None = None
    ) -> AsyncLargeObject:
        """Makes a large object, open for reading and writing. Its ``locator`` is the parameter that stores it in a row;
        the server removes one that no row has.

        Args:
            kind: ``blob`` or ``clob``.
            column: ``table.column`` whose storage settings it is to have; without it those of the server.
        """
        return AsyncLargeObject(self, await self._run(creating(self._core, kind, column), timeout))

    # the session

    @property
    def isolation_level(self) -> str | None:
        """The isolation level of the session as it was set here; None is the server's own."""
        return self._core.isolation_level

    async def set_isolation_level(self, value: str, *, timeout: float | None = None) -> None:  # asyncio only
        """Sets the isolation level of the session."""
        await self._run(self._core.set_isolation(value), timeout)

    # blocking: @isolation_level.setter
    # blocking: def isolation_level(self, value: str) -> None:
    # blocking:     self._run(self._core.set_isolation(value))

    @property
    def lock_wait(self) -> int | None:
        """Seconds that the session waits for a lock as they were set here: 0 not at all, -1 for ever."""
        return self._core.lock_wait

    async def set_lock_wait(self, value: int, *, timeout: float | None = None) -> None:  # asyncio only
        """Sets how long the session waits for a lock."""
        await self._run(self._core.set_lock_wait(value), timeout)

    # blocking: @lock_wait.setter
    # blocking: def lock_wait(self, value: int) -> None:
    # blocking:     self._run(self._core.set_lock_wait(value))

    async def ping(self, *, timeout: float | None = None) -> None:
        """A round trip that does nothing else (SQ_VERSION). Raises OperationalError when the server is gone."""
        await self._wait(self._core.round_trip(), timeout)

    async def _send_cancel(self) -> float | None:  # asyncio only
        # What was written in this turn of the loop, uvloop sends at its end.
        await asyncio.sleep(0)
        return self._core.send_urgent()

    # blocking: def _send_cancel(self, timeout: float) -> float | None:
    # blocking:     return self._core.send_urgent()
