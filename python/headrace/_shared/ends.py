"""What an end has to report: the end of a transaction, a block, a pipeline, a stream, or a pool's lease.

An end that raises nothing promises that what was done before it is stored. So it asks here, in every shell,
whether the session was lost: ended with a transaction open, or with requests pending, by anything but the program's own
``close()``. Then the end raises why. An error that the program has caught before does not change that, as what was in
the transaction is not stored; an end that has raised it once is enough.

Results that were not read have errors of their own, which whoever ends a pipeline raises.
"""

from __future__ import annotations

from .._native import Wire
from ..errors import ConnectionClosed, Error
from ..types import TransactionStatus

CLOSED = "the connection is closed"


class Ends:
    """The half of :class:`.transactions.Transactions` that finds out whether the session was lost."""

    # CPython 3.11 looks up each attribute of an object with more than 30 of them anew. So those of this class, and of
    # the two that go on from here, are no part of the dict.
    __slots__ = ("__dict__", "__weakref__", "_closed_here", "_told", "wire")

    wire: Wire
    _closed_here: bool
    """The program has closed the connection."""
    _told: bool
    """An end has raised that the session was lost."""

    def note_close(self) -> None:
        """The program closes the connection now: what it has not committed is to be rolled back."""
        if not self.wire.closed:
            self._closed_here = True

    def note_told(self) -> None:
        """The end of a transaction raises an error now: on a closed session it is about that."""
        self._told = self._told or self.wire.closed

    def is_lost(self) -> bool:
        """Returns true if the session was lost, and no end has raised that."""
        return not self._told and self.status_at_end() not in (None, TransactionStatus.IDLE)

    def status_at_end(self) -> TransactionStatus | None:
        """Where the transaction stood when anything but the program's ``close()`` ended the session; None if nothing
        has."""
        if not self.wire.closed or self._closed_here:
            return None
        try:
            return self.wire.last_status()
        except Error:
            # The parent's connection, in the child of a fork.
            return None

    def is_inherited(self) -> bool:
        """Returns true in the child of a fork: the session is the parent's, and so are its blocks."""
        if not self.wire.closed:
            return False
        try:
            self.wire.last_status()
        except Error:
            return True
        return False

    def check_lost(self) -> None:
        """Raises why the session was lost, if it was."""
        if self.is_lost():
            raise self.loss()

    def loss(self, *, is_all: bool = True) -> Error:
        """The error of an end on a closed session: the server's where no request has raised it. The end of a savepoint
        does not tell of ``is_all`` that was lost: the end of the transaction raises it again."""
        self._told = self._told or is_all
        error = self.why_closed()
        if type(error) is ConnectionClosed:
            error.args = (f"the connection ended before the end of the transaction: its changes are lost ({error})",)
        return error

    def why_closed(self) -> Error:
        """The error of a request on a closed session."""
        try:
            self.wire.verb("ping")
        except Error as error:
            return error.with_traceback(None)
        return ConnectionClosed(CLOSED)
