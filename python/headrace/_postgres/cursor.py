"""The blocking cursor."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from types import TracebackType
from typing import TYPE_CHECKING, Any, TypeVar

from .. import defaults
from ..errors import InterfaceError, NotSupportedError, ProgrammingError
from ..rows import RowFactory
from .core import Params, quote_identifier
from .cursor_base import CursorBase

if TYPE_CHECKING:
    from .connection import Connection
    from .copy import Copy

R = TypeVar("R")
Self = TypeVar("Self", bound="Cursor[Any]")


class Cursor(CursorBase[R]):
    """Executes statements and holds their results (PEP 249).

    A result is received whole; for one larger than memory use :meth:`Connection.stream` or a named cursor.
    """

    def __init__(self, connection: Connection[Any], row_factory: RowFactory[R]) -> None:
        super().__init__(connection._core, row_factory)
        self._connection = connection

    @property
    def connection(self) -> Connection[Any]:
        """The connection it belongs to."""
        return self._connection

    def execute(self: Self, sql: str, params: Params = None, *, timeout: float | None = None) -> Self:
        """Executes one statement, with ``%s``, ``%(name)s`` or ``$1`` parameters.

        After ``timeout`` seconds the statement is cancelled on the server and TimeoutError is raised. Without
        parameters a text of several statements goes by :meth:`Connection.executescript`.
        """
        if self._closed:
            raise InterfaceError("the cursor is closed")
        core = self._core
        if core.timing:
            started = time.perf_counter_ns()
            try:
                self._execute(sql, params, timeout)
            finally:
                core.wire.count(1, time.perf_counter_ns() - started)
            return self
        self._execute(sql, params, timeout)
        return self

    def _execute(self, sql: str, params: Params, timeout: float | None) -> None:
        core = self._core
        ticket = core.submit(sql, params)
        if core.pipelined is not None:
            self._clear()
            self._pending = ticket
            core.pipelined.append(self)
            return
        self._result = None
        self._rows = None
        self._more = []
        self._set(self._connection._wait(ticket, timeout))

    def executemany(
        self: Self, sql: str, rows: Iterable[Any], *, returning: bool = False, timeout: float | None = None
    ) -> Self:
        """Executes one statement for every row of parameters: pipelined, and all or none.

        In autocommit the batch is one transaction. An error names its row (``error.row``). With ``returning``
        there is one result per row, to be walked with :meth:`nextset`; without it ``rowcount`` is their sum.
        """
        self._check()
        core = self._core
        started = time.perf_counter_ns() if core.timing else 0
        self._clear()
        ticket = core.submit_batch(sql, rows, returning)
        if core.pipelined is not None:
            self._pending = ticket
            core.pipelined.append(self)
            return self
        self._take(self._connection._wait(ticket, timeout))
        if core.timing:
            core.wire.count(1, time.perf_counter_ns() - started)
        return self

    def callproc(self, name: str, params: Sequence[Any] = ()) -> Sequence[Any]:
        """Calls a function; its result is then fetched as from ``SELECT * FROM name(...)``. Returns ``params``."""
        places = ", ".join(f"${i + 1}" for i in range(len(params)))
        function = ".".join(quote_identifier(part) for part in name.split("."))
        self.execute(f"SELECT * FROM {function}({places})", tuple(params) if params else None)
        return params

    def _resolve(self) -> None:
        """Waits for what a pipeline has not brought yet."""
        ticket, self._pending = self._pending, None
        if ticket is not None:
            self._core.ask_for_answers()
            self._core.resolved(self)
            self._take(self._connection._wait(ticket, None))

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the result of a pipelined statement, for at most ``timeout`` seconds, and says whether it is there;
        with 0 it only looks. What is not there yet is still in flight, and can be waited for again. Raises the
        statement's error."""
        ticket = self._pending
        if ticket is None:
            return True
        if timeout is None:
            self._resolve()
            return True
        self._pending = None
        self._core.ask_for_answers()
        try:
            outcome = self._connection._look(ticket, timeout)
        except TimeoutError:
            self._pending = ticket
            return False
        finally:
            if self._pending is None:
                self._core.resolved(self)
        self._take(outcome)
        return True

    def fetchone(self) -> R | None:
        """The next row, or ``None`` after the last."""
        if self._pending is not None:
            self._resolve()
        return self._timed(self._one) if self._core.timing else self._one()  # type: ignore[no-any-return]

    def fetchmany(self, size: int | None = None) -> list[R]:
        """The next ``size`` rows (``arraysize`` by default), fewer at the end."""
        if self._pending is not None:
            self._resolve()
        if self._core.timing:
            return self._timed(lambda: self._many(size))  # type: ignore[no-any-return]
        return self._many(size)

    def fetchall(self) -> list[R]:
        """All rows that are left."""
        if self._pending is not None:
            self._resolve()
        return self._timed(self._all) if self._core.timing else self._all()

    def _timed(self, fetch: Any) -> Any:
        started = time.perf_counter_ns()
        result = fetch()
        self._core.wire.count(2, time.perf_counter_ns() - started)
        return result

    def __iter__(self) -> Iterator[R]:
        return self

    def __next__(self) -> R:
        row = self.fetchone()
        if row is None and self._position >= len(self._rows or ()):
            raise StopIteration
        return row  # type: ignore[return-value]

    def nextset(self) -> bool | None:
        """To the next result; ``None`` when there is none."""
        if self._pending is not None:
            self._resolve()
        return self._next_set()

    def scroll(self, value: int, mode: str = "relative") -> None:
        """Moves within the result. Raises IndexError beyond its ends."""
        if self._pending is not None:
            self._resolve()
        self._scroll(value, mode)

    def copy(self, sql: str) -> Copy:
        """``COPY ... FROM STDIN`` or ``COPY ... TO STDOUT``, as a context manager."""
        from .copy import Copy

        self._check()
        return Copy(self._connection, sql, self)

    def close(self) -> None:
        """Frees the result. A closed cursor cannot be used any more."""
        self._closed = True
        self._rows = None
        self._result = None
        self._more = []

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


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

    def execute(self, sql: str, params: Params = None, *, timeout: float | None = None) -> Any:
        """Declares the cursor for a query."""
        self._check()
        if self._core.autocommit and not self.withhold and not self._core.in_transaction():
            raise ProgrammingError(
                "a server-side cursor needs a transaction: use conn.transaction(), or declare it withhold=True"
            )
        if self._declared:
            self._forget()
        scroll = {None: "", True: "SCROLL ", False: "NO SCROLL "}[self.scrollable]
        hold = "WITH HOLD " if self.withhold else ""
        name = quote_identifier(self.name)
        self._connection._wait(self._core.submit(f"DECLARE {name} {scroll}CURSOR {hold}FOR {sql}", params), timeout)
        self._declared = True
        self._exhausted = False
        self._fetch_block("FORWARD 0")
        return self

    def executemany(
        self, sql: str, rows: Iterable[Any], *, returning: bool = False, timeout: float | None = None
    ) -> Any:
        """Not possible on the server's side."""
        raise NotSupportedError("a server-side cursor cannot execute batches")

    def _fetch_block(self, what: str) -> None:
        if not self._declared:
            raise ProgrammingError("the cursor was not executed")
        name = quote_identifier(self.name)
        self._set(self._connection._wait(self._core.submit(f"FETCH {what} FROM {name}", None), None))

    def _more_rows(self) -> None:
        if self._position >= len(self._rows or ()) and not self._exhausted:
            self._fetch_block(f"FORWARD {self.itersize}")
            self._exhausted = len(self._rows or ()) < self.itersize

    def fetchone(self) -> R | None:
        """The next row, or ``None`` after the last."""
        self._check()
        self._more_rows()
        return super().fetchone()

    def fetchmany(self, size: int | None = None) -> list[R]:
        """The next ``size`` rows."""
        self._check()
        wanted = self.arraysize if size is None else size
        out = self._many(wanted)
        if len(out) < wanted and not self._exhausted:
            self._fetch_block(f"FORWARD {wanted - len(out)}")
            self._exhausted = len(self._rows or ()) < wanted - len(out)
            out += self._many(wanted - len(out))
        return out

    def fetchall(self) -> list[R]:
        """All rows that are left."""
        self._check()
        out = self._all()
        if not self._exhausted:
            self._fetch_block("FORWARD ALL")
            self._exhausted = True
            out += self._all()
        return out

    def scroll(self, value: int, mode: str = "relative") -> None:
        """Moves the server's cursor. What was fetched ahead is dropped."""
        self._check()
        if mode == "relative":
            value -= len(self._rows or ()) - self._position
        elif mode != "absolute":
            raise ProgrammingError(f"scroll mode {mode!r} is neither 'relative' nor 'absolute'")
        name = quote_identifier(self.name)
        self._connection._wait(self._core.submit(f"MOVE {mode.upper()} {value} FROM {name}", None), None)
        self._rows = []
        self._position = 0
        self._exhausted = False

    def _forget(self) -> None:
        self._declared = False
        if not self._core.wire.closed and (self.withhold or self._core.wire.last_status() == 2):
            self._connection._wait(self._core.submit(f"CLOSE {quote_identifier(self.name)}", None), None)

    def close(self) -> None:
        """Closes the server's cursor."""
        if self._declared and not self._closed:
            self._forget()
        super().close()
