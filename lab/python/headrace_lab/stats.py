"""Medians, quartiles and bootstrap intervals."""

from __future__ import annotations

import enum
from collections.abc import Sequence
from typing import Any

import numpy as np

RESAMPLES = 4_000
"""Bootstrap resamples."""
CONFIDENCE = 0.95


def median(values: Sequence[float]) -> float:
    """The median."""
    return float(np.median(np.asarray(values)))


def iqr(values: Sequence[float]) -> float:
    """The distance between the quartiles."""
    low, high = np.percentile(np.asarray(values), [25, 75])
    return float(high - low)


def percentile(values: Sequence[float], p: float) -> float:
    """A percentile."""
    return float(np.percentile(np.asarray(values), p))


def ratio_interval(a: Sequence[float], b: Sequence[float], seed: int = 1) -> tuple[float, float, float]:
    """The ratio of the medians of `a` and `b`, and the bootstrap interval around it.

    The rounds are interleaved, so round i of both is resampled together where both have it: what slowed the machine
    down for one slowed it down for the other.
    """
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
