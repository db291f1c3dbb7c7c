"""How long a race is, and how many rounds a contestant has in a short one, by one rule.

Every contestant of a workload has the same time, :data:`SECONDS`: after its first round it is known how many fit into
it. At least one is run, and at most as many as the race has. The workload ends before that once the interval of each
contestant's ratio is :data:`NARROW` or narrower. A whole race (``--full``) runs all rounds of everybody.

Nobody has a smaller size: what a driver takes for a row depends on how many there are, so that it would be another row
of the table, and the others are not of it. What that costs is the slowest driver's two rounds at least, one of which is
not timed: of 100,000 inserts, ten seconds each.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from .stats import ratio_interval

SECONDS: Final = 5.0
"""Seconds that the rounds of a contestant may take in one workload."""
NARROW: Final = 0.04
"""The width of an interval, divided by its ratio, from which on more rounds are not needed."""
LEAST: Final = 5
"""Rounds before which no interval is believed to be narrow: of few rounds it is too narrow."""


@dataclass(frozen=True)
class Length:
    """How much of each workload is run. A race is short unless ``--full`` is given: of the sizes of a workload it has
    those named ``short``, and in a round fewer repeats of it."""

    is_full: bool
    rounds: int
    """Timed rounds, at most."""
    seconds: float | None = None
    """The time of a contestant's rounds in one workload; None for all rounds."""
    divisor: int = 1
    """What the repeats of a workload in a round are divided by."""

    def repeats(self, full: int) -> int:
        """The repeats of a workload in a round, by their number in a full race."""
        return max(1, full // self.divisor)

    def with_rounds(self, rounds: int) -> Length:
        """The same with so many rounds, however long they take."""
        return replace(self, rounds=rounds, seconds=None)


def rounds_in(seconds: float, longest: float, most: int) -> int:
    """The number of rounds of a contestant whose rounds take up to ``longest`` seconds: from 1 to ``most``."""
    return max(1, min(most, int(seconds / longest) if longest > 0 else most))


def is_enough(times: Mapping[str, Sequence[float]], reference: str) -> bool:
    """Returns true if the interval of each contestant's ratio to the reference is narrow. ``times`` has the seconds of
    each contestant's rounds; those with fewer than :data:`LEAST`, which get no more, do not count."""
    base = times.get(reference, ())
    if len(base) < LEAST:
        return False
    for name, each in times.items():
        if name == reference or len(each) < LEAST:
            continue
        ratio, low, high = ratio_interval(each, base)
        if high - low > NARROW * ratio:
            return False
    return True
