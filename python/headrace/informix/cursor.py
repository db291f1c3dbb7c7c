"""The blocking cursors of Informix: one that holds its result, and one that stays open on the server."""

# Made by tools/async_to_sync.py of aio/informix/cursor.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .._shared.cursor import BlockingCursor
from .._shared.cursor_base import Params
from ..errors import NotSupportedError
from ..rows import RowFactory
from .core import call_statement
from .declared import Declared

if TYPE_CHECKING:
    from .connection import Connection


R = TypeVar("R")


class Cursor(BlockingCursor[R]):
    """Executes statements and holds their results (PEP 249). Parameters are written ``?`` or ``:1``."""

    @property
    def connection(self) -> Connection[Any]:
        """The connection it belongs to."""
        return self._connection  # type: ignore[no-any-return]

    def callproc(self, name: str, params: Sequence[Any] = (), *, timeout: float | None = None) -> Sequence[Any]:
        """Runs a procedure or function; what it returns is then fetched. Returns ``params``."""
        self.execute(call_statement(name, len(params)), tuple(params) if params else None, timeout=timeout)
        return params


class ServerCursor(Declared, BlockingCursor[R]):
    """A cursor that stays open on the server under a name: its rows are fetched as they are asked for.

    With ``scrollable`` they are fetched by number, in any order; with ``withhold`` it outlives its transaction. Rows of
    a query ``FOR UPDATE`` are fetched one by one, so that ``WHERE CURRENT OF`` means the row that was given last.
    """

    def __init__(
        self,
        connection: Connection[Any],
        row_factory: RowFactory[R],
        name: str,
        scrollable: bool = False,
        withhold: bool = False,
    ) -> None:
        super().__init__(connection, row_factory)
        self.declare(name, scrollable, withhold)

    @property
    def connection(self) -> Connection[Any]:
        """The connection it belongs to."""
        return self._connection  # type: ignore[no-any-return]

    def execute(self, sql: str, params: Params = None, *, timeout: float | None = None) -> Any:
        """Opens the cursor for a query."""
        self._connection._run(self.opening(sql, params), timeout)
        return self

    def executemany(
        self, sql: str, rows: Iterable[Any], *, returning: bool = False, timeout: float | None = None
    ) -> Any:
        """Not possible with a cursor that has a name."""
        raise NotSupportedError("a cursor with a name cannot execute batches")

    def fetchone(self, *, timeout: float | None = None) -> R | None:
        """The next row, or ``None`` after the last."""
        rows = self._connection._run(self.taking(1), timeout)
        return rows[0] if rows else None

    def fetchmany(self, size: int | None = None, *, timeout: float | None = None) -> list[R]:
        """The next ``size`` rows (``arraysize`` by default), fewer at the end."""
        return self._connection._run(self.taking(self.arraysize if size is None else size), timeout)  # type: ignore[no-any-return]

    def fetchall(self, *, timeout: float | None = None) -> list[R]:
        """All rows that are left."""
        return self._connection._run(self.taking(None), timeout)  # type: ignore[no-any-return]

    def __next__(self) -> R:
        rows = self._connection._run(self.taking(1))
        if not rows:
            raise StopIteration
        return rows[0]  # type: ignore[no-any-return]

    def scroll(self, value: int, mode: str = "relative", *, timeout: float | None = None) -> None:
        """Moves a scroll cursor: the next fetch gives the row behind row ``value``, counted from 1 (``absolute``) or
        from where it stands. Raises IndexError beyond the ends of the result, and leaves it where it was."""
        self._connection._run(self.moving(value, mode), timeout)

    def fetch_first(self, *, timeout: float | None = None) -> R | None:
        """The first row."""
        return self._connection._run(self.landing(1), timeout)  # type: ignore[no-any-return]

    def fetch_last(self, *, timeout: float | None = None) -> R | None:
        """The last row."""
        return self._connection._run(self.landing(None), timeout)  # type: ignore[no-any-return]

    def fetch_prior(self, *, timeout: float | None = None) -> R | None:
        """The row before the one that was given last."""
        return self._connection._run(self.landing(self.current - 1), timeout)  # type: ignore[no-any-return]

    def fetch_absolute(self, row: int, *, timeout: float | None = None) -> R | None:
        """Row number ``row``, counted from 1."""
        return self._connection._run(self.landing(row), timeout)  # type: ignore[no-any-return]

    def fetch_relative(self, rows: int, *, timeout: float | None = None) -> R | None:
        """The row ``rows`` behind the one that was given last (before it where negative)."""
        return self._connection._run(self.landing(self.current + rows), timeout)  # type: ignore[no-any-return]

    def close(self, *, timeout: float | None = None) -> None:
        """Closes the cursor on the server."""
        if not self._closed:
            self._connection._run(self.closing(), timeout)
        super().close()
