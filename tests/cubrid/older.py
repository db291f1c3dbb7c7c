"""What the tests of servers of older versions of the protocol have in common."""

from __future__ import annotations

VERSIONS = (8, 10, 12)
ROWS = 700
LONGEST = 2000
ALL = "select n, v from hr_long order by n"
