"""The file that a smart large object of Informix is, asyncio."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from ...informix.lobs import InformixLob, Locator
from .._shared.largeobject import LoopLargeObject

if TYPE_CHECKING:
    from .connection import AsyncConnection


class AsyncLargeObject(LoopLargeObject):
    """A BLOB or CLOB as an unbuffered binary file: only the data of one call is in memory.

    Opened by :meth:`AsyncConnection.open_lob` and :meth:`AsyncConnection.create_lob`. It is closed with its transaction
    or session at the latest, but not by the garbage collector.

    An iteration returns its content in blocks.
    """

    _state: InformixLob

    def __init__(self, connection: AsyncConnection[Any], state: InformixLob) -> None:
        super().__init__(connection, state)

    @property
    def locator(self) -> Locator:
        """The parameter for a BLOB or CLOB column that stores the object in a row."""
        return self._state.locator

    def __repr__(self) -> str:
        return f"<{type(self).__name__} {self.locator.type_name} {self.mode}{' closed' if self.closed else ''}>"
