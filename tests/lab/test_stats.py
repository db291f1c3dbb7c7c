"""Statistics: medians and the interval that decides a verdict."""

from __future__ import annotations

import itertools
import random

import pytest

from headrace_lab.stats import Comparison, iqr, median, percentile, ratio_interval, ratio_of_processes


def test_medians_and_quartiles() -> None:
    assert median([3.0, 1.0, 2.0]) == 2.0
    assert iqr([1.0, 2.0, 3.0, 4.0, 5.0]) == 2.0
    assert percentile(list(range(101)), 99) == 99.0


def test_a_clear_difference_is_shown_with_its_size() -> None:
    rng = random.Random(1)
    slow = [2.0 + rng.uniform(-0.05, 0.05) for _ in range(15)]
    fast = [1.0 + rng.uniform(-0.05, 0.05) for _ in range(15)]
    ratio, low, high = ratio_interval(slow, fast)
    assert low <= ratio <= high
    assert ratio == pytest.approx(2.0, abs=0.1)
    assert (Comparison.of(low, high), Comparison.of(1 / high, 1 / low)) == (Comparison.SLOWER, Comparison.FASTER)


def test_noise_alone_shows_no_difference() -> None:
    shown = 0
    for seed in range(40):
        rng = random.Random(seed)
        a, b = ([rng.gauss(1.0, 0.1) for _ in range(15)] for _ in range(2))
        _, low, high = ratio_interval(a, b)
        shown += Comparison.of(low, high) is not Comparison.OPEN
    # An interval of 95 % is wrong once in twenty, and the bootstrap of a median a little more often.
    assert shown <= 6


def test_what_slows_both_down_leaves_the_ratio_narrow() -> None:
    machine = [1.0, 1.5, 3.0, 1.1, 2.2, 1.0, 1.7, 2.9, 1.2]
    ratio, low, high = ratio_interval([1.2 * m for m in machine], machine)
    assert (ratio, low, high) == (pytest.approx(1.2), pytest.approx(1.2), pytest.approx(1.2))


def test_rounds_of_different_number_are_compared_too() -> None:
    ratio, low, high = ratio_interval([2.0] * 5, [1.0] * 9)
    assert (ratio, low, high) == (2.0, 2.0, 2.0)


def _race(rng: random.Random, scale: float) -> list[list[float]]:
    """Five processes of three rounds: each process differs by 3 % from the next, and its rounds by 0.5 %."""
    return [[rng.gauss(scale * process, 0.005) for _ in range(3)] for process in [rng.gauss(1, 0.03) for _ in range(5)]]


def test_intervals_hold_what_differs_between_processes() -> None:
    rng = random.Random(3)
    races = [ratio_of_processes(_race(rng, 1.2), _race(rng, 1.0))[1] for _ in range(200)]
    intervals = [interval for interval in races if interval is not None]
    assert len(intervals) == 200
    right = sum(low <= 1.2 <= high for low, high in intervals)
    assert right >= 180, "95 % are to hold the ratio"
    agree = sum(a[0] <= b[1] and b[0] <= a[1] for a, b in itertools.pairwise(intervals))
    assert agree >= 190
    of_rounds = [ratio_interval(_race(rng, 1.2)[0], _race(rng, 1.0)[0]) for _ in range(200)]
    assert sum(low <= 1.2 <= high for _, low, high in of_rounds) < 100, "rounds of one process do not show it"


def test_a_single_process_has_no_interval() -> None:
    ratio, interval = ratio_of_processes([[2.0, 2.2, 1.8]], [[1.0, 1.0], [9.0]])
    assert ratio == pytest.approx(2.0)
    assert interval is None


def test_processes_are_compared_with_those_beside_them() -> None:
    machine = [1.0, 3.0, 1.5, 2.0]
    ratio, interval = ratio_of_processes([[1.2 * m] * 2 for m in machine], [[m] * 3 for m in [*machine, 7.0]])
    assert ratio == pytest.approx(1.2)
    assert interval is not None
    assert list(interval) == pytest.approx([1.2, 1.2])
