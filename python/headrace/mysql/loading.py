"""LOAD DATA LOCAL, blocking."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import IO, Any, TypeVar

from .. import defaults
from .._native import Result, Transfer
from .._shared.connection import BlockingConnection
from .._shared.core import Gate
from .._shared.limits import Limit, afresh, until
from . import load
from .connection_base import MySqlBase
from .core import MySqlCore

R = TypeVar("R")
T = TypeVar("T")


class Loading(MySqlBase[R], BlockingConnection[R]):
    """A connection that loads rows and files by LOAD DATA LOCAL."""

    _core: MySqlCore  # pyright: ignore[reportIncompatibleVariableOverride]

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
