"""Medians, quartiles, and the intervals of ratios."""

from __future__ import annotations

import enum
import math
import statistics
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from types import ModuleType

RESAMPLES = 4_000
"""Bootstrap resamples."""
CONFIDENCE = 0.95
STUDENT: Final = (12.706, 4.303, 3.182, 2.776, 2.571, 2.447, 2.365, 2.306, 2.262, 2.228)
"""Student's t of 95 % on both sides, of 1 to 10 degrees of freedom (NIST/SEMATECH e-Handbook, 1.3.6.7.2)."""


def _numpy() -> ModuleType:
    """NumPy, which is imported where something is computed: each contestant's process imports this module, and none of
    them computes."""
    import numpy

    return numpy


def median(values: Sequence[float]) -> float:
    """The median."""
    np = _numpy()
    return float(np.median(np.asarray(values)))


def iqr(values: Sequence[float]) -> float:
    """The distance between the quartiles."""
    np = _numpy()
    low, high = np.percentile(np.asarray(values), [25, 75])
    return float(high - low)


def percentile(values: Sequence[float], p: float) -> float:
    """A percentile."""
    np = _numpy()
    return float(np.percentile(np.asarray(values), p))


def ratio_interval(a: Sequence[float], b: Sequence[float], seed: int = 1) -> tuple[float, float, float]:
    """The ratio of the medians of `a` and `b`, and the bootstrap interval around it.

    The rounds are interleaved, so round i of both is resampled together where both have it: what slowed the machine
    down for one slowed it down for the other.
    """
    np = _numpy()
    x, y = np.asarray(a, dtype=float), np.asarray(b, dtype=float)
    rng: Any = np.random.default_rng(seed)
    if len(x) == len(y):
        i = j = rng.integers(0, len(x), (RESAMPLES, len(x)))
    else:
        i = rng.integers(0, len(x), (RESAMPLES, len(x)))
        j = rng.integers(0, len(y), (RESAMPLES, len(y)))
    ratios = np.median(x[i], axis=1) / np.median(y[j], axis=1)
    tail = (1 - CONFIDENCE) / 2 * 100
    low, high = np.percentile(ratios, [tail, 100 - tail])
    return float(np.median(x) / np.median(y)), float(low), float(high)


def ratio_of_processes(
    a: Sequence[Sequence[float]], b: Sequence[Sequence[float]]
) -> tuple[float, tuple[float, float] | None]:
    """The ratio of `a` to `b`, whose rounds are given by process, and its interval; None of a single process.

    Of each process of both, side by side as they ran, the ratio of the medians: the geometric mean of these, and
    Student's interval of their logarithms. So the interval has what differs between the rounds of a process, and what
    differs between processes.
    """
    logs = [math.log(median(x) / median(y)) for x, y in zip(a, b, strict=False)]
    mean = statistics.fmean(logs)
    if len(logs) == 1:
        return math.exp(mean), None
    half = STUDENT[min(len(logs) - 1, len(STUDENT)) - 1] * statistics.stdev(logs) / math.sqrt(len(logs))
    return math.exp(mean), (math.exp(mean - half), math.exp(mean + half))


def quotient(part: float | None, whole: float | None) -> float | None:
    """Their ratio; None where one of them is missing, or the whole is 0."""
    return None if part is None or not whole else part / whole


class Comparison(enum.Enum):
    """What the interval of a ratio of times shows of the first one, beside the second."""

    FASTER = "faster"
    SLOWER = "slower"
    OPEN = "no difference shown"

    @classmethod
    def of(cls, low: float, high: float) -> Comparison:
        """The verdict of an interval."""
        if low <= 1.0 <= high:
            return cls.OPEN
        return cls.SLOWER if low > 1.0 else cls.FASTER

    def to(self, other: str) -> str:
        """The verdict in words: ``faster than psycopg``, ``no difference shown to psycopg``."""
        return f"{self.value} {'to' if self is Comparison.OPEN else 'than'} {other}"

    def if_open(self, words: str) -> str:
        """The words, where no difference is shown."""
        return words if self is Comparison.OPEN else ""
