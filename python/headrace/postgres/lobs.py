"""Large objects of PostgreSQL: every flow of requests for them, once for the blocking and the asyncio file.

The server keeps them in `pg_largeobject`, by oid. The functions are those of "Server-Side Functions", chapter "Large
Objects" of the manual, and those that libpq calls. A descriptor is a small number that the server gives to another
object once its transaction, or the savepoint in which it was opened, has ended. So each request tells of which
transaction its descriptor is, and one of another transaction is not executed. That a savepoint was rolled back the
server cannot be asked, and a call with the descriptor would end the transaction: to the machine an object is a cursor,
of which it knows whether it is open when a request is sent.
"""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterable
from typing import IO, Any, Final

from .. import defaults
from .._shared.arguments import checked_whole
from .._shared.flows import Flow
from .._shared.lobs import LobMode as LobMode
from .._shared.lobs import LobState, checked_mode
from ..errors import InterfaceError, OperationalError, ProgrammingError
from ..types import TransactionStatus
from .core import ConnectionCore

_READ: Final = 0x40000
_WRITE: Final = 0x20000
_MODES: Final[dict[str, int]] = {"rb": _READ, "r+b": _READ | _WRITE, "wb": _READ | _WRITE}
_OID_LIMIT: Final = 2**32

# A transaction is told by the time at which it began, in microseconds.
_NOW: Final = "(pg_catalog.date_part('epoch', pg_catalog.transaction_timestamp()) * 1000000)::pg_catalog.int8"
_OPEN: Final = f"SELECT $1::pg_catalog.oid, pg_catalog.lo_open($1::pg_catalog.oid, $2::pg_catalog.int4), {_NOW}"
_CREATE: Final = (
    f"SELECT o, pg_catalog.lo_open(o, $2::pg_catalog.int4), {_NOW}"
    " FROM (SELECT pg_catalog.lo_create($1::pg_catalog.oid) AS o OFFSET 0) made"
)
_UNLINK: Final = "SELECT pg_catalog.lo_unlink($1::pg_catalog.oid)"


def _of_transaction(call: str) -> str:
    return f"SELECT pg_catalog.{call} WHERE {_NOW} = $1::pg_catalog.int8"


_SEEK: Final = _of_transaction("lo_lseek64($2::pg_catalog.int4, $3::pg_catalog.int8, $4::pg_catalog.int4)")
_LOREAD: Final = _of_transaction("loread($2::pg_catalog.int4, $3::pg_catalog.int4)")
_LOWRITE: Final = _of_transaction("lowrite($2::pg_catalog.int4, $3::pg_catalog.bytea)")
_TRUNCATE: Final = _of_transaction("lo_truncate64($2::pg_catalog.int4, $3::pg_catalog.int8)")
_CLOSE: Final = _of_transaction("lo_close($2::pg_catalog.int4)")

ENDED: Final = (
    "the large object is closed, as its transaction has ended, or was rolled back to an earlier savepoint: open it "
    "again in the transaction in which it is used"
)
OUTSIDE: Final = (
    "a large object is open until its transaction ends, and none is open: open it in a block of transaction(), or with "
    "autocommit off"
)


