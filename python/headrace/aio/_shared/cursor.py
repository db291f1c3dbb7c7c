"""The asyncio cursor, whatever the database."""

from __future__ import annotations

import asyncio
import time
from collections.abc import AsyncIterator, Iterable
from types import TracebackType
from typing import Any, TypeVar

from ... import defaults
from ..._shared.cursor_base import CursorBase, Params
from ..._shared.limits import Limit
from ...errors import DatabaseError, InterfaceError
from ...rows import RowFactory

R = TypeVar("R")
Self = TypeVar("Self", bound="LoopCursor[Any]")


class LoopCursor(CursorBase[R]):
    """The twin of :class:`headrace._shared.cursor.BlockingCursor`."""

    def __init__(self, connection: Any, row_factory: RowFactory[R]) -> None:
        super().__init__(connection._core, row_factory)
        self._connection = connection

    async def execute(self: Self, sql: str, params: Params = None, *, timeout: float | None = None) -> Self:
        """Executes one statement: see :meth:`headrace.Cursor.execute`.

        A cancelled await is cancelled on the server too, and the connection stays usable.
        """
        if self._closed:
            raise InterfaceError("the cursor is closed")
        core = self._core
        started = time.perf_counter_ns() if core.timing else 0
        if core.pipelines and (pipeline := core.pipeline()) is not None:
            self._is_pending(core.submit_pipelined(pipeline, sql, params), pipeline)
            if pipeline.is_due(defaults.PIPELINE_TURN):
                await asyncio.sleep(0)
            return self
        future = core.submit(sql, params)
        self._clear()
        try:
            self._take(await self._connection._wait(future, timeout))
        except DatabaseError as error:
            self._failed(error)
            raise
        if core.timing:
            core.wire.count("execute", time.perf_counter_ns() - started)
        return self

    async def executemany(
        self: Self, sql: str, rows: Iterable[Any], *, returning: bool = False, timeout: float | None = None
    ) -> Self:
        """Executes a batch: see :meth:`headrace.Cursor.executemany`."""
        self._check()
        core = self._core
        started = time.perf_counter_ns() if core.timing else 0
        self._clear()
        if core.pipelines and (pipeline := core.pipeline()) is not None:
            self._is_pending(core.submit_batch_pipelined(pipeline, sql, rows, returning), pipeline)
            self._keeps_rows = returning
            if pipeline.is_due(defaults.PIPELINE_TURN):
                await asyncio.sleep(0)
            return self
        future = core.submit_batch(sql, rows, returning)
        self._keeps_rows = returning
        self._take(await self._connection._wait(future, timeout))
        if core.timing:
            core.wire.count("execute", time.perf_counter_ns() - started)
        return self

    async def _resolve(self, limit: Limit) -> None:
        future, self._pending = self._pending, None
        if future is not None and self._pipeline is not None:
            self._ask_for_answers()
            self._pipeline.resolved(self)
            try:
                self._take(await self._connection._wait(future, limit))
            except DatabaseError as error:
                self._failed(error)
                raise

    def _ask_for_answers(self) -> None:
        sync = self._core.ask_for_answers(self._pipeline)
        if sync is not None:
            # Whatever ends it ends the statement before it too, which is what somebody waits for.
            sync.add_done_callback(_heard)

    async def wait(self, timeout: float | None = None) -> bool:
        """Waits for the result of a pipelined statement: see :meth:`headrace.Cursor.wait`."""
        if self._pending is not None:
            self._ask_for_answers()
            if timeout is not None and not (await asyncio.wait([self._pending], timeout=timeout))[0]:
                return False
            await self._resolve(timeout)
        return True

    async def fetchone(self, *, timeout: float | None = None) -> R | None:
        """The next row, or ``None`` after the last."""
        if self._pending is not None:
            await self._resolve(timeout)
        return self._one()  # type: ignore[no-any-return]

    async def fetchmany(self, size: int | None = None, *, timeout: float | None = None) -> list[R]:
        """The next ``size`` rows (``arraysize`` by default), fewer at the end."""
        if self._pending is not None:
            await self._resolve(timeout)
        return self._many(size)

    async def fetchall(self, *, timeout: float | None = None) -> list[R]:
        """All rows that are left."""
        if self._pending is not None:
            await self._resolve(timeout)
        if self._core.timing:
            started = time.perf_counter_ns()
            rows = self._all()
            self._core.wire.count("fetch", time.perf_counter_ns() - started)
            return rows
        return self._all()

    def __aiter__(self) -> AsyncIterator[R]:
        return self

    async def __anext__(self) -> R:
        row = await self.fetchone()
        if row is None and self._position >= len(self._rows or ()):
            raise StopAsyncIteration
        return row  # type: ignore[return-value]

    async def nextset(self, *, timeout: float | None = None) -> bool | None:
        """To the next result; ``None`` when there is none."""
        if self._pending is not None:
            await self._resolve(timeout)
        return self._next_set()

    async def scroll(self, value: int, mode: str = "relative", *, timeout: float | None = None) -> None:
        """Moves within the result. Raises IndexError beyond its ends."""
        if self._pending is not None:
            await self._resolve(timeout)
        self._scroll(value, mode)

    async def close(self, *, timeout: float | None = None) -> None:
        """Frees the result. A closed cursor cannot be used any more. Only one that is open on the
        server has to wait."""
        self._closed = True
        self._rows = None
        self._result = None
        self._more = ()

    async def __aenter__(self: Self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()


def _heard(future: asyncio.Future[Any]) -> None:
    if not future.cancelled():
        future.exception()
