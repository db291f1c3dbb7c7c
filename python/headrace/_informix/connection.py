"""The blocking connection to Informix."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any, TypeVar

from .. import errors
from .._connection import BlockingConnection
from .._cursor import BlockingCursor
from .._cursor_base import Params
from ..errors import InterfaceError
from ..rows import RowFactory
from .core import InformixCore

R = TypeVar("R")
T = TypeVar("T")


class Cursor(BlockingCursor[R]):
    """Executes statements and holds their results (PEP 249). Parameters are written ``?`` or ``:1``."""

    @property
    def connection(self) -> Connection[Any]:
        """The connection it belongs to."""
        return self._connection  # type: ignore[no-any-return]


class Connection(BlockingConnection[R]):
    """A connection to Informix. Threads may share it: their calls queue up."""

    _core: InformixCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def _cursor(self, factory: RowFactory[T]) -> Cursor[T]:
        return Cursor(self, factory)

    # executing

    def cursor(self, *, row_factory: RowFactory[Any] | None = None) -> Cursor[Any]:
        """A new cursor."""
        if self._core.wire.closed:
            raise InterfaceError("the connection is closed")
        return Cursor(self, row_factory or self.row_factory)

    def execute(self, sql: str, params: Params = None, *, timeout: float | None = None) -> Cursor[R]:
        """Executes one statement on a new cursor, and gives the cursor."""
        return Cursor(self, self.row_factory).execute(sql, params, timeout=timeout)

    def executemany(self, sql: str, rows: Iterable[Any]) -> Cursor[R]:
        """Executes a batch on a new cursor, all rows or none, and gives the cursor."""
        return Cursor(self, self.row_factory).executemany(sql, rows)

    def fetchmany(self, sql: str, rows: Iterable[Any]) -> list[R]:
        """The rows of a query for every row of parameters, one after the other in one list; pipelined."""
        cursor, out = Cursor(self, self.row_factory), list[R]()
        for ticket in [self._core.submit(sql, row) for row in rows]:
            cursor._take(self._wait(ticket, None))
            out += cursor._all()
        return out

    # the session

    @property
    def server_version(self) -> str:
        """The server's banner. What a server can do is negotiated; nothing depends on this text."""
        return self._core.wire.sqli_session()[0]

    @property
    def encoding(self) -> str:
        """The code set of the database, in which text travels."""
        return self._core.wire.sqli_session()[2]

    @property
    def logging(self) -> str:
        """How the database treats transactions: ``none``, ``logged`` or ``ansi``."""
        return self._core.wire.sqli_session()[3]

    def ping(self) -> None:
        """A round trip that does nothing else (SQ_VERSION). Raises OperationalError when the server is gone."""
        self._wait(self._core.wire.sqli_ping(), None)

    def _send_cancel(self, timeout: float) -> None:
        if not self._core.send_urgent():
            raise no_interrupt()


def no_interrupt() -> errors.NotSupportedError:
    """The error where no urgent byte can be sent: TLS cannot carry one."""
    return errors.NotSupportedError("a statement cannot be interrupted over TLS; use a timeout, or close()")
