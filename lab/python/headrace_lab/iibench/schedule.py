"""When operations are due, without a clock: times go in and come out in nanoseconds."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Schedule:
    """Blocks of rows at an even pace. Where there is no rate each is due as soon as the one before is done with."""

    rate: float
    """Rows per second; 0: no pace."""
    rows: int
    """Rows of a block."""
    start: int
    """Nanoseconds: when the first block is due."""

    @property
    def open(self) -> bool:
        """Whether there is a pace that goes on while the server does not."""
        return self.rate > 0

    def due(self, block: int) -> int:
        """When a block is due, counted from 0. Blocks that are late do not put off those after them."""
        return self.start + round(block * self.rows * 1e9 / self.rate)

    def due_by(self, now: int) -> int:
        """How many blocks have been due until ``now``."""
        if now < self.start:
            return 0
        count = int((now - self.start) * self.rate / self.rows / 1e9) + 1
        # The division may have been off by a rounding.
        while count > 0 and self.due(count - 1) > now:
            count -= 1
        while self.due(count) <= now:
            count += 1
        return count
