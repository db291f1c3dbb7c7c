"""What is known and not mended yet: the tests that it makes fail, by a part of their name."""

from __future__ import annotations

OPEN: tuple[tuple[str, str], ...] = ()
"""A pattern of tests' names, and the fault. With ``--runxfail`` they are run all the same."""
