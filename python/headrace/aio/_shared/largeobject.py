"""The file that a large object is, asyncio."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from types import TracebackType
from typing import Any, TypeVar

from ..._shared.lobs import LobFile, LobState
from .connection import LoopConnection

# blocking: from .rawfile import RawFile

Self = TypeVar("Self", bound="LoopLargeObject")


class LoopLargeObject(LobFile):  # blocking: class BlockingLargeObject(LobFile, RawFile):
    """A large object as an unbuffered binary file, as far as it is the same in every database."""

    def __init__(self, connection: LoopConnection[Any], state: LobState) -> None:
        super().__init__(state)
        self._connection = connection

    async def read(self, size: int | None = -1, *, timeout: float | None = None) -> bytes:
        """Reads the next bytes.

        Args:
            size: number of bytes, fewer at the end; None or a negative number for all that are left.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The bytes; empty at the end.

        Raises:
            ValueError: the object is closed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return await self._connection._run(self._state.reading(-1 if size is None else size), timeout)

    async def write(self, data: Any, *, timeout: float | None = None) -> int:
        """Writes all of the data at the current position.

        Args:
            data: bytes, or any buffer.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The number of bytes.

        Raises:
            ProgrammingError: it was opened for reading.
            ValueError: the object is closed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return await self._connection._run(self._state.writing(data), timeout)

    async def seek(self, offset: int, whence: int = os.SEEK_SET, *, timeout: float | None = None) -> int:
        """Moves to a position in the object.

        Args:
            offset: in bytes.
            whence: ``os.SEEK_SET``, ``os.SEEK_CUR`` or ``os.SEEK_END``.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The new position, from 0.

        Raises:
            ValueError: the position is negative, ``whence`` is not one of these, or the object is closed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return await self._connection._run(self._state.seeking(offset, whence), timeout)

    async def truncate(self, size: int | None = None, *, timeout: float | None = None) -> int:
        """Changes the size of the object.

        Args:
            size: in bytes; None for the current position.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The new size.

        Raises:
            ProgrammingError: it was opened for reading.
            ValueError: the object is closed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return await self._connection._run(self._state.truncating(size), timeout)

    async def size(self, *, timeout: float | None = None) -> int:
        """Returns the size of the object.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The size in bytes.

        Raises:
            ValueError: the object is closed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return await self._connection._run(self._state.sizing(), timeout)

    async def close(self, *, timeout: float | None = None) -> None:
        """Closes the object on the server. Its content stays.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        try:
            if self._state.is_open:
                await self._connection._run(self._state.closing(), timeout)
        finally:
            self._state.is_closed = True
            # blocking: super().close()

    async def __aiter__(self) -> AsyncIterator[bytes]:  # asyncio only
        while block := await self.read(self._state.block_bytes):
            yield block

    async def __aenter__(self: Self) -> Self:  # asyncio only
        return self

    async def __aexit__(  # asyncio only
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()
