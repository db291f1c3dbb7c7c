"""Actions: what the core of a pool requests from its shell."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Generic, Protocol, TypeVar

from ..types import TransactionStatus
from .pool_settings import ClosedReason, LostReason


class Pooled(Protocol):
    """The part of a connection that the core uses."""

    @property
    def closed(self) -> bool:
        """True if the connection is closed, by either side."""
        ...

    @property
    def broken(self) -> bool:
        """True if the connection was lost, or must not be used any more."""
        ...

    @property
    def transaction_status(self) -> TransactionStatus:
        """The state of the transaction, without a round trip."""
        ...

    @property
    def lost(self) -> bool:
        """True if its session was ended with a transaction open, and not by ``close()``; ``commit()`` raises that."""
        ...

    @property
    def needs_reset(self) -> bool:
        """True while something is open outside of a transaction that only a reset closes."""
        ...

    @property
    def streaming(self) -> bool:
        """True while a stream is open that nothing but the end of the session ends."""
        ...

    def check_alive(self) -> bool:
        """Checks an idle connection, without a round trip.

        Returns:
            False if its socket has ended or failed.
        """
        ...


C = TypeVar("C", bound=Pooled)
W = TypeVar("W")


@dataclass(frozen=True, slots=True)
class Connect:
    """Make a connection; answer ``connected``, ``connect_failed`` or ``connect_abandoned`` with ``attempt``."""

    attempt: int


@dataclass(frozen=True, slots=True)
class Hand(Generic[C, W]):
    """The connection is now the waiter's. If the waiter can't take it any more, answer ``refuse``."""

    waiter: W
    connection: C


@dataclass(frozen=True, slots=True)
class Fail(Generic[W]):
    """The waiter gets the error."""

    waiter: W
    error: Exception


@dataclass(frozen=True, slots=True)
class Discard(Generic[C]):
    """Close the connection, which is not in use."""

    connection: C
    reason: ClosedReason | LostReason


@dataclass(frozen=True, slots=True)
class Sever(Generic[C]):
    """Close the connection although its borrower, or its reset, may be in the middle of a request: it may block."""

    connection: C
    reason: ClosedReason | LostReason


Action = Connect | Hand[C, W] | Fail[W] | Discard[C] | Sever[C]
