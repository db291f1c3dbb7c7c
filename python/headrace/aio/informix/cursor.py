"""The asyncio cursors of Informix: one that holds its result, and one that stays open on the server."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..._shared.cursor_base import Params
from ...errors import NotSupportedError
from ...informix.core import call_statement
from ...informix.declared import Declared
from ...rows import RowFactory
from .._shared.cursor import LoopCursor

if TYPE_CHECKING:
    from .connection import AsyncConnection


R = TypeVar("R")


class AsyncCursor(LoopCursor[R]):
    """Executes statements and holds their results (PEP 249). Parameters are written ``?`` or ``:1``."""

    @property
    def connection(self) -> AsyncConnection[Any]:
        """The connection it belongs to."""
        return self._connection  # type: ignore[no-any-return]

    async def callproc(self, name: str, params: Sequence[Any] = (), *, timeout: float | None = None) -> Sequence[Any]:
        """Runs a procedure or function; what it returns is then fetched. Returns ``params``."""
        await self.execute(call_statement(name, len(params)), tuple(params) if params else None, timeout=timeout)
        return params


class AsyncServerCursor(Declared, LoopCursor[R]):
    """A cursor that stays open on the server under a name: its rows are fetched as they are asked for.

    With ``scrollable`` they are fetched by number, in any order; with ``withhold`` it outlives its transaction. Rows of
    a query ``FOR UPDATE`` are fetched one by one, so that ``WHERE CURRENT OF`` means the row that was given last.
    """

    def __init__(
        self,
        connection: AsyncConnection[Any],
        row_factory: RowFactory[R],
        name: str,
        scrollable: bool = False,
        withhold: bool = False,
    ) -> None:
        super().__init__(connection, row_factory)
        self.declare(name, scrollable, withhold)

    @property
    def connection(self) -> AsyncConnection[Any]:
        """The connection it belongs to."""
        return self._connection  # type: ignore[no-any-return]

    async def execute(self, sql: str, params: Params = None, *, timeout: float | None = None) -> Any:
        """Opens the cursor for a query."""
        await self._connection._run(self.opening(sql, params), timeout)
        return self

    async def executemany(
        self, sql: str, rows: Iterable[Any], *, returning: bool = False, timeout: float | None = None
    ) -> Any:
        """Not possible with a cursor that has a name."""
        raise NotSupportedError("a cursor with a name cannot execute batches")

    async def fetchone(self, *, timeout: float | None = None) -> R | None:
        """The next row, or ``None`` after the last."""
        rows = await self._connection._run(self.taking(1), timeout)
        return rows[0] if rows else None

    async def fetchmany(self, size: int | None = None, *, timeout: float | None = None) -> list[R]:
        """The next ``size`` rows (``arraysize`` by default), fewer at the end."""
        return await self._connection._run(self.taking(self.arraysize if size is None else size), timeout)  # type: ignore[no-any-return]

    async def fetchall(self, *, timeout: float | None = None) -> list[R]:
        """All rows that are left."""
        return await self._connection._run(self.taking(None), timeout)  # type: ignore[no-any-return]

    async def __anext__(self) -> R:
        rows = await self._connection._run(self.taking(1))
        if not rows:
            raise StopAsyncIteration
        return rows[0]  # type: ignore[no-any-return]

    async def scroll(self, value: int, mode: str = "relative", *, timeout: float | None = None) -> None:
        """Moves a scroll cursor: the next fetch gives the row behind row ``value``, counted from 1 (``absolute``) or
        from where it stands. Raises IndexError beyond the ends of the result, and leaves it where it was."""
        await self._connection._run(self.moving(value, mode), timeout)

    async def fetch_first(self, *, timeout: float | None = None) -> R | None:
        """The first row."""
        return await self._connection._run(self.landing(1), timeout)  # type: ignore[no-any-return]

    async def fetch_last(self, *, timeout: float | None = None) -> R | None:
        """The last row."""
        return await self._connection._run(self.landing(None), timeout)  # type: ignore[no-any-return]

    async def fetch_prior(self, *, timeout: float | None = None) -> R | None:
        """The row before the one that was given last."""
        return await self._connection._run(self.landing(self.current - 1), timeout)  # type: ignore[no-any-return]

    async def fetch_absolute(self, row: int, *, timeout: float | None = None) -> R | None:
        """Row number ``row``, counted from 1."""
        return await self._connection._run(self.landing(row), timeout)  # type: ignore[no-any-return]

    async def fetch_relative(self, rows: int, *, timeout: float | None = None) -> R | None:
        """The row ``rows`` behind the one that was given last (before it where negative)."""
        return await self._connection._run(self.landing(self.current + rows), timeout)  # type: ignore[no-any-return]

    async def close(self, *, timeout: float | None = None) -> None:
        """Closes the cursor on the server."""
        if not self._closed:
            await self._connection._run(self.closing(), timeout)
        await super().close()
