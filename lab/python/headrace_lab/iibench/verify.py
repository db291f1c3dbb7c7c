"""The proof: what the tables hold after a run against what was made."""

from __future__ import annotations

import datetime as dt
from dataclasses import dataclass, field
from typing import Any, Final

from .options import BenchmarkOptions
from .reference import ROWS_PER_SECOND


@dataclass
class Share:
    """What one client has done to its table since the run began."""

    client: int
    inserted: int = 0
    deleted: int = 0
    retried: bool = False
    """A block was sent again, so that rows may not be in the order of their numbers."""


@dataclass(frozen=True)
class Check:
    """One thing that was compared."""

    table: str
    what: str
    expected: Any
    found: Any

    @property
    def right(self) -> bool:
        """Whether both are the same."""
        return bool(self.expected == self.found)


@dataclass
class Proof:
    """What was compared, and what could not be."""

    checks: list[Check] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    """What could not be compared, and why."""
    checksum: str = ""
    """Of all rows that were made."""

    @property
    def right(self) -> bool:
        """Whether all was as it must be."""
        return all(check.right for check in self.checks)

    def to_json(self) -> dict[str, Any]:
        """For files."""
        return {
            "right": self.right,
            "checks": len(self.checks),
            "wrong": [
                f"{c.table}: {c.what}: expected {c.expected}, found {c.found}" for c in self.checks if not c.right
            ],
            "left_out": self.left_out,
            "checksum": self.checksum,
        }


Row = tuple[Any, ...]
TIMES: Final = 11
"""Where the sum of times stands, if it does."""
SUMS = ("cash_register", "customer", "product", "price", "data_bytes", "data_last")


def seconds(row: int) -> int:
    """The seconds from row 0 to each row below this one, added up.

    >>> seconds(1_000), seconds(1_001), seconds(2_500)
    (0, 1, 2000)
    """
    whole, rest = divmod(row, ROWS_PER_SECOND)
    return whole * (whole - 1) // 2 * ROWS_PER_SECOND + whole * rest


def verify(
    options: BenchmarkOptions, shares: dict[str, list[Share]], before: dict[str, Row], after: dict[str, Row]
) -> Proof:
    """Compares each table. ``before`` and ``after`` are what :meth:`BenchmarkDatabase.check` had for it."""
    proof = Proof()
    checksum = 0
    for table, of_table in shares.items():
        old, new = before[table], after[table]
        inserted, deleted = sum(s.inserted for s in of_table), sum(s.deleted for s in of_table)

        def compare(what: str, expected: Any, found: Any, table: str = table) -> None:
            proof.checks.append(Check(table, what, expected, found))

        rows = int(old[0]) + inserted - deleted
        compare("rows", rows, int(new[0]))
        if rows:
            keys = 0 if new[1] is None else int(new[2]) - int(new[1]) + 1
            compare("keys enough for the rows, between the lowest and the highest", True, keys >= rows)
        for share in of_table:
            checksum += options.rows(share.client).sums(0, share.inserted)["checksum"]
        if reason := unordered(of_table, int(old[0]), deleted):
            proof.left_out.append(f"{table}: the sums of columns: {reason}")
            continue
        made = [options.rows(s.client).sums(s.deleted, s.inserted - s.deleted) for s in of_table]
        for n, name in enumerate(SUMS):
            expected = int(old[3 + n] or 0) + sum(sums[name] for sums in made)
            compare(f"sum of {name}", expected, int(new[3 + n] or 0))
        if len(new) > TIMES:
            expected = int(old[TIMES] or 0) + sum(seconds(s.inserted) - seconds(s.deleted) for s in of_table)
            compare("sum of times", expected, int(new[TIMES] or 0))
        if not int(old[0]) and rows:
            times = [sums for sums in made if sums["rows"]]
            compare("earliest time", timestamp(min(s["time_min"] for s in times)), new[9])
            compare("latest time", timestamp(max(s["time_max"] for s in times)), new[10])
    proof.checksum = f"{checksum % (1 << 64):016x}"
    return proof


def unordered(shares: list[Share], rows_before: int, deleted: int) -> str | None:
    """Why it cannot be known which rows were the oldest that were deleted; ``None`` where it can."""
    if not deleted:
        return None
    if rows_before:
        return "rows that were there before were deleted too"
    if len(shares) > 1:
        return "several clients have inserted, and the oldest rows of all were deleted"
    if shares[0].retried:
        return "blocks that were tried again are not in the order of their numbers"
    return None


def timestamp(seconds: int) -> dt.datetime:
    """Seconds since 1970 as a time without a zone."""
    return dt.datetime(1970, 1, 1) + dt.timedelta(seconds=seconds)
