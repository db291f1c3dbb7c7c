"""What a pool lends in place of a connection: it stops to work when the connection was given back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .connection import Connection
from .exceptions import InterfaceError

if TYPE_CHECKING:
    from .pool import PoolConnectionHolder


class PoolConnectionProxy:
    """A borrowed connection. Its attributes are those of the connection, until it is given back."""

    __slots__ = ("__weakref__", "_con", "_holder")

    def __init__(self, holder: PoolConnectionHolder, con: Any) -> None:
        self._holder = holder
        self._con: Any = con

    def __getattr__(self, name: str) -> Any:
        con = self._con
        if con is None:
            # A method that says so where it is called, as it may be looked up long before.
            if callable(getattr(Connection, name, None)):
                raise InterfaceError(f"cannot call Connection.{name}(): connection has been released back to the pool")
            raise AttributeError(name)
        return getattr(con, name)

    def _detach(self) -> None:
        self._con = None

    def __repr__(self) -> str:
        if self._con is None:
            return f"<{type(self).__name__} [released] {id(self):#x}>"
        return f"<{type(self).__name__} {self._con!r} {id(self):#x}>"
