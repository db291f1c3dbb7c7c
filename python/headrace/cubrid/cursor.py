"""The blocking cursor of CUBRID."""

# Made by tools/async_to_sync.py of aio/cubrid/cursor.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from .._native import Result
from .._shared.arguments import ARGUMENTS, checked_values
from .._shared.cursor import BlockingCursor
from .._shared.server_cursor import BlockingServerCursor
from .._shared.stream_cursor import BlockingStreamCursor
from ..errors import NotSupportedError
from ..rows import RowFactory
from .core import call_parameters, call_statement, returned_arguments
from .declared import Declared

if TYPE_CHECKING:
    from .connection import Connection


R = TypeVar("R")


class Cursor(BlockingCursor[R]):
    """Executes statements and holds their results (PEP 249). Parameters are written ``?`` or ``:1``.

    A result is received whole. It is for one thread at a time.
    """

    _generated: tuple[Result, int | None] | None = None

    @property
    def connection(self) -> Connection[Any]:
        return self._connection  # type: ignore[no-any-return]

    @property
    def lastrowid(self) -> int | None:
        """The value that the server generated for the last INSERT, for an AUTO_INCREMENT column: of several
        rows that of the first; None otherwise. It is requested when it is read, which takes a round trip,
        and is that of the session's last INSERT."""
        result = self._result
        if result is None or result.tag != "INSERT":
            return None
        if self._generated is None or self._generated[0] is not result:
            self._generated = result, self._connection._run(self._connection._core.last_insert_id())
        return self._generated[1]

    def callproc(self, name: str, params: Sequence[Any] = (), *, timeout: float | None = None) -> list[Any]:
        """Calls a procedure or a function.

        The row that can be fetched afterwards has the value that a function returned, None of a procedure, and then
        the arguments. It takes one round trip, the first time two.

        Args:
            name: of the procedure or function.
            params: the arguments; anything, such as None, for those that are OUT only.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The arguments, with the values that the procedure has given to those that are OUT or INOUT.

        Raises:
            ProgrammingError: the name is not one of a procedure.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        statement = call_statement(name, len(checked_values(params, ARGUMENTS)))
        self.execute(statement, call_parameters(params), timeout=timeout)
        self.fetchone()
        self._position = 0
        return returned_arguments(self._buffer()[0], params)


class StreamCursor(BlockingStreamCursor[R], Cursor[R]):
    """A cursor that receives its rows in blocks of ``itersize``, in bounded memory.

    The rows are received while they are fetched. Until the last is fetched, or the cursor is closed, the connection is
    occupied, as by :meth:`Connection.stream`. It is for one thread at a time.
    """

    def callproc(self, name: str, params: Sequence[Any] = (), *, timeout: float | None = None) -> NoReturn:
        """Raises NotSupportedError: a cursor that streams cannot call procedures.

        Args:
            name: of the procedure.
            params: ignored.
            timeout: ignored.

        Returns:
            Nothing.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("a cursor that streams cannot call procedures")


class ServerCursor(Declared, BlockingServerCursor[R]):
    """A cursor whose result stays open on the server: its rows are fetched on demand, in any order.

    With ``withhold`` it stays open after a commit, not after a rollback. The broker does not give the process of a
    connection with such a cursor to another client.
    """

    def __init__(self, connection: Connection[Any], row_factory: RowFactory[R], withhold: bool = False) -> None:
        super().__init__(connection, row_factory)
        self._declare(withhold)

    @property
    def connection(self) -> Connection[Any]:
        return self._connection  # type: ignore[no-any-return]
