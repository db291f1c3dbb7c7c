"""The file that a large object is, blocking."""

# Made by tools/async_to_sync.py of aio/_shared/largeobject.py: edit that file, and run the tool.

from __future__ import annotations

import os
from typing import Any, TypeVar

from .connection import BlockingConnection
from .lobs import LobFile, LobState
from .rawfile import RawFile

Self = TypeVar("Self", bound="BlockingLargeObject")


class BlockingLargeObject(LobFile, RawFile):
    """A large object as an unbuffered binary file, as far as it is the same in every database."""

    def __init__(self, connection: BlockingConnection[Any], state: LobState) -> None:
        super().__init__(state)
        self._connection = connection

    def read(self, size: int | None = -1, *, timeout: float | None = None) -> bytes:
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
        return self._connection._run(self._state.reading(-1 if size is None else size), timeout)

    def write(self, data: Any, *, timeout: float | None = None) -> int:
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
        return self._connection._run(self._state.writing(data), timeout)

    def seek(self, offset: int, whence: int = os.SEEK_SET, *, timeout: float | None = None) -> int:
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
        return self._connection._run(self._state.seeking(offset, whence), timeout)

    def truncate(self, size: int | None = None, *, timeout: float | None = None) -> int:
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
        return self._connection._run(self._state.truncating(size), timeout)

    def size(self, *, timeout: float | None = None) -> int:
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
        return self._connection._run(self._state.sizing(), timeout)

    def close(self, *, timeout: float | None = None) -> None:
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
                self._connection._run(self._state.closing(), timeout)
        finally:
            self._state.is_closed = True
            super().close()
