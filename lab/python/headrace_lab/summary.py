"""A race in one table of 80 characters: a line for each workload."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

from .overview import SHORT, several_kinds
from .report import equal, failure, groups, has_floor
from .stats import quotient

Row = dict[str, Any]
WIDTH: Final = 80
"""Characters of a line, at most."""
FORMS: Final = {"headrace": "blocking", "headrace-async": "asyncio", "headrace-uvloop": "uvloop"}
"""The kinds of loops on which another driver is compared with headrace."""
WORKLOAD, OTHER = 21, 21
"""The widths of the columns of names."""


def lines(report: dict[str, Any]) -> list[str]:
    """The table as lines: headrace's ratio to the floor, wall time and client CPU, and the other driver that is fastest
    beside headrace on the same kind of loop, with how many times as long it takes. Empty without a result."""
    found = [rows for _, rows in groups(report) if any(row["contestant"].startswith("headrace") for row in rows)]
    if not found:
        return []
    several = several_kinds(report)
    floor = has_floor(report["results"])
    of_floor = f"{'floor':>7}{'CPU':>6}" if floor else ""
    legend = (
        "floor: headrace's wall time and client CPU (blocking; asyncio where nothing is),",
        "divided by the floor's.",
        "times: wall time and CPU of the fastest other driver, divided by headrace's on",
        "the same kind of loop; = where the interval of the ratio includes 1.",
    )
    return [
        f"{'':{WORKLOAD}}{of_floor}  {'fastest other':{OTHER}}{'times':>7}{'CPU':>6}  loop",
        *(_line(rows, several, floor) for rows in found),
        *legend[0 if floor else 2 :],
    ]


def _label(rows: Sequence[Row], several: set[str]) -> str:
    name, size, cores = rows[0]["workload"], rows[0]["size"], rows[0]["cores"]
    label = name if size == 1 else f"{name} {size // 1000}k" if size % 1000 == 0 else f"{name} {size}"
    label = f"{label}, {SHORT[cores]}" if name in several or cores == "shared" else label
    return label if len(label) <= WORKLOAD else label[: WORKLOAD - 1] + "…"


def _line(rows: Sequence[Row], several: set[str], floor: bool) -> str:
    line = f"{_label(rows, several):{WORKLOAD}}"
    ours = next((row for form in FORMS for row in rows if row["contestant"] == form), None)
    if floor:
        line += f"{_ratio(ours, 'ratio_to_floor'):>7}{_ratio(ours, 'cpu_ratio_to_floor'):>6}"
    other = min(
        (row for row in rows if failure(row) is None and row.get("ratio_to_rival")),
        key=lambda row: float(row["ratio_to_rival"]),
        default=None,
    )
    if other is None:
        return f"{line}  -"
    rival = next((row for row in rows if row["contestant"] == other["rival"]), {})
    times = equal(other["ratio_to_rival_ci"]) + number(other["ratio_to_rival"])
    cpu = number(quotient(other["client_cpu_s"], rival.get("client_cpu_s")))
    return f"{line}  {other['contestant']:{OTHER}.{OTHER}}{times:>7}{cpu:>6}  {FORMS[other['rival']]}"


def _ratio(row: Row | None, key: str) -> str:
    return "-" if row is None or failure(row) is not None else number(row[key])


def number(ratio: float | None) -> str:
    """A ratio in at most five characters."""
    if ratio is None:
        return "-"
    return f"{ratio:.2f}" if ratio < 10 else f"{ratio:.1f}" if ratio < 100 else f"{ratio:,.0f}"
