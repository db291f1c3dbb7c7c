"""The overview of a race: a line for each workload, a column for each contestant, and a verdict in words."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, Final

from . import workloads as w
from .report import CORES, duration, failure, groups
from .stats import Comparison, quotient

Row = dict[str, Any]

SHADES: Final = (1.10, 1.5, 2.5, 5.0)
"""The ratios to the floor up to which a cell has each of the colours but the last."""
SHORT: Final = {"shared": "one core", "idle": "idle cores", "awake": "awake cores"}
"""The short forms of :data:`~headrace_lab.report.CORES`."""
assert SHORT.keys() == CORES.keys()
LEAST: Final = "least"
"""The word before the figures of a line without a floor."""


@dataclass(frozen=True)
class Ratio:
    """A cell: a contestant's figures divided by those of the floor, or by the least of the line if it has no floor."""

    wall: float | None
    cpu: float | None
    problem: str | None = None
    """The reason why there is no ratio."""

    @property
    def shades(self) -> tuple[int | None, int | None]:
        """The numbers of the colours of wall time and of client CPU, from 0 (at the floor) on."""
        return shade(self.wall), shade(self.cpu)


@dataclass(frozen=True)
class Line:
    """A workload of one size on one kind of cores."""

    label: str
    floor: str
    """The floor's median and client CPU, with units, or the least of all contestants if there is no floor."""
    ratios: Sequence[Ratio | None]
    """A cell for each contestant; None where it did not take part."""
    verdict: str


@dataclass(frozen=True)
class Overview:
    """The table, and its summary."""

    contestants: Sequence[str]
    lines: Sequence[Line]
    summary: str


def shade(ratio: float | None) -> int | None:
    """The number of a ratio's colour."""
    return None if ratio is None else next((n for n, most in enumerate(SHADES) if ratio <= most), len(SHADES))


def overview(report: dict[str, Any]) -> Overview:
    """The overview of a report. headrace's forms come first, then the others, the fastest of them first."""
    by_workload = [rows for _, rows in groups(report)]
    contestants = order(report["results"])
    several = several_kinds(report)
    lines = [_line(rows, contestants, several) for rows in by_workload]
    return Overview(contestants, lines, _summary([rows for rows in by_workload if _others(rows)]))


def several_kinds(report: dict[str, Any]) -> set[str]:
    """The workloads that were run on more than one kind of cores."""
    return {name for name in _workloads(report) if len(_kinds(report, name)) > 1}


def _workloads(report: dict[str, Any]) -> set[str]:
    return {row["workload"] for row in report["results"]}


def _kinds(report: dict[str, Any], workload: str) -> set[str]:
    return {row["cores"] for row in report["results"] if row["workload"] == workload}


def order(rows: Sequence[Row]) -> list[str]:
    """The contestants without the floor: headrace's forms as they are in the report, the others by the geometric mean
    of their ratios to the floor."""
    names = list(dict.fromkeys(row["contestant"] for row in rows if row["contestant"] != "floor"))

    def mean(name: str) -> tuple[bool, float]:
        if name.startswith("headrace"):
            return False, 0.0
        logs = [math.log(row["ratio_to_floor"]) for row in rows if row["contestant"] == name and row["ratio_to_floor"]]
        return True, sum(logs) / len(logs) if logs else math.inf

    return sorted(names, key=mean)


def _line(rows: Sequence[Row], contestants: Sequence[str], several: set[str]) -> Line:
    of = {row["contestant"]: row for row in rows}
    name, size, cores = rows[0]["workload"], rows[0]["size"], rows[0]["cores"]
    label = w.published(rows[0].get("database", ""), name, size) or (f"{name} {size:,}" if size > 1 else name)
    floor = of.get("floor")
    valid = [row for row in rows if failure(row) is None]
    least: tuple[float, float] | None = None
    if floor and failure(floor) is None:
        shown = f"{duration(floor['median_s'])} · {duration(floor['client_cpu_s'])}"
    elif valid:
        least = min(row["median_s"] for row in valid), min(row["client_cpu_s"] for row in valid)
        shown = f"{LEAST} {duration(least[0])} · {duration(least[1])}"
    else:
        shown = "-"
    return Line(
        label=f"{label}, {SHORT[cores]}" if name in several else label,
        floor=shown,
        ratios=[_ratio(of[contestant], least) if contestant in of else None for contestant in contestants],
        verdict=verdict_of(rows),
    )


def _ratio(row: Row, least: tuple[float, float] | None) -> Ratio:
    problem = failure(row)
    if problem is not None:
        return Ratio(None, None, problem)
    if least is not None:
        return Ratio(quotient(row["median_s"], least[0]), quotient(row["client_cpu_s"], least[1]))
    return Ratio(row["ratio_to_floor"], row["cpu_ratio_to_floor"])


def _others(rows: Sequence[Row]) -> Iterator[tuple[str, Comparison]]:
    """The drivers that headrace is compared with in a workload, each with the verdict on it."""
    for row in rows:
        if failure(row) is None and row.get("ratio_to_rival_ci"):
            yield row["contestant"], Comparison.of(*row["ratio_to_rival_ci"])


def verdict_of(rows: Sequence[Row]) -> str:
    """The verdict on headrace in one workload, in words. Each other driver is compared with headrace on the same kind
    of loop."""
    found = dict(_others(rows))
    if not found:
        return "-"
    for result, ours in ((Comparison.FASTER, Comparison.SLOWER), (Comparison.OPEN, Comparison.OPEN)):
        if names := [name for name, each in found.items() if each == result]:
            return "; ".join(_on_loops(rows, ours, names))
    return Comparison.FASTER.to("all others" if len(found) > 1 else next(iter(found)))


def _on_loops(rows: Sequence[Row], result: Comparison, names: Sequence[str]) -> Iterator[str]:
    """The verdict on headrace beside other drivers, for each form of it that they are compared with."""
    rivals = {row["contestant"]: str(row.get("rival") or "headrace") for row in rows}
    for form in dict.fromkeys(rivals[name] for name in names):
        of_form = ", ".join(name for name in names if rivals[name] == form)
        yield result.to(of_form) + (f" (as {form})" if form != "headrace" else "")


def _summary(compared: Sequence[Sequence[Row]]) -> str:
    """One sentence for all lines in which headrace is compared with others."""
    worst = [{result for _, result in _others(rows)} for rows in compared]
    slower = sum(Comparison.FASTER in results for results in worst)
    open_ = sum(Comparison.OPEN in results and Comparison.FASTER not in results for results in worst)
    if not worst:
        return ""
    return (
        f"Of the {len(worst)} lines in which headrace is compared with other drivers, it is faster than all of them in "
        f"{len(worst) - slower - open_}, shows no difference to at least one in {open_}, and is slower than at "
        f"least one in {slower}."
    )
