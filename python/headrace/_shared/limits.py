"""How long a call may wait."""

from __future__ import annotations

import math
import time
from typing import Final

from .. import defaults
from ..errors import ProgrammingError


class Until:
    """The end of the time that a call has in which it waits more than once."""

    def __init__(self, seconds: float) -> None:
        self.seconds = seconds
        self.end = time.monotonic() + seconds
        """When that is, by the monotonic clock."""

    def left(self) -> float:
        """Seconds until then."""
        return max(0.0, self.end - time.monotonic())


Limit = float | Until | None
"""How long a wait may take: seconds, what is left of a call's time, or what the connection allows."""


FOREVER: Final = 1e8
"""Seconds that are as good as no limit: three years, which clocks of all systems can count."""


def checked_seconds(limit: float, what: str = "timeout") -> float:
    """The seconds that were given as ``what``. The loop's clock would take some of what is none, and end nothing.

    Raises:
        TypeError: it is no number.
        ProgrammingError: it is no number of seconds.
    """
    try:
        if not math.isnan(limit):
            return limit
    except OverflowError:
        return math.inf if limit > 0 else 0.0
    except TypeError:
        raise TypeError(f"{what} is a number of seconds, not {type(limit).__name__}") from None
    raise ProgrammingError(f"{what}={limit!r} is not a number of seconds")


def seconds_left(limit: float | Until) -> float:
    """The seconds that are left of a limit. Raises what :func:`checked_seconds` raises."""
    return limit.left() if isinstance(limit, Until) else checked_seconds(limit)


def seconds_to_cancel(timeout: float | None) -> float:
    """The seconds that ``cancel()`` waits, which was given ``timeout``: a number that every clock can count. Raises
    what :func:`checked_seconds` raises."""
    return defaults.CANCEL_TIMEOUT if timeout is None else max(0.0, min(checked_seconds(timeout), FOREVER))


def until(limit: Limit) -> Until | None:
    """The time of a whole call that was given ``limit``; None where each of its waits is bounded by the connection.
    Raises what :func:`checked_seconds` raises."""
    return limit if limit is None or isinstance(limit, Until) else Until(checked_seconds(limit))


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
    return TimeoutError(
        f"the statement took longer than {seconds} s and was cancelled; outside of a transaction it may have been "
        "executed all the same"
    )
