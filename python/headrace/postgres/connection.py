"""The blocking connection to PostgreSQL."""

from __future__ import annotations

import contextlib
import enum
import threading
import time
import weakref
from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from itertools import islice
from typing import IO, Any, TypeVar, overload

from .. import defaults, errors
from .._native import PostgresWire, Result, Transfer
from .._shared.connection import BlockingConnection
from .._shared.core import Gate
from .._shared.cursor_base import Params
from ..errors import ConnectionClosed, OperationalError
from ..rows import RowFactory, tuple_row
from ..types import Notify, Xid
from .connection_base import PostgresBase
from .core import ConnectionCore, quote_identifier
from .cursor import Cursor, ServerCursor
from .streams import BUSY, Reading

R = TypeVar("R")
T = TypeVar("T")


class Connection(PostgresBase[R], BlockingConnection[R]):
    """A connection to PostgreSQL. Threads may share it: their calls queue up.

    As a context manager it commits at the end of the block, rolls back when the block raises, and closes.
    """

    _core: ConnectionCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def _cursor(self, factory: RowFactory[T]) -> Cursor[T]:
        return Cursor(self, factory)

    def _abandon_copy(self, ticket: Any, reason: str) -> None:
        """Ends a COPY: with ``reason`` as the client's failure where the server reads, by cancelling it otherwise."""
        wire = self._core.wire
        if wire.closed or wire.copy_state(ticket) != Transfer.STREAMING:
            return self._abandon(ticket)
        try:
            wire.copy_end(ticket, reason)
            with contextlib.suppress(errors.DatabaseError):
                wire.wait(ticket, defaults.CANCEL_TIMEOUT)
        except BaseException:
            # Out of step, or a second interrupt: only a closed connection is safe now.
            wire.close()

    # executing

    @overload
    def cursor(self) -> Cursor[R]: ...
    @overload
    def cursor(self, *, row_factory: RowFactory[T]) -> Cursor[T]: ...
    @overload
    def cursor(
        self,
        name: str,
        *,
        row_factory: RowFactory[Any] | None = None,
        scrollable: bool | None = None,
        withhold: bool = False,
    ) -> ServerCursor[Any]: ...
    def cursor(
        self,
        name: str | None = None,
        *,
        row_factory: RowFactory[Any] | None = None,
        scrollable: bool | None = None,
        withhold: bool = False,
    ) -> Cursor[Any]:
        """A new cursor; with a ``name`` one that lives on the server and is fetched in blocks."""
        if self._core.wire.closed:
            raise ConnectionClosed("the connection is closed")
        factory = row_factory or self.row_factory
        if name is not None:
            return ServerCursor(self, factory, name, scrollable, withhold)
        return Cursor(self, factory)

    def execute(self, sql: str, params: Params = None, *, timeout: float | None = None) -> Cursor[R]:
        """Executes one statement on a new cursor, and gives the cursor."""
        return Cursor(self, self.row_factory).execute(sql, params, timeout=timeout)

    def executemany(
        self, sql: str, rows: Iterable[Any], *, returning: bool = False, timeout: float | None = None
    ) -> Cursor[R]:
        """Executes a batch on a new cursor, and gives the cursor: see :meth:`Cursor.executemany`."""
        return Cursor(self, self.row_factory).executemany(sql, rows, returning=returning, timeout=timeout)

    def executescript(self, sql: str, *, timeout: float | None = None) -> Cursor[R]:
        """Executes statements separated by semicolons, without parameters, by the simple protocol. Each result
        is a set of the cursor that this gives."""
        cursor = Cursor(self, self.row_factory)
        self._script(cursor, sql, timeout)
        return cursor

    def fetchmany(self, sql: str, rows: Iterable[Any], *, timeout: float | None = None) -> list[R]:
        """The rows of a query for every row of parameters, one after the other in one list; pipelined."""
        cursor = Cursor(self, self.row_factory)
        cursor._set(self._wait(self._core.submit_flat(sql, rows), timeout))
        return cursor._all()

    def stream(
        self, sql: str, params: Params = None, *, fetch_size: int = defaults.FETCH_SIZE, timeout: float | None = None
    ) -> Iterator[R]:
        """The rows of a query one by one, in bounded memory: ``fetch_size`` rows at a time, the next block on its
        way while this one is used.

        The stream reads in the transaction that is open. With autocommit off it begins one, as any statement does,
        which is left to :meth:`commit` and :meth:`rollback`. With autocommit on it has a transaction of its own, which
        ends with it; until then other statements of the thread that reads are refused, and those of other threads
        wait.
        """
        reading = Reading(self._core, sql, params, fetch_size)
        return self._watched(reading, self._stream_rows(reading, timeout))

    def stream_blocks(
        self, sql: str, params: Params = None, *, fetch_size: int = defaults.FETCH_SIZE, timeout: float | None = None
    ) -> Generator[list[R]]:
        """The rows of a query in lists of ``fetch_size`` (the last one may be shorter): :meth:`stream` without the cost
        of a step per row."""
        reading = Reading(self._core, sql, params, fetch_size)
        return self._watched(reading, self._stream(reading, timeout))

    def _watched(self, reading: Reading, rows: Generator[T]) -> Generator[T]:
        """Notes when the generator is collected: nobody is there then to be told an error."""

        def gone(_: Any) -> None:
            reading.abandoned = True

        reading.watch = weakref.ref(rows, gone)
        return rows

    def _stream_rows(self, reading: Reading, timeout: float | None) -> Generator[R]:
        gate = Gate(self._core, BUSY)
        with contextlib.closing(self._stream(reading, timeout, gate)) as blocks:
            for block in blocks:
                rows = iter(block)
                yield from islice(rows, 1)
                # Another thread may go on with it. A look after every row would cost more than the row.
                gate.pass_on()
                yield from rows

    def _stream(self, reading: Reading, timeout: float | None, gate: Gate | None = None) -> Generator[list[R]]:
        gate = gate or Gate(self._core, BUSY)
        try:
            result: Result = self._wait(reading.begin(), timeout)
            reading.first(result, gate)
            assert result.columns is not None, "first() has looked"
            make = None if self.row_factory is tuple_row else self.row_factory(result.columns.names)
            while True:
                ahead = reading.ahead(result)
                if ahead is not None:
                    self._push(0, timeout)
                rows: Any = result.rows
                if rows:
                    yield rows if make is None else list(map(make, rows))
                    # Another thread may go on with it.
                    gate.pass_on()
                del rows
                if ahead is None:
                    return
                reading.check_open()
                result = reading.check(self._wait(ahead, timeout))
        finally:
            self._end_reading(reading, timeout)

    def _end_reading(self, reading: Reading, timeout: float | None) -> None:
        try:
            ended = reading.end()
            if ended is not None:
                self._wait(ended, timeout)
        except errors.Error:
            if not (reading.ended or self.closed):
                # Collected in the middle of this thread's own request: it would keep the connection for ever.
                threading.Thread(target=self._end_reading, args=(reading, timeout), daemon=True).start()
            # What is left of a portal in somebody else's transaction is lost with the connection.
            if reading.own and not reading.abandoned:
                raise

    # transactions

    @property
    def isolation_level(self) -> str | None:
        """Isolation level of transactions to come; ``None`` is the server's default."""
        return self._core.isolation_level

    @isolation_level.setter
    def isolation_level(self, value: str | None) -> None:
        self._core.set_mode("isolation_level", value)

    @property
    def read_only(self) -> bool | None:
        """Whether transactions to come are read-only; ``None`` is the server's default."""
        return self._core.read_only

    @read_only.setter
    def read_only(self, value: bool | None) -> None:
        self._core.set_mode("read_only", value)

    @property
    def deferrable(self) -> bool | None:
        """Whether transactions to come are deferrable; ``None`` is the server's default."""
        return self._core.deferrable

    @deferrable.setter
    def deferrable(self, value: bool | None) -> None:
        self._core.set_mode("deferrable", value)

    def tpc_begin(self, xid: Xid | str, *, timeout: float | None = None) -> None:
        """Begins a two-phase transaction."""
        self._run(self._core.tpc_begin(xid), timeout)

    def tpc_prepare(self, *, timeout: float | None = None) -> None:
        """First phase."""
        self._run(self._core.tpc_prepare(), timeout)

    def tpc_commit(self, xid: Xid | str | None = None, *, timeout: float | None = None) -> None:
        """Second phase: commits."""
        self._run(self._core.tpc_finish("COMMIT", xid), timeout)

    def tpc_rollback(self, xid: Xid | str | None = None, *, timeout: float | None = None) -> None:
        """Second phase: rolls back."""
        self._run(self._core.tpc_finish("ROLLBACK", xid), timeout)

    def tpc_recover(self, *, timeout: float | None = None) -> list[Xid]:
        """The prepared transactions of this database."""
        return self._run(self._core.tpc_recover(), timeout)

    # COPY

    def copy_in(
        self,
        table: str | Sequence[str],
        source: Iterable[Sequence[Any]] | bytes | IO[bytes] | IO[str],
        *,
        columns: Sequence[str] | None = None,
        format: str = "binary",
        timeout: float | None = None,
    ) -> int:
        """Copies rows, bytes or a file into a table, in blocks, and gives the number of rows.

        Rows travel in the binary format. Bytes and files must be in ``format``: ``binary``, ``text`` or ``csv``.
        """
        from .copy import copy_in

        return copy_in(self, table, source, columns, format, timeout)

    def copy_out(
        self,
        source: str | Sequence[str],
        *,
        columns: Sequence[str] | None = None,
        format: str = "binary",
        to: IO[bytes] | None = None,
        timeout: float | None = None,
    ) -> Any:
        """Copies a table or a query out: rows for ``binary``, blocks of bytes for ``text`` and ``csv``. With ``to``
        the bytes are written there, and the number of rows is returned."""
        from .copy import copy_out

        return copy_out(self, source, columns, format, to, timeout)

    # what comes unasked

    def listen(self, channel: str, *, timeout: float | None = None) -> None:
        """Subscribes to a channel."""
        self.execute(f"LISTEN {quote_identifier(channel)}", timeout=timeout)

    def unlisten(self, channel: str | None = None, *, timeout: float | None = None) -> None:
        """Ends a subscription, or all."""
        self.execute(f"UNLISTEN {'*' if channel is None else quote_identifier(channel)}", timeout=timeout)

    def notifies(self, timeout: float | None = None, stop_after: int | None = None) -> Iterator[Notify]:
        """Notifications as they come. Ends after ``timeout`` seconds without one, or after ``stop_after``."""
        count = 0
        while stop_after is None or count < stop_after:
            notify = self._core.notification()
            if notify is None:
                wire = self._core.wire
                waiting = wire.notified()
                try:
                    wire.wait(waiting, timeout)
                except TimeoutError:
                    return
                finally:
                    wire.forget_notified(waiting)
                continue
            count += 1
            yield notify

    # types of the database

    def register_composite(self, name: str, factory: Callable[..., Any], *, timeout: float | None = None) -> None:
        """Values of the composite type ``name``, which is written as in SQL, become ``factory(*attributes)``: a named
        tuple, a dataclass. Without this they are tuples.

        Raises UndefinedObject for an unknown type and ProgrammingError for one that is no composite.
        """
        self._run(self._adapters.composite(name, factory), timeout)

    def register_enum(self, name: str, kind: type[enum.Enum], *, timeout: float | None = None) -> None:
        """Values of the enumeration ``name``, which is written as in SQL, become members of ``kind``, and members are
        sent as labels. A label belongs to the member with that value or, where not all labels are values, to the one
        with that name. Without this they are text.

        Raises UndefinedObject for an unknown type and ProgrammingError for one that is no enumeration, or where a label
        has no member.
        """
        self._run(self._adapters.enumeration(name, kind), timeout)

    # ending

    def _send_cancel(self, timeout: float) -> None:
        core = self._core
        wire = PostgresWire({**core.wire_options, "cancel": core.wire.cancel_message()})
        deadline = time.monotonic() + timeout
        waits = False
        try:
            wire.open(timeout)
            wire.wait(wire.ready(), max(0.0, deadline - time.monotonic()))
            # The server closes the connection once it has sent the signal.
            waits = True
            wire.wait(wire.notified(), max(0.0, deadline - time.monotonic()))
        except ConnectionClosed:
            waits = False
        except TimeoutError:
            raise OperationalError(f"the cancel request was not answered within {timeout} s") from None
        finally:
            wire.close()
            if waits:
                core.end_in_doubt()
