"""The blocking cursor."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .. import defaults
from .._core import Limit, until
from .._cursor import BlockingCursor
from .._cursor_base import Params
from .._native import PgColumns
from ..errors import NotSupportedError, ProgrammingError
from ..rows import RowFactory
from .core import portal_name, quote_identifier

if TYPE_CHECKING:
    from .connection import Connection
    from .copy import Copy

R = TypeVar("R")


class Cursor(BlockingCursor[R]):
    """Executes statements and holds their results (PEP 249).

    Parameters are written ``%s``, ``%(name)s`` or ``$1``. A result is received whole; for one larger than memory use
    :meth:`Connection.stream` or a named cursor. Without parameters a text of several statements goes by
    :meth:`Connection.executescript`.
    """

    @property
    def connection(self) -> Connection[Any]:
        """The connection it belongs to."""
        return self._connection  # type: ignore[no-any-return]

    def callproc(self, name: str, params: Sequence[Any] = (), *, timeout: float | None = None) -> Sequence[Any]:
        """Calls a function; its result is then fetched as from ``SELECT * FROM name(...)``. Returns ``params``."""
        places = ", ".join(f"${i + 1}" for i in range(len(params)))
        function = ".".join(quote_identifier(part) for part in name.split("."))
        self.execute(f"SELECT * FROM {function}({places})", tuple(params) if params else None, timeout=timeout)
        return params

    def copy(self, sql: str, *, timeout: float | None = None) -> Copy:
        """``COPY ... FROM STDIN`` or ``COPY ... TO STDOUT``, as a context manager. Each wait in it may take
        ``timeout`` seconds."""
        from .copy import Copy

        self._check()
        return Copy(self._connection, sql, self, limit=timeout)


class ServerCursor(Cursor[R]):
    """A cursor that lives on the server under a name, and is fetched in blocks of ``itersize`` rows.

    It needs a transaction, unless it is declared ``withhold``.
    """

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
        self._declared = False
        self._exhausted = False
        self._fetched: PgColumns | None = None
        """The columns of the cursor as it was declared last."""

    @property
    def rowcount(self) -> int:
        """Rows of the last block that was fetched, -1 before the first."""
        return super().rowcount if self._result is not None and self._result.tag else -1

    def execute(self, sql: str, params: Params = None, *, timeout: float | None = None) -> Any:
        """Declares the cursor for a query."""
        self._check()
        if self._core.autocommit and not self.withhold and not self._core.in_transaction():
            raise ProgrammingError(
                "a server-side cursor needs a transaction: use conn.transaction(), or declare it withhold=True"
            )
        limit = until(timeout)
        if self._declared:
            self._forget(limit)
        scroll = {None: "", True: "SCROLL ", False: "NO SCROLL "}[self.scrollable]
        hold = "WITH HOLD " if self.withhold else ""
        name = quote_identifier(self.name)
        self._ask(f"DECLARE {name} {scroll}CURSOR {hold}FOR {sql}", params, limit)
        self._declared = True
        self._exhausted = False
        # What the cursor gives is a matter of the cursor, not of the text that fetches from it.
        described = self._connection._wait(self._core.wire.describe_portal(portal_name(self.name)), limit)
        self._fetched = described.columns
        self._set(described)
        return self

    def executemany(
        self, sql: str, rows: Iterable[Any], *, returning: bool = False, timeout: float | None = None
    ) -> Any:
        """Not possible on the server's side."""
        raise NotSupportedError("a server-side cursor cannot execute batches")

    def _ask(self, sql: str, params: Params = None, limit: Limit = None, expected: PgColumns | None = None) -> Any:
        """The result of a statement, which is waited for in a pipeline too."""
        ticket = self._core.submit(sql, params, expected)
        return self._connection._wait(ticket, limit)

    def _fetch_block(self, what: str, limit: Limit) -> None:
        if not self._declared:
            raise ProgrammingError("the cursor was not executed")
        sql = f"FETCH {what} FROM {quote_identifier(self.name)}"
        self._set(self._ask(sql, None, limit, self._fetched))

    def _more_rows(self, limit: Limit) -> None:
        if self._position >= len(self._rows or ()) and not self._exhausted:
            self._fetch_block(f"FORWARD {self.itersize}", limit)
            self._exhausted = len(self._rows or ()) < self.itersize

    def fetchone(self, *, timeout: float | None = None) -> R | None:
        """The next row, or ``None`` after the last."""
        self._check()
        self._more_rows(timeout)
        return super().fetchone()

    def fetchmany(self, size: int | None = None, *, timeout: float | None = None) -> list[R]:
        """The next ``size`` rows."""
        self._check()
        wanted = self.arraysize if size is None else size
        out = self._many(wanted)
        if len(out) < wanted and not self._exhausted:
            self._fetch_block(f"FORWARD {wanted - len(out)}", timeout)
            self._exhausted = len(self._rows or ()) < wanted - len(out)
            out += self._many(wanted - len(out))
        return out

    def fetchall(self, *, timeout: float | None = None) -> list[R]:
        """All rows that are left."""
        self._check()
        out = self._all()
        if not self._exhausted:
            self._fetch_block("FORWARD ALL", timeout)
            self._exhausted = True
            out += self._all()
        return out

    def scroll(self, value: int, mode: str = "relative", *, timeout: float | None = None) -> None:
        """Moves the server's cursor. What was fetched ahead is dropped."""
        self._check()
        if mode == "relative":
            value -= len(self._rows or ()) - self._position
        elif mode != "absolute":
            raise ProgrammingError(f"scroll mode {mode!r} is neither 'relative' nor 'absolute'")
        name = quote_identifier(self.name)
        self._ask(f"MOVE {mode.upper()} {value} FROM {name}", limit=timeout)
        self._rows = []
        self._position = 0
        self._exhausted = False

    def _forget(self, limit: Limit) -> None:
        self._declared = False
        if not self._core.wire.closed and (self.withhold or self._core.wire.last_status() == 2):
            # Not CLOSE, which fails, and the transaction with it, where the cursor went with an earlier transaction.
            self._connection._wait(self._core.wire.close_portal(portal_name(self.name)), limit)

    def close(self, *, timeout: float | None = None) -> None:
        """Closes the server's cursor."""
        if self._declared and not self._closed:
            self._forget(timeout)
        super().close()
