"""What the daemon has to reach, and whether it does: from the JSON of a race.

Every goal is of headrace through headraced, but for the throughput of many clients: there the floor asks, because a
client in Python would be what is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Final

from ..report import duration
from .routes import DIRECT, HEADRACED, PGBOUNCER
from .workloads import APART, FREE, SHARED

OURS, FLOOR = "headrace", "floor"
Pass = tuple[str, int, str]
Row = dict[str, Any]

CONNECT_S: Final = 0.40e-3
"""Connecting and one query."""
CONNECT_TO_FLOOR: Final = 1.3
RATE_OF_DIRECT: Final = 0.85
"""One query per call, of the direct rate."""
BATCH_OF_DIRECT: Final = 0.95
P99_BESIDE: Final = 2.0
"""Small queries beside bulk, of those alone."""


@dataclass(frozen=True)
class Goal:
    """A goal, and what was measured: a ratio or a time, and the text of it. ``measured`` is None if the race has not
    what it takes."""

    of: Pass
    target: str
    measured: float | None
    text: str
    reached: bool | None

    @property
    def verdict(self) -> str:
        """In a word."""
        return "-" if self.reached is None else "reached" if self.reached else "missed"


class _Report:
    """The rows that count, by what they are of."""

    def __init__(self, report: dict[str, Any]) -> None:
        self.rows: dict[tuple[str, int, str, str, str], Row] = {
            (row["workload"], row["size"], row["cores"], row["client"], row["route"]): row
            for row in report["results"]
            if row["median_s"] is not None and not row["disqualified"] and not row["error"]
        }

    def value(self, of: Pass, client: str, route: str, column: str = "median_s") -> float | None:
        """A figure of a row."""
        row = self.rows.get((*of, client, route))
        return None if row is None else row[column]


def goals(report: dict[str, Any]) -> Iterator[Goal]:
    """All goals that the race has a workload of."""
    raced = {(row["workload"], row["size"], row["cores"]) for row in report["results"]}
    found = _Report(report)
    for of in [("connect_cold", 1, APART), ("connect", 1, SHARED), ("connect", 1, APART)]:
        if of in raced:
            mine = found.value(of, OURS, HEADRACED)
            yield _goal(of, f"at most {duration(CONNECT_S)}", mine, duration, lambda s: s <= CONNECT_S)
            to_floor = _ratio(mine, found.value(of, FLOOR, HEADRACED))
            target = f"at most {CONNECT_TO_FLOOR} of the socket's connect and one round trip"
            yield _goal(of, target, to_floor, _plain, lambda r: r <= CONNECT_TO_FLOOR)
            yield _goal(of, "faster than through PgBouncer", _ratio(mine, found.value(of, OURS, PGBOUNCER)), _plain,
                        lambda r: r < 1)  # fmt: skip
    for of in [("one", 1, SHARED), ("one", 1, APART)]:
        if of in raced:
            mine = found.value(of, OURS, HEADRACED)
            # A rate is the inverse of a time.
            rate = _ratio(found.value(of, OURS, DIRECT), mine)
            yield _goal(
                of, f"at least {RATE_OF_DIRECT} of the direct rate", rate, _plain, lambda r: r >= RATE_OF_DIRECT
            )
            rate = _ratio(found.value(of, OURS, PGBOUNCER), mine)
            yield _goal(of, "a higher rate than through PgBouncer", rate, _plain, lambda r: r > 1)
    of = ("batch", 9_999, APART)
    if of in raced:
        rate = _ratio(found.value(of, OURS, DIRECT), found.value(of, OURS, HEADRACED))
        yield _goal(of, f"at least {BATCH_OF_DIRECT} of the direct rate", rate, _plain, lambda r: r >= BATCH_OF_DIRECT)
    of = ("clients", 64, FREE)
    if of in raced:
        rate = _ratio(found.value(of, FLOOR, PGBOUNCER), found.value(of, FLOOR, HEADRACED))
        yield _goal(of, "at least PgBouncer's throughput (the floor asks)", rate, _plain, lambda r: r >= 1)
    for of, alone in [(("beside", 1, FREE), ("alone", 1, FREE)), (("paced_beside", 1, FREE), ("paced", 1, FREE))]:
        if of not in raced or alone not in raced:
            continue
        ratio = _ratio(*(found.value(each, OURS, HEADRACED, "p99_s") for each in (of, alone)))
        yield _goal(of, f"p99 at most {P99_BESIDE:.0f} times that alone", ratio, _plain, lambda r: r <= P99_BESIDE)


def _goal(
    of: Pass,
    target: str,
    measured: float | None,
    shown: Callable[[float], str],
    reaches: Callable[[float], bool],
) -> Goal:
    if measured is None:
        return Goal(of, target, None, "-", None)
    return Goal(of, target, measured, shown(measured), reaches(measured))


def _ratio(part: float | None, whole: float | None) -> float | None:
    return None if part is None or not whole else part / whole


def _plain(ratio: float) -> str:
    return f"{ratio:.2f}"