class PostgresLob(LobState):
    """An open object: its oid, its descriptor, and the transaction that has it."""

    block_bytes = defaults.POSTGRES_LOB_BYTES
    ahead = defaults.POSTGRES_LOB_AHEAD

    def __init__(
        self, core: ConnectionCore, oid: int, mode: LobMode, descriptor: int, transaction: int, number: int
    ) -> None:
        super().__init__(mode)
        self.core = core
        self.oid = oid
        self.descriptor = descriptor
        self.transaction = transaction
        self.number = number
        """What it is known by to the machine."""
        self.is_over = False
        """The server has closed it."""

    @property
    def is_open(self) -> bool:
        # The machine cannot be asked in the child of a fork, nor while it encodes a value of the program's own.
        with contextlib.suppress(InterfaceError):
            return not self.is_closed and not self.core.wire.closed and self._is_kept()
        return False

    def _is_kept(self) -> bool:
        """True if the server has not closed it."""
        return not self.is_over and self.core.wire.has_portal(self.number)

    def check(self, write: bool = False) -> None:
        if not self.is_closed and not self.core.wire.closed and not self._is_kept():
            raise ValueError(ENDED)
        super().check(write)

    def _call(self, sql: str, *arguments: Any) -> Any:
        # Without BEGIN: in another transaction nothing is executed.
        values = (self.transaction, self.descriptor, *arguments)
        return self.core.wire.execute(sql, values, None, self.core.named, uses=self.number)

    def ask_seek(self, offset: int, whence: int) -> Any:
        return self._call(_SEEK, offset, whence)

    def ask_read(self, size: int) -> Any:
        return self._call(_LOREAD, size)

    def ask_write(self, block: bytes) -> Any:
        return self._call(_LOWRITE, block)

    def ask_truncate(self, size: int) -> Any:
        return self._call(_TRUNCATE, size)

    def ask_close(self) -> Any:
        """In a transaction that has failed the server has closed it, or will, and refuses to be told."""
        if self.core.status() is TransactionStatus.INERROR:
            return None
        asked = self._call(_CLOSE)
        # For another one: the machine keeps each to the end of its transaction.
        self.core.lob_numbers.append(self.number)
        return asked

    def _answer(self, result: Any) -> Any:
        """What the function returned."""
        if not result.rows:
            self.is_over = True
            raise ValueError(ENDED)
        return result.rows[0][0]

    def place_of(self, result: Any) -> int:
        return _number(self._answer(result), "place in a large object")

    def data_of(self, result: Any) -> bytes:
        data = self._answer(result)
        if not isinstance(data, bytes):
            raise OperationalError(f"the content of a large object is a value of the type {type(data).__name__}")
        return data

    def written_of(self, result: Any) -> int:
        return _number(self._answer(result), "number of bytes written to a large object")

    def check_truncated(self, result: Any) -> None:
        self._answer(result)

    def drop(self, asked: Iterable[Any]) -> None:
        for ticket in asked:
            self.core.forget(ticket)


def _number(value: Any, what: str) -> int:
    if type(value) is not int or value < 0:
        raise OperationalError(f"the server returned no {what}, but a value of the type {type(value).__name__}")
    return value


def checked_oid(oid: Any, what: str = "the oid of a large object") -> int:
    """An oid. Raises ProgrammingError for a number that is none."""
    number = checked_whole(oid, what)
    if not 0 <= number < _OID_LIMIT:
        raise ProgrammingError(f"{number} is not {what}")
    return number


def _opened(core: ConnectionCore, sql: str, oid: int, mode: LobMode) -> Flow[PostgresLob]:
    if core.begin is None and not core.is_begun():
        raise ProgrammingError(OUTSIDE)
    number = core.lob_numbers.pop() if core.lob_numbers else next(core.numbers)
    cursor = (f"headrace_lob_{number}", number), False
    result: Any = yield core.wire.execute(sql, (oid, _MODES[mode]), core.begin, core.named, declares=cursor)
    found, descriptor, transaction = (_number(value, "descriptor of a large object") for value in result.rows[0])
    state = PostgresLob(core, found, mode, descriptor, transaction, number)
    earlier = core.lobs.get(descriptor)
    if earlier is not None:
        # Its savepoint was rolled back: the descriptor is that of this object now.
        earlier.is_over = True
    core.lobs[descriptor] = state
    return state


def opening(core: ConnectionCore, oid: Any, mode: LobMode) -> Flow[PostgresLob]:
    """Opens the object that has an oid.

    Raises ProgrammingError if it is not an oid, if the mode is not one of ``rb``, ``r+b``, ``wb``, or outside of a
    transaction.
    """
    checked_mode(mode)
    state = yield from _opened(core, _OPEN, checked_oid(oid), mode)
    if mode == "wb":
        yield from state.truncating(0)
    return state


def creating(core: ConnectionCore, oid: Any) -> Flow[PostgresLob]:
    """Makes an object, open for reading and writing; the server chooses the oid if that is None."""
    return (yield from _opened(core, _CREATE, 0 if oid is None else checked_oid(oid), "r+b"))


def unlinking(core: ConnectionCore, oid: Any) -> Flow[None]:
    """Removes an object."""
    yield core.wire.execute(_UNLINK, (checked_oid(oid),), core.begin, core.named)


def opened_file(given: str | os.PathLike[str] | IO[bytes], mode: str) -> contextlib.AbstractContextManager[IO[bytes]]:
    """The file of a path, which is closed after its block, or a file of the program's own."""
    if isinstance(given, (str, os.PathLike)):
        try:
            return open(given, mode)
        except ValueError as error:
            raise ProgrammingError(f"{given!r} is not the path of a file: {error}") from None
    if not callable(getattr(given, "read" if mode == "rb" else "write", None)):
        raise TypeError(f"the file is a path, or an open binary file, not {type(given).__name__}")
    return contextlib.nullcontext(given)
