"""Runs laid over each other on one HTML page that needs nothing but itself."""

from __future__ import annotations

import html
from collections.abc import Iterator, Sequence
from typing import Any, Final

from ..page import STYLE
from . import cells as in_cells
from .plots import STYLE as PLOT_STYLE
from .plots import Curve, chart
from .report import HEADINGS, STAGES, WHAT, cells, circumstances, groups, stages, troubles, unproven
from .runs import KINDS, RunResult, name_them

SHORTEST: Final = 0.2
"""Seconds below which what is left of a last second makes no point of a curve."""


def page(runs: Sequence[RunResult]) -> str:
    """The page."""
    name_them(runs)
    parts = [
        "<!doctype html><html lang='en'><head><meta charset='utf-8'>"
        "<meta name='viewport' content='width=device-width, initial-scale=1'><title>headrace: iiBench</title>",
        f"<style>{STYLE}{PLOT_STYLE}.bad{{color:#c92a2a}}</style></head><body>",
        "<h1>headrace: the insert benchmark</h1>",
        *(f"<p>{html.escape(text)}</p>" for text in circumstances(runs)),
        "<p><i>Database waits</i> is the share of time in which the server's thread slept: for its client, a disk or a "
        "lock. <i>Unfed</i> is the share in which it had answered everything and the client had not sent the next, as "
        "far as the client can see. <i>To pregen</i> is the rate as a part of that with all rows made beforehand, by "
        "the same driver. Times are response times: from when an operation was due. CPU is per row, or per query.</p>",
        *(f"<p class='bad'>{html.escape(text)}</p>" for text in troubles(runs)),
        *(f"<p>{html.escape(text)}</p>" for text in unproven(runs)),
    ]
    if compared := in_cells.table(runs):
        parts += table("all cells", in_cells.HEADINGS, compared)
    for title, of_group in groups(runs):
        parts += table(title, HEADINGS, [cells(line) for line in of_group])
    if by_stage := stages(runs):
        parts += table("client CPU per row by stage", ("step", "run", *STAGES), by_stage)
    for step in dict.fromkeys(step for run in runs for step in run.seconds):
        for title, figure in figures(step, runs):
            parts.append(f"<h2>{html.escape(title)}</h2>{figure}")
    parts.append("</body></html>")
    return "".join(parts)


def table(title: str, headings: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """A table with a title."""
    yield f"<h2>{html.escape(title)}</h2><div class='scroll'><table><tr>"
    yield from (f"<th>{h}</th>" for h in headings)
    yield "</tr>"
    yield from ("<tr>" + "".join(f"<td>{html.escape(c)}</td>" for c in row) + "</tr>" for row in rows)
    yield "</table></div>"


def figures(step: str, runs: Sequence[RunResult]) -> Iterator[tuple[str, str]]:
    """The plots of a step: rates and the slowest hundredth of each kind, and how long the database waited."""
    for kind in KINDS:
        rates = [(run, rate_curve(run, step, kind)) for run in runs]
        if not any(ys for _, (_, ys) in rates):
            continue
        grows = kind == "insert" and not any(timed(run, step) for run in runs)
        along = "rows in the table" if grows else "seconds"
        yield f"{step}: {WHAT[kind]} per second", drawn(rates if grows else by_time(runs, step, kind), along, "")
        slow = [(run, slow_curve(run, step, kind)) for run in runs]
        yield f"{step}: 99 % of response times, {WHAT[kind]}", drawn(slow, "seconds", "ms", logarithmic=True)
    waits = [(run, wait_curve(run, step)) for run in runs]
    if any(ys for _, (_, ys) in waits):
        yield f"{step}: share of time in which the database waits", drawn(waits, "seconds", "%")


Points = tuple[list[float], list[float]]


def whole(run: RunResult, step: str) -> list[dict[str, Any]]:
    """The seconds of a step that are long enough to say something."""
    return [second for second in run.seconds.get(step, []) if second["length"] >= SHORTEST]


def timed(run: RunResult, step: str) -> bool:
    """Whether a step had a rate to keep, so that its curve is drawn over time."""
    return any("target" in kind for s in run.steps if s["step"] == step for kind in s["kinds"].values())


def rate_curve(run: RunResult, step: str, kind: str) -> Points:
    """Rows per second over rows."""
    xs, ys, rows = [], [], 0
    for second in whole(run, step):
        here = second["kinds"].get(kind, {"rows": 0})["rows"]
        rows += here
        xs.append(float(rows))
        ys.append(here / second["length"])
    return (xs, ys) if rows else ([], [])


def by_time(runs: Sequence[RunResult], step: str, kind: str) -> list[tuple[RunResult, Points]]:
    """Rows or queries per second over time."""
    curves: list[tuple[RunResult, Points]] = []
    unit = "operations" if kind == "query" else "rows"
    for run in runs:
        seconds = whole(run, step)
        xs = [s["second"] + s["length"] for s in seconds]
        curves.append((run, (xs, [s["kinds"].get(kind, {unit: 0})[unit] / s["length"] for s in seconds])))
    return curves


def slow_curve(run: RunResult, step: str, kind: str) -> Points:
    """Milliseconds over time."""
    found = [(s["second"], s["kinds"][kind]["response"]) for s in whole(run, step) if kind in s["kinds"]]
    return [float(n) for n, r in found if r], [r["p99"] * 1e3 for _, r in found if r]


def wait_curve(run: RunResult, step: str) -> Points:
    """Percent over time."""
    found = [(s["second"], s["wait_share"]) for s in whole(run, step) if s["wait_share"] is not None]
    return [float(n) for n, _ in found], [share * 100 for _, share in found]


def drawn(curves: list[tuple[RunResult, Points]], along: str, unit: str, *, logarithmic: bool = False) -> str:
    """Curves over each other; rounds of the same run have the same colour."""
    return chart([Curve(run.name, xs, ys) for run, (xs, ys) in curves], along, unit, logarithmic=logarithmic)
