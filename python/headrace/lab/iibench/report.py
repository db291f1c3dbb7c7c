"""What is made of a file of results: runs again, medians over rounds, tables, CSV."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any, Final

from ..report import duration
from ..stats import median, ratio_interval, verdict

KINDS: Final = ("insert", "delete", "query")


@dataclass
class RunResult:
    """One run, as the file has it."""

    header: dict[str, Any]
    name: str = ""
    """What distinguishes it from the others that it is shown with."""
    steps: list[dict[str, Any]] = field(default_factory=list)
    seconds: dict[str, list[dict[str, Any]]] = field(default_factory=dict)
    proof: dict[str, Any] | None = None
    failure: dict[str, Any] | None = None

    @property
    def right(self) -> bool:
        """Whether it came to its end, and the tables hold what was made."""
        return self.failure is None and self.proof is not None and bool(self.proof["right"])


def parts_of(run: RunResult) -> list[str]:
    """What a run may differ in from others."""
    h = run.header
    engine = h["options"]["engine"] if h["database"] == "mariadb" else ""
    generator = "" if h["options"]["generator"] == "rust" else f"rows by {h['options']['generator']}"
    return [
        h["label"],
        h["database"],
        engine,
        h["driver"],
        h["client"],
        "" if h["road"] == "text" else h["road"],
        generator,
    ]


def name_them(runs: Sequence[RunResult]) -> None:
    """Gives runs names of what they differ in, the driver and the client always among it."""
    differs = [len(set(column)) > 1 for column in zip(*map(parts_of, runs), strict=True)]
    for run in runs:
        shown = [part for n, part in enumerate(parts_of(run)) if differs[n] or n in (3, 4)]
        run.name = " ".join(part for part in shown if part)


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
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        told = json.loads(line)
        kind = told.pop("type", None)
        if kind == "run":
            runs.append(RunResult(told))
            continue
        if not runs:
            raise ValueError(f"{path}:{number}: no results of the insert benchmark")
        run = runs[-1]
        if kind == "step":
            run.steps.append(told)
        elif kind == "second":
            run.seconds.setdefault(told["step"], []).append(told)
        elif kind == "proof":
            run.proof = told
        elif kind == "failure":
            run.failure = told
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

    def to_floor(self) -> tuple[float, str] | None:
        """The rate as a part of the floor's, and what a bootstrap interval over the rounds says of it."""
        if not self.floor or not any(self.floor):
            return None
        ratio, low, high = ratio_interval(self.rates, self.floor)
        # A rate is better where a time is worse.
        said = verdict(1 / high, 1 / low) if len(self.rates) > 2 and low > 0 else ""
        return ratio, said


def lines(runs: Sequence[RunResult]) -> list[Line]:
    """The kinds of operations of all steps, rounds put together, in the order of their first appearance."""
    found: dict[tuple[str, str, str, int], Line] = {}
    floors: dict[tuple[Any, ...], list[float]] = {}

    def place(run: RunResult, step: dict[str, Any], kind: str) -> tuple[Any, ...]:
        h = run.header
        same = (h["label"], h["database"], h["options"]["engine"], h["driver"], h["road"])
        return (*same, step["step"], step["rows_per_commit"], kind)

    name_them(runs)
    for run in runs:
        for step in run.steps:
            for kind in KINDS:
                if kind not in step["kinds"]:
                    continue
                key = (run.name, step["step"], kind, step["rows_per_commit"])
                found.setdefault(key, Line(run.name, step["step"], kind, step["rows_per_commit"], [])).rounds.append(
                    step
                )
                if run.header["client"] == "pregen" and kind == "insert":
                    floors.setdefault(place(run, step, kind), []).append(step["kinds"][kind]["rate"])
    for run in runs:
        for step in run.steps:
            for kind in KINDS:
                line = found.get((run.name, step["step"], kind, step["rows_per_commit"]))
                if line is not None:
                    line.floor = floors.get(place(run, step, kind), [])
    return list(found.values())


WHAT: Final = {"insert": "rows inserted", "delete": "rows deleted", "query": "queries"}
HEADINGS: Final = (
    "run", "per second", "to pregen", "database waits", "unfed", "p99", "verdict", "client CPU", "server CPU", "p50",
    "p99.9", "max",
)  # fmt: skip
"""The columns, in the order of their worth: a narrow terminal shows as many as it has room for."""
NARROW, MEDIUM = 100, 130
"""Terminal widths, in characters, below which only the first seven or nine columns are shown."""


def groups(runs: Sequence[RunResult]) -> list[tuple[str, list[Line]]]:
    """The lines of each step and kind of operation, with a title."""
    found: dict[tuple[str, str, int], list[Line]] = {}
    for line in lines(runs):
        found.setdefault((line.step, line.kind, line.rows_per_commit), []).append(line)
    return [
        (f"{step}: {WHAT[kind]}" + ("" if kind == "query" else f", {count:,} a commit"), each)
        for (step, kind, count), each in found.items()
    ]


