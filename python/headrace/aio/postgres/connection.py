"""The asyncio connection to PostgreSQL."""

from __future__ import annotations

import asyncio
import enum
from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any, TypeVar, overload

from ..._shared.cursor_base import Params
from ...errors import ConnectionClosed
from ...postgres.core import ConnectionCore, quote_identifier
from ...rows import RowFactory
from ...types import Notify, Xid
from .cancelling import AsyncCancelling
from .copying import AsyncCopying
from .cursor import AsyncCursor, AsyncServerCursor
from .streaming import AsyncStreaming

R = TypeVar("R")
T = TypeVar("T")


class AsyncConnection(AsyncStreaming[R], AsyncCopying[R], AsyncCancelling[R]):
    """A connection to PostgreSQL. Tasks may share it: their awaits queue up.

    As a context manager it commits at the end of the block, rolls back when the block raises, and closes.
    """

    _core: ConnectionCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def _cursor(self, factory: RowFactory[T]) -> AsyncCursor[T]:
        return AsyncCursor(self, factory)

    # executing

    @overload
    def cursor(self) -> AsyncCursor[R]: ...
    @overload
    def cursor(self, *, row_factory: RowFactory[T]) -> AsyncCursor[T]: ...
    @overload
    def cursor(
        self,
        name: str,
        *,
        row_factory: RowFactory[Any] | None = None,
        scrollable: bool | None = None,
        withhold: bool = False,
    ) -> AsyncServerCursor[Any]: ...
    def cursor(
        self,
        name: str | None = None,
        *,
        row_factory: RowFactory[Any] | None = None,
        scrollable: bool | None = None,
        withhold: bool = False,
    ) -> AsyncCursor[Any]:
        """A new cursor; with a ``name`` one that lives on the server and is fetched in blocks."""
        if self._core.wire.closed:
            raise ConnectionClosed("the connection is closed")
        factory = row_factory or self.row_factory
        if name is not None:
            return AsyncServerCursor(self, factory, name, scrollable, withhold)
        return AsyncCursor(self, factory)

    async def execute(self, sql: str, params: Params = None, *, timeout: float | None = None) -> AsyncCursor[R]:
        """Executes one statement on a new cursor, and gives the cursor."""
        return await AsyncCursor(self, self.row_factory).execute(sql, params, timeout=timeout)

    async def executemany(
        self, sql: str, rows: Iterable[Any], *, returning: bool = False, timeout: float | None = None
    ) -> AsyncCursor[R]:
        """Executes a batch on a new cursor, and gives the cursor: see :meth:`AsyncCursor.executemany`."""
        return await AsyncCursor(self, self.row_factory).executemany(sql, rows, returning=returning, timeout=timeout)

    async def executescript(self, sql: str, *, timeout: float | None = None) -> AsyncCursor[R]:
        """Executes statements separated by semicolons, without parameters, by the simple protocol. Each result
        is a set of the cursor that this gives."""
        cursor = AsyncCursor(self, self.row_factory)
        await self._script(cursor, sql, timeout)
        return cursor

    async def fetchmany(self, sql: str, rows: Iterable[Any], *, timeout: float | None = None) -> list[R]:
        """The rows of a query for every row of parameters, one after the other in one list; pipelined."""
        cursor = AsyncCursor(self, self.row_factory)
        cursor._set(await self._wait(self._core.submit_flat(sql, rows), timeout))
        return cursor._all()

    # transactions

    @property
    def isolation_level(self) -> str | None:
        """Isolation level of transactions to come; ``None`` is the server's default."""
        return self._core.isolation_level

    async def set_isolation_level(self, value: str | None) -> None:  # asyncio only
        """Changes the isolation level; only between transactions."""
        self._core.set_mode("isolation_level", value)

    # blocking: @isolation_level.setter
    # blocking: def isolation_level(self, value: str | None) -> None:
    # blocking:     self._core.set_mode("isolation_level", value)

    @property
    def read_only(self) -> bool | None:
        """Whether transactions to come are read-only; ``None`` is the server's default."""
        return self._core.read_only

    async def set_read_only(self, value: bool | None) -> None:  # asyncio only
        """Changes it; only between transactions."""
        self._core.set_mode("read_only", value)

    # blocking: @read_only.setter
    # blocking: def read_only(self, value: bool | None) -> None:
    # blocking:     self._core.set_mode("read_only", value)

    @property
    def deferrable(self) -> bool | None:
        """Whether transactions to come are deferrable; ``None`` is the server's default."""
        return self._core.deferrable

    async def set_deferrable(self, value: bool | None) -> None:  # asyncio only
        """Changes it; only between transactions."""
        self._core.set_mode("deferrable", value)

    # blocking: @deferrable.setter
    # blocking: def deferrable(self, value: bool | None) -> None:
    # blocking:     self._core.set_mode("deferrable", value)

    async def tpc_begin(self, xid: Xid | str, *, timeout: float | None = None) -> None:
        """Begins a two-phase transaction."""
        await self._run(self._core.tpc_begin(xid), timeout)

    async def tpc_prepare(self, *, timeout: float | None = None) -> None:
        """First phase."""
        await self._run(self._core.tpc_prepare(), timeout)

    async def tpc_commit(self, xid: Xid | str | None = None, *, timeout: float | None = None) -> None:
        """Second phase: commits."""
        await self._run(self._core.tpc_finish("COMMIT", xid), timeout)

    async def tpc_rollback(self, xid: Xid | str | None = None, *, timeout: float | None = None) -> None:
        """Second phase: rolls back."""
        await self._run(self._core.tpc_finish("ROLLBACK", xid), timeout)

    async def tpc_recover(self, *, timeout: float | None = None) -> list[Xid]:
        """The prepared transactions of this database."""
        return await self._run(self._core.tpc_recover(), timeout)

    # what comes unasked

    async def listen(self, channel: str, *, timeout: float | None = None) -> None:
        """Subscribes to a channel."""
        await self.execute(f"LISTEN {quote_identifier(channel)}", timeout=timeout)

    async def unlisten(self, channel: str | None = None, *, timeout: float | None = None) -> None:
        """Ends a subscription, or all."""
        await self.execute(f"UNLISTEN {'*' if channel is None else quote_identifier(channel)}", timeout=timeout)

    async def notifies(self, timeout: float | None = None, stop_after: int | None = None) -> AsyncIterator[Notify]:
        """Notifications as they come. Ends after ``timeout`` seconds without one, or after ``stop_after``."""
        count = 0
        while stop_after is None or count < stop_after:
            notify = self._core.notification()
            if notify is None:
                wire = self._core.wire
                waiting = wire.notified()
                try:
                    done, _ = await asyncio.wait([waiting], timeout=timeout)  # asyncio only
                    # blocking: wire.wait(waiting, timeout)
                # blocking: except TimeoutError:
                # blocking:     return
                finally:
                    wire.forget_notified(waiting)
                if not done:  # asyncio only
                    return
                waiting.result()  # asyncio only
                continue
            count += 1
            yield notify

    # types of the database

    async def register_composite(self, name: str, factory: Callable[..., Any], *, timeout: float | None = None) -> None:
        """Values of the composite type ``name``, which is written as in SQL, become ``factory(*attributes)``: a named
        tuple, a dataclass. Without this they are tuples.

        Raises UndefinedObject for an unknown type and ProgrammingError for one that is no composite.
        """
        await self._run(self._adapters.composite(name, factory), timeout)

    async def register_enum(self, name: str, kind: type[enum.Enum], *, timeout: float | None = None) -> None:
        """Values of the enumeration ``name``, which is written as in SQL, become members of ``kind``, and members are
        sent as labels. A label belongs to the member with that value or, where not all labels are values, to the one
        with that name. Without this they are text.

        Raises UndefinedObject for an unknown type and ProgrammingError for one that is no enumeration, or where a label
        has no member.
        """
        await self._run(self._adapters.enumeration(name, kind), timeout)
