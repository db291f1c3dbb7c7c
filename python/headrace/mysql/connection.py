"""The blocking connection to MySQL and MariaDB."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import islice
from typing import IO, Any, TypeVar

from .. import defaults
from .._native import MySqlWire, Result, Transfer
from .._shared.connection import BlockingConnection
from .._shared.core import Gate
from .._shared.cursor_base import Params
from .._shared.limits import Limit, afresh, overdue, until
from .._shared.opening import open_wire, plain_password
from ..errors import ConnectionClosed, Error, OperationalError, ProgrammingError
from ..rows import RowFactory
from . import load
from .connection_base import MySqlBase
from .core import STREAMING, MySqlCore, ServerWarning, first_of
from .cursor import Cursor

R = TypeVar("R")
T = TypeVar("T")


class Connection(MySqlBase[R], BlockingConnection[R]):
    """A connection to MySQL or MariaDB. Threads may share it: their calls queue up.

    As a context manager it commits at the end of the block, rolls back when the block raises, and closes.
    """

    _core: MySqlCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def _cursor(self, factory: RowFactory[T]) -> Cursor[T]:
        return Cursor(self, factory)

    def cursor(self, *, row_factory: RowFactory[Any] | None = None) -> Cursor[Any]:
        """A new cursor."""
        if self._core.wire.closed:
            raise ConnectionClosed("the connection is closed")
        return Cursor(self, row_factory or self.row_factory)

    def execute(self, sql: str, params: Params = None, *, timeout: float | None = None) -> Cursor[R]:
        """Executes one statement on a new cursor, and gives the cursor."""
        return Cursor(self, self.row_factory).execute(sql, params, timeout=timeout)

    def executemany(
        self, sql: str, rows: Iterable[Any], *, returning: bool = False, timeout: float | None = None
    ) -> Cursor[R]:
        """Executes a batch on a new cursor, all rows or none, and gives the cursor."""
        return Cursor(self, self.row_factory).executemany(sql, rows, returning=returning, timeout=timeout)

    def executescript(self, sql: str, *, timeout: float | None = None) -> Cursor[R]:
        """Executes text as it is, without parameters: one statement, or several separated by semicolons where
        ``multi_statements`` was set. Each result is a set of the cursor that this gives."""
        cursor = Cursor(self, self.row_factory)
        self._script(cursor, sql, timeout)
        return cursor

    def fetchmany(self, sql: str, rows: Iterable[Any], *, timeout: float | None = None) -> list[R]:
        """The rows of a query for every row of parameters, one after the other in one list; pipelined."""
        cursor = Cursor(self, self.row_factory)
        cursor._take(self._wait(self._core.submit_flat(sql, rows), timeout))
        return cursor._all()

    # streaming

    def stream(
        self,
        sql: str,
        params: Params = None,
        *,
        fetch_size: int = defaults.FETCH_SIZE,
        on_server: bool = False,
        timeout: float | None = None,
    ) -> Iterator[R]:
        """The rows of a query one by one, in bounded memory, while they come.

        The connection is occupied until the stream was read to its end or closed: anything else that its thread
        executes on it raises InterfaceError, and what other threads execute waits. With ``on_server`` the server keeps
        the result, and gives ``fetch_size`` rows at a time: other statements can then run in between, at the price of
        the server's work.
        """
        gate = Gate(self._core, STREAMING)
        with contextlib.closing(self._read(sql, params, fetch_size, on_server, timeout, gate)) as blocks:
            for block in blocks:
                rows = iter(block)
                yield from islice(rows, 1)
                # Another thread may go on with it. A look after every row would cost more than the row.
                gate.pass_on()
                yield from rows

    def stream_blocks(
        self,
        sql: str,
        params: Params = None,
        *,
        fetch_size: int = defaults.FETCH_SIZE,
        on_server: bool = False,
        timeout: float | None = None,
    ) -> Generator[list[R]]:
        """The rows of a query in lists of ``fetch_size`` (the last one may be shorter): :meth:`stream` without the cost
        of a step per row."""
        return self._read(sql, params, fetch_size, on_server, timeout)

    def _read(
        self, sql: str, params: Params, size: int, on_server: bool, timeout: float | None, gate: Gate | None = None
    ) -> Generator[list[R]]:
        if size < 1:
            raise ProgrammingError("fetch_size must be at least 1")
        if on_server:
            return self._cursor_blocks(sql, params, size, timeout)
        return self._blocks(sql, params, size, timeout, gate)

    def _blocks(
        self, sql: str, params: Params, size: int, timeout: float | None, gate: Gate | None
    ) -> Generator[list[R]]:
        core, wire = self._core, self._core.wire
        ticket = wire.execute(sql, params, text=core.text, block=size)
        gate = gate or Gate(core, STREAMING)
        wire.occupy(gate)
        try:
            while (taken := self._next_block(ticket, timeout)) is not None:
                columns, rows = taken
                yield self._made(columns, rows)
                # Another thread may go on with it.
                gate.pass_on()
            result = self._wait(ticket, timeout)
            wire.vacate(gate)
            if result.columns is None:
                raise ProgrammingError("the statement returns no rows")
            while result.rows:
                # What came with the end may be more than one block.
                block = result.rows[:size]
                del result.rows[:size]
                yield self._made(result.columns, block)
        finally:
            wire.vacate(gate)
            if not wire.closed and wire.request_id(ticket) is not None:
                self._abandon(ticket)

    def _cursor_blocks(self, sql: str, params: Params, size: int, timeout: float | None) -> Generator[list[R]]:
        core, wire = self._core, self._core.wire
        ticket, number = core.open_cursor(sql, params, size)
        result = first_of(self._wait(ticket, timeout))
        if result.columns is None:
            raise ProgrammingError("the statement returns no rows")
        suspended, ahead = result.suspended, None
        try:
            while True:
                ahead = wire.fetch(number, size) if suspended else None
                if ahead is not None:
                    self._push(0, timeout)
                if result.rows:
                    yield self._made(result.columns, result.rows)
                if ahead is None:
                    return
                result = self._wait(ahead, timeout)
                suspended = result.suspended
        finally:
            if suspended and not wire.closed:
                if ahead is not None and not ahead.done():
                    wire.discard(ahead)
                try:
                    self._wait(wire.close_cursor(number), timeout)
                except Error:
                    # A cursor that was lost with its connection is closed.
                    if not wire.closed:
                        raise

    def _next_block(self, ticket: Any, timeout: float | None) -> Any:
        core = self._core
        try:
            return core.wire.next_block(ticket, core.seconds(timeout))
        except TimeoutError:
            raise overdue(core.command_timeout if timeout is None else timeout) from None

    # LOAD DATA LOCAL

    def load_rows(
        self,
        table: str | Sequence[str],
        rows: Iterable[Any],
        *,
        columns: Sequence[str] | None = None,
        duplicates: str = "error",
        timeout: float | None = None,
    ) -> int:
        """Loads rows into a table by LOAD DATA LOCAL, all or none, and gives their number. The connection must have
        been made with ``local_infile=True``.

        The server only warns of what it would refuse in an INSERT; here the first warning undoes the load and is
        raised, with its row (``error.row``) where the server names it. A row with a key that is there already is an
        error, skipped (``duplicates="ignore"``) or put in the other's place (``"replace"``)."""
        core, wire = self._core, self._core.wire
        limit = until(timeout)
        load.check_allowed(core)
        targets = self._run(load.columns_of(core, table, columns), limit)
        sql = load.statement(table, targets, duplicates)

        def send(ticket: Any) -> None:
            iterator, sent, ended = iter(rows), 0, False
            while not ended:
                count, ended = wire.infile_rows(ticket, iterator, targets, sent)
                sent += count
                self._push(defaults.COPY_BLOCK, limit)

        return self._load(sql, send, duplicates, limit).rowcount

    def load_data(
        self, sql: str, source: bytes | IO[bytes] | IO[str] | Iterable[bytes], *, timeout: float | None = None
    ) -> int:
        """Executes a LOAD DATA LOCAL INFILE of your own with ``source`` in place of the file, whatever its name, and
        gives the number of rows. Nothing else is ever read. An error or warning undoes it: see :meth:`load_rows`."""
        limit = until(timeout)
        load.check_allowed(self._core)
        wire = self._core.wire

        def send(ticket: Any) -> None:
            for piece in load.pieces(source, defaults.COPY_BLOCK):
                if not wire.infile_data(ticket, piece):
                    return
                self._push(defaults.COPY_BLOCK, limit)

        return self._load(sql, send, "error", limit).rowcount

    def _load(self, sql: str, send: Callable[[Any], None], duplicates: str, limit: Limit) -> Result:
        core, wire = self._core, self._core.wire
        guard, gate = load.Guard(core), Gate(core, load.LOADING)
        try:
            self._run(guard.enter(), limit)
            ticket = guard.query(sql, infile=True)
            wire.occupy(gate)
            try:
                while wire.infile_state(ticket) == Transfer.WAITING:
                    self._wait(wire.step(ticket), limit)
                if wire.infile_state(ticket) == Transfer.STREAMING:
                    send(ticket)
            finally:
                wire.vacate(gate)
                # What was waited for is a step of the request, not the request.
                if wire.infile_state(ticket) == Transfer.WAITING:
                    self._abandon(ticket)
                # The protocol has no other way to end it than the end of the file.
                wire.infile_end(ticket)
            results: list[Result] = self._wait(ticket, limit)
            self._run(load.check(guard, results[-1], duplicates), limit)
        except Exception:
            self._run(guard.leave(True), afresh(limit))
            raise
        except BaseException as interrupt:
            # It goes on: whoever waits next sends the end.
            self._leave_later(guard.leave(True), interrupt)
            raise
        self._run(guard.leave(False), limit)
        return results[-1]

    # the session

    @property
    def isolation_level(self) -> str | None:
        """Isolation level of transactions to come (``read committed`` ...); ``None`` is the server's default. Changed
        only between transactions."""
        return self._core.isolation_level

    @isolation_level.setter
    def isolation_level(self, value: str | None) -> None:
        self._run(self._core.set_isolation_level(value))

    @property
    def read_only(self) -> bool | None:
        """Whether transactions to come are read-only; ``None`` is the server's default. Changed only between
        transactions."""
        return self._core.read_only

    @read_only.setter
    def read_only(self, value: bool | None) -> None:
        self._run(self._core.set_read_only(value))

    def show_warnings(self, *, timeout: float | None = None) -> list[ServerWarning]:
        """The warnings of the last statement: their level, the server's code and its words."""
        results = self._wait(self._core.wire.query("SHOW WARNINGS"), timeout)
        return [ServerWarning(*row) for row in results[0].rows]

    def select_db(self, database: str, *, timeout: float | None = None) -> None:
        """Changes the current database (COM_INIT_DB)."""
        self._wait(self._core.wire.select_db(database), timeout)

    def ping(self, *, timeout: float | None = None) -> None:
        """A round trip that does nothing else (COM_PING). Raises OperationalError when the server is gone."""
        self._wait(self._core.round_trip(), timeout)

    def _send_cancel(self, timeout: float) -> None:
        core = self._core
        deadline = time.monotonic() + timeout
        wire = open_wire(MySqlWire(core.cancel_options(plain_password(core.options.password))), timeout)
        answered = False
        try:
            kill = wire.query(core.wire.cancel_statement())
            wire.wait(kill, max(0.0, deadline - time.monotonic()))
            answered = True
        except TimeoutError:
            raise OperationalError(f"the cancel request was not answered within {timeout} s") from None
        except Error:
            answered = not wire.closed
            raise
        finally:
            wire.close()
            if not answered:
                core.end_in_doubt()
