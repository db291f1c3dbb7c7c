"""The asyncio cursors of Informix: one that holds its result, and one that stays open on the server."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..._shared.arguments import ARGUMENTS, checked_values
from ...informix.core import call_statement
from ...informix.declared import Declared
from ...rows import RowFactory
from .._shared.cursor import LoopCursor
from .._shared.server_cursor import LoopServerCursor

if TYPE_CHECKING:
    from .connection import AsyncConnection


R = TypeVar("R")


class AsyncCursor(LoopCursor[R]):
    """Executes statements and holds their results (PEP 249). Parameters are written ``?`` or ``:1``.

    A result is received whole. It is for one task at a time.
    """

    @property
    def connection(self) -> AsyncConnection[Any]:
        return self._connection  # type: ignore[no-any-return]

    async def callproc(self, name: str, params: Sequence[Any] = (), *, timeout: float | None = None) -> Sequence[Any]:
        """Calls a procedure or function. What it returns is fetched as rows.

        Args:
            name: of the routine.
            params: the arguments.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            ``params``, unchanged.

        Raises:
            ProgrammingError: the name is not one of a routine.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        statement = call_statement(name, len(checked_values(params, ARGUMENTS)))
        await self.execute(statement, tuple(params) if params else None, timeout=timeout)
        return params


class AsyncServerCursor(Declared, LoopServerCursor[R]):
    """A cursor that stays open on the server with a name: its rows are fetched on demand.

    With ``scrollable`` they are fetched by number, in any order; with ``withhold`` it stays open after its transaction.
    Rows of a query ``FOR UPDATE`` are fetched one by one, so that ``WHERE CURRENT OF`` is the row that was fetched
    last.
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
        self._declare(name, scrollable, withhold)

    @property
    def connection(self) -> AsyncConnection[Any]:
        return self._connection  # type: ignore[no-any-return]
