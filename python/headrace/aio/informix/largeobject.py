"""The file that a smart large object of Informix is, asyncio."""

from __future__ import annotations

import os
from collections.abc import AsyncIterator
from types import TracebackType
from typing import TYPE_CHECKING, Any

from ... import defaults
from ...informix.lobs import LobState, Locator

# blocking: from .rawfile import RawFile

if TYPE_CHECKING:
    from .connection import AsyncConnection


class AsyncLargeObject:  # blocking: class LargeObject(RawFile):
    """A BLOB or CLOB as an unbuffered binary file: only the data of one call is in memory.

    Opened by :meth:`AsyncConnection.open_lob` and :meth:`AsyncConnection.create_lob`. It is closed with its transaction
    or session at the latest, but not by the garbage collector.

    An iteration returns its content in blocks.
    """

    def __init__(self, connection: AsyncConnection[Any], state: LobState) -> None:
        self._connection = connection
        self._state = state

    @property
    def locator(self) -> Locator:
        """The parameter for a BLOB or CLOB column that stores the object in a row."""
        return self._state.locator

    @property
    def mode(self) -> str:
        """The mode in which it was opened."""
        return self._state.mode

    @property
    def closed(self) -> bool:  # asyncio only
        """True after :meth:`close`."""
        return not self._state.is_open

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

    def tell(self) -> int:
        """Returns the current position.

        Returns:
            The position in bytes, from 0.

        Raises:
            ValueError: the object is closed.
        """
        self._state.check()
        return self._state.at

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
        await self._connection._run(self._state.closing(), timeout)  # asyncio only
        # blocking: if not self.closed:
        # blocking:     try:
        # blocking:         self._connection._run(self._state.closing(), timeout)
        # blocking:     finally:
        # blocking:         super().close()

    async def __aiter__(self) -> AsyncIterator[bytes]:  # asyncio only
        while block := await self.read(defaults.INFORMIX_LOB_BYTES):
            yield block

    async def __aenter__(self) -> AsyncLargeObject:  # asyncio only
        return self

    async def __aexit__(  # asyncio only
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.locator.type_name} {self.mode}{' closed' if self.closed else ''}>"
