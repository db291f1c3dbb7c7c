"""Statistics: medians and the interval that decides a verdict."""

from __future__ import annotations

import random

import pytest

from headrace_lab.stats import Comparison, iqr, median, percentile, ratio_interval


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
