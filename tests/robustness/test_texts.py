"""Texts of statements are kept up to a number of bytes: many large ones cost no more memory than a few."""

from __future__ import annotations

import resource
from pathlib import Path

from headrace import errors
from servers import Database

LENGTH = 60_000
"""Bytes of a text, of which Informix takes no more than 64 KiB."""
COUNT = 1500


def resident() -> int:
    """Bytes of memory that this process has."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * resource.getpagesize()


def test_large_texts_are_not_kept(target: Database) -> None:
    padding = "-- " + "x" * LENGTH
    with target.connect(autocommit=True) as conn:
        for n in range(COUNT // 10):
            assert conn.fetchval(f"{target.number} {padding}{n}", n) == n
        before = resident()
        for n in range(COUNT):
            assert conn.fetchval(f"{target.number} {padding}{n}", n) == n
        # Kept, they would be 90 MB, once as Python has them and once as the server gets them.
        assert resident() - before < 30_000_000


def test_large_texts_that_fail_are_not_kept(target: Database) -> None:
    padding = "-- " + "x" * LENGTH
    refused = 0
    with target.connect(autocommit=True) as conn:
        before = resident()
        for n in range(COUNT // 3):
            try:
                conn.execute(f"select no_such_column from no_such_table {padding}{n}")
            except errors.ProgrammingError:
                refused += 1
        assert resident() - before < 30_000_000
    assert refused == COUNT // 3
