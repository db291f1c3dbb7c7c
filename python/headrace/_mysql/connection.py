"""The blocking connection to MySQL and MariaDB."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Generator, Iterable, Iterator
from typing import Any, TypeVar

from .. import defaults
from .._connection import BlockingConnection
from .._cursor import BlockingCursor
from .._cursor_base import Params
from .._native import PgResult, Wire
from .._opening import open_wire
from ..errors import InterfaceError, OperationalError
from ..rows import RowFactory
from .core import MySqlCore, checked_fetch_size, row_maker

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

    def stream(self, sql: str, params: Params = None, *, fetch_size: int = defaults.FETCH_SIZE) -> Iterator[R]:
        """The rows of a query one by one, in bounded memory: see :meth:`stream_blocks`."""
        with contextlib.closing(self.stream_blocks(sql, params, fetch_size=fetch_size)) as blocks:
            for block in blocks:
                yield from block

    def stream_blocks(
        self, sql: str, params: Params = None, *, fetch_size: int = defaults.FETCH_SIZE
    ) -> Generator[list[R]]:
        """The rows of a query in lists of ``fetch_size`` at most, from a cursor on the server; the next block is on its
        way while this one is used. Other statements may be executed meanwhile."""
        wire = self._core.wire
        first = wire.my_execute(sql, params, cursor=checked_fetch_size(fetch_size))
        number: Any = wire.my_request_id(first)
        result: PgResult = self._wait(first, None)
        make = row_maker(result, self.row_factory)
        ahead: Any = None
        try:
            while True:
                ahead = wire.my_fetch(number, fetch_size) if result.suspended else None
                if ahead is not None:
                    wire.push(0)
                rows: Any = result.rows
                if rows:
                    yield rows if make is None else list(map(make, rows))
                del rows
                if ahead is None:
                    return
                result = self._wait(ahead, None)
        finally:
            if ahead is not None and not wire.closed:
                if not ahead.done():
                    wire.discard(ahead)
                self._wait(wire.my_close_cursor(number), None)

    def ping(self) -> None:
        """A round trip that does nothing else (COM_PING). Raises OperationalError when the server is gone."""
        self._wait(self._core.round_trip(), None)

    @property
    def isolation_level(self) -> str | None:
        """Isolation level of transactions to come; ``None`` is the server's default. Changed only between
        transactions."""
        return self._core.isolation_level

    @isolation_level.setter
    def isolation_level(self, value: str | None) -> None:
        self._run(self._core.set_isolation_level(value))

    @property
    def read_only(self) -> bool | None:
        """Whether transactions to come are read-only; ``None`` is the server's default."""
        return self._core.read_only

    @read_only.setter
    def read_only(self, value: bool | None) -> None:
        self._run(self._core.set_read_only(value))

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
