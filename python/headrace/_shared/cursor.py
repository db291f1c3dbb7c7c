"""The blocking cursor, whatever the database."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from types import TracebackType
from typing import Any, TypeVar

from .. import defaults
from ..errors import DatabaseError, InterfaceError
from ..rows import RowFactory
from .cursor_base import CursorBase, Params
from .limits import Limit

R = TypeVar("R")
Self = TypeVar("Self", bound="BlockingCursor[Any]")


class BlockingCursor(CursorBase[R]):
    """Executes statements and holds their results (PEP 249).

    A result is received whole.
    """

    def __init__(self, connection: Any, row_factory: RowFactory[R]) -> None:
        super().__init__(connection._core, row_factory)
        self._connection = connection

    def execute(self: Self, sql: str, params: Params = None, *, timeout: float | None = None) -> Self:
        """Executes one statement, with parameters in the style of the module.

        After ``timeout`` seconds the statement is cancelled on the server and TimeoutError is raised.
        """
        if self._closed:
            raise InterfaceError("the cursor is closed")
        core = self._core
        if core.timing:
            started = time.perf_counter_ns()
            try:
                self._execute(sql, params, timeout)
            finally:
                core.wire.count("execute", time.perf_counter_ns() - started)
            return self
        self._execute(sql, params, timeout)
        return self

    def _execute(self, sql: str, params: Params, timeout: float | None) -> None:
        core = self._core
        if core.pipelines and (pipeline := core.pipeline()) is not None:
            self._is_pending(core.submit_pipelined(pipeline, sql, params), pipeline)
            if pipeline.is_due(defaults.PIPELINE_NUDGE):
                core.wire.nudge()
            return
        ticket = core.submit(sql, params)
        self._clear()
        try:
            self._take(self._connection._wait(ticket, timeout))
        except DatabaseError as error:
            self._failed(error)
            raise

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
        if core.pipelines and (pipeline := core.pipeline()) is not None:
            self._is_pending(core.submit_batch_pipelined(pipeline, sql, rows, returning), pipeline)
            self._keeps_rows = returning
            core.wire.nudge()
            return self
        ticket = core.submit_batch(sql, rows, returning)
        self._keeps_rows = returning
        self._take(self._connection._wait(ticket, timeout))
        if core.timing:
            core.wire.count("execute", time.perf_counter_ns() - started)
        return self

    def _resolve(self, limit: Limit) -> None:
        """Waits for what a pipeline has not brought yet."""
        ticket, self._pending = self._pending, None
        if ticket is not None and self._pipeline is not None:
            self._core.ask_for_answers(self._pipeline)
            self._pipeline.resolved(self)
            try:
                self._take(self._connection._wait(ticket, limit))
            except DatabaseError as error:
                self._failed(error)
                raise

    def wait(self, timeout: float | None = None) -> bool:
        """Waits for the result of a pipelined statement, for at most ``timeout`` seconds, and says whether it is there;
        with 0 it only looks. What is not there yet is still in flight, and can be waited for again. Raises the
        statement's error."""
        ticket = self._pending
        if ticket is None:
            return True
        if timeout is None:
            self._resolve(timeout)
            return True
        self._pending = None
        self._core.ask_for_answers(self._pipeline)
        try:
            outcome = self._connection._look(ticket, timeout)
        except TimeoutError:
            self._pending = ticket
            return False
        finally:
            if self._pending is None and self._pipeline is not None:
                self._pipeline.resolved(self)
        self._take(outcome)
        return True

    def fetchone(self, *, timeout: float | None = None) -> R | None:
        """The next row, or ``None`` after the last."""
        if self._pending is not None:
            self._resolve(timeout)
        return self._timed(self._one) if self._core.timing else self._one()  # type: ignore[no-any-return]

    def fetchmany(self, size: int | None = None, *, timeout: float | None = None) -> list[R]:
        """The next ``size`` rows (``arraysize`` by default), fewer at the end."""
        if self._pending is not None:
            self._resolve(timeout)
        if self._core.timing:
            return self._timed(lambda: self._many(size))  # type: ignore[no-any-return]
        return self._many(size)

    def fetchall(self, *, timeout: float | None = None) -> list[R]:
        """All rows that are left."""
        if self._pending is not None:
            self._resolve(timeout)
        return self._timed(self._all) if self._core.timing else self._all()

    def _timed(self, fetch: Any) -> Any:
        started = time.perf_counter_ns()
        result = fetch()
        self._core.wire.count("fetch", time.perf_counter_ns() - started)
        return result

    def __iter__(self) -> Iterator[R]:
        return self

    def __next__(self) -> R:
        row = self.fetchone()
        if row is None and self._position >= len(self._rows or ()):
            raise StopIteration
        return row  # type: ignore[return-value]

    def nextset(self, *, timeout: float | None = None) -> bool | None:
        """To the next result; ``None`` when there is none."""
        if self._pending is not None:
            self._resolve(timeout)
        return self._next_set()

    def scroll(self, value: int, mode: str = "relative", *, timeout: float | None = None) -> None:
        """Moves within the result. Raises IndexError beyond its ends."""
        if self._pending is not None:
            self._resolve(timeout)
        self._scroll(value, mode)

    def close(self, *, timeout: float | None = None) -> None:
        """Frees the result. A closed cursor cannot be used any more. Only one that is open on the
        server has to wait."""
        self._closed = True
        self._rows = None
        self._result = None
        self._more = ()

    def __enter__(self: Self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
