"""LOAD DATA LOCAL, blocking."""

# Made by tools/async_to_sync.py of aio/mysql/loading.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import IO, TYPE_CHECKING, Any, TypeVar

from .. import defaults
from .._native import ArrowSource, Columns, Result, Transfer
from .._shared.arguments import checked_names, checked_rows
from .._shared.composing import composed_text
from .._shared.connection import BlockingConnection
from .._shared.core import ExclusiveUse
from .._shared.limits import Limit, afresh, until
from .._shared.modes import Duplicates
from ..types import ParameterRows
from . import load
from .connection_base import MySqlBase
from .core import MySqlCore

if TYPE_CHECKING:
    from ..sql import Statement

R = TypeVar("R")
T = TypeVar("T")


class Loading(MySqlBase[R], BlockingConnection[R]):
    """A connection that loads rows and files by LOAD DATA LOCAL."""

    _core: MySqlCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def load_rows(
        self,
        table: str | Sequence[str],
        rows: ParameterRows | Iterable[Any],
        *,
        columns: Sequence[str] | None = None,
        duplicates: Duplicates = "error",
        timeout: float | None = None,
    ) -> int:
        """Loads rows into a table by LOAD DATA LOCAL: all rows, or none. Needs a connection with ``local_infile=True``.

        The server only warns of values that it would refuse in an INSERT. Here the first warning rolls the load back
        and is raised, with the number of its row (``error.row``) if the server reports it.

        Args:
            table: its name as written in SQL, or a tuple of schema and name.
            rows: any iterable of rows, or Arrow data.
            columns: names of the columns; None for those that Arrow data has, or all. Columns of Arrow
                data are paired with them by their names, and by position where they have none of these names.
            duplicates: for rows whose key exists: ``error``, ``ignore`` (skips the row) or ``replace`` (replaces the
                existing one).
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The number of rows.

        Raises:
            ProgrammingError: the connection was opened without ``local_infile``, or ``duplicates`` is not one of these.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        core = self._core
        limit = until(timeout)
        load.check_allowed(core)
        given = ArrowSource.of(rows, json=True) or checked_rows(rows, "rows")
        if isinstance(given, ArrowSource):
            if columns:
                given.pair(checked_names(columns) or [])
            else:
                columns = given.column_names
        targets = self._run(load.columns_of(core, table, columns), limit)
        sql = load.statement(table, targets, duplicates)

        def send(ticket: Any) -> None:
            last: Any = given
            sent = 0
            self._send_rows(ticket, last, targets, sent, limit)

        result = self._load(sql, send, duplicates, limit)
        return result.rowcount

    def load_data(
        self, sql: Statement, source: bytes | IO[bytes] | IO[str] | Iterable[bytes], *, timeout: float | None = None
    ) -> int:
        """Executes a LOAD DATA LOCAL INFILE statement with data of the program in place of the file. Needs a connection
        with ``local_infile=True``.

        An error or warning rolls the load back, as with :meth:`load_rows`. No file is opened by its name, whichever the
        server requests.

        Args:
            sql: the statement; the name of the file is ignored.
            source: bytes, an open file, or an iterable of bytes.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            The number of rows.

        Raises:
            ProgrammingError: the connection was opened without ``local_infile``.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        limit = until(timeout)
        load.check_allowed(self._core)
        wire = self._core.wire
        sql = composed_text(wire, sql)

        def send(ticket: Any) -> None:
            for piece in load.pieces(source, defaults.COPY_BLOCK):
                if not wire.infile_data(ticket, piece):
                    return
                self._push(defaults.COPY_BLOCK, limit)

        result = self._load(sql, send, "error", limit)
        return result.rowcount

    def _send_rows(self, ticket: Any, rows: Any, targets: Columns, sent: int, limit: Limit) -> int:
        """Sends rows after the first ``sent`` ones; returns how many these are with them."""
        wire = self._core.wire
        given: Any = rows if isinstance(rows, ArrowSource) else iter(rows)
        ended = False
        while not ended:
            count, ended = wire.infile_rows(ticket, given, targets, sent)
            sent += count
            self._push(defaults.COPY_BLOCK, limit)
        return sent

    def _load(self, sql: str, send: Callable[[Any], Any], duplicates: Duplicates, limit: Limit) -> Result:
        guard = load.Guard(self._core)
        try:
            return self._guarded(guard, sql, send, duplicates, limit)
        finally:
            if not guard.left:
                # An interrupt while it was ended: the server may wait for data, others for the connection.
                self._core.wire.close()

    def _guarded(
        self, guard: load.Guard, sql: str, send: Callable[[Any], Any], duplicates: Duplicates, limit: Limit
    ) -> Result:
        wire = self._core.wire
        opened = ExclusiveUse()
        exclusive = self._exclusive_guard(opened, load.LOADING)
        try:
            self._run(guard.enter(), limit)
            ticket = guard.load(sql)
            try:
                while wire.infile_state(ticket) == Transfer.WAITING:
                    self._wait(wire.step(ticket), limit)
                if wire.infile_state(ticket) == Transfer.STREAMING:
                    wire.occupy(exclusive)
                    send(ticket)
            finally:
                try:
                    opened.ended = True
                    wire.vacate(exclusive)
                    # What was waited for is a step of the request, not the request.
                    if wire.infile_state(ticket) == Transfer.WAITING:
                        self._abandon(ticket)
                finally:
                    # The protocol has no other way to end it than the end of the file.
                    wire.infile_end(ticket)
            results: list[Result] = self._wait(ticket, limit)
            self._run(load.check(guard, results[-1], duplicates), limit)
        except Exception:
            self._run(guard.leave(True), afresh(limit))
            raise
        except BaseException as interrupt:
            # The load must be undone all the same, but what was interrupted does not wait for it.
            self._leave_later(guard.leave(True), interrupt)
            raise
        self._run(guard.leave(False), limit)
        return results[-1]
