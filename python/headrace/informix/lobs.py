"""Smart large objects: every flow of requests for them, once for the blocking and the asyncio file.

The server keeps a BLOB or CLOB apart from its row, which has only a locator. The functions that open, seek and create
one are called over the fast path, and content travels by SQ_LODATA; their names and arguments are those that IBM's
JDBC driver sends.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable
from typing import Any, Final, Literal, TypeAlias

from .. import defaults
from .._shared.arguments import checked_buffer, checked_text, checked_whole
from .._shared.flows import Flow
from ..errors import OperationalError, ProgrammingError
from ..types import BlobLocator, ClobLocator, Opaque
from .core import InformixCore

_OPEN: Final = "function informix.ifx_lo_open(blob ,integer)"
_CREATE: Final = "function informix.ifx_lo_create( ifx_lo_spec,integer,blob)"
_CLOSE: Final = "function informix.ifx_lo_close(integer)"
_SEEK: Final = "function informix.ifx_lo_seek(integer,int8,integer,int8)"
_TRUNCATE: Final = "function informix.ifx_lo_truncate(integer,int8)"
_COLUMN: Final = "function informix.ifx_lo_col_sbinfo(lvarchar,ifx_lo_spec)"

# The block that describes an object to be: no size, no storage space of its own choosing, no flags.
_PLAIN_SPEC: Final = (
    bytes.fromhex("dadafeed000000000000000000000001 00000000ffff00000000000100000000 ffff0000ffffffff")
    + bytes(532)
    + b"\xff" * 8
    + bytes(16)
)
_HANDLES: Final = 0x7FFF
"""The largest handle: SQ_LODATA has 16 bits for one."""
_LOCATOR: Final = 72
"""Bytes of a locator."""

_READ_ONLY: Final = 4
_READ_WRITE: Final = 8
LobMode: TypeAlias = Literal["rb", "r+b", "wb"]
"""How a large object is opened."""
_MODES: Final[dict[str, int]] = {"rb": _READ_ONLY, "r+b": _READ_WRITE, "wb": _READ_WRITE}

Locator = BlobLocator | ClobLocator


class LobState:
    """An open object, and what is known of it here: the place of the next read or write, and where the server's own
    mark stands."""

    def __init__(self, core: InformixCore, locator: Locator, mode: LobMode, handle: int) -> None:
        self.core = core
        self.locator = locator
        self.mode = mode
        self.handle = handle
        self.at = 0
        self.mark: int | None = 0
        self.is_open = True

    @property
    def writable(self) -> bool:
        """True if it was opened for writing."""
        return self.mode != "rb"

    def check(self, write: bool = False) -> None:
        """Raises ValueError where it is closed, as files do, and ProgrammingError where it may not be written to."""
        if not self.is_open:
            raise ValueError("the large object is closed")
        if write and not self.writable:
            raise ProgrammingError("the large object was opened for reading; open it with 'r+b'")

    def _call(self, signature: str, *arguments: Any) -> Any:
        return self.core.wire.routine(signature, arguments, begin=self.core.begins)

    def _to_mark(self) -> Any:
        """Asks for the server's mark to be set, where it stands elsewhere."""
        return None if self.mark == self.at else self._call(_SEEK, self.handle, self.at, os.SEEK_SET, 0)

    def reading(self, size: int) -> Flow[bytes]:
        """Up to ``size`` bytes, all that are left where it is negative. Two requests are under way at a time."""
        self.check()
        size = checked_whole(size, "size")
        left = size if size >= 0 else None
        seek, self.mark = self._to_mark(), None
        parts: list[bytes] = []
        asked: deque[tuple[int, Any]] = deque()
        ended = False
        try:
            while not ended or asked:
                while not ended and len(asked) < defaults.INFORMIX_LOB_AHEAD and left != 0:
                    block = defaults.INFORMIX_LOB_BYTES if left is None else min(left, defaults.INFORMIX_LOB_BYTES)
                    left = None if left is None else left - block
                    asked.append((block, self.core.wire.lo_read(self.handle, block)))
                if seek is not None:
                    asked_for, seek = seek, None
                    yield asked_for
                if not asked:
                    break
                most, ticket = asked.popleft()
                result: Any = yield ticket
                data = _binary(_one(result)[0], "the content of a large object")
                if len(data) > most:
                    raise OperationalError(
                        f"the server sent {len(data)} bytes of a large object where {most} were asked for"
                    )
                ended = ended or not data
                parts.append(data)
        except BaseException:
            self.core.drop(ticket for _, ticket in asked)
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
                while sent < len(view) and len(asked) < defaults.INFORMIX_LOB_AHEAD:
                    block = bytes(view[sent : sent + defaults.INFORMIX_LOB_BYTES])
                    asked.append((len(block), self.core.wire.lo_write(self.handle, block)))
                    sent += len(block)
                if seek is not None:
                    asked_for, seek = seek, None
                    yield asked_for
                size, ticket = asked.popleft()
                result: Any = yield ticket
                if result.rowcount != size:
                    raise OperationalError(f"the server wrote {result.rowcount} of {size} bytes of a large object")
        except BaseException:
            self.core.drop(ticket for _, ticket in asked)
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
        result: Any = yield self._call(_SEEK, self.handle, 0, os.SEEK_END, 0)
        self.mark = size = _number(_one(result)[0], "size of a large object")
        return size

    def truncating(self, size: int | None) -> Flow[int]:
        """Cuts it to ``size`` bytes, by default to where it stands."""
        self.check(write=True)
        size = self.at if size is None else checked_whole(size, "size")
        yield self._call(_TRUNCATE, self.handle, size)
        self.mark = None
        return size

    def closing(self) -> Flow[None]:
        """Closes it on the server."""
        if self.is_open:
            self.is_open = False
            if not self.core.wire.closed:
                yield self._call(_CLOSE, self.handle)


