"""What a cursor that stays open on the server has in every database: the flows that its shells run."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from .cursor_base import CursorBase, Params
from .flows import Flow

if TYPE_CHECKING:
    from ..sql import Statement


class ServerCursorBase(CursorBase[Any]):
    """A cursor whose rows are fetched on demand. The database's own class has the flows."""

    def _opening(self, sql: Statement, params: Params) -> Flow[None]:
        """Opens it for a query."""
        raise NotImplementedError

    def _closing(self) -> Flow[None]:
        """Closes it on the server."""
        raise NotImplementedError

    def _taking(self, size: int | None) -> Flow[list[Any]]:
        """The next ``size`` rows, all that are left for None."""
        raise NotImplementedError

    def _landing(self, row: int | None) -> Flow[Any]:
        """The row with this number, counted from 1, or the last one; the next fetch continues after it. None outside of
        the result."""
        raise NotImplementedError

    def _moving(self, value: int, mode: str) -> Flow[None]:
        """PEP 249's scroll, within the result."""
        raise NotImplementedError

    @property
    def current(self) -> int:
        """The number of the current row, from 1: 0 before the first row, and the number of rows plus 1 after the
        last."""
        raise NotImplementedError
