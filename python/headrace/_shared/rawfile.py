"""What :class:`io.RawIOBase` has that needs nothing of a large object but its other methods."""

from __future__ import annotations

import io
from typing import Any

from .arguments import checked_buffer
from .lobs import LobState


class RawFile(io.RawIOBase):
    """An unbuffered binary file of the blocking shell. :mod:`io` has no such class for a loop."""

    _state: LobState

    def readable(self) -> bool:
        """Returns True.

        Returns:
            True.
        """
        return True

    def writable(self) -> bool:
        """Returns true if it was opened for writing.

        Returns:
            True for the modes ``r+b`` and ``wb``.
        """
        return self._state.writable

    def seekable(self) -> bool:
        """Returns True.

        Returns:
            True.
        """
        return True

    def readall(self) -> bytes:
        """Reads all remaining bytes.

        Returns:
            The bytes.

        Raises:
            ValueError: the object is closed.
        """
        return self.read() or b""

    def readinto(self, buffer: Any, /) -> int:
        """Reads into a buffer.

        Args:
            buffer: a writable buffer.

        Returns:
            The number of bytes; 0 at the end.

        Raises:
            TypeError: the buffer is none that can be written to.
            ValueError: the object is closed.
        """
        view = checked_buffer(buffer)
        if view.readonly:
            raise TypeError(f"readinto() takes a buffer that can be written to, not {type(buffer).__name__}")
        data = self.read(len(view)) or b""
        view[: len(data)] = data
        return len(data)

    def __del__(self) -> None:
        # The garbage collector may run in any thread and in the middle of a request: nothing is sent from here.
        pass
