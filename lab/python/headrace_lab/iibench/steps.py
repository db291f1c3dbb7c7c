"""The steps of a run: the named ones, or the single one that the options describe."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final

from .options import STEPS, BenchmarkOptions, split

SETTLE_SECONDS: Final = 60.0
"""Rest after l.i2, to which comes a second for each million rows."""
BLOCK_L_I0: Final = 100
BLOCK_L_I1: Final = 50
BLOCK_L_I2: Final = 5
ROWS_L_X: Final = 100
"""Rows that are inserted after the indexes were built."""


@dataclass(frozen=True)
class Step:
    """What is done in a step. Rows and rates are those of one client."""

    name: str
    rows: int = 0
    """Rows to insert; 0: as many as the time allows."""
    rows_per_commit: int = 1
    seconds: float = 0.0
    """Seconds after which the step ends; 0: when the rows are in."""
    rate: float = 0.0
    """Rows per second that are due; 0: as fast as possible."""
    deletes: bool = False
    queriers: int = 0
    query_rate: float = 0.0
    point_queries: bool = False
    inserts: bool = True
    indexes_before: bool = False
    """Build the secondary indexes first, on the clock of this step."""
    indexes_after: bool = False
    settle: float = 0.0
    """Seconds of rest after the step, in which the server does what it has put off."""
    htap: float = 0.0


def plan(options: BenchmarkOptions, cell: str = "") -> list[Step]:
    """The steps that the options ask for, in order; ``cell`` is the name of the one that they describe."""
    if not options.step:
        return [
            Step(
                name=cell or "run",
                rows=0 if options.no_inserts else options.max_rows,
                rows_per_commit=options.rows_per_commit,
                seconds=options.max_seconds,
                rate=options.inserts_per_second,
                deletes=options.delete_per_insert,
                queriers=options.query_threads,
                query_rate=options.queries_per_second,
                point_queries=options.query_pk_only,
                inserts=not options.no_inserts,
                indexes_after=options.secondary_at_end,
                htap=options.htap_transaction_seconds,
            )
        ]
    names = split(options.step)
    if "all" in names:
        names = list(STEPS)
    return [named(name, options) for name in names]


def share(rows: int, options: BenchmarkOptions, block: int) -> int:
    """The rows of one client, rounded to whole blocks, of a number that is meant for each table."""
    each = rows * options.tables // options.clients
    return max(block, each // block * block)


def named(name: str, options: BenchmarkOptions) -> Step:
    """A step of iiBench by its name."""
    if name == "l.i0":
        return Step(name, rows=share(options.load_rows, options, BLOCK_L_I0), rows_per_commit=BLOCK_L_I0)
    if name == "l.x":
        return Step(name, rows=ROWS_L_X, rows_per_commit=ROWS_L_X, indexes_before=True)
    if name == "l.i1":
        rows = share(options.more_rows * 4 // 5, options, BLOCK_L_I1)
        return Step(name, rows=rows, rows_per_commit=BLOCK_L_I1, deletes=True, htap=options.htap_transaction_seconds)
    if name == "l.i2":
        rows = share(options.more_rows // 5, options, BLOCK_L_I2)
        rest = options.settle_seconds
        if rest is None:
            rest = SETTLE_SECONDS + (options.load_rows + options.more_rows) * options.tables / 1e6
        return Step(
            name, rows=rows, rows_per_commit=BLOCK_L_I2, deletes=True, settle=rest,
            htap=options.htap_transaction_seconds,
        )  # fmt: skip
    found = re.fullmatch(r"q([rp])(\d+)", name)
    assert found, "the options know no other name"
    return Step(
        name,
        rows_per_commit=BLOCK_L_I1,
        seconds=options.step_seconds,
        rate=float(found[2]),
        deletes=True,
        queriers=max(1, options.query_threads),
        query_rate=options.queries_per_second,
        point_queries=found[1] == "p",
        htap=options.htap_transaction_seconds,
    )
