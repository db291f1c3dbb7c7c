"""Two races of the same rows side by side: whether a short one says what a whole one says."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from .readme import OVERVIEW_ROWS, ROWS
from .report import failure

Row = dict[str, Any]

HEADINGS: Final = ("row", "ratio", "first", "second", "")


@dataclass(frozen=True)
class Ratio:
    """A ratio of times, and the bounds of its interval, which a single round does not have."""

    value: float
    interval: tuple[float, float] | None

    def __str__(self) -> str:
        if self.interval is None:
            return f"{self.value:.2f}"
        return f"{self.value:.2f} ({self.interval[0]:.2f} to {self.interval[1]:.2f})"

    def agrees_with(self, other: Ratio) -> bool:
        """Returns true if the intervals have a value in common. A ratio without one is within the other's, or not
        known to differ."""
        low, high = self.interval or (self.value, self.value)
        other_low, other_high = other.interval or (other.value, other.value)
        return (self.interval is None and other.interval is None) or (low <= other_high and other_low <= high)


@dataclass(frozen=True)
class Beside:
    """A ratio in two races."""

    row: str
    of: str
    first: Ratio
    second: Ratio

    @property
    def agrees(self) -> bool:
        """Whether both races can be right."""
        return self.first.agrees_with(self.second)


def _ratios(row: Row) -> Iterator[tuple[str, Ratio]]:
    columns = (("floor", "ratio_to_floor", "ratio_ci"), (row.get("rival"), "ratio_to_rival", "ratio_to_rival_ci"))
    for to, ratio, interval in columns:
        if to and row.get(ratio) is not None and row["contestant"] != to:
            bounds = row.get(interval)
            yield f"{row['contestant']} to {to}", Ratio(row[ratio], (bounds[0], bounds[1]) if bounds else None)


def _found(report: dict[str, Any]) -> dict[tuple[str, str], Ratio]:
    labels = {(workload, size, cores): label for workload, size, label, cores in ROWS if label in OVERVIEW_ROWS}
    return {
        (label, of): ratio
        for row in report["results"]
        if failure(row) is None and (label := labels.get((row["workload"], row["size"], row["cores"])))
        for of, ratio in _ratios(row)
    }


def beside(first: dict[str, Any], second: dict[str, Any]) -> list[Beside]:
    """Each ratio of the README's rows that both races have, in the order of the first."""
    others = _found(second)
    return [Beside(*key, ratio, others[key]) for key, ratio in _found(first).items() if key in others]


def cells(each: Beside) -> tuple[str, ...]:
    """One of them as text."""
    return each.row, each.of, str(each.first), str(each.second), "" if each.agrees else "differs"


def summary(found: list[Beside]) -> str:
    """How many agree, in a sentence."""
    agreeing = sum(each.agrees for each in found)
    return f"Of {len(found)} ratios {agreeing} agree: their intervals of 95 % have a value in common."


def terminal(found: list[Beside], width: int | None = None) -> None:
    """Prints them, ``width`` characters wide where it is not the terminal's own."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=width)
    table = Table(header_style="bold")
    for n, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="left" if n < 2 else "right")
    for each in found:
        table.add_row(*cells(each), style=None if each.agrees else "bold")
    console.print(table)
    console.print(summary(found))


def markdown(found: list[Beside]) -> str:
    """The same as Markdown."""
    out = ["| " + " | ".join(HEADINGS) + " |", "|---|---|---:|---:|---|"]
    out += ["| " + " | ".join(cells(each)) + " |" for each in found]
    return "\n".join([*out, "", summary(found), ""])
