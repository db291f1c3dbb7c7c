"""The rows again, in Python alone: a second opinion on what the generator makes, and, as ``--generator python``,
what the insert benchmark's client costs where rows are made by the interpreter.

It shares nothing with ``lab/crates/iibench`` but the description: the n-th output of SplitMix64 is a hash of seed and
n;
stream s has the s-th output as its key; row k is made of the outputs 3k to 3k+2 of its key, each of two halves.
"""

from __future__ import annotations

import datetime as dt
from typing import Any, Final

from .options import BenchmarkOptions

_MASK: Final = (1 << 64) - 1
_LOW: Final = (1 << 32) - 1
_GAMMA: Final = 0x9E3779B97F4A7C15
_NOISE: Final = 4 << 20
_ALPHABET: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_ORIGIN: Final = dt.datetime(2020, 1, 1)
ROWS_PER_SECOND: Final = 1_000
"""So many rows of a client have the same time, which is a whole second."""

_noises: dict[int, str] = {}


def output(seed: int, n: int) -> int:
    """The n-th output of SplitMix64, counted from 0."""
    z = (seed + (n + 1) * _GAMMA) & _MASK
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
    return z ^ (z >> 31)


def noise(seed: int) -> str:
    """The random text that data is cut from."""
    if seed not in _noises:
        key = output(seed, 1 << 63)
        made: list[str] = []
        for n in range(-(-_NOISE // 10)):
            bits = output(key, n)
            for _ in range(10):
                made.append(_ALPHABET[bits & 63])
                bits >>= 6
        _noises[seed] = "".join(made)[:_NOISE]
    return _noises[seed]


class PythonRows:
    """The rows of a stream, made one by one."""

    def __init__(self, options: BenchmarkOptions, stream: int) -> None:
        self.options = options
        self.key = output(options.seed, stream)
        self.noise = noise(options.seed) if options.data_random_pct else ""

    def row(self, k: int) -> tuple[Any, ...]:
        """Row k: time, cash register, customer, product, price, data."""
        o = self.options
        a, b, c = output(self.key, 3 * k), output(self.key, 3 * k + 1), output(self.key, 3 * k + 2)
        length = o.data_length_min + ((c >> 32) * (o.data_length_max - o.data_length_min + 1) >> 32)
        random = length * o.data_random_pct // 100
        place = (c & _LOW) * (_NOISE - random + 1) >> 32
        return (
            _ORIGIN + dt.timedelta(seconds=k // ROWS_PER_SECOND),
            (a >> 32) * o.cashregisters >> 32,
            (a & _LOW) * o.customers >> 32,
            (b >> 32) * o.products >> 32,
            (b & _LOW) * o.max_price >> 32,
            "a" * (length - random) + self.noise[place : place + random],
        )

    def values(self, head: str, first: int, count: int) -> str:
        """``head``, and after it ``count`` rows from row ``first`` on as the values of an INSERT."""
        return head + ",".join(
            "('%s',%d,%d,%d,%d,'%s')" % self.row(k)  # noqa: UP031, what iibench.py does for each row
            for k in range(first, first + count)
        )
