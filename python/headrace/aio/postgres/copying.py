"""COPY of rows, bytes and files, asyncio."""

from __future__ import annotations

import asyncio
import weakref
from collections.abc import AsyncIterable, Iterable, Sequence
from typing import IO, Any, TypeVar

from ... import defaults
from ..._native import Transfer
from ..._shared.core import Opened
from ..._shared.limits import until
from ...postgres.connection_base import PostgresBase
from ...postgres.core import ConnectionCore
from .._shared.connection import LoopConnection, _look_at

R = TypeVar("R")
T = TypeVar("T")


class AsyncCopying(PostgresBase[R], LoopConnection[R]):
    """A connection that copies."""

    _core: ConnectionCore  # pyright: ignore[reportIncompatibleVariableOverride]

    async def copy_in(
        self,
        table: str | Sequence[str],
        source: Iterable[Sequence[Any]] | AsyncIterable[Sequence[Any]] | bytes | IO[bytes] | IO[str],
        *,
        columns: Sequence[str] | None = None,
        format: str = "binary",
        timeout: float | None = None,
    ) -> int:
        """Copies rows (also of an asynchronous iterable), bytes or a file into a table: see
        :meth:`headrace.Connection.copy_in`."""
        from .copy import copy_in

        return await copy_in(self, table, source, columns, format, timeout)

    async def copy_out(
        self,
        source: str | Sequence[str],
        *,
        columns: Sequence[str] | None = None,
        format: str = "binary",
        to: IO[bytes] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Copies a table or a query out: an asynchronous iterator of rows or blocks, or the number of rows written
        to ``to``."""
        from ...postgres.copy import copy_statement
        from .copy import AsyncCopy, copy_out

        if to is None:
            opened = Opened()

            def gone(_: Any) -> None:
                opened.ended = True

            rows = copy_out(self, source, columns, format, opened, timeout)
            opened.watch = weakref.ref(rows, gone)
            return rows
        async with AsyncCopy(self, copy_statement(source, columns, format, out=True), limit=until(timeout)) as copy:
            async for block in copy.blocks():
                to.write(block)
        return copy.rowcount

    async def _abandon_copy(self, ticket: Any, reason: str) -> None:
        wire = self._core.wire
        if wire.closed:
            return
        try:
            if wire.copy_state(ticket) == Transfer.STREAMING:
                # The server's complaint about it is what was wanted, and nobody's to hear.
                ticket.add_done_callback(_look_at)
                wire.copy_end(ticket, reason)
            else:
                self._abandon(ticket)
            await asyncio.wait_for(asyncio.shield(wire.sync()), defaults.CANCEL_TIMEOUT)
        except BaseException as error:
            wire.close()
            if not isinstance(error, Exception):
                raise
