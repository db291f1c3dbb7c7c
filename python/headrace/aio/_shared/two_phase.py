"""Two-phase commit (PEP 249, "Optional Two-Phase Commit Extensions"), asyncio."""

from __future__ import annotations

from typing import TypeVar

from ..._shared.two_phase_core import TwoPhaseBase, TwoPhaseCore
from ...types import Xid
from .connection import LoopConnection

R = TypeVar("R")


class LoopTwoPhase(TwoPhaseBase[R], LoopConnection[R]):
    """A connection with two-phase commit."""

    _core: TwoPhaseCore  # pyright: ignore[reportIncompatibleVariableOverride]

    async def tpc_begin(self, xid: Xid | str, *, timeout: float | None = None) -> None:
        """Begins a two-phase transaction. Statements until its end are part of it.

        Args:
            xid: the transaction, of :meth:`xid`, or its text.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            ProgrammingError: a transaction is open, the connection is in autocommit, or the id is too long.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        await self._run(self._core.tpc_begin(xid), timeout)

    async def tpc_prepare(self, *, timeout: float | None = None) -> None:
        """Ends the first phase: prepares the two-phase transaction.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            ProgrammingError: no two-phase transaction was begun, or it is prepared already.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        await self._run(self._core.tpc_prepare(), timeout)

    async def tpc_commit(self, xid: Xid | str | None = None, *, timeout: float | None = None) -> None:
        """Commits a two-phase transaction.

        Args:
            xid: a prepared transaction, also of another session; None for that of this connection, which is committed
                in one phase if it was not prepared.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            ProgrammingError: no two-phase transaction was begun, or with ``xid``, one is open.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        await self._run(self._core.tpc_finish(False, xid), timeout)

    async def tpc_rollback(self, xid: Xid | str | None = None, *, timeout: float | None = None) -> None:
        """Rolls a two-phase transaction back.

        Args:
            xid: a prepared transaction, also of another session; None for that of this connection.
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Raises:
            ProgrammingError: no two-phase transaction was begun, or with ``xid``, one is open.
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        await self._run(self._core.tpc_finish(True, xid), timeout)

    async def tpc_recover(self, *, timeout: float | None = None) -> list[Xid]:
        """Returns the prepared transactions, to be finished by ``tpc_commit(xid)`` or ``tpc_rollback(xid)``: on
        PostgreSQL those of the database, on MySQL and MariaDB those of the server, except ids that are not UTF-8.

        Args:
            timeout: seconds until the call is cancelled; None for ``command_timeout``, ``math.inf`` for no limit.

        Returns:
            Their ids.

        Raises:
            DatabaseError: the server refused the statement; the class depends on its SQLSTATE or number.
            ConnectionClosed: the connection is closed or was lost.
            TimeoutError: the call was cancelled after ``timeout`` seconds; the connection stays usable.
        """
        return await self._run(self._core.tpc_recover(), timeout)
