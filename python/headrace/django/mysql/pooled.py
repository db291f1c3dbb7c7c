"""MySQLdb's connections as a pool lends them."""

from __future__ import annotations

from ...compat.mysqldb import connections
from ...types import ResetMode, TransactionStatus


class PooledConnection(connections.Connection):
    """A connection with MySQLdb's interface, and what :class:`headrace.ConnectionPool` asks of one."""

    @property
    def broken(self) -> bool:
        """True if its session was lost."""
        return self._connection is None or self._connection.broken

    @property
    def lost(self) -> bool:
        """True if its session was lost, and not closed by the program."""
        return self._connection is not None and self._connection.lost

    @property
    def needs_reset(self) -> bool:
        """True if a reset would do anything outside of a transaction: results that were not read count."""
        unread = bool(self._results) or self._failure is not None
        return unread or (self._connection is not None and self._connection.needs_reset)

    @property
    def streaming(self) -> bool:
        """True while rows of a result are still at the server."""
        return self._connection is not None and self._connection.streaming

    @property
    def transaction_status(self) -> TransactionStatus:
        """The state of the transaction, without a round trip."""
        return TransactionStatus.UNKNOWN if self._connection is None else self._connection.transaction_status

    def check_alive(self) -> bool:
        """Returns false if the server has closed the connection, without a round trip."""
        return self._connection is not None and self._connection.check_alive()

    def reset(self, mode: ResetMode) -> None:
        """Resets the session, and forgets results that were not read."""
        self._results, self._current, self._failure = [], None, None
        if self._connection is not None:
            self._connection.reset(mode)
