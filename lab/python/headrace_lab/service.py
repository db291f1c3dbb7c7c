"""The table of the workloads of a web service: what a query takes there, and how long those wait that take longest."""

from __future__ import annotations

from typing import Any, Final

from . import workloads as w
from .overview import order
from .report import duration, failure, where

Row = dict[str, Any]

COLUMNS: Final = (
    ("pool_load", w.LOAD_TASKS, f"{w.LOAD_TASKS} tasks, {w.LOAD_POOL} connections", ("median_s", "p50_s", "p99_s")),
    ("pool_threads", w.LOAD_THREADS, f"{w.LOAD_THREADS} threads, {w.POOL_SIZE}", ("median_s", "p50_s", "p99_s")),
    ("beside_bulk", w.BULK_ROWS, "beside fetches", ("p50_s", "p99_s", "longest_s", "median_s")),
)
"""Workload, size and heading of each group of columns, and the figures in it."""
FIGURES: Final = {
    "pool_load": {"median_s": "a query", "p50_s": "p50", "p99_s": "p99"},
    "pool_threads": {"median_s": "a query", "p50_s": "p50", "p99_s": "p99"},
    "beside_bulk": {"p50_s": "p50", "p99_s": "p99", "longest_s": "longest", "median_s": "a fetch"},
}
"""The headings of the figures."""
OVERVIEW: Final = {
    "pool_load": "100 tasks on a pool of 10, asyncio",
    "pool_threads": "16 threads on a pool of 4",
}
"""The workloads that the README's table has a row of, with its label."""


def _of(report: dict[str, Any]) -> list[Row]:
    wanted = {(workload, size) for workload, size, _, _ in COLUMNS}
    rows = (row for row in report["results"] if (row["workload"], row["size"]) in wanted)
    return [row for row in rows if failure(row) is None and row["median_s"] is not None]


def has_rows(report: dict[str, Any]) -> bool:
    """Returns true if one of the workloads has a result."""
    return bool(_of(report))


def table(report: dict[str, Any]) -> str:
    """The table: a line for each contestant."""
    found = {(row["contestant"], row["workload"]): row for row in _of(report)}
    raced = {contestant for contestant, _ in found}
    contestants = [*(["floor"] if "floor" in raced else []), *(each for each in order(_of(report)) if each in raced)]
    headings = [f"{title}: {FIGURES[name][figure]}" for name, _, title, figures in COLUMNS for figure in figures]
    lines = [f"{where(report)}.", "", "| | " + " | ".join(headings) + " |", "|---|" + "---:|" * len(headings)]
    for contestant in contestants:
        cells = [
            _cell(found.get((contestant, name), {}), figure) for name, _, _, figures in COLUMNS for figure in figures
        ]
        lines.append(f"| {contestant} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cell(row: Row, figure: str) -> str:
    """A figure; what a query of a pool takes with its ratio to the floor."""
    shown, ratio = duration(row.get(figure)), row.get("ratio_to_floor")
    if figure != "median_s" or not ratio or row["workload"] not in OVERVIEW or row["contestant"] == "floor":
        return shown
    return f"{shown} ({ratio:.2f})"


def rows_of(cells: dict[str, dict[str, str]]) -> dict[str, dict[str, str]]:
    """Returns the rows that the README's table has of this one, by their label there: what a query takes, by
    contestant.

    Args:
        cells: of the table on the page, by contestant and then by heading.
    """
    headings = {name: f"{title}: {FIGURES[name]['median_s']}" for name, _, title, _ in COLUMNS}
    return {
        label: {contestant: row.get(headings[name], "-") for contestant, row in cells.items()}
        for name, label in OVERVIEW.items()
    }
