"""Large objects with a handle on the server: the flows of requests that are the same in every database that has them.

Reading and writing keep some requests in flight, in order, from the place where the server's own mark stands.
"""

from __future__ import annotations

import os
from abc import ABC, abstractmethod
from collections import deque
from collections.abc import Iterable
from typing import Any, ClassVar, Final, Literal, TypeAlias

from ..errors import OperationalError, ProgrammingError
from .arguments import checked_buffer, checked_text, checked_whole
from .flows import Flow

LobMode: TypeAlias = Literal["rb", "r+b", "wb"]
"""How a large object is opened."""
MODES: Final = ("rb", "r+b", "wb")
CLOSED: Final = "the large object is closed"


def checked_mode(mode: Any) -> LobMode:
    """A mode. Raises ProgrammingError for what is none."""
    checked_text(mode, "mode")
    if mode not in MODES:
        raise ProgrammingError(f"mode {mode!r} is not one of {', '.join(MODES)}")
    return mode  # type: ignore[no-any-return]


class LobState(ABC):
    """An open object, and what is known of it here: the place of the next read or write, and where the server's own
    mark stands."""

    block_bytes: ClassVar[int]
    """Bytes that one request reads or writes."""
    ahead: ClassVar[int]
    """Requests of one read or write that are in flight at a time."""

    def __init__(self, mode: LobMode) -> None:
        self.mode = mode
        self.at = 0
        self.mark: int | None = 0
        """Where the server's mark stands, None if that is not known."""
        self.is_closed = False

    @property
    def is_open(self) -> bool:
        """True until it is closed."""
        return not self.is_closed

    @property
    def writable(self) -> bool:
        """True if it was opened for writing."""
        return self.mode != "rb"

    def check(self, write: bool = False) -> None:
        """Raises ValueError where it is closed, as files do, and ProgrammingError where it may not be written to."""
        if not self.is_open:
            raise ValueError(CLOSED)
        if write and not self.writable:
            raise ProgrammingError("the large object was opened for reading; open it with 'r+b'")

    # what a database sends, and how it answers

    @abstractmethod
    def ask_seek(self, offset: int, whence: int) -> Any:
        """Queues a move of the server's mark."""

    @abstractmethod
    def ask_read(self, size: int) -> Any:
        """Queues a read of at most ``size`` bytes from the server's mark."""

    @abstractmethod
    def ask_write(self, block: bytes) -> Any:
        """Queues a write at the server's mark."""

    @abstractmethod
    def ask_truncate(self, size: int) -> Any:
        """Queues a change of the size."""

    @abstractmethod
    def ask_close(self) -> Any:
        """Queues what closes it; None if the server has closed it already."""

    @abstractmethod
    def place_of(self, result: Any) -> int:
        """The place that a move of the mark has returned."""

    @abstractmethod
    def data_of(self, result: Any) -> bytes:
        """The bytes that a read has returned."""

    @abstractmethod
    def written_of(self, result: Any) -> int:
        """The number of bytes that a write has returned."""

    @abstractmethod
    def drop(self, asked: Iterable[Any]) -> None:
        """Discards requests whose results are not needed any more."""

    @abstractmethod
    def check_truncated(self, result: Any) -> None:
        """Raises where a change of the size was answered by something else."""

    # flows

    def _to_mark(self) -> Any:
        """Asks for the server's mark to be set, where it stands elsewhere."""
        return None if self.mark == self.at else self.ask_seek(self.at, os.SEEK_SET)

    def reading(self, size: int) -> Flow[bytes]:
        """Up to ``size`` bytes, all that are left where it is negative. Some requests are under way at a time."""
        self.check()
        size = checked_whole(size, "size")
        left = size if size >= 0 else None
        seek, self.mark = self._to_mark(), None
        parts: list[bytes] = []
        asked: deque[tuple[int, Any]] = deque()
        ended = False
        try:
            while not ended or asked:
                while not ended and len(asked) < self.ahead and left != 0:
                    block = self.block_bytes if left is None else min(left, self.block_bytes)
                    left = None if left is None else left - block
                    asked.append((block, self.ask_read(block)))
                if seek is not None:
                    asked_for, seek = seek, None
                    self.place_of((yield asked_for))
                if not asked:
                    break
                most, ticket = asked.popleft()
                data = self.data_of((yield ticket))
                if len(data) > most:
                    raise OperationalError(
                        f"the server sent {len(data)} bytes of a large object where {most} were asked for"
                    )
                ended = ended or not data
                parts.append(data)
        except BaseException:
            self.drop(ticket for _, ticket in asked)
            raise
        found = b"".join(parts)
        self.at += len(found)
        self.mark = self.at
        return found

    def writing(self, data: Any) -> Flow[int]:
        """Writes all of ``data``; returns the number of bytes."""
        self.check(write=True)
        view = checked_buffer(data)
        seek, self.mark = self._to_mark(), None
        asked: deque[tuple[int, Any]] = deque()
        sent = 0
        try:
            while sent < len(view) or asked:
                while sent < len(view) and len(asked) < self.ahead:
                    block = bytes(view[sent : sent + self.block_bytes])
                    asked.append((len(block), self.ask_write(block)))
                    sent += len(block)
                if seek is not None:
                    asked_for, seek = seek, None
                    self.place_of((yield asked_for))
                size, ticket = asked.popleft()
                written = self.written_of((yield ticket))
                if written != size:
                    raise OperationalError(f"the server wrote {written} of {size} bytes of a large object")
        except BaseException:
            self.drop(ticket for _, ticket in asked)
            raise
        self.at += sent
        self.mark = self.at
        return sent

    def seeking(self, offset: int, whence: int) -> Flow[int]:
        """Sets the place of the next read or write; only from the end a request is needed, for the size."""
        self.check()
        if whence not in (os.SEEK_SET, os.SEEK_CUR, os.SEEK_END):
            raise ValueError(f"whence {whence} is none of 0, 1, 2")
        offset, base = checked_whole(offset, "offset"), 0
        if whence == os.SEEK_CUR:
            base = self.at
        elif whence == os.SEEK_END:
            base = yield from self.sizing()
        if base + offset < 0:
            raise ValueError(f"the place {base + offset} is before the beginning")
        self.at = base + offset
        return self.at

    def sizing(self) -> Flow[int]:
        """How many bytes it has."""
        self.check()
        self.mark = None
        size = self.place_of((yield self.ask_seek(0, os.SEEK_END)))
        self.mark = size
        return size

    def truncating(self, size: int | None) -> Flow[int]:
        """Cuts it to ``size`` bytes, by default to where it stands."""
        self.check(write=True)
        size = self.at if size is None else checked_whole(size, "size")
        self.check_truncated((yield self.ask_truncate(size)))
        self.mark = None
        return size

    def closing(self) -> Flow[None]:
        """Closes it on the server."""
        if self.is_open:
            self.is_closed = True
            ticket = self.ask_close()
            if ticket is not None:
                yield ticket


class LobFile:
    """The file that a large object is, as far as it needs nothing of the server."""

    def __init__(self, state: LobState) -> None:
        self._state = state

    @property
    def mode(self) -> str:
        """The mode in which it was opened."""
        return self._state.mode

    @property
    def closed(self) -> bool:
        """True after :meth:`close`, and after the end of the transaction where the driver sees that."""
        return not self._state.is_open

    def tell(self) -> int:
        """Returns the current position.

        Returns:
            The position in bytes, from 0.

        Raises:
            ValueError: the object is closed.
        """
        self._state.check()
        return self._state.at
