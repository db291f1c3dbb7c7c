"""How long a race is, and how many rounds a contestant has in a short one, by one rule.

The rounds of a contestant are spread over several processes of it, one after the other: where things lie in memory, and
in which order a hash has them, makes a process some percent faster or slower than the next one for as long as it lives,
and rounds of one process alone would repeat that without showing it.

Every contestant of a workload has the same time, :data:`SECONDS`: after its first round it is known how many fit into
it. At least :data:`LEAST_ROUNDS` are run, and at most as many as the race has. The workload ends before that once the
interval of each contestant's ratio is :data:`NARROW` or narrower. A whole race (``--full``) runs all rounds of
everybody.

Nobody has a smaller size: what a driver takes for a row depends on how many there are, so that it would be another row
of the table, and the others are not of it. What that costs is the slowest driver's rounds: two, of 100,000 inserts
twenty seconds each. The first round of a process is not timed, as it finds everything cold; one that takes longer than
all rounds together are to, is: what was cold is nothing beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Final

from .stats import ratio_of_processes

SECONDS: Final = 5.0
"""Seconds that the rounds of a contestant may take in one workload."""
PROCESSES: Final = 5
"""Processes of a contestant in a workload, one after the other, at most."""
LEAST_PROCESSES: Final = 3
"""Those after which an interval may be narrow enough: of fewer it is narrow by luck."""
LEAST_ROUNDS: Final = 2
"""Rounds that the slowest contestant has, each in a process of its own: one would have no interval."""
NARROW: Final = 0.04
"""The width of an interval, divided by its ratio, from which on more rounds are not needed."""


@dataclass(frozen=True)
class Length:
    """How much of each workload is run. A race is short unless ``--full`` is given: of the sizes of a workload it has
    those named ``short``."""

    is_full: bool
    rounds: int
    """Timed rounds, at most."""
    seconds: float | None = None
    """The time of a contestant's rounds in one workload; None for all rounds."""
    divisor: int = 1
    """What the repeats of a workload in a round are divided by: 1 in every race of drivers, where a round has to last
    so long that its first operations, which find the caches cold, do not count."""

    def repeats(self, full: int) -> int:
        """The repeats of a workload in a round, by their number in a full race."""
        return max(1, full // self.divisor)

    def with_rounds(self, rounds: int) -> Length:
        """The same with so many rounds, however long they take."""
        return replace(self, rounds=rounds, seconds=None)

    def counts_first(self, seconds: float) -> bool:
        """Returns true if a round of so many seconds is timed though it is the first of its process."""
        return self.seconds is not None and seconds > self.seconds

    @property
    def processes(self) -> int:
        """The processes that a contestant has for its rounds of a workload."""
        return min(PROCESSES, self.rounds)


def rounds_in(seconds: float, longest: float, most: int) -> int:
    """The number of rounds of a contestant whose rounds take up to ``longest`` seconds: from :data:`LEAST_ROUNDS` to
    ``most``."""
    return max(min(LEAST_ROUNDS, most), min(most, int(seconds / longest) if longest > 0 else most))


def rounds_in_process(rounds: int, processes: int, number: int) -> int:
    """The rounds of one of the processes, counted from 0, over which so many are spread: as many in each as can be, and
    one more in the first ones for the rest."""
    return rounds // processes + (number < rounds % processes)


def is_enough(times: Mapping[str, Sequence[Sequence[float]]], reference: str) -> bool:
    """Returns true if the interval of each contestant's ratio to the reference is narrow. ``times`` has the seconds of
    each contestant's rounds, by its processes; those that had fewer of them than the reference, as they get no more, do
    not count."""
    base = times.get(reference, ())
    if len(base) < LEAST_PROCESSES:
        return False
    for name, each in times.items():
        if name == reference or len(each) < len(base):
            continue
        ratio, interval = ratio_of_processes(each, base)
        if interval is not None and interval[1] - interval[0] > NARROW * ratio:
            return False
    return True
