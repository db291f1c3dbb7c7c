"""The settings of a pool, and its statistics."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from .. import defaults
from ..errors import ProgrammingError
from .arguments import checked_whole
from .limits import checked_seconds
from .modes import ResetMode

ClosedReason = Literal["lifetime", "idle", "surplus", "drain", "shutdown"]
"""Why the pool itself closed a connection: too old; idle for too long; more than ``max_size`` after a resize; replaced
by ``drain()``; the pool was closed."""

LostReason = Literal["dead", "broken", "doubt", "refused"]
"""Why a connection was lost: found dead while idle; came back closed or broken; came back in the middle of a request
or could not be reset in time; a ``check`` or ``on_checkout`` callback raised."""


@dataclass(frozen=True)
class Settings:
    """The settings of a pool. Times are seconds; ``None`` is no limit.

    Raises ProgrammingError for values that are not valid.
    """

    min_size: int = defaults.POOL_MIN_SIZE
    max_size: int = defaults.POOL_MAX_SIZE
    timeout: float = defaults.POOL_TIMEOUT
    max_lifetime: float | None = defaults.POOL_MAX_LIFETIME
    max_idle: float | None = defaults.POOL_MAX_IDLE
    max_waiting: int = defaults.POOL_MAX_WAITING
    reset: ResetMode = "rollback"
    reconnect_timeout: float | None = defaults.POOL_RECONNECT_TIMEOUT
    backoff: float = defaults.POOL_BACKOFF_FIRST
    backoff_max: float = defaults.POOL_BACKOFF_MAX

    def __post_init__(self) -> None:
        for name in ("min_size", "max_size", "max_waiting"):
            checked_whole(getattr(self, name), name)
        if not 0 <= self.min_size <= self.max_size or self.max_size < 1:
            raise ProgrammingError(
                f"a pool needs 0 <= min_size <= max_size and max_size >= 1, not {self.min_size} and {self.max_size}"
            )
        if self.reset not in ("none", "rollback", "discard"):
            raise ProgrammingError(f"reset={self.reset!r} is not one of none, rollback, discard")
        if self.max_waiting < 0:
            raise ProgrammingError(f"max_waiting={self.max_waiting} is negative; 0 means any number")
        for name in ("timeout", "max_lifetime", "max_idle", "reconnect_timeout", "backoff", "backoff_max"):
            value = getattr(self, name)
            if value is None and name in ("max_lifetime", "max_idle", "reconnect_timeout"):
                continue
            if checked_seconds(value, name) < 0:  # pyright: ignore[reportArgumentType]
                raise ProgrammingError(f"{name}={value!r} is not a number of seconds")
        if self.max_lifetime == 0:
            raise ProgrammingError("max_lifetime=0 would replace each connection before it is used; None sets no limit")

    def resized(self, min_size: int, max_size: int | None) -> Settings:
        """The same with other sizes; without ``max_size`` it stays, or grows to ``min_size``."""
        checked_whole(min_size, "min_size")
        return replace(self, min_size=min_size, max_size=max(min_size, self.max_size) if max_size is None else max_size)


@dataclass(frozen=True)
class PoolStats:
    """A snapshot of a pool. Counts of connections are current, all others since the pool was created."""

    size: int
    """Open connections: ``idle + in_use``."""
    idle: int
    """Connections that are not in use."""
    in_use: int
    """Connections that are lent, or being reset."""
    connecting: int
    """Connections that are being opened."""
    waiting: int
    """Requests that wait for a connection."""
    min_size: int
    """Connections that the pool keeps open."""
    max_size: int
    """Connections that it opens at most."""
    requests: int
    """Requests for a connection."""
    waits: int
    """Requests that had to wait."""
    wait_ms: float
    """Milliseconds waited, all requests together."""
    use_ms: float
    """Milliseconds that connections were lent, all together."""
    connect_ms: float
    """Milliseconds that successful attempts to connect took, all together."""
    timeouts: int
    """Requests that waited without success."""
    rejected: int
    """Requests that were refused because the queue was full."""
    errors: int
    """Attempts to connect that failed."""
    opened: int
    """Connections that were opened."""
    closed: dict[ClosedReason, int]
    """Connections that the pool closed, by reason."""
    lost: dict[LostReason, int]
    """Connections that were lost, by reason."""
