"""The report of the daemon's race: the terminal's tables, Markdown and an HTML page, all made of the JSON."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any, Final

from ..forms import bars_page, bars_table, html_table
from ..report import EQUAL, duration, failure, markdown_table, times_as_long, unfinished
from .goals import goals
from .routes import DIRECT, HEADRACED, ROUTES, TITLES
from .workloads import APART, CORES, FREE, SHARED, WORKLOADS, what

Row = dict[str, Any]

HEADINGS: Final = (
    "client",
    "route",
    "median",
    "a second",
    "to direct",
    "to floor",
    "p99",
    "client CPU",
    "pooler CPU",
    "server CPU",
    "IQR",
    "longest",
)
"""The columns, in the order of their worth: a narrow terminal shows as many as it has room for."""
GOAL_HEADINGS: Final = ("workload", "goal", "measured", "")
PAGE_STYLE: Final = "td:nth-child(2),th:nth-child(2){text-align:left}.missed td{font-weight:600}"
NARROW, MEDIUM = 90, 130
"""Terminal widths, in characters, below which only the first six or ten columns are shown."""


def is_daemon(report: dict[str, Any]) -> bool:
    """Returns true if a report is of this race."""
    return report.get("kind") == "daemon"


def groups(report: dict[str, Any]) -> Iterator[tuple[str, list[Row]]]:
    """The rows of each workload, size and kind of cores, with its title."""
    for of in dict.fromkeys((row["workload"], row["size"], row["cores"]) for row in report["results"]):
        rows = [row for row in report["results"] if (row["workload"], row["size"], row["cores"]) == of]
        yield title(of), [row for row in rows if not row["skipped"]]


def title(of: Sequence[Any]) -> str:
    """A workload, its size and the cores in words."""
    name, size, cores = of
    return f"{label(name, size)}: {what(name, size)}; {CORES[cores]}"


def label(name: str, size: int) -> str:
    """A workload's name, with the size where it has several."""
    return f"{name} {size:,}" if len(WORKLOADS[name].sizes) > 1 else name


def cells(row: Row) -> tuple[str, ...]:
    """A row as text."""
    names = (row["client"], TITLES[row["route"]])
    if wrong := failure(row):
        return (*names, wrong, *[""] * (len(HEADINGS) - 3))
    latencies = row["p50_s"] is not None
    return (
        *names,
        duration(row["p50_s"] if latencies else row["median_s"]),
        f"{1 / row['median_s']:,.0f}",
        times_as_long(row["ratio_to_direct"], row["ratio_to_direct_ci"], DIRECT),
        times_as_long(row["ratio_to_floor"], row["ratio_to_floor_ci"], "floor"),
        duration(row["p99_s"]),
        duration(row["client_cpu_s"]),
        duration(row["pooler_cpu_s"]),
        duration(row["server_cpu_s"]),
        duration(row["p99_iqr_s"] if latencies else row["iqr_s"]),
        duration(row["max_s"]),
    )


def terminal(report: dict[str, Any], width: int | None = None) -> None:
    """Prints the tables, ``width`` characters wide where it is not the terminal's own."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=width)
    shown = 6 if console.width < NARROW else 10 if console.width < MEDIUM else len(HEADINGS)
    for heading, rows in groups(report):
        table = Table(title=heading, title_justify="left", header_style="bold")
        for n, column in enumerate(HEADINGS[:shown]):
            table.add_column(column, justify="left" if n < 2 else "right", no_wrap=n < 2)
        for row in rows:
            style = "bold" if _ours(row) else "dim" if row["client"] == "floor" else None
            if failure(row) is None:
                table.add_row(*cells(row)[:shown], style=style)
        console.print(table)
        for row in rows:
            if wrong := failure(row):
                console.print(f"{row['client']}, {TITLES[row['route']]}: {wrong}", highlight=False, markup=False)
    table = Table(title="Goals", title_justify="left", header_style="bold")
    for column in GOAL_HEADINGS:
        table.add_column(column)
    for line in goal_lines(report):
        table.add_row(*line, style="red" if line[-1] == "missed" else None)
    if table.row_count:
        console.print(table)
    if left := unfinished(report):
        console.print(left, highlight=False)
    if shown < len(HEADINGS):
        console.print(f"Not shown for want of room: {', '.join(HEADINGS[shown:])}.")
    for note in NOTES:
        console.print(note)


def goal_lines(report: dict[str, Any]) -> Iterator[tuple[str, ...]]:
    """The goals as text."""
    for goal in goals(report):
        name, size, cores = goal.of
        yield f"{label(name, size)}, {CORES[cores].partition(',')[0]}", goal.target, goal.text, goal.verdict


def _ours(row: Row) -> bool:
    return bool(row["client"] == "headrace" and row["route"] == HEADRACED)


NOTES: Final = (
    "Times are those of one query, and where a workload connects, of connecting and one query: medians over the rounds "
    "(p50 where single queries are timed, whose IQR is that of the rounds' p99). Ratios are how many times as long it "
    f"takes: as the same client directly, and as the floor on the same route. {EQUAL} The floor sends prepared bytes, "
    "decodes nothing, and its connect is connecting to the socket and one round trip, without a session.",
)


def where(report: dict[str, Any]) -> str:
    """What the figures depend on, in a line."""
    env = report["environment"]
    server = env["server"]
    versions = {each["route"]: each["version"] for each in report["routes"]}
    poolers = [
        f"{TITLES[route]} {versions[route]} in transaction mode"
        for route in ROUTES
        if route != DIRECT and route in versions
    ]
    clients = ", ".join(f"{each['client']} {each['version']}" for each in report["clients"] if each["version"])
    return (
        f"PostgreSQL {server['server_version']} (fsync {server['fsync']}), Unix sockets; "
        f"{''.join(f'{each}, ' for each in poolers)}{report['backends']} server connections each; {clients}; "
        f"Python {env['python']}, {env['cpu']} x {env['cores']}, {env['system']}, {env['time']}"
    )


def failed(report: dict[str, Any]) -> list[Row]:
    """Where headrace failed, or had other rows."""
    return [row for row in report["results"] if row["client"] == "headrace" and failure(row) is not None]


def markdown(report: dict[str, Any]) -> str:
    """The report as Markdown."""
    out = ["# The daemon's race", "", where(report), "", *(line for note in NOTES for line in (note, ""))]
    if left := unfinished(report):
        out += [left, ""]
    out += ["## Goals", "", *markdown_table(GOAL_HEADINGS, goal_lines(report)), ""]
    for heading, rows in groups(report):
        out += [f"## {heading}", "", *markdown_table(HEADINGS, [cells(row) for row in rows]), ""]
    return "\n".join(out)


PUBLISHED: Final = (
    ("connect_cold", 1, APART, "connect + one query, first of a process"),
    ("connect", 1, SHARED, "connect + one query, one core"),
    ("connect", 1, APART, "connect + one query, two halves of the cores"),
    ("one", 1, SHARED, "one query per call, one core"),
    ("one", 1, APART, "one query per call, two halves"),
    *(("batch", size, APART, f"{size:,} in a pipeline, rows") for size in WORKLOADS["batch"].sizes),
    *(("count", size, APART, f"{size:,} in a pipeline, count only") for size in WORKLOADS["count"].sizes),
    *(("clients", size, FREE, f"{size:,} client{'s' * (size > 1)}") for size in WORKLOADS["clients"].sizes),
    ("alone", 1, FREE, "single queries alone, p50 / p99"),
    ("beside", 1, FREE, "single queries beside bulk, p50 / p99"),
    ("paced", 1, FREE, "a query every 2 ms alone, p50 / p99"),
    ("paced_beside", 1, FREE, "a query every 2 ms beside bulk, p50 / p99"),
)
"""The rows of the documentation's tables."""
PUBLISHED_CLIENTS: Final = ("floor", "headrace", "asyncpg", "psycopg", "pg8000", "pgx", "socket")
GOAL_WORDS: Final = {True: "reached", False: "**missed**", None: "not measured"}


