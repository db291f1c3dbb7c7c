"""What the tests of servers of older versions of the protocol have in common."""

from __future__ import annotations

import random

VERSIONS = (8, 10, 12)
ROWS = 700
LONGEST = 2000
ALL = "select n, v from hr_long order by n"


def rows_of_many_lengths() -> list[tuple[int, str]]:
    """Rows of very different lengths: which rows a page has cannot be guessed."""
    rng = random.Random(1)
    return [(n, "x" * rng.randrange(LONGEST if n % 7 else 10)) for n in range(ROWS)]
