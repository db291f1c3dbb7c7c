"""How long a call may wait."""

from __future__ import annotations

import time

from .. import defaults


class Until:
    """The end of the time that a call has in which it waits more than once."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self._end = time.monotonic() + seconds

    def left(self) -> float:
        """Seconds until then."""
        return max(0.0, self._end - time.monotonic())


Limit = float | Until | None
"""How long a wait may take: seconds, what is left of a call's time, or what the connection allows."""


def until(limit: Limit) -> Until | None:
    """The time of a whole call that was given ``limit``; None where each of its waits is bounded by the connection."""
    return Until(limit) if isinstance(limit, (int, float)) else limit


def afresh(limit: Limit) -> Until | None:
    """As much time again: for what has to be done after an error, which may be that the time was up."""
    return Until(limit.seconds) if isinstance(limit, Until) else until(limit)


def check_time(limit: Limit) -> None:
    """Raises the error of a call whose time is up. What makes its own data may never wait, however long it takes."""
    if isinstance(limit, Until) and not limit.left():
        raise overdue(limit)


def unanswered_end() -> str:
    """Why a connection is closed whose server has not answered the end of a block."""
    return (
        f"the connection was closed: the server did not answer the end of a transaction within "
        f"{defaults.CANCEL_TIMEOUT} s after its time was up, and whether it was committed is unknown"
    )


def overdue(limit: Limit) -> TimeoutError:
    """The error of a call whose time is up."""
    seconds = limit.seconds if isinstance(limit, Until) else limit
    return TimeoutError(f"the statement took longer than {seconds} s and was cancelled")
