"""The blocking cursors of Informix: one that holds its result, and one that stays open on the server."""

# Made by tools/async_to_sync.py of aio/informix/cursor.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .._shared.arguments import ARGUMENTS, checked_values
from .._shared.cursor import BlockingCursor
from .._shared.server_cursor import BlockingServerCursor
from ..rows import RowFactory
from .core import call_statement
from .declared import Declared

if TYPE_CHECKING:
    from .connection import Connection


R = TypeVar("R")


class Cursor(BlockingCursor[R]):
    """Executes statements and holds their results (PEP 249). Parameters are written ``?`` or ``:1``.

    A result is received whole. It is for one thread at a time.
    """

    @property
    def connection(self) -> Connection[Any]:
        return self._connection  # type: ignore[no-any-return]

    def callproc(self, name: str, params: Sequence[Any] = (), *, timeout: float | None = None) -> Sequence[Any]:
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
        self.execute(statement, tuple(params) if params else None, timeout=timeout)
        return params


class ServerCursor(Declared, BlockingServerCursor[R]):
    """A cursor that stays open on the server with a name: its rows are fetched on demand.

    With ``scrollable`` they are fetched by number, in any order; with ``withhold`` it stays open after its transaction.
    Rows of a query ``FOR UPDATE`` are fetched one by one, so that ``WHERE CURRENT OF`` is the row that was fetched
    last.
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
        self._declare(name, scrollable, withhold)

    @property
    def connection(self) -> Connection[Any]:
        return self._connection  # type: ignore[no-any-return]
