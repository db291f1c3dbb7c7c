"""The blocking connection to MySQL and MariaDB."""

from __future__ import annotations

import time
from collections.abc import Iterable
from typing import Any, TypeVar

from .._connection import BlockingConnection
from .._cursor import BlockingCursor
from .._cursor_base import Params
from .._native import Wire
from .._opening import open_wire
from ..errors import InterfaceError, OperationalError
from ..rows import RowFactory
from .core import MySqlCore

R = TypeVar("R")
T = TypeVar("T")


class Cursor(BlockingCursor[R]):
    """Executes statements and holds their results (PEP 249).

    Parameters are written ``%s``, ``%(name)s`` or ``?``. A result is received whole.
    """

    @property
    def connection(self) -> Connection[Any]:
        """The connection it belongs to."""
        return self._connection  # type: ignore[no-any-return]

    @property
    def warning_count(self) -> int:
        """How many warnings SHOW WARNINGS would list of the last statement."""
        return 0 if self._result is None else self._result.warnings


class Connection(BlockingConnection[R]):
    """A connection to MySQL or MariaDB. Threads may share it: their calls queue up.

    As a context manager it commits at the end of the block, rolls back when the block raises, and closes.
    """

    _core: MySqlCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def _cursor(self, factory: RowFactory[T]) -> Cursor[T]:
        return Cursor(self, factory)

    def cursor(self, *, row_factory: RowFactory[Any] | None = None) -> Cursor[Any]:
        """A new cursor."""
        if self._core.wire.closed:
            raise InterfaceError("the connection is closed")
        return Cursor(self, row_factory or self.row_factory)

    def execute(self, sql: str, params: Params = None, *, timeout: float | None = None) -> Cursor[R]:
        """Executes one statement on a new cursor, and gives the cursor."""
        return Cursor(self, self.row_factory).execute(sql, params, timeout=timeout)

    def executemany(self, sql: str, rows: Iterable[Any], *, returning: bool = False) -> Cursor[R]:
        """Executes a batch on a new cursor, all rows or none, and gives the cursor."""
        return Cursor(self, self.row_factory).executemany(sql, rows, returning=returning)

    def executescript(self, sql: str) -> Cursor[R]:
        """Executes text as it is, without parameters: one statement, or several separated by semicolons where
        ``multi_statements`` was set. Each result is a set of the cursor that this gives."""
        cursor = Cursor(self, self.row_factory)
        self._script(cursor, sql)
        return cursor

    def fetchmany(self, sql: str, rows: Iterable[Any]) -> list[R]:
        """The rows of a query for every row of parameters, one after the other in one list; pipelined."""
        cursor = Cursor(self, self.row_factory)
        cursor._take(self._wait(self._core.submit_flat(sql, rows), None))
        return cursor._all()

    def ping(self) -> None:
        """A round trip that does nothing else (COM_PING). Raises OperationalError when the server is gone."""
        self._wait(self._core.round_trip(), None)

    @property
    def server_version(self) -> str:
        """The server's version, as it words it."""
        return str(self._core.wire.my_session()["server_version"])

    @property
    def thread_id(self) -> int:
        """The connection's number, which KILL takes."""
        return self._core.thread_id

    def _send_cancel(self, timeout: float) -> None:
        core = self._core
        deadline = time.monotonic() + timeout
        wire = open_wire(Wire(core.wire_options), timeout)
        try:
            kill = wire.my_query(f"KILL QUERY {core.thread_id}")
            wire.wait(kill, max(0.0, deadline - time.monotonic()))
        except TimeoutError:
            raise OperationalError(f"the cancel request was not answered within {timeout} s") from None
        finally:
            wire.close()
