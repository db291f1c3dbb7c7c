"""What a file of results has: runs again, and the medians over their rounds."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from ..stats import Comparison, median, ratio_interval
from .options import DEFAULTS, flag

KINDS: Final = ("insert", "delete", "query")
PLAIN: Final = frozenset({
    "label", "database", "engine", "driver", "client", "insert_with", "generator", "server_setting", "step", "cells",
    "cell_rows", "rows_per_commit", "rounds", "url", "setup", "cleanup", "table_name", "retries",
    "secs_per_report", "out", "add",
})  # fmt: skip
"""Options that make no other run of it, or have a place of their own in its name or in titles."""
OF_CELLS: Final = frozenset({"max_rows", "num_secondary_indexes", "secondary_at_start"})
"""Options that are in the name of a cell."""


@dataclass
class RunResult:
    """One run, as the file has it."""

    header: dict[str, Any]
    name: str = ""
    """What distinguishes it from the others that it is shown with."""
    floor: tuple[str, ...] = ()
    """What it has in common with the runs that are its floor."""
    steps: list[dict[str, Any]] = field(default_factory=list)
    seconds: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    proof: dict[str, Any] | None = None
    failure: dict[str, Any] | None = None

    @property
    def right(self) -> bool:
        """Whether it came to its end, and the tables hold what was made."""
        return self.failure is None and self.proof is not None and bool(self.proof["right"])


def parts_of(run: RunResult) -> list[str]:
    """What a run may differ in from others, and has a fixed place in its name."""
    h = run.header
    engine = h["options"]["engine"] if h["database"] in ("mariadb", "mysql") else ""
    generator = "" if h["options"]["generator"] == "rust" else f"rows by {h['options']['generator']}"
    strategy = h["strategy"] if "strategy" in h else h["road"]  # "road" in results of before 2026-11-23
    return [
        h["label"],
        h["database"],
        engine,
        h["driver"],
        h["client"],
        "" if strategy == "text" else strategy,
        generator,
    ]


DRIVER, CLIENT, GENERATOR = 3, 4, 6
"""Places in it."""


def circumstances(run: RunResult) -> dict[str, str]:
    """Everything else that its figures depend on, by name: options, the machine, what the server reports of itself."""
    h, made = run.header, {}
    for name, usual in DEFAULTS.items():
        if name not in PLAIN and not (h.get("cell") and name in OF_CELLS):
            value = h["options"].get(name, usual)
            made[name] = (flag(name) if value else "") if isinstance(usual, bool) else f"{flag(name)} {value}"
    machine = h.get("machine", {})
    made["machine"] = f"{machine.get('cpu')} x {machine.get('cores')}"
    made[f"{h['database']} server"] = str(h.get("server", ""))
    for name, value in h.get("settings", {}).items():
        made[f"{h['database']} {name}"] = "" if "version" in name else f"{name} {value}"
    return made


def name_them(runs: Sequence[RunResult]) -> None:
    """Names runs by what they differ in, the driver and the client always among it. Runs of the same name are
    rounds of one."""
    differs = [len(set(column)) > 1 for column in zip(*map(parts_of, runs), strict=True)]
    others = [circumstances(run) for run in runs]
    found: dict[str, set[str]] = {}
    for each in others:
        for name, value in each.items():
            found.setdefault(name, set()).add(value)
    for run, other in zip(runs, others, strict=True):
        parts = parts_of(run)
        more = [value for name, value in other.items() if value and len(found[name]) > 1]
        shown = [part for n, part in enumerate(parts) if differs[n] or n in (DRIVER, CLIENT)]
        run.name = " ".join(filter(None, [*shown, *more]))
        run.floor = (*(part for n, part in enumerate(parts) if n not in (CLIENT, GENERATOR)), *more)


def is_results(path: Path) -> bool:
    """Whether a file has results of the insert benchmark."""
    with path.open(encoding="utf-8") as file:
        try:
            first = json.loads(file.readline())
        except ValueError:
            return False
    return isinstance(first, dict) and first.get("type") == "run"


def read(path: Path) -> list[RunResult]:
    """The runs in a file of results. Raises ValueError where it is something else."""
    runs: list[RunResult] = []
    for number, line in enumerate(path.read_text(encoding="utf-8", errors="replace").splitlines(), 1):
        try:
            line_data = json.loads(line)
        except ValueError:
            line_data = None
        if not isinstance(line_data, dict):
            raise ValueError(f"{path}:{number}: no results of the insert benchmark")
        kind = line_data.pop("type", None)
        if kind == "run":
            runs.append(RunResult(line_data))
            continue
        if not runs:
            raise ValueError(f"{path}:{number}: no results of the insert benchmark")
        run = runs[-1]
        if kind == "step":
            run.steps.append(line_data)
        elif kind == "second":
            run.seconds.setdefault(line_data["step"], []).append(line_data)
        elif kind == "proof":
            run.proof = line_data
        elif kind == "failure":
            run.failure = line_data
    return runs


@dataclass
class Line:
    """One kind of operation in one step: all rounds of the same run."""

    name: str
    step: str
    kind: str
    rows_per_commit: int
    rounds: list[dict[str, Any]]
    """The steps."""
    client: str = ""
    """How rows were made."""
    floor: list[float] = field(default_factory=list)
    """Rates of the same with rows made beforehand."""

    def of(self, *path: str) -> float | None:
        """The median of a figure of the rounds; ``None`` where one has none."""
        values = []
        for step in self.rounds:
            value: Any = step
            for part in path:
                value = value.get(part) if isinstance(value, dict) else None
            if value is None:
                return None
            values.append(float(value))
        return median(values)

    @property
    def rates(self) -> list[float]:
        """Of each round, per second."""
        return [step["kinds"][self.kind]["rate"] for step in self.rounds]

    @property
    def verdicts(self) -> str:
        """The verdict on a target rate, of the worst round."""
        found = [k for k in (step["kinds"][self.kind] for step in self.rounds) if "short" in k]
        return str(max(found, key=lambda k: k["short"])["verdict"]) if found else ""

    def to_floor(self) -> tuple[float, Comparison | None] | None:
        """The rate as a part of the floor's, and the verdict on the time of a row, of a bootstrap interval over the
        rounds; None if there are too few of them."""
        if not self.floor or not any(self.floor):
            return None
        ratio, low, high = ratio_interval(self.rates, self.floor)
        # A rate is better where a time is worse.
        result = Comparison.of(1 / high, 1 / low) if len(self.rates) > 2 and low > 0 else None
        return ratio, result


def lines(runs: Sequence[RunResult]) -> list[Line]:
    """The kinds of operations of all steps, rounds put together, in the order of their first appearance."""
    found: dict[tuple[str, str, str, int], Line] = {}
    floors: dict[tuple[Any, ...], list[float]] = {}

    def place(run: RunResult, step: dict[str, Any], kind: str) -> tuple[Any, ...]:
        return (run.floor, step["step"], step["rows_per_commit"], kind)

    name_them(runs)
    for run in runs:
        for step in run.steps:
            for kind in KINDS:
                if kind not in step["kinds"]:
                    continue
                key = (run.name, step["step"], kind, step["rows_per_commit"])
                client = run.header["client"]
                line = found.setdefault(key, Line(run.name, step["step"], kind, step["rows_per_commit"], [], client))
                line.rounds.append(step)
                if client == "pregen" and kind == "insert":
                    floors.setdefault(place(run, step, kind), []).append(step["kinds"][kind]["rate"])
    for run in runs:
        for step in run.steps:
            for kind in KINDS:
                same = found.get((run.name, step["step"], kind, step["rows_per_commit"]))
                if same is not None:
                    same.floor = floors.get(place(run, step, kind), [])
    return list(found.values())
