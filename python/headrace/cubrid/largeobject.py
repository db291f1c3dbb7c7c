"""The blocking file that a BLOB or CLOB of CUBRID is."""

# Made by tools/async_to_sync.py of aio/cubrid/largeobject.py: edit that file, and run the tool.

from __future__ import annotations

import os
from types import TracebackType
from typing import TYPE_CHECKING, Any

from .lobs import LobState, Locator

if TYPE_CHECKING:
    from .connection import Connection


class LargeObject:
    """A BLOB or CLOB as a binary file. The text of a CLOB is in the character set of the database. Content can only be
    appended."""

    def __init__(self, connection: Connection[Any], state: LobState) -> None:
        self._connection = connection
        self._state = state

    @property
    def locator(self) -> Locator:
        """The parameter for a BLOB or CLOB column that stores the object, as far as it is written, in a row."""
        return self._state.locator

    @property
    def size(self) -> int:
        """The size in bytes."""
        return self._state.size

    @property
    def closed(self) -> bool:
        """True after :meth:`close`."""
        return not self._state.is_open

    def read(self, size: int = -1, *, timeout: float | None = None) -> bytes:
        """Reads the next bytes.

        Args:
            size: number of bytes, fewer at the end; a negative number for all that are left.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The bytes; empty at the end.

        Raises:
            ValueError: the object is closed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return self._connection._run(self._state.reading(size), timeout)

    def write(self, data: Any, *, timeout: float | None = None) -> int:
        """Appends all of the data.

        Args:
            data: bytes, or any buffer.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The number of bytes.

        Raises:
            ProgrammingError: the position is not the end.
            ValueError: the object is closed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return self._connection._run(self._state.writing(data), timeout)

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        """Moves to a position in the object.

        Args:
            offset: in bytes.
            whence: ``os.SEEK_SET``, ``os.SEEK_CUR`` or ``os.SEEK_END``.

        Returns:
            The new position, from 0.

        Raises:
            ValueError: the position is negative, ``whence`` is not one of these, or the object is closed.
        """
        return self._state.seek(offset, whence)

    def tell(self) -> int:
        """Returns the current position.

        Returns:
            The position in bytes, from 0.

        Raises:
            ValueError: the object is closed.
        """
        self._state.check()
        return self._state.at

    def close(self) -> None:
        """Closes the object. The server needs no request for it."""
        self._state.is_open = False

    def __enter__(self) -> LargeObject:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.locator.type_name}{' closed' if self.closed else ''}>"
