"""What a pool lends: another object for the same session each time, which is of no use once it was returned.

A borrower may keep what it had, or a task or thread of it may go on: what that executes then would be in the
transaction of the next borrower, and its ``commit()`` and ``close()`` would end it. The session itself, and its
connection, stay with the pool. Rows are read as without a pool.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterable
from types import SimpleNamespace
from typing import Any, Final, NoReturn, Protocol, TypeVar

from ..errors import InterfaceError
from ..types import TransactionStatus

C = TypeVar("C")

RETURNED: Final = "the connection was returned to its pool and may have another user now: request another one"


class _ReturnedWire:
    """Stands for the engine: closed, as far as its last user is concerned."""

    closed = True

    def close(self) -> None:
        """Does nothing: the session belongs to the pool."""

    def is_alive(self) -> bool:
        """Returns false."""
        return False

    def __getattr__(self, name: str) -> NoReturn:
        raise InterfaceError(RETURNED)


class Returned:
    """Stands for the core of a connection that was returned. All that asks the server for something raises."""

    wire = _ReturnedWire()
    timing = False

    def status(self) -> TransactionStatus:
        """As of a closed connection."""
        return TransactionStatus.UNKNOWN

    def where(self) -> str:
        """For messages."""
        return "returned to its pool"

    def note_close(self) -> None:
        """Does nothing."""

    def is_inherited(self) -> bool:
        """Returns false."""
        return False

    def __getattr__(self, name: str) -> NoReturn:
        raise InterfaceError(RETURNED)


NO_CORE: Final[Any] = Returned()
"""The only one."""


def lends(connection: C) -> Callable[[], C] | None:
    """What makes the objects that a pool lends for a connection; None for one of another package."""
    lend: Callable[[], C] | None = getattr(connection, "_lend", None)
    return lend


class _Lending(Protocol):
    """A pool's entry: a connection, and what was lent for it."""

    connection: Any
    lent: Any


E = TypeVar("E", bound=_Lending)


def _references(entry: Any) -> int:
    """How often is referred to what was lent. It is in no variable here: whether those count depends on the version of
    Python."""
    return sys.getrefcount(entry.lent)


# Of an entry's alone, and of the call that counts.
_OWN_REFERENCES: Final = _references(SimpleNamespace(lent=object()))
# Looked up once: on a Python without it an attribute that is missing took more than all the rest.
_has_lock: Final[Callable[[], bool]] = getattr(sys, "_is_gil_enabled", lambda: True)


def dropped(entries: Iterable[E]) -> list[E]:
    """Those of them for which only the pool has what was lent. Without the interpreter's lock references cannot be
    counted. Every wait for a connection comes here with all that are lent: no call is made for one of them but that
    which counts."""
    if not _has_lock():
        return []
    count, own = sys.getrefcount, _OWN_REFERENCES
    # None, where nothing is lent, has more of them than any object.
    return [entry for entry in entries if count(entry.lent) <= own and entry.lent is not entry.connection]


def end_lease(connection: object) -> None:
    """What was lent for a connection is of no use from now on."""
    end: Any = getattr(connection, "_end_lease", None)
    if end is not None:
        end()
