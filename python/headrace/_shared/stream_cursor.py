"""The blocking cursor that receives its rows while they are fetched, whatever the database."""

# Made by tools/async_to_sync.py of aio/_shared/stream_cursor.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from ..errors import NotSupportedError
from ..types import ParameterRows
from .cursor import BlockingCursor
from .cursor_base import Params
from .modes import ScrollMode
from .received import Received, StreamCursorBase

if TYPE_CHECKING:
    from ..sql import Statement

R = TypeVar("R")
Self = TypeVar("Self", bound="BlockingStreamCursor[Any]")


class BlockingStreamCursor(StreamCursorBase, BlockingCursor[R]):
    """A cursor that receives its rows in blocks of ``itersize``, in bounded memory. It is for one thread at a time."""

    _blocks: Generator[list[Any]] | None = None
    """The blocks that are left."""

    def _begun(self, received: Received, sql: Statement, params: Params, timeout: float | None) -> Generator[list[Any]]:
        """The blocks of a statement that begins to be executed."""
        return self._connection._stream_into(received, sql, params, self.itersize, timeout)  # type: ignore[no-any-return]

    def execute(self: Self, sql: Statement, params: Params = None, *, timeout: float | None = None) -> Self:
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
        self._forget()
        received = self._received
        self._blocks, self._rows = self._begun(received, sql, params, timeout), []
        self._next_block()
        if received.columns is None:
            self._result, self._rows = received.result, None
        else:
            self._make = self._core.row_maker(self._row_factory, received.columns)
        return self

    def executemany(
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

    def _next_block(self) -> bool:
        """Goes to the next block. Returns false after the last."""
        blocks = self._blocks
        if blocks is None:
            return False
        try:
            rows = next(blocks, None)
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

    def fetchone(self, *, timeout: float | None = None) -> R | None:
        self._check()
        if self._position >= len(self._rows or ()):
            self._next_block()
        return self._one()  # type: ignore[no-any-return]

    def fetchmany(self, size: int | None = None, *, timeout: float | None = None) -> list[R]:
        wanted = self._wanted(size)
        out = self._many(wanted)
        while len(out) < wanted and self._next_block():
            out += self._many(wanted - len(out))
        return out

    def fetchall(self, *, timeout: float | None = None) -> list[R]:
        out = self._many(len(self._rows or ()))
        while self._next_block():
            out += self._many(len(self._rows or ()))
        return out

    def nextset(self, *, timeout: float | None = None) -> bool | None:
        self._check()
        self._forget()
        return None

    def scroll(self, value: int, mode: ScrollMode = "relative", *, timeout: float | None = None) -> NoReturn:
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

    def _forget(self) -> None:
        blocks, self._blocks = self._blocks, None
        self._clear()
        self._received, self._passed = Received(), 0
        if blocks is not None:
            blocks.close()

    def close(self, *, timeout: float | None = None) -> None:
        if not self._closed:
            self._keep_counts()
            self._forget()
        super().close()
