"""The blocking file that a smart large object is."""

from __future__ import annotations

import io
import os
from typing import TYPE_CHECKING, Any

from .lobs import LobState, Locator

if TYPE_CHECKING:
    from .connection import Connection


class LargeObject(io.RawIOBase):
    """A BLOB or CLOB as an unbuffered binary file: only what is read or written at a time is in memory.

    Opened by :meth:`Connection.open_lob` and :meth:`Connection.create_lob`. Small pieces are best read through
    ``io.BufferedReader``, and text, which is in the database's code set, through ``io.TextIOWrapper``. It is closed
    with its transaction or session at the latest, but not by the garbage collector.
    """

    def __init__(self, connection: Connection[Any], state: LobState) -> None:
        self._connection = connection
        self._state = state

    @property
    def locator(self) -> Locator:
        """Where the object is kept: the parameter for a BLOB or CLOB column."""
        return self._state.locator

    @property
    def mode(self) -> str:
        """How it was opened."""
        return self._state.mode

    def readable(self) -> bool:
        """True."""
        return True

    def writable(self) -> bool:
        """Whether it was opened for writing."""
        return self._state.writable

    def seekable(self) -> bool:
        """True."""
        return True

    def read(self, size: int | None = -1, /, *, timeout: float | None = None) -> bytes:
        """The next ``size`` bytes, fewer at the end; all that are left where ``size`` is negative."""
        return self._connection._run(self._state.reading(-1 if size is None else size), timeout)

    def readall(self) -> bytes:
        """All bytes that are left."""
        return self.read()

    def readinto(self, buffer: Any, /) -> int:
        """Reads into ``buffer``; gives the number of bytes."""
        view = memoryview(buffer).cast("B")
        data = self.read(len(view))
        view[: len(data)] = data
        return len(data)

    def write(self, data: Any, /, *, timeout: float | None = None) -> int:
        """Writes all of ``data``; gives the number of bytes."""
        return self._connection._run(self._state.writing(data), timeout)

    def seek(self, offset: int, whence: int = os.SEEK_SET, /, *, timeout: float | None = None) -> int:
        """Sets where the next read or write takes place; gives it."""
        return self._connection._run(self._state.seeking(offset, whence), timeout)

    def tell(self) -> int:
        """Where the next read or write takes place."""
        self._state.check()
        return self._state.at

    def truncate(self, size: int | None = None, /, *, timeout: float | None = None) -> int:
        """Cuts it to ``size`` bytes, by default to where it stands."""
        return self._connection._run(self._state.truncating(size), timeout)

    def size(self, *, timeout: float | None = None) -> int:
        """How many bytes it has."""
        return self._connection._run(self._state.sizing(), timeout)

    def close(self, *, timeout: float | None = None) -> None:
        """Closes it on the server; what it is kept in stays."""
        if not self.closed:
            try:
                self._connection._run(self._state.closing(), timeout)
            finally:
                super().close()

    def __del__(self) -> None:
        # The garbage collector may run in any thread and in the middle of a request: nothing is sent from here.
        pass

    def __repr__(self) -> str:
        return f"<LargeObject {self.locator.type_name} {self.mode}{' closed' if self.closed else ''}>"
