"""Smart large objects: every flow of requests for them, once for the blocking and the asyncio file.

The server keeps a BLOB or CLOB apart from its row, which has only a locator. The functions that open, seek and create
one are called over the fast path, and content travels by SQ_LODATA; their names and arguments are those that IBM's
JDBC driver sends.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Final

from .. import defaults
from .._shared.arguments import checked_text
from .._shared.flows import Flow
from .._shared.lobs import LobMode as LobMode
from .._shared.lobs import LobState, checked_mode
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
_MODES: Final[dict[str, int]] = {"rb": _READ_ONLY, "r+b": _READ_WRITE, "wb": _READ_WRITE}

Locator = BlobLocator | ClobLocator


class InformixLob(LobState):
    """An open object: its locator, and its handle."""

    block_bytes = defaults.INFORMIX_LOB_BYTES
    ahead = defaults.INFORMIX_LOB_AHEAD

    def __init__(self, core: InformixCore, locator: Locator, mode: LobMode, handle: int) -> None:
        super().__init__(mode)
        self.core = core
        self.locator = locator
        self.handle = handle

    def _call(self, signature: str, *arguments: Any) -> Any:
        return self.core.wire.routine(signature, arguments, begin=self.core.begins)

    def ask_seek(self, offset: int, whence: int) -> Any:
        return self._call(_SEEK, self.handle, offset, whence, 0)

    def ask_read(self, size: int) -> Any:
        return self.core.wire.lo_read(self.handle, size)

    def ask_write(self, block: bytes) -> Any:
        return self.core.wire.lo_write(self.handle, block)

    def ask_truncate(self, size: int) -> Any:
        return self._call(_TRUNCATE, self.handle, size)

    def ask_close(self) -> Any:
        return None if self.core.wire.closed else self._call(_CLOSE, self.handle)

    def place_of(self, result: Any) -> int:
        return _number(_one(result)[0], "size of a large object")

    def data_of(self, result: Any) -> bytes:
        return _binary(_one(result)[0], "the content of a large object")

    def written_of(self, result: Any) -> int:
        written: int = result.rowcount
        return written

    def check_truncated(self, result: Any) -> None:
        return

    def drop(self, asked: Iterable[Any]) -> None:
        self.core.drop(asked)


def opening(core: InformixCore, locator: Any, mode: LobMode) -> Flow[InformixLob]:
    """Opens the object that a locator names.

    Raises ProgrammingError if it is not a locator, or if the mode is not one of ``rb``, ``r+b``, ``wb``.
    """
    if not isinstance(locator, BlobLocator | ClobLocator):
        raise ProgrammingError(
            "a large object is opened by its locator, the value of a BLOB or CLOB column, not by "
            + type(locator).__name__
        )
    checked_mode(mode)
    # The server's function is for both, under the one name.
    result: Any = yield core.wire.routine(_OPEN, (Opaque("blob", locator.data), _MODES[mode]), begin=core.begins)
    state = InformixLob(core, locator, mode, _handle(_one(result)[0]))
    if mode == "wb":
        yield from state.truncating(0)
        state.mark = None
    return state


def creating(core: InformixCore, kind: str, column: str | None) -> Flow[InformixLob]:
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
    return InformixLob(core, makers[kind](_binary(where, "the locator of a large object")), "r+b", _handle(handle))


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
