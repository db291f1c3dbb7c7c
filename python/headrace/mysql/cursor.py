"""The blocking cursor of MySQL and MariaDB."""

# Made by tools/async_to_sync.py of aio/mysql/cursor.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Generator, Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from .._shared.cursor import BlockingCursor
from .._shared.cursor_base import Params
from .._shared.received import Received
from .._shared.stream_cursor import BlockingStreamCursor
from ..errors import DatabaseError, NotSupportedError
from ..rows import RowFactory

if TYPE_CHECKING:
    from ..sql import Statement
    from .connection import Connection


R = TypeVar("R")


class Cursor(BlockingCursor[R]):
    """Executes statements and holds their results (PEP 249).

    Parameters are written ``%s``, ``%(name)s`` or ``?``. A result is received whole. It is for one thread at a time.
    """

    @property
    def connection(self) -> Connection[Any]:
        return self._connection  # type: ignore[no-any-return]

    @property
    def warning_count(self) -> int:
        """The number of warnings of the last statement, which ``show_warnings()`` of the connection returns."""
        return 0 if self._result is None else self._result.warnings

    def callproc(self, name: str, params: Sequence[Any] = (), *, timeout: float | None = None) -> list[Any]:
        """Calls a procedure. Its results are fetched from the cursor, the next one after :meth:`nextset`.

        Args:
            name: of the procedure, with or without a schema.
            params: the arguments; the values for OUT parameters are ignored.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The arguments, with the values of OUT and INOUT parameters.

        Raises:
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        self._check()
        self._clear()
        try:
            results, out = self._connection._run(self._connection._core.call(name, params), timeout)
        except DatabaseError as error:
            self._failed(error)
            raise
        self._set_all(results)
        return list(out)


class StreamCursor(BlockingStreamCursor[R], Cursor[R]):
    """A cursor that receives its rows in blocks of ``itersize``, in bounded memory.

    The rows are received while they are fetched. Until the last is fetched, or the cursor is closed, the connection is
    occupied, as by :meth:`Connection.stream`. With ``on_server`` the result is in a cursor on the server, and
    other statements can be executed in between. It is for one thread at a time.
    """

    _has_arrow = False

    def __init__(self, connection: Connection[Any], row_factory: RowFactory[R], on_server: bool) -> None:
        super().__init__(connection, row_factory)
        self.on_server = on_server

    def _begun(self, received: Received, sql: Statement, params: Params, timeout: float | None) -> Generator[list[Any]]:
        connection = self._connection
        if self.on_server:
            return connection._cursor_blocks(sql, params, self.itersize, timeout, received)  # type: ignore[no-any-return]
        return super()._begun(received, sql, params, timeout)

    def callproc(self, name: str, params: Sequence[Any] = (), *, timeout: float | None = None) -> NoReturn:
        """Raises NotSupportedError: a cursor that streams cannot call procedures with their results.

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
