"""The asyncio cursor that receives its rows while they are fetched, whatever the database."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ..._shared.cursor_base import Params
from ..._shared.modes import ScrollMode
from ..._shared.received import Received, StreamCursorBase
from ...errors import NotSupportedError
from ...types import ParameterRows
from .cursor import LoopCursor

if TYPE_CHECKING:
    from ...sql import Statement

R = TypeVar("R")
Self = TypeVar("Self", bound="LoopStreamCursor[Any]")


class LoopStreamCursor(StreamCursorBase, LoopCursor[R]):
    """A cursor that receives its rows in blocks of ``itersize``, in bounded memory. It is for one task at a time."""

    _blocks: AsyncGenerator[list[Any]] | None = None
    """The blocks that are left."""

    def _begun(
        self, received: Received, sql: Statement, params: Params, timeout: float | None
    ) -> AsyncGenerator[list[Any]]:
        """The blocks of a statement that begins to be executed."""
        return self._connection._stream_into(received, sql, params, self.itersize, timeout)  # type: ignore[no-any-return]

    async def execute(self: Self, sql: Statement, params: Params = None, *, timeout: float | None = None) -> Self:
        """Executes one statement, and receives the first block of its rows.

        Args:
            sql: the statement.
            params: a sequence of values, or a mapping for ``%(name)s``; None for a statement without parameters.
            timeout: seconds until each wait, for later blocks too, is cancelled; None for ``command_timeout``,
                ``math.inf`` for no limit.

        Returns:
            The cursor itself.

        Raises:
            InterfaceError: the cursor is closed, or the connection is occupied by a stream of the same thread or task.
            ProgrammingError: the parameters do not fit the statement.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: a wait was cancelled after ``timeout`` seconds.
        """
        self._check()
        await self._forget()
        received = self._received
        self._blocks, self._rows = self._begun(received, sql, params, timeout), []
        await self._next_block()
        if received.columns is None:
            self._result, self._rows = received.result, None
        else:
            self._make = self._core.row_maker(self._row_factory, received.columns)
        return self

    async def executemany(
        self, sql: Statement, rows: ParameterRows, *, returning: bool = False, timeout: float | None = None
    ) -> NoReturn:
        """Raises NotSupportedError: a cursor that streams cannot execute batches.

        Args:
            sql: the statement.
            rows: ignored.
            returning: ignored.
            timeout: ignored.

        Returns:
            Nothing.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("a cursor that streams cannot execute batches")

    async def _next_block(self) -> bool:
        """Goes to the next block. Returns false after the last."""
        blocks = self._blocks
        if blocks is None:
            return False
        try:
            rows = await anext(blocks, None)
        except BaseException:
            # What is left of the result is lost, and must not look like its end.
            self._blocks = self._rows = None
            raise
        if rows is None:
            self._blocks = None
            return False
        self._passed += len(self._rows or ())
        self._rows, self._position = rows, 0
        return True

    async def fetchone(self, *, timeout: float | None = None) -> R | None:
        self._check()
        if self._position >= len(self._rows or ()):
            await self._next_block()
        return self._one()  # type: ignore[no-any-return]

    async def fetchmany(self, size: int | None = None, *, timeout: float | None = None) -> list[R]:
        wanted = self._wanted(size)
        out = self._many(wanted)
        while len(out) < wanted and await self._next_block():
            out += self._many(wanted - len(out))
        return out

    async def fetchall(self, *, timeout: float | None = None) -> list[R]:
        out = self._many(len(self._rows or ()))
        while await self._next_block():
            out += self._many(len(self._rows or ()))
        return out

    async def nextset(self, *, timeout: float | None = None) -> bool | None:
        self._check()
        await self._forget()
        return None

    async def scroll(self, value: int, mode: ScrollMode = "relative", *, timeout: float | None = None) -> NoReturn:
        """Raises NotSupportedError: rows that were received are not kept.

        Args:
            value: ignored.
            mode: ignored.
            timeout: ignored.

        Returns:
            Nothing.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("a cursor that streams cannot be scrolled")

    async def _forget(self) -> None:
        blocks, self._blocks = self._blocks, None
        self._clear()
        self._received, self._passed = Received(), 0
        if blocks is not None:
            await blocks.aclose()

    async def close(self, *, timeout: float | None = None) -> None:
        if not self._closed:
            self._keep_counts()
            await self._forget()
        await super().close()