def opening(core: InformixCore, locator: Any, mode: LobMode) -> Flow[LobState]:
    """Opens the object that a locator names.

    Raises ProgrammingError if it is not a locator, or if the mode is not one of ``rb``, ``r+b``, ``wb``.
    """
    if not isinstance(locator, BlobLocator | ClobLocator):
        raise ProgrammingError(
            "a large object is opened by its locator, the value of a BLOB or CLOB column, not by "
            + type(locator).__name__
        )
    if checked_text(mode, "mode") not in _MODES:
        raise ProgrammingError(f"mode {mode!r} is not one of {', '.join(_MODES)}")
    # The server's function is for both, under the one name.
    result: Any = yield core.wire.routine(_OPEN, (Opaque("blob", locator.data), _MODES[mode]), begin=core.begins)
    state = LobState(core, locator, mode, _handle(_one(result)[0]))
    if mode == "wb":
        yield from state.truncating(0)
        state.mark = None
    return state


def creating(core: InformixCore, kind: str, column: str | None) -> Flow[LobState]:
    """Makes an object that no row has yet, open for reading and writing, stored as ``column`` would store it."""
    makers: dict[str, Callable[[bytes], Locator]] = {"blob": BlobLocator, "clob": ClobLocator}
    if checked_text(kind, "kind") not in makers:
        raise ProgrammingError(f"a large object is of kind 'blob' or 'clob', not {kind!r}")
    begin = core.begins
    spec = Opaque("ifx_lo_spec", _PLAIN_SPEC)
    if column is not None:
        found: Any = yield core.wire.routine(_COLUMN, (column, spec), begin=begin)
        spec = Opaque("ifx_lo_spec", _binary(_one(found)[0], "the storage settings of a column"))
    empty = Opaque("blob", bytes(_LOCATOR))
    result: Any = yield core.wire.routine(_CREATE, (spec, _READ_WRITE, empty), begin=begin)
    where, handle = _one(result, 2)
    return LobState(core, makers[kind](_binary(where, "the locator of a large object")), "r+b", _handle(handle))


# What a server returned is used as a length, a handle or an argument of the next call: only of the type that it should
# be of. `bytes()` of an integer, for one, makes as many zero bytes.


def _one(result: Any, values: int = 1) -> tuple[Any, ...]:
    """The first values of a routine's answer; some routines return a status after them."""
    rows = result.rows
    if not rows or len(rows[0]) < values:
        raise OperationalError(
            f"the server answered a call about a large object with {len(rows[0]) if rows else 0} values; {values} "
            "were expected"
        )
    row: tuple[Any, ...] = rows[0][:values]
    return row


def _binary(value: Any, what: str) -> bytes:
    data = value.data if isinstance(value, Opaque) else value
    if not isinstance(data, bytes):
        raise OperationalError(f"the server returned a value of the type {type(value).__name__} as {what}")
    return data


def _number(value: Any, what: str) -> int:
    if type(value) is not int or value < 0:
        raise OperationalError(f"the server returned no {what}, but a value of the type {type(value).__name__}")
    return value


def _handle(value: Any) -> int:
    number = _number(value, "handle of a large object")
    if number > _HANDLES:
        raise OperationalError(f"the server returned {number} as the handle of a large object")
    return number
