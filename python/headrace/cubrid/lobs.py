"""Large objects: every flow of requests for them, once for the blocking and the asyncio file.

The server keeps the content of a BLOB or CLOB in a file of its own. A row has only a locator, which holds the size, and
content can only be appended.
"""

from __future__ import annotations

import os
from collections import deque
from typing import Any, Final

from .. import defaults
from .._shared.arguments import checked_buffer, checked_text, checked_whole
from .._shared.flows import Flow
from ..errors import DataError, OperationalError, ProgrammingError
from ..types import BlobLocator, ClobLocator
from .core import CubridCore

Locator = BlobLocator | ClobLocator

_SIZE: Final = slice(4, 12)
"""The place of the size in a locator."""
_KINDS: Final[dict[str, type[BlobLocator | ClobLocator]]] = {"blob": BlobLocator, "clob": ClobLocator}


class LobState:
    """An open object: its locator, and the position of the next read."""

    def __init__(self, core: CubridCore, kind: type[BlobLocator | ClobLocator], handle: bytes) -> None:
        self.core = core
        self.kind = kind
        self.handle: bytes = handle
        self.at = 0
        self.is_open = True

    @property
    def locator(self) -> Locator:
        """The parameter that stores it in a row."""
        return self.kind(self.handle)

    @property
    def size(self) -> int:
        """The size in bytes."""
        return int.from_bytes(self.handle[_SIZE], "big")

    def check(self) -> None:
        """Raises ValueError where it is closed, as files do."""
        if not self.is_open:
            raise ValueError("the large object is closed")

    def reading(self, size: int) -> Flow[bytes]:
        """Up to ``size`` bytes, all that are left where it is negative. Two requests are under way at a time."""
        self.check()
        size = checked_whole(size, "size")
        end = self.size if size < 0 else min(self.size, self.at + size)
        parts: list[bytes] = []
        asked: deque[tuple[int, Any]] = deque()
        at = self.at
        try:
            while at < end or asked:
                while at < end and len(asked) < defaults.CUBRID_LOB_AHEAD:
                    block = min(end - at, defaults.CUBRID_LOB_BYTES)
                    asked.append((block, self.core.wire.lob_read(self.handle, at, block)))
                    at += block
                wanted, ticket = asked.popleft()
                result: Any = yield ticket
                data: bytes = result.rows[0][0]
                if len(data) != wanted:
                    raise OperationalError(
                        f"the server sent {len(data)} bytes of a large object where {wanted} were requested"
                    )
                parts.append(data)
        except BaseException:
            for _, ticket in asked:
                if not ticket.done():
                    self.core.wire.discard(ticket)
            raise
        found = b"".join(parts)
        self.at += len(found)
        return found

    def writing(self, data: Any) -> Flow[int]:
        """Appends all of ``data``; returns the number of bytes."""
        self.check()
        if self.at != self.size:
            raise ProgrammingError("a large object of CUBRID can only be appended to: seek to its end before you write")
        view = checked_buffer(data)
        for start in range(0, len(view), defaults.CUBRID_LOB_WRITE_BYTES):
            block = bytes(view[start : start + defaults.CUBRID_LOB_WRITE_BYTES])
            result: Any = yield self.core.wire.lob_write(self.handle, self.at, block)
            self.at += result.rowcount
            self.handle = self.handle[:4] + self.at.to_bytes(8, "big") + self.handle[12:]
            if result.rowcount != len(block):
                raise OperationalError(f"the server has written {result.rowcount} bytes of {len(block)}")
        return len(view)

    def seek(self, offset: int, whence: int) -> int:
        """Moves the position."""
        self.check()
        if whence not in (os.SEEK_SET, os.SEEK_CUR, os.SEEK_END):
            raise ValueError(f"whence={whence} is none of SEEK_SET, SEEK_CUR, SEEK_END")
        at = {os.SEEK_SET: 0, os.SEEK_CUR: self.at, os.SEEK_END: self.size}[whence] + checked_whole(offset, "offset")
        if at < 0:
            raise ValueError(f"the position {at} is negative")
        self.at = at
        return at


def _encoded(core: CubridCore, text: str) -> bytes:
    try:
        return text.encode(core.codec)
    except UnicodeEncodeError as error:
        reason = f"{text[error.start]!r} is not in the character set of the database, {core.charset}"
        raise DataError(reason) from None


def opening(core: CubridCore, locator: Locator) -> LobState:
    """An object that a row has. Raises ProgrammingError for what is no locator."""
    if not isinstance(locator, (BlobLocator, ClobLocator)) or len(locator.data) < 16:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise ProgrammingError(f"{locator!r} is not the value of a BLOB or CLOB column")
    return LobState(core, type(locator), locator.data)


def creating(core: CubridCore, kind: str) -> Flow[LobState]:
    """A new object."""
    made = _KINDS.get(checked_text(kind, "kind"))
    if made is None:
        raise ProgrammingError(f"{kind!r} is not one of {', '.join(_KINDS)}")
    result: Any = yield core.wire.lob_new(kind == "clob", begin=True)
    return LobState(core, made, result.rows[0][0])


def loading(core: CubridCore, locator: Locator) -> Flow[bytes | str]:
    """The content of an object: text of a CLOB."""
    state = opening(core, locator)
    content = yield from state.reading(-1)
    return content.decode(core.codec) if state.kind is ClobLocator else content


def storing(core: CubridCore, content: bytes | str) -> Flow[Locator]:
    """The locator of a new object with this content."""
    is_text = isinstance(content, str)
    data = _encoded(core, content) if isinstance(content, str) else content
    state = yield from creating(core, "clob" if is_text else "blob")
    yield from state.writing(data)
    return state.locator
