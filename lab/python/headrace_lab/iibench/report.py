"""What is made of results for people: tables, CSV."""

from __future__ import annotations

import csv
from collections.abc import Iterable, Sequence
from typing import IO, Any, Final

from ..report import duration, markdown_table
from . import cells as in_cells
from .runs import Line, RunResult, lines, name_them

WHAT: Final = {"insert": "rows inserted", "delete": "rows deleted", "query": "queries"}
HEADINGS: Final = (
    "run", "per second", "to pregen", "database waits", "unfed", "p99", "verdict", "client CPU", "server CPU", "p50",
    "p99.9", "max", "server writes",
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
    written = line.of("server", "written") if insert else None
    return (
        line.name,
        f"{rate:,.0f}" if rate is not None else "-",
        f"{floor[0]:.2f}" + (f" ({floor[1].to('pregen')})" if floor[1] else "") if floor else "",
        f"{waits:.2%}" if waits is not None else "",
        f"{unfed:.2%}" if unfed is not None else "",
        p99,
        line.verdicts,
        f"{client:.2f} µs" if client is not None and line.kind != "delete" else "",
        f"{server:.2f} µs" if server is not None else "",
        p50,
        p999,
        longest,
        f"{written:,.0f} B" if written is not None else "",
    )


STAGES: Final = ("generate", "encode", "send", "wait", "rest")
"""What a client spends its time with: making rows, handing them to the driver, sending, waiting for answers and reading
them, and waiting until a block is due."""


def stages(runs: Sequence[RunResult]) -> list[tuple[str, ...]]:
    """CPU time of the inserting clients by stage, per row: a line for each step and run, the step first."""
    made: list[tuple[str, ...]] = []
    for line in lines(runs):
        found = [line.of("client", "stages_us_per_row", stage) for stage in STAGES]
        if line.kind == "insert" and any(value is not None for value in found):
            made.append((line.step, line.name, *(f"{value:.3f} µs" if value is not None else "" for value in found)))
    return made


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
    return f"{h['server']} ({settings}), Python {m['python']}, {m['cpu']} x {m['cores']}, {m['system']}"


def circumstances(runs: Sequence[RunResult]) -> list[str]:
    """What the figures of all runs depend on: a line for each server, with the names of its runs where there are
    several, and when the first of them began."""
    found: dict[str, list[RunResult]] = {}
    for run in runs:
        found.setdefault(where(run), []).append(run)
    return [
        (", ".join(dict.fromkeys(run.name for run in of)) + ": " if len(found) > 1 else "")
        + f"{text}, {of[0].header['machine']['time']}"
        for text, of in found.items()
    ]


def unproven(runs: Iterable[RunResult]) -> list[str]:
    """What the proofs have left out, and why."""
    return list(
        dict.fromkeys(
            f"{run.name}: not compared: {text}" for run in runs if run.proof for text in run.proof["left_out"]
        )
    )


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
    compared = in_cells.table(runs)
    if compared:
        table = Table(title="all cells", title_justify="left", header_style="bold")
        for n, heading in enumerate(in_cells.HEADINGS):
            table.add_column(heading, justify="left" if n in (0, 1, len(in_cells.HEADINGS) - 1) else "right")
        for row in compared:
            table.add_row(*row)
        console.print(table)
    for run in runs:
        for step in run.steps:
            if step["indexes"]:
                built = step["indexes"]
                console.print(f"{run.name}: {step['step']}: indexes built in {built['seconds']:.2f} s")
    for text in dict.fromkeys(f"{run.name}: checksum {run.proof['checksum']}" for run in runs if run.proof):
        console.print(text)
    for text in unproven(runs):
        console.print(text, markup=False)
    for text in troubles(runs):
        console.print(text, style="red", markup=False)


def markdown(runs: Sequence[RunResult]) -> str:
    """The tables as Markdown."""
    out: list[str] = []
    if compared := in_cells.table(runs):
        out += ["### all cells", "", *markdown_table(in_cells.HEADINGS, compared), ""]
    for title, of_group in groups(runs):
        out += [f"### {title}", "", *markdown_table(HEADINGS, map(cells, of_group)), ""]
    if by_stage := stages(runs):
        lines = markdown_table(("step", "run", *STAGES), by_stage)
        out += ["### client CPU per row by stage", "", *lines, ""]
    out += [f"- {text}" for text in (*troubles(runs), *unproven(runs))]
    return "\n".join(out) + "\n"


CSV_COLUMNS: Final = (
    "run", "round", "step", "second", "length_s", "warmup", "kind", "operations", "rows", "response_p50_s",
    "response_p99_s", "response_p999_s", "response_max_s", "service_p50_s", "service_p99_s", "service_max_s", "retries",
    "asleep_share", "unfed_share", "client_cpu_s", "server_cpu_s", "server_read_bytes", "server_written_bytes",
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
                        second["server_read"], second["server_written"],
                    ])  # fmt: skip
