"""The file that a smart large object of Informix is, blocking."""

# Made by tools/async_to_sync.py of aio/informix/largeobject.py: edit that file, and run the tool.

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .._shared.largeobject import BlockingLargeObject
from .lobs import InformixLob, Locator

if TYPE_CHECKING:
    from .connection import Connection


class LargeObject(BlockingLargeObject):
    """A BLOB or CLOB as an unbuffered binary file: only the data of one call is in memory.

    Opened by :meth:`Connection.open_lob` and :meth:`Connection.create_lob`. It is closed with its transaction
    or session at the latest, but not by the garbage collector.

    To read small pieces use ``io.BufferedReader``, and for text ``io.TextIOWrapper``. A CLOB is text in the
    database's code set.
    """

    _state: InformixLob

    def __init__(self, connection: Connection[Any], state: InformixLob) -> None:
        super().__init__(connection, state)

    @property
    def locator(self) -> Locator:
        """The parameter for a BLOB or CLOB column that stores the object in a row."""
        return self._state.locator

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.locator.type_name} {self.mode}{' closed' if self.closed else ''}>"
