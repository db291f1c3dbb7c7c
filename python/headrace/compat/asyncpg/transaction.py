"""Transactions and savepoints, begun and ended by the program or as a block."""

from __future__ import annotations

import enum
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal

from .exceptions import InterfaceError

if TYPE_CHECKING:
    from .connection import Connection

IsolationLevels = Literal["read_committed", "read_uncommitted", "serializable", "repeatable_read"]
ISOLATION_LEVELS: Final = ("read_committed", "read_uncommitted", "serializable", "repeatable_read")


class TransactionState(enum.Enum):
    """Where a transaction is."""

    NEW = 0
    STARTED = 1
    COMMITTED = 2
    ROLLEDBACK = 3
    FAILED = 4


class Transaction:
    """A transaction, or a savepoint inside of one: a block, or :meth:`start` and :meth:`commit` or :meth:`rollback`."""

    def __init__(self, connection: Connection, isolation: str | None, readonly: bool, deferrable: bool) -> None:
        if isolation is not None and isolation not in ISOLATION_LEVELS:
            raise ValueError(f"isolation is expected to be either of {', '.join(ISOLATION_LEVELS)}, got {isolation!r}")
        self._connection = connection
        self._isolation = isolation
        self._readonly = readonly
        self._deferrable = deferrable
        self._state = TransactionState.NEW
        self._nested = False
        self._id: str | None = None
        self._managed = False
        self._releases = connection._releases

    async def start(self) -> None:
        """Begins it; inside another transaction as a savepoint."""
        self._check_released("start")
        self._check_state("start")
        if self._state is TransactionState.STARTED:
            raise InterfaceError("cannot start; the transaction is already started")
        connection = self._connection
        connection._check_open()
        await connection._undone()
        top = connection._top_xact
        if top is None:
            if connection.is_in_transaction():
                raise InterfaceError("cannot use Connection.transaction() in a manually started transaction")
            connection._top_xact = self
            query = self._begin()
        else:
            await self._check_nested(top)
            self._nested = True
            self._id = connection._unique_name("savepoint")
            query = f"SAVEPOINT {self._id};"
        try:
            await connection._script(query)
        except BaseException:
            self._state = TransactionState.FAILED
            if not self._nested:
                connection._top_xact = None
                connection._undo_transaction()
            raise
        self._state = TransactionState.STARTED

    def _begin(self) -> str:
        words = ["BEGIN"]
        if self._isolation is not None:
            words.append(f"ISOLATION LEVEL {self._isolation.replace('_', ' ').upper()}")
        if self._readonly:
            words.append("READ ONLY")
        if self._deferrable:
            words.append("DEFERRABLE")
        return " ".join(words) + ";"

    async def _check_nested(self, top: Transaction) -> None:
        """The isolation level is the outermost transaction's."""
        if self._isolation is None:
            return
        outer = top._isolation
        if outer is None:
            shown: str = await self._connection.fetchval("SHOW transaction_isolation")
            outer = top._isolation = shown.replace(" ", "_")
        if outer != self._isolation:
            raise InterfaceError(
                f"nested transaction has a different isolation level: current {self._isolation!r} != outer {outer!r}"
            )

    def _check_released(self, operation: str) -> None:
        if self._releases != self._connection._releases:
            raise InterfaceError(
                f"cannot call Transaction.{operation}(): the underlying connection has been released back to the pool"
            )

    def _check_state(self, operation: str) -> None:
        if self._state is TransactionState.COMMITTED:
            raise InterfaceError(f"cannot {operation}; the transaction is already committed")
        if self._state is TransactionState.ROLLEDBACK:
            raise InterfaceError(f"cannot {operation}; the transaction is already rolled back")
        if self._state is TransactionState.FAILED:
            raise InterfaceError(f"cannot {operation}; the transaction is in error state")

    async def commit(self) -> None:
        """Commits it, or releases the savepoint."""
        if self._managed:
            raise InterfaceError("cannot manually commit from within an `async with` block")
        await self._commit()

    async def rollback(self) -> None:
        """Rolls it back, or back to the savepoint."""
        if self._managed:
            raise InterfaceError("cannot manually rollback from within an `async with` block")
        await self._rollback()

    async def _commit(self) -> None:
        query = f"RELEASE SAVEPOINT {self._id};" if self._nested else "COMMIT;"
        await self._end("commit", query, TransactionState.COMMITTED)

    async def _rollback(self) -> None:
        query = f"ROLLBACK TO {self._id};" if self._nested else "ROLLBACK;"
        await self._end("rollback", query, TransactionState.ROLLEDBACK)

    async def _end(self, operation: str, query: str, state: TransactionState) -> None:
        self._check_released(operation)
        if self._state is TransactionState.NEW:
            raise InterfaceError(f"cannot {operation}; the transaction is not yet started")
        self._check_state(operation)
        connection = self._connection
        connection._check_open()
        if connection._top_xact is self:
            connection._top_xact = None
        try:
            await connection._script(query)
        except BaseException:
            self._state = TransactionState.FAILED
            if not self._nested:
                connection._undo_transaction()
            raise
        self._state = state

    async def __aenter__(self) -> None:
        if self._managed:
            raise InterfaceError("cannot enter context: already in an `async with` block")
        self._managed = True
        try:
            await self.start()
        except BaseException:
            self._managed = False
            raise

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            self._check_released("__aexit__")
            self._connection._check_open()
        except InterfaceError:
            if isinstance(error, GeneratorExit):
                # A generator ends after what it was called in, which has given the connection back.
                return
            raise
        finally:
            self._managed = False
        if kind is None:
            await self._commit()
        else:
            await self._rollback()

    def __repr__(self) -> str:
        attributes: list[Any] = [f"state:{self._state.name.lower()}"]
        if self._isolation is not None:
            attributes.append(self._isolation)
        attributes += ["readonly"] * self._readonly + ["deferrable"] * self._deferrable
        return f"<asyncpg.{type(self).__qualname__} {' '.join(attributes)} {id(self):#x}>"
