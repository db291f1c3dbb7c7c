"""What the runs in cells come to: one table, and whether the aims were reached."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Final

from .runs import Line, RunResult, lines

RATE: Final = 0.98
"""The rate of overlap, as a part of pregen's, that is the aim."""
WAITS: Final = {1: 0.02, 50: 0.01}
"""The share of time that the database may wait, from so many rows per commit on."""
HEADINGS: Final = (
    "cell", "run", "rows/s", "to pregen", "database waits", "unfed", "generate", "client CPU", "server CPU", "aims",
)  # fmt: skip


def share_allowed(rows_per_commit: int) -> float:
    """The share of time that the database may wait."""
    return WAITS[max(least for least in WAITS if least <= rows_per_commit)]


def missed(line: Line) -> str:
    """Which aims a line of overlap has missed; nothing where it has reached them."""
    found: list[str] = []
    floor, waits, unfed = line.to_floor(), line.of("wait_share"), line.of("unfed_share")
    if floor is not None and floor[0] < RATE:
        open_ = floor[1].if_open(f" ({floor[1].to('pregen')})") if floor[1] else ""
        found.append(f"rate below {RATE} of pregen's{open_}")
    allowed = share_allowed(line.rows_per_commit)
    if waits is not None and waits > allowed:
        fed = unfed is not None and unfed <= allowed
        found.append(f"waits above {allowed:.0%}" + (", but not for the client" if fed else ""))
    return "; ".join(found)


def table(runs: Sequence[RunResult]) -> list[tuple[str, ...]]:
    """A line for each cell and run; nothing where there are no cells."""
    cells = {run.header.get("cell", "") for run in runs} - {""}
    made: list[tuple[str, ...]] = []
    for line in lines(runs):
        if line.step not in cells or line.kind != "insert":
            continue
        rate, waits, unfed = line.of("kinds", "insert", "rate"), line.of("wait_share"), line.of("unfed_share")
        generate, client = line.of("client", "stages_us_per_row", "generate"), line.of("client", "cpu_us_per_row")
        floor, server = line.to_floor(), line.of("server", "cpu_us")
        overlap = line.client == "overlap"
        made.append(
            (
                line.step,
                line.name,
                f"{rate:,.0f}" if rate is not None else "-",
                f"{floor[0]:.2f}" if floor is not None else "",
                f"{waits:.2%}" if waits is not None else "",
                f"{unfed:.2%}" if unfed is not None else "",
                f"{generate:.2f} µs" if generate is not None and overlap else "",
                f"{client:.2f} µs" if client is not None else "",
                f"{server:.2f} µs" if server is not None else "",
                (missed(line) or "reached") if overlap else "",
            )
        )
    return made