def cells(line: Line) -> tuple[str, ...]:
    """A line of a table."""
    rate = line.of("kinds", line.kind, "rate")
    floor = line.to_floor() if line.kind == "insert" else None
    p50, p99, p999, longest = (
        duration(line.of("kinds", line.kind, "response", p)) for p in ("p50", "p99", "p999", "max")
    )
    insert = line.kind == "insert"
    waits = line.of("wait_share") if insert else None
    unfed = line.of("unfed_share") if insert else None
    client = line.of("client", "cpu_us_per_query" if line.kind == "query" else "cpu_us_per_row")
    server = line.of("server", "cpu_us") if insert else None
    return (
        line.name,
        f"{rate:,.0f}" if rate is not None else "-",
        f"{floor[0]:.2f} {f'({floor[1]})' if floor[1] else ''}".strip() if floor else "",
        f"{waits:.2%}" if waits is not None else "",
        f"{unfed:.2%}" if unfed is not None else "",
        p99,
        line.verdicts,
        f"{client:.2f} µs" if client is not None and line.kind != "delete" else "",
        f"{server:.2f} µs" if server is not None else "",
        p50,
        p999,
        longest,
    )


def troubles(runs: Iterable[RunResult]) -> list[str]:
    """What is wrong with runs, in words."""
    found: list[str] = []
    for run in runs:
        if run.failure is not None:
            found.append(f"{run.name}: {run.failure['who']} failed: {run.failure['code']}: {run.failure['message']}")
        elif run.proof is None:
            found.append(f"{run.name}: it has no end")
        else:
            found += [f"{run.name}: {wrong}" for wrong in run.proof["wrong"]]
        for step in run.steps:
            for kind, figures in step["kinds"].items():
                found += [
                    f"{run.name}: {step['step']}: {kind} tried again {count} times after {code}"
                    for code, count in figures["retries"].items()
                ]
    return found


def where(run: RunResult) -> str:
    """What the figures depend on, in a line."""
    h, m = run.header, run.header["machine"]
    settings = ", ".join(f"{name} {value}" for name, value in h["settings"].items() if "version" not in name)
    return f"{h['server']} ({settings}), Python {m['python']}, {m['cpu']} x {m['cores']}, {m['system']}, {m['time']}"


def terminal(runs: Sequence[RunResult], width: int | None = None) -> None:
    """Prints the table, and what is wrong."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=width)
    shown = 7 if console.width < NARROW else 9 if console.width < MEDIUM else len(HEADINGS)
    for title, of_group in groups(runs):
        table = Table(title=title, title_justify="left", header_style="bold")
        for n, heading in enumerate(HEADINGS[:shown]):
            table.add_column(heading, justify="left" if n in (0, 6) else "right")
        for line in of_group:
            table.add_row(*cells(line)[:shown])
        console.print(table)
    if shown < len(HEADINGS):
        console.print(f"Not shown for want of room: {', '.join(HEADINGS[shown:])}.")
    for run in runs:
        for step in run.steps:
            if step["indexes"]:
                built = step["indexes"]
                console.print(f"{run.name}: {step['step']}: indexes built in {built['seconds']:.2f} s")
    for text in dict.fromkeys(f"{run.name}: checksum {run.proof['checksum']}" for run in runs if run.proof):
        console.print(text)
    for text in troubles(runs):
        console.print(text, style="red", markup=False)


def markdown(runs: Sequence[RunResult]) -> str:
    """The table as Markdown."""
    out: list[str] = []
    for title, of_group in groups(runs):
        out += [f"### {title}", "", "| " + " | ".join(HEADINGS) + " |", "|" + "---|" * len(HEADINGS)]
        out += [*("| " + " | ".join(cells(line)) + " |" for line in of_group), ""]
    out += [f"- {text}" for text in troubles(runs)]
    return "\n".join(out) + "\n"


CSV_COLUMNS: Final = (
    "run", "round", "step", "second", "length_s", "warmup", "kind", "operations", "rows", "response_p50_s",
    "response_p99_s", "response_p999_s", "response_max_s", "service_p50_s", "service_p99_s", "service_max_s", "retries",
    "asleep_share", "unfed_share", "client_cpu_s", "server_cpu_s",
)  # fmt: skip


def write_csv(runs: Sequence[RunResult], file: IO[str]) -> None:
    """A line for each second and kind of operation."""
    name_them(runs)
    writer = csv.writer(file)
    writer.writerow(CSV_COLUMNS)
    for run in runs:
        for step, seconds in run.seconds.items():
            for second in seconds:
                kinds: dict[str, Any] = second["kinds"] or {"": None}
                for kind, figures in kinds.items():
                    response = figures["response"] if figures else {}
                    service = figures["service"] if figures else {}
                    writer.writerow([
                        run.name, run.header["round"], step, second["second"], second["length"], second["warmup"], kind,
                        figures["operations"] if figures else 0, figures["rows"] if figures else 0,
                        *(response.get(p) for p in ("p50", "p99", "p999", "max")),
                        *(service.get(p) for p in ("p50", "p99", "max")),
                        sum(figures["retries"].values()) if figures else 0,
                        second["asleep_share"], second["unfed_share"], second["client_cpu"], second["server_cpu"],
                    ])  # fmt: skip
