"""The blocking connection to PostgreSQL."""

# Made by tools/async_to_sync.py of aio/postgres/connection.py: edit that file, and run the tool.

from __future__ import annotations

import enum
from collections.abc import Callable, Iterable, Iterator
from typing import Any, TypeVar, overload

from .._shared.cursor_base import Params
from ..errors import ConnectionClosed
from ..rows import RowFactory
from ..types import Notify, Xid
from .cancelling import Cancelling
from .copying import Copying
from .core import ConnectionCore, quote_identifier
from .cursor import Cursor, ServerCursor
from .streaming import Streaming

R = TypeVar("R")
T = TypeVar("T")


class Connection(Streaming[R], Copying[R], Cancelling[R]):
    """A connection to PostgreSQL. Threads may share it: their calls queue up.

    As a context manager it commits at the end of the block, rolls back when the block raises, and closes.
    """

    _core: ConnectionCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def _cursor(self, factory: RowFactory[T]) -> Cursor[T]:
        return Cursor(self, factory)

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
