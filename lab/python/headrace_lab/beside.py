"""Two races of the same rows side by side: whether a short one finds what a whole one finds."""

from __future__ import annotations

import enum
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Final

from .readme import OVERVIEW_ROWS, ROWS
from .report import failure

Row = dict[str, Any]

HEADINGS: Final = ("row", "ratio", "first", "second", "")


class Agreement(enum.Enum):
    """Whether two races can both be right about a ratio."""

    YES = ""
    NO = "differs"
    UNKNOWN = "not known: a single round"
    MISSING = "in one race only"


@dataclass(frozen=True)
class Ratio:
    """A ratio of times, and the bounds of its interval, which a single round does not have."""

    value: float
    interval: tuple[float, float] | None

    def __str__(self) -> str:
        if self.interval is None:
            return f"{self.value:.2f}"
        return f"{self.value:.2f} ({self.interval[0]:.2f} to {self.interval[1]:.2f})"


@dataclass(frozen=True)
class Beside:
    """A ratio in two races; None where it is missing."""

    row: str
    of: str
    first: Ratio | None
    second: Ratio | None

    @property
    def agreement(self) -> Agreement:
        """Whether the intervals have a value in common."""
        if self.first is None or self.second is None:
            return Agreement.MISSING
        if self.first.interval is None or self.second.interval is None:
            return Agreement.UNKNOWN
        (low, high), (other_low, other_high) = self.first.interval, self.second.interval
        return Agreement.YES if low <= other_high and other_low <= high else Agreement.NO


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
    """Each ratio of the README's rows in either race, in the order of the first.

    Raises:
        ValueError: they are of different databases.
    """
    databases = [sorted({row.get("database", "") for row in report["results"]}) for report in (first, second)]
    if databases[0] != databases[1]:
        named = " and ".join(", ".join(each) for each in databases)
        raise ValueError(f"the two races are of different databases: {named}")
    ours, others = _found(first), _found(second)
    return [Beside(*key, ours.get(key), others.get(key)) for key in dict.fromkeys([*ours, *others])]


def cells(each: Beside) -> tuple[str, ...]:
    """One of them as text."""
    first, second = ("-" if ratio is None else str(ratio) for ratio in (each.first, each.second))
    return each.row, each.of, first, second, each.agreement.value


def summary(found: list[Beside]) -> str:
    """How many agree, in a sentence."""
    count = {agreement: sum(each.agreement is agreement for each in found) for agreement in Agreement}
    return (
        f"Of {len(found)} ratios {count[Agreement.YES]} agree (their intervals of 95 % have a value in common), "
        f"{count[Agreement.NO]} differ, {count[Agreement.UNKNOWN]} are not known (a single round), and "
        f"{count[Agreement.MISSING]} are in one race only."
    )


def terminal(found: list[Beside], width: int | None = None) -> None:
    """Prints them, ``width`` characters wide where it is not the terminal's own."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=width)
    table = Table(header_style="bold")
    for n, heading in enumerate(HEADINGS):
        table.add_column(heading, justify="right" if n in (2, 3) else "left")
    for each in found:
        table.add_row(*cells(each), style="bold" if each.agreement is Agreement.NO else None)
    console.print(table)
    console.print(summary(found))


def markdown(found: list[Beside]) -> str:
    """The same as Markdown."""
    out = ["| " + " | ".join(HEADINGS) + " |", "|---|---|---:|---:|---|"]
    out += ["| " + " | ".join(cells(each)) + " |" for each in found]
    return "\n".join([*out, "", summary(found), ""])
