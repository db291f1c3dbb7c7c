"""The report of the race across databases: the terminal's tables, Markdown and an HTML page, all made of the JSON."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from ..differences import DIFFERENCES
from ..forms import bars_page, bars_table
from ..report import EQUAL, duration, failure, markdown_table, times_as_long
from .databases import DATABASES, HEADRACE
from .workloads import what

Row = dict[str, Any]

HEADINGS = ("database", "driver", "median", "to headrace", "to {first}", "a statement", "client CPU", "IQR")
"""The columns, in the order of their worth: a narrow terminal shows five."""
NARROW = 120
"""Terminal width, in characters, below which it is narrow."""


def is_across(report: dict[str, Any]) -> bool:
    """Whether a report is of this race."""
    return report.get("kind") == "across"


def first_of(report: dict[str, Any]) -> str:
    """The database that the others are compared with."""
    return str(report["results"][0]["database"])


def headings(report: dict[str, Any]) -> list[str]:
    """The columns."""
    first = DIFFERENCES[first_of(report)].title
    return [heading.format(first=first) for heading in HEADINGS]


def groups(report: dict[str, Any]) -> Iterator[tuple[str, list[Row]]]:
    """The rows of each workload, with its title."""
    for name in dict.fromkeys(row["workload"] for row in report["results"]):
        rows = [row for row in report["results"] if row["workload"] == name]
        yield f"{name}: {what(name, report['rows'])}", rows


def cells(row: Row, first: str) -> tuple[str, ...]:
    """A row as text. ``first`` is the database that the others are compared with."""
    database, driver = DIFFERENCES[row["database"]].title, row["driver"]
    if wrong := failure(row):
        return (database, driver, wrong, "", "", "", "", "")
    return (
        database,
        driver,
        duration(row["median_s"]),
        to_ours(row),
        to_first(row, first),
        duration(row["median_s"] / row["statements"]),
        duration(row["client_cpu_s"]),
        duration(row["iqr_s"]),
    )


def to_ours(row: Row) -> str:
    """How many times as long it takes as headrace on the same database."""
    return times_as_long(row["ratio_to_ours"], row["ratio_to_ours_ci"], HEADRACE.name)


def to_first(row: Row, first: str) -> str:
    """How many times as long it takes as the same kind of driver on the first database."""
    other = HEADRACE if row["ours"] else DATABASES[first].usual
    return times_as_long(row["ratio_to_first"], row["ratio_to_first_ci"], other.name)


def terminal(report: dict[str, Any], width: int | None = None) -> None:
    """Prints the tables, ``width`` characters wide where it is not the terminal's own."""
    from rich.console import Console
    from rich.table import Table

    console = Console(width=width)
    shown = 5 if console.width < NARROW else len(HEADINGS)
    for title, rows in groups(report):
        table = Table(title=title, title_justify="left", header_style="bold")
        for n, heading in enumerate(headings(report)[:shown]):
            table.add_column(heading, justify="left" if n < 2 else "right", no_wrap=n < 2)
        for row in rows:
            table.add_row(*cells(row, first_of(report))[:shown], style="bold" if row["ours"] else None)
        console.print(table)
    if shown < len(HEADINGS):
        console.print(f"Not shown for want of room: {', '.join(HEADINGS[shown:])}.")
    for note in notes(report):
        console.print(note)


def where(report: dict[str, Any]) -> str:
    """What the figures depend on, in a line."""
    env = report["environment"]
    versions = {(each["database"], each["driver"]): each["version"] for each in report["drivers"]}
    parts: list[str] = []
    for name, server in env["server"].items():
        of = f"{DIFFERENCES[name].title} {server['server_version']}"
        if name in test_servers(report):
            of = f"the project's {DIFFERENCES[name].title} test server, as {server['server_version']}"
        drivers = ", ".join(f"{driver} {version}" for (on, driver), version in versions.items() if on == name)
        parts.append(f"{of} ({drivers})")
    return f"{'; '.join(parts)}; Python {env['python']}, {env['cpu']} x {env['cores']}, {env['system']}, {env['time']}"


TEST_SERVERS = ("informix", "cubrid")
"""Databases that the project has a test server for, which is raced on unless a URL is given."""
NOTES = (
    "Medians over the rounds, and how many times as long they are: against headrace on the same database, and against "
    f"the first database through the same kind of driver, headrace or the usual one. {EQUAL} Statements run one after "
    "another.",
    "{} the project's own test server{}, on SQLite: the figures compare clients, and say nothing of a genuine server.",
)


def notes(report: dict[str, Any]) -> Iterator[str]:
    """What has to be known of the figures."""
    yield NOTES[0]
    tests = [DIFFERENCES[name].title for name in test_servers(report)]
    if tests:
        yield NOTES[1].format(" and ".join(tests) + (" are" if len(tests) > 1 else " is"), "s" * (len(tests) > 1))


def test_servers(report: dict[str, Any]) -> list[str]:
    """The databases whose server was the project's own."""
    return [name for name in report["environment"]["server"] if name in TEST_SERVERS and name not in report["urls"]]


def markdown(report: dict[str, Any]) -> str:
    """The report as Markdown."""
    out = ["# Across databases", "", where(report), "", *(line for note in notes(report) for line in (note, ""))]
    for title, rows in groups(report):
        lines = [cells(row, first_of(report)) for row in rows]
        out += [f"## {title}", "", *markdown_table(headings(report), lines), ""]
    return "\n".join(out)


def published(report: dict[str, Any]) -> str:
    """The documentation's table: a row for each workload, two columns for each database."""
    rounds = max(row["rounds"] for row in report["results"])
    sides = list(dict.fromkeys((row["database"], row["driver"], row["ours"]) for row in report["results"]))
    tests = test_servers(report)
    heads = [
        f"{DIFFERENCES[name].title}{' test server' if name in tests else ''}: {driver}" if ours else driver
        for name, driver, ours in sides
    ]
    lines = [
        f"{where(report)}; {report['rows']:,} rows, medians of {rounds} rounds, and in brackets how many times as long "
        f"the usual driver takes as headrace. {EQUAL}",
        "",
    ]
    made: list[list[str]] = []
    for name in dict.fromkeys(row["workload"] for row in report["results"]):
        found = {(r["database"], r["driver"]): r for r in report["results"] if r["workload"] == name}
        made.append([f"`{name}`", *(_published_cell(found[database, driver]) for database, driver, _ in sides)])
    return "\n".join([*lines, *markdown_table(["workload", *heads], made)])


def _published_cell(row: Row) -> str:
    if failure(row):
        return "-"
    against = to_ours(row)
    return duration(row["median_s"]) + (f" ({against})" if against else "")


def page(report: dict[str, Any]) -> str:
    """The report as one page that needs nothing but itself: its bars are its own."""
    first = first_of(report)
    tables = [
        (title, bars_table(headings(report), [("us" if row["ours"] else "", cells(row, first), row) for row in rows]))
        for title, rows in groups(report)
    ]
    return bars_page("headrace: across databases", "", [where(report), *notes(report)], tables, report)
