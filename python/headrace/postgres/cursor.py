"""The blocking cursor."""

# Made by tools/async_to_sync.py of aio/postgres/cursor.py: edit that file, and run the tool.

from __future__ import annotations

import contextlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NoReturn, TypeVar

from .. import defaults
from .._shared.arguments import ARGUMENTS, checked_text, checked_values, checked_whole
from .._shared.composing import composed_text
from .._shared.cursor import BlockingCursor
from .._shared.cursor_base import Params
from .._shared.limits import Limit, afresh, until
from .._shared.modes import ScrollMode
from ..errors import Error, NotSupportedError, ProgrammingError
from ..rows import RowFactory
from ..types import ParameterRows
from .declared import Declared, forward
from .names import quote_name

if TYPE_CHECKING:
    from ..sql import Statement
    from .connection import Connection
    from .copy import Copy

R = TypeVar("R")
Self = TypeVar("Self", bound="ServerCursor[Any]")


class Cursor(BlockingCursor[R]):
    """Executes statements and holds their results (PEP 249).

    Parameters are written ``%s``, ``%(name)s`` or ``$1``. A result is received whole; for one larger than memory use
    :meth:`Connection.stream` or a named cursor. For a text of several statements use
    :meth:`Connection.executescript`. It is for one thread at a time.
    """

    @property
    def connection(self) -> Connection[Any]:
        return self._connection  # type: ignore[no-any-return]

    def callproc(self, name: str, params: Sequence[Any] = (), *, timeout: float | None = None) -> Sequence[Any]:
        """Calls a function. Its result is fetched as that of ``SELECT * FROM name(...)``.

        Args:
            name: of the function, with or without a schema; it is quoted.
            params: the arguments.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            ``params``, unchanged.

        Raises:
            ProgrammingError: a name is longer than 63 bytes.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        places = ", ".join(f"${i + 1}" for i in range(len(checked_values(params, ARGUMENTS))))
        function = ".".join(quote_name(part) for part in checked_text(name, "the name of a function").split("."))
        self.execute(f"SELECT * FROM {function}({places})", tuple(params) if params else None, timeout=timeout)
        return params

    def copy(self, sql: Statement, *, timeout: float | None = None) -> Copy:
        """Opens a block for a COPY statement, ``COPY ... FROM STDIN`` or ``COPY ... TO STDOUT``.

        If the block raises an exception, the COPY fails.

        Args:
            sql: the statement.
            timeout: seconds until each wait is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            A context manager; its value reads or writes the data.

        Raises:
            InterfaceError: the cursor is closed.
            ProgrammingError: when the block is entered, if it is not such a statement.
        """
        from .copy import Copy

        self._check()
        return Copy(self._connection, composed_text(self._core.wire, sql), self, limit=timeout)


class ServerCursor(Cursor[R]):
    """A cursor that is declared on the server with a name, and fetched in blocks of ``itersize`` rows.

    It needs a transaction, unless it is declared ``withhold``. Without autocommit a fetch from such a cursor after its
    transaction, and its ``close()``, begin the next transaction, as any statement does.
    """

    _has_arrow = False

    def __init__(
        self,
        connection: Connection[Any],
        row_factory: RowFactory[R],
        name: str,
        scrollable: bool | None = None,
        withhold: bool = False,
    ) -> None:
        super().__init__(connection, row_factory)
        self.name = name
        self.scrollable = scrollable
        self.withhold = withhold
        self.itersize: int = defaults.FETCH_SIZE
        self._declared: Declared | None = None
        self._exhausted = False
        self._is_past_end = False

    @property
    def rowcount(self) -> int:
        """The number of rows of the last block that was fetched; -1 before the first."""
        return super().rowcount if self._result is not None and self._result.tag else -1

    def execute(self: Self, sql: Statement, params: Params = None, *, timeout: float | None = None) -> Self:
        """Declares the cursor for a query.

        Args:
            sql: the query.
            params: a sequence of values, or a mapping for ``%(name)s``; None for a statement without parameters.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The cursor itself.

        Raises:
            InterfaceError: the cursor is closed.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        self._check()
        scroll = "" if self.scrollable is None else "SCROLL " if self.scrollable else "NO SCROLL "
        declared = Declared(self._connection._core, self.name, self.withhold)
        limit = until(timeout)
        self._forget(limit)
        try:
            self._connection._wait(declared.declare(scroll, sql, params), limit)
            self._declared = declared
            self._exhausted = self._is_past_end = False
            self._set(declared.described(self._connection._wait(declared.describe(), limit)))
        except BaseException as error:
            self._declared = None
            self._take_back(declared, error, limit)
            raise
        return self

    def _take_back(self, declared: Declared, error: BaseException, limit: Limit) -> None:
        """Closes a cursor whose declaration failed: the server may have declared it nevertheless, and would keep one
        WITH HOLD."""
        with contextlib.suppress(Error, TimeoutError):
            ended = declared.close()
            if ended is not None and isinstance(error, Exception):
                self._connection._wait(ended, afresh(limit))

    def executemany(
        self, sql: Statement, rows: ParameterRows, *, returning: bool = False, timeout: float | None = None
    ) -> NoReturn:
        """Raises NotSupportedError: a cursor with a name cannot execute batches.

        Args:
            sql: the statement.
            rows: ignored.
            returning: ignored.
            timeout: ignored.

        Returns:
            Nothing.

        Raises:
            NotSupportedError: always.
        """
        raise NotSupportedError("a server-side cursor cannot execute batches")

    def _use(self, verb: str, what: str, limit: Limit) -> Any:
        """The result of FETCH or MOVE, which is waited for in a pipeline too."""
        declared = self._declared
        if declared is None:
            raise ProgrammingError("the cursor was not executed")
        return declared.used(self._connection._wait(declared.use(verb, what), limit))

    def _fetch_block(self, what: str, limit: Limit) -> None:
        self._set(self._use("FETCH", what, limit))

    def fetchone(self, *, timeout: float | None = None) -> R | None:
        self._check()
        if self._position >= len(self._rows or ()) and not self._exhausted:
            self._fetch_block(forward(self.itersize), timeout)
            self._exhausted = len(self._rows or ()) < self.itersize
        self._is_past_end |= self._position >= len(self._rows or ())
        return super().fetchone()

    def fetchmany(self, size: int | None = None, *, timeout: float | None = None) -> list[R]:
        self._check()
        wanted = self._wanted(size)
        out = self._many(wanted)
        if len(out) < wanted and not self._exhausted:
            missing = wanted - len(out)
            self._fetch_block(forward(missing), timeout)
            self._exhausted = len(self._rows or ()) < missing
            out += self._many(missing)
        self._is_past_end |= len(out) < wanted
        return out

    def fetchall(self, *, timeout: float | None = None) -> list[R]:
        self._check()
        out = self._all()
        if not self._exhausted:
            self._fetch_block("FORWARD ALL", timeout)
            self._exhausted = True
            out += self._all()
        self._is_past_end = True
        return out

    def scroll(self, value: int, mode: ScrollMode = "relative", *, timeout: float | None = None) -> None:
        """Moves the cursor, on the server unless it ends within the rows that were fetched ahead. These are dropped
        otherwise.

        Args:
            value: number of rows, from the current position or from the beginning.
            mode: ``relative`` or ``absolute``.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            ProgrammingError: the mode is not one of these, or the cursor was not executed.
            InvalidCursorName: the cursor has ended with its transaction.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        self._check()
        value = checked_whole(value, "the number of rows")
        if mode == "relative":
            ahead = max(len(self._rows or ()) - self._position, 0)
            if self._declared is not None and not self.scrollable and 0 <= value <= ahead:
                # The server is behind these rows, and may not go back.
                self._position += value
                return
            # A block that ended short has left the server after the last row, where the program may not be yet.
            value -= ahead + (self._exhausted and not self._is_past_end)
        elif mode != "absolute":
            raise ProgrammingError(f"scroll mode {mode!r} is neither 'relative' nor 'absolute'")
        self._use("MOVE", f"{mode.upper()} {value}", timeout)
        self._rows = []
        self._position = 0
        self._exhausted = self._is_past_end = False

    def _forget(self, limit: Limit) -> None:
        declared, self._declared = self._declared, None
        ended = declared.close() if declared is not None else None
        if ended is not None:
            self._connection._wait(ended, limit)

    def close(self, *, timeout: float | None = None) -> None:
        if not self._closed:
            self._forget(timeout)
        super().close()
