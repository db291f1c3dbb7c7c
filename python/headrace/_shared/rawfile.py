"""What :class:`io.RawIOBase` has that needs nothing of a large object but its other methods."""

from __future__ import annotations

import io
from typing import Any

from .. import defaults
from .arguments import checked_buffer, checked_whole
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

    def readline(self, size: int | None = -1, /) -> bytes:
        """Reads the next line. Nothing is read ahead: ``io.BufferedReader`` reads many lines faster.

        Args:
            size: number of bytes at most; None or a negative number for no limit.

        Returns:
            The line with its end, ``b"\\n"``, which the last one may lack; empty at the end.

        Raises:
            TypeError: ``size`` is no whole number.
            ValueError: the object is closed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``command_timeout`` seconds; the connection stays usable.
        """
        self._state.check()
        start, limit = self._state.at, -1 if size is None else checked_whole(size, "size")
        line, step = bytearray(), defaults.LOB_LINE_BYTES
        try:
            while limit < 0 or len(line) < limit:
                wanted = step if limit < 0 else min(step, limit - len(line))
                part = self.read(wanted) or b""
                end = part.find(b"\n") + 1
                line += part[:end] if end else part
                if end or len(part) < wanted:
                    break
                step = min(2 * step, self._state.block_bytes)
        except BaseException:
            self._state.at = start
            raise
        self._state.at = start + len(line)
        return bytes(line)

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