def tables(report: dict[str, Any]) -> dict[str, str]:
    """The documentation's tables, by what the names of their marks end with."""
    return {"-goals": published_goals(report), "": published(report), "-cpu": published_cpu(report)}


def published_goals(report: dict[str, Any]) -> str:
    """The documentation's table of goals."""
    lines = [
        (*line[:3], GOAL_WORDS[goal.reached]) for line, goal in zip(goal_lines(report), goals(report), strict=True)
    ]
    return "\n".join(markdown_table(GOAL_HEADINGS, lines))


def published(report: dict[str, Any]) -> str:
    """The documentation's table of times: a row for each workload and a column for each client, whose cells have the
    direct route, headraced and PgBouncer."""
    rounds = max(row["rounds"] for row in report["results"])
    head = f"{where(report)}; {rounds} rounds. Each cell: {_cells()}, the median time of a query."
    return _published(report, head, _time)


def published_cpu(report: dict[str, Any]) -> str:
    """The documentation's table of CPU time."""
    head = f"CPU time of a query: client + pooler + server. Each cell: {_cells()}."
    return _published(report, head, _cpu)


def _cells() -> str:
    return " · ".join(TITLES[route] for route in ROUTES)


def _published(report: dict[str, Any], head: str, cell: Any) -> str:
    rows = {(r["workload"], r["size"], r["cores"], r["client"], r["route"]): r for r in report["results"]}
    raced = [client for client in PUBLISHED_CLIENTS if any(key[3] == client for key in rows)]
    lines: list[list[str]] = []
    for name, size, cores, text in PUBLISHED:
        found = [[cell(rows.get((name, size, cores, client, route))) for route in ROUTES] for client in raced]
        if any(part != "-" for parts in found for part in parts):
            joined = ["-" if all(part == "-" for part in parts) else " · ".join(parts) for parts in found]
            lines.append([text, *joined])
    return "\n".join([head, "", *markdown_table(("", *raced), lines)])


def _time(row: Row | None) -> str:
    if row is None or row["median_s"] is None:
        return "-"
    if row["p50_s"] is not None:
        return f"{duration(row['p50_s'])} / {duration(row['p99_s'])}"
    return duration(row["median_s"])


def _cpu(row: Row | None) -> str:
    if row is None or row["median_s"] is None or row["server_cpu_s"] is None:
        return "-"
    parts = [row["client_cpu_s"], *([] if row["route"] == DIRECT else [row["pooler_cpu_s"]]), row["server_cpu_s"]]
    return " + ".join(f"{seconds * 1e6:.3g}" for seconds in parts) + " µs"


def page(report: dict[str, Any]) -> str:
    """The report as one page that needs nothing but itself: its bars are its own."""
    reached = html_table(GOAL_HEADINGS, [(line[-1], line, "") for line in goal_lines(report)])
    tables = [
        (heading, bars_table(HEADINGS, [(_kind(row), cells(row), row) for row in rows]))
        for heading, rows in groups(report)
    ]
    notes = [f"{where(report)} {unfinished(report)}", *NOTES]
    return bars_page("headrace: the daemon's race", PAGE_STYLE, notes, [("Goals", reached), *tables], report)


def _kind(row: Row) -> str:
    return "us" if _ours(row) else "floor" if row["client"] == "floor" else ""
