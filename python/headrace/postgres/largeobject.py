"""The file that a large object of PostgreSQL is, blocking."""

# Made by tools/async_to_sync.py of aio/postgres/largeobject.py: edit that file, and run the tool.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._shared.largeobject import BlockingLargeObject
from .lobs import PostgresLob

if TYPE_CHECKING:
    from .storing import Storing


class LargeObject(BlockingLargeObject):
    """A large object as an unbuffered binary file: only the data of one call is in memory.

    Opened by :meth:`Connection.open_lob` and :meth:`Connection.create_lob`. It is closed with its transaction
    at the latest, but not by the garbage collector; a savepoint that is rolled back closes those that were opened after
    it. Sizes and positions are up to 4 terabytes.

    To read small pieces use ``io.BufferedReader``, and for text ``io.TextIOWrapper``. A CLOB is text in the
    database's code set.
    """

    _state: PostgresLob

    def __init__(self, connection: Storing[Any], state: PostgresLob) -> None:
        super().__init__(connection, state)

    @property
    def oid(self) -> int:
        """Its oid, which a row stores in a column of the type ``oid``."""
        return self._state.oid

    @property
    def locator(self) -> int:
        """The same, by the name that large objects of other databases have."""
        return self._state.oid

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.oid} {self.mode}{' closed' if self.closed else ''}>"
