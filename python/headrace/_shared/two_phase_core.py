"""Two-phase commit (PEP 249, "Optional Two-Phase Commit Extensions"), as far as it is the same in every database that
has it: which calls are allowed when, and what never waits."""

from __future__ import annotations

from abc import abstractmethod
from typing import TypeVar

from ..errors import ProgrammingError
from ..types import Xid
from .connection_base import ConnectionBase
from .core import Core
from .flows import Flow

R = TypeVar("R")


def checked_xid(given: Xid | str) -> Xid:
    """The id of a transaction. Raises TypeError for what is none."""
    if not isinstance(given, (Xid, str)):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise TypeError(f"xid is what xid() returns, or its text, not {type(given).__name__}")
    return Xid.parse(given) if isinstance(given, str) else given


class TwoPhaseCore(Core):
    """A connection's core that may have a two-phase transaction."""

    __slots__ = ("tpc", "tpc_prepared")

    tpc: Xid | None
    """The two-phase transaction that is open, or prepared and not finished."""
    tpc_prepared: bool

    def forget_two_phase(self) -> None:
        """There is no two-phase transaction on this connection."""
        self.tpc = None
        self.tpc_prepared = False

    def leave_two_phase(self, mode: str) -> Xid | None:
        """Forgets the transaction at a reset, which keeps it in the mode ``none`` if it is not prepared; returns one
        that is not prepared."""
        left = None if self.tpc_prepared else self.tpc
        if mode != "none" or self.tpc_prepared:
            self.forget_two_phase()
        return left

    def is_left_open(self) -> bool:
        """Returns true also if a prepared transaction was left: the session has none any more that would tell."""
        return self.tpc_prepared

    def check_end(self, rollback: bool) -> None:
        if self.tpc is not None and not self.wire.closed:
            raise ProgrammingError("inside a two-phase transaction use tpc_commit() or tpc_rollback()")
        super().check_end(rollback)

    def check_enter(self) -> None:
        if self.tpc is not None:
            raise ProgrammingError("transaction() cannot be used inside a two-phase transaction")

    # what a database sends

    def check_xid(self, xid: Xid) -> Xid:
        """Raises ProgrammingError for an id that the database cannot have."""
        return xid

    @abstractmethod
    def start_two_phase(self, xid: Xid) -> Flow[None]:
        """Begins the transaction."""

    @abstractmethod
    def undo_two_phase(self, xid: Xid) -> Flow[None]:
        """Rolls back a transaction whose beginning was interrupted, or that is left behind."""

    @abstractmethod
    def prepare_two_phase(self, xid: Xid) -> Flow[None]:
        """Prepares the transaction."""

    @abstractmethod
    def end_two_phase(self, xid: Xid, rollback: bool) -> Flow[None]:
        """Ends a transaction that is not prepared."""

    @abstractmethod
    def end_prepared(self, xid: Xid, rollback: bool) -> Flow[None]:
        """Ends a prepared transaction, also of another session."""

    @abstractmethod
    def tpc_recover(self) -> Flow[list[Xid]]:
        """The prepared transactions."""

    # flows

    def tpc_begin(self, xid: Xid | str) -> Flow[None]:
        """Begins a two-phase transaction."""
        if self.in_transaction():
            raise ProgrammingError("tpc_begin() needs a connection outside of a transaction")
        if self.autocommits():
            raise ProgrammingError("tpc_begin() needs autocommit off")
        # Before anything is waited for: what others begin meanwhile is inside of it.
        self.tpc = mine = self.check_xid(checked_xid(xid))
        self.tpc_prepared = False
        try:
            yield from self.start_two_phase(mine)
        except BaseException:
            self.tpc = None
            # The server may have begun it all the same.
            if not self.wire.closed:
                yield from self.undo_two_phase(mine)
            raise

    def tpc_prepare(self) -> Flow[None]:
        """First phase."""
        if self.tpc is None:
            raise ProgrammingError("tpc_prepare() needs tpc_begin() first")
        if self.tpc_prepared:
            raise ProgrammingError("the transaction is prepared already")
        yield from self.prepare_two_phase(self.tpc)
        self.tpc_prepared = True

    def tpc_finish(self, rollback: bool, xid: Xid | str | None) -> Flow[None]:
        """Second phase, of this connection's transaction or of a recovered one."""
        verb = "rollback" if rollback else "commit"
        mine = self.tpc
        if xid is None and mine is None:
            raise ProgrammingError(f"tpc_{verb}() without an xid needs tpc_begin() first")
        if xid is not None and mine is not None:
            raise ProgrammingError(f"tpc_{verb}() with an xid cannot be called inside a two-phase transaction")
        if xid is not None:
            yield from self.end_prepared(self.check_xid(checked_xid(xid)), rollback)
        elif mine is not None:
            yield from (self.end_prepared if self.tpc_prepared else self.end_two_phase)(mine, rollback)
        self.forget_two_phase()


class TwoPhaseBase(ConnectionBase[R]):
    """A connection with two-phase commit, as far as it has nothing to wait for."""

    _core: TwoPhaseCore  # pyright: ignore[reportIncompatibleVariableOverride]

    def xid(self, format_id: int, global_transaction_id: str, branch_qualifier: str) -> Xid:
        """Creates the id of a two-phase transaction (PEP 249).

        Args:
            format_id: a number from 0 to 2147483647.
            global_transaction_id: at most 64 bytes.
            branch_qualifier: at most 64 bytes.

        Returns:
            The id.

        Raises:
            ProgrammingError: a part is too large.
        """
        return Xid(format_id, global_transaction_id, branch_qualifier)

    def _ends_itself(self) -> bool:
        # One that is not prepared would be rolled back with the session: the commit is refused with that error.
        return self._core.tpc is not None and self._core.tpc_prepared
