"""Whether a rate was sustained."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

SUSTAINED: Final = 0.99
"""Part of what was due that has to be done when the time is up, so that the rate counts as sustained: what was due in
the last milliseconds may still be on its way."""


@dataclass(frozen=True)
class Verdict:
    """What was due and what was done."""

    due: int
    done: int

    @property
    def sustained(self) -> bool:
        """Whether the rate was kept up."""
        return self.done >= self.due * SUSTAINED

    @property
    def short(self) -> float:
        """The part of what was due that is missing."""
        return max(0.0, 1.0 - self.done / self.due) if self.due else 0.0

    def __str__(self) -> str:
        return "sustained" if self.sustained else f"not sustained by {self.short:.1%}"
