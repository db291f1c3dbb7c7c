"""Writes the figures of races into the documentation.

    python -m headrace_lab.readme [results.json ...] [PAGE README]

The tables of each database go into the page on the race (``docs/race/index.md`` unless named), between marks of their
own: times between ``<!-- race:postgresql:begin -->`` and the like, client CPU time between
``<!-- race:postgresql-cpu:begin -->`` and the like, both of Arrow's workloads between
``<!-- race:postgresql-arrow:begin -->`` and ``<!-- race:postgresql-arrow-cpu:begin -->``, those of a web service
between ``<!-- race:postgresql-service:begin -->`` and the like. A table whose workloads are
not in the results stays as it is. The overviews in the README (``README.md`` unless named) are made
of the tables of that page: without results, only the overviews are written. The one of client CPU is empty as long as
no database has a table of it, and a database without a table is in neither. So are the pictures beside the page,
``overview.svg`` and ``overview-narrow.svg``. Results of a race across databases go
between ``<!-- race:across:begin -->`` and its end, those of the daemon's race between
``<!-- race:daemon-goals:begin -->``, ``<!-- race:daemon:begin -->`` and ``<!-- race:daemon-cpu:begin -->`` and their
ends.
"""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any, Final

from . import service
from . import workloads as w
from .across import report as of_across
from .daemon import report as of_daemon
from .picture import picture as draw
from .report import duration, where
from .stats import quotient

ROWS = (
    ("select_one", 1, "one-row select, one core for both", "shared"),
    ("select_one", 1, "one-row select, a core each", "awake"),
    ("fetch", 10_000, "fetch 10,000 rows × 5", "idle"),
    ("fetch", 100_000, "fetch 100,000 rows × 5", "idle"),
    ("fetch_types", 100_000, "fetch 100,000, decimals, timestamps, NULL", "idle"),
    ("fetch_wide", 10_000, "fetch 10,000 rows × 50", "idle"),
    ("pipeline", 10_000, "10,000 pipelined selects", "idle"),
    ("pipeline_execute", 10_000, "10,000 pipelined executes of one row", "idle"),
    ("executemany", 10_000, "executemany 10,000", "idle"),
    ("executemany", 100_000, "executemany 100,000", "idle"),
    ("bulk_in", 100_000, "COPY or LOAD DATA, 100,000 rows", "idle"),
    ("connect", 1, "connect and close", "idle"),
    ("pool_load", w.LOAD_TASKS, service.OVERVIEW["pool_load"], "idle"),
    ("pool_threads", w.LOAD_THREADS, service.OVERVIEW["pool_threads"], "idle"),
)
MYSQL_COLUMNS = (
    "floor",
    "headrace",
    "headrace-async",
    "mysqlclient",
    "mariadb",
    "pymysql",
    "mysql-connector",
    "asyncmy",
)
COLUMNS = {
    "postgresql": ("floor", "headrace", "headrace-uvloop", "psycopg", "asyncpg-uvloop", "psqlpy", "pg8000"),
    "mariadb": MYSQL_COLUMNS,
    "mysql": MYSQL_COLUMNS,
    "informix": ("floor", "headrace", "headrace-async", "informix-driver", "informix-driver-async"),
    "cubrid": ("floor", "headrace", "headrace-async", "pycubrid", "pycubrid-prepared", "pycubrid-async"),
}
ARROW_ROWS = (
    ("arrow", 1_000, "1,000 rows × 5", "idle"),
    ("arrow", 10_000, "10,000 rows × 5", "idle"),
    ("arrow", 100_000, "100,000 rows × 5", "idle"),
    ("arrow_types", 100_000, "100,000, decimals, timestamps, NULL", "idle"),
    ("arrow_wide", 10_000, "10,000 rows × 50", "idle"),
    ("arrow_stream", 1_000_000, "a million rows, streamed", "idle"),
    ("arrow_in", 100_000, "100,000 rows in", "idle"),
    ("partitions_1", 1_000_000, "a million rows of a table", "idle"),
    ("partitions_2", 1_000_000, "in 2 parts", "idle"),
    ("partitions_4", 1_000_000, "in 4 parts", "idle"),
    ("partitions_skewed", 1_000_000, "in 4 parts by a skewed column with NULLs", "idle"),
)
ARROW_COLUMNS = {
    "postgresql": ("floor", "headrace", "headrace-async", "adbc", "connectorx", "polars", "psycopg", "asyncpg"),
    "mariadb": ("floor", "headrace", "headrace-async", "connectorx", "polars", "mysqlclient", "mariadb", "asyncmy"),
    "mysql": ("floor", "headrace", "headrace-async", "connectorx", "polars", "mysqlclient", "mariadb", "asyncmy"),
    "informix": COLUMNS["informix"],
    "cubrid": ("floor", "headrace", "headrace-async", "pycubrid", "pycubrid-async"),
}
ARROW: Final = "-arrow"
"""What the names of tables of Arrow's workloads end with."""
PICTURES: Final = {"overview.svg": None, "overview-narrow.svg": 1}
"""The files of the picture, beside the page: how many databases stand beside each other, if not all."""
OVERVIEW: Final = "overview"
"""The name of the README's table of times between its marks."""
ACROSS: Final = "across"
"""The name of the page's table of the race across databases between its marks."""
DAEMON: Final = "daemon"
"""What the names of the page's tables of the daemon's race begin with."""
SERVICE: Final = "-service"
"""What the names of tables of a web service's workloads end with."""
FORMS: Final = ("headrace", "headrace-uvloop", "headrace-async")
"""headrace's forms: a row of the README has the first of them that took part."""
CPU: Final = "-cpu"
"""What the names of tables of client CPU time end with."""
OVERVIEW_DATABASES: Final = {
    "postgresql": "PostgreSQL",
    "mariadb": "MariaDB",
    "mysql": "MySQL",
    "informix": "Informix test server",
    "cubrid": "CUBRID",
}
OVERVIEW_ROWS: Final = (
    "one-row select, one core for both",
    "fetch 100,000 rows × 5",
    "10,000 pipelined selects",
    "executemany 100,000",
    "COPY or LOAD DATA, 100,000 rows",
    "connect and close",
    *service.OVERVIEW.values(),
)
"""Labels of the rows that the README shows."""
OVERVIEW_RACE: Final = tuple((workload, size, cores) for workload, size, label, cores in ROWS if label in OVERVIEW_ROWS)
"""The workloads, sizes and cores of those rows: what is raced where nothing else is asked for."""


def marks(name: str) -> tuple[str, str]:
    """Returns the lines before and after the table of a database, or the overview."""
    return f"<!-- race:{name}:begin -->", f"<!-- race:{name}:end -->"


def _database(report: dict[str, Any]) -> str:
    return str(report["results"][0]["database"])


def _cell(report: dict[str, Any], workload: str, size: int, contestant: str, cores: str) -> str:
    for r in report["results"]:
        if (r["workload"], r["size"], r["contestant"], r["cores"]) != (workload, size, contestant, cores):
            continue
        if r["median_s"] is None or r.get("disqualified"):
            break
        ratio = r["ratio_to_floor"]
        return duration(r["median_s"]) + (f" ({ratio:.2f})" if contestant != "floor" and ratio else "")
    return "-"


def _of_kind(report: dict[str, Any], kind: str) -> tuple[tuple[tuple[str, int, str, str], ...], tuple[str, ...]]:
    """The rows and the columns of a kind of table: the usual one, or that of Arrow's workloads."""
    rows, columns = (ARROW_ROWS, ARROW_COLUMNS) if kind == ARROW else (ROWS, COLUMNS)
    return rows, columns[_database(report)]


def has_rows(report: dict[str, Any], kind: str) -> bool:
    """Returns true if a kind of table has a row in the results. Those of a web service alone are no reason to write
    the usual table, which would lose its other rows: they have a table of their own."""
    found = {(r["workload"], r["size"]) for r in report["results"] if r["workload"] not in service.OVERVIEW}
    return any((workload, size) in found for workload, size, _, _ in _of_kind(report, kind)[0])


def table(report: dict[str, Any], kind: str = "") -> str:
    """Returns the table of one race: medians, each followed by its ratio to the floor."""
    rounds = max(r["rounds"] for r in report["results"])
    rows, columns = _of_kind(report, kind)
    lines = [
        f"{where(report)}; median of {rounds} rounds, ratio to the floor in brackets.",
        "",
        "| | " + " | ".join(columns) + " |",
        "|---|" + "---:|" * len(columns),
    ]
    for workload, size, label, cores in rows:
        cells = [_cell(report, workload, size, contestant, cores) for contestant in columns]
        if any(cell != "-" for cell in cells):
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def cpu_table(report: dict[str, Any], kind: str = "") -> str:
    """Returns the table of client CPU time of one race, for each row or query; each is followed by its ratio to the
    floor's."""
    rows, columns = _of_kind(report, kind)
    lines = [
        "Client CPU time for each row or query, ratio to the floor's in brackets.",
        "",
        "| | " + " | ".join(columns) + " |",
        "|---|" + "---:|" * len(columns),
    ]
    for workload, size, label, cores in rows:
        found = {
            r["contestant"]: r["client_cpu_s"]
            for r in report["results"]
            if (r["workload"], r["size"], r["cores"]) == (workload, size, cores)
            and r["median_s"] is not None
            and not r.get("disqualified")
        }
        cells = [_cpu_cell(found, contestant, w.units(workload, size)) for contestant in columns]
        if any(cell != "-" for cell in cells):
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def _cpu_cell(found: dict[str, float | None], contestant: str, size: int) -> str:
    seconds = found.get(contestant)
    if seconds is None:
        return "-"
    ratio = quotient(seconds, found.get("floor"))
    return duration(seconds / size) + (f" ({ratio:.2f})" if contestant != "floor" and ratio else "")


def _rows_of(page: str, name: str) -> dict[str, dict[str, str]]:
    """The cells of a table on the page: by the row's label, then by contestant. Empty, if there is no table."""
    _, rows, _ = _split(page, name)
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in rows.splitlines() if line[:1] == "|"]
    return {row[0]: dict(zip(cells[0][1:], row[1:], strict=True)) for row in cells[2:]}


def ratios(page: str, database: str) -> dict[str, dict[str, float]]:
    """Returns the ratios to the floor in the table of a database: by the row's label, then by contestant.

    Raises:
        LookupError: the page has no such table.
    """
    table = _rows_of(page, database)
    if not table:
        raise LookupError(f"the table of {database} is empty")
    if marks(database + SERVICE)[0] in page:
        # All contestants are in that one, those too that take part nowhere else.
        of_service = service.rows_of(_rows_of(page, database + SERVICE))
        table |= {label: row for label, row in of_service.items() if any(cell != "-" for cell in row.values())}
    found = {
        label: {
            contestant: float(ratio[1])
            for contestant, cell in row.items()
            if (ratio := re.search(r"\((\d+\.\d+)\)$", cell))
        }
        for label, row in table.items()
    }
    return {label: row for label, row in found.items() if row}


def overview(page: str) -> str:
    """Returns the README's table: headrace's ratio to the floor and that of the fastest other driver, by database."""
    databases = _raced(page)
    of = {database: ratios(page, database) for database in databases}
    lines = ["| | " + " | ".join(databases.values()) + " |", "|---|" + "---|" * len(databases)]
    for label in _rows_with(of):
        cells = [_pair(of[database].get(label, {})) for database in databases]
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def pictures(page: str) -> dict[str, str]:
    """Returns the pictures of the same ratios, one for wide screens and one for narrow ones, as SVG by the name of the
    file. They stand at the beginning of the page."""
    databases = _raced(page)
    of = {database: ratios(page, database) for database in databases}
    named = {
        database: {
            label: {"headrace": row[form], **row} if (form := _form(row)) else row for label, row in rows.items()
        }
        for database, rows in of.items()
    }
    return {name: draw(databases, _rows_with(of), named, beside) for name, beside in PICTURES.items()}


def _rows_with(of: dict[str, dict[str, dict[str, float]]]) -> tuple[str, ...]:
    """The labels of the README's rows that were raced on any database."""
    return tuple(label for label in OVERVIEW_ROWS if any(label in rows for rows in of.values()))


def _form(row: Mapping[str, object]) -> str | None:
    """The form of headrace that stands for it in a row; None if none took part."""
    return next((form for form in FORMS if row.get(form, "-") != "-"), None)


def cpu_overview(page: str) -> str:
    """Returns the README's table of client CPU time: headrace's for each row or query with its ratio to the floor's,
    and that of the other driver that takes least. Empty, if the page has no table of it."""
    databases = _raced(page)
    of = {database: _rows_of(page, database + CPU) for database in databases}
    rows: list[str] = []
    for label in OVERVIEW_ROWS:
        cells = [_cpu_pair(of[database].get(label, {})) for database in databases]
        if any(cell != "-" for cell in cells):
            rows.append(f"| {label} | " + " | ".join(cells) + " |")
    if not rows:
        return ""
    lines = [
        "As the server takes most of the time of many rows, this is the CPU time of the client alone, for each row or "
        "query:",
        "",
        "| | " + " | ".join(databases.values()) + " |",
        "|---|" + "---|" * len(databases),
        *rows,
    ]
    return "\n".join(lines)


def _raced(page: str) -> dict[str, str]:
    """The databases that the page has a table of, of times or of client CPU time."""
    return {
        database: title
        for database, title in OVERVIEW_DATABASES.items()
        if _rows_of(page, database) or _rows_of(page, database + CPU)
    }


def _cpu_pair(row: dict[str, str]) -> str:
    others = {
        name: float(ratio[1])
        for name, cell in row.items()
        if not name.startswith("headrace") and (ratio := re.search(r"\((\d+\.\d+)\)$", cell))
    }
    form = _form(row)
    if form is None or not others:
        return "-"
    best = min(others, key=others.__getitem__)
    return f"**{row[form]}**, {best} {row[best]}"


def _pair(row: dict[str, float]) -> str:
    others = {name: ratio for name, ratio in row.items() if not name.startswith("headrace")}
    form = _form(row)
    if form is None or not others:
        return "-"
    best = min(others, key=others.__getitem__)
    return f"**{row[form]:.2f}**, {best} {others[best]:.2f}"


def _split(text: str, name: str) -> tuple[str, str, str]:
    begin, end = marks(name)
    before, found, rest = text.partition(begin)
    inside, ended, after = rest.partition(end)
    if not found or not ended:
        raise LookupError(f"no line {begin} with {end} after it")
    return before + begin, inside, end + after


def _put(text: str, name: str, inside: str) -> str:
    before, _, after = _split(text, name)
    return f"{before}\n{inside}\n{after}"


def main(argv: list[str]) -> int:
    """Writes the tables between the marks. Returns 2, and writes nothing, where marks are missing."""
    documents = [Path(name) for name in argv if not name.endswith(".json")] or [
        Path("docs/race/index.md"),
        Path("README.md"),
    ]
    if len(documents) != 2:
        print("usage: python -m headrace_lab.readme [results.json ...] [PAGE README]", file=sys.stderr)
        return 2
    page, readme = (document.read_text(encoding="utf-8") for document in documents)
    try:
        for name in argv:
            if name.endswith(".json"):
                report = json.loads(Path(name).read_text(encoding="utf-8"))
                if of_across.is_across(report):
                    page = _put(page, ACROSS, of_across.published(report))
                    continue
                if of_daemon.is_daemon(report):
                    for table_of, text in of_daemon.tables(report).items():
                        page = _put(page, DAEMON + table_of, text)
                    continue
                for kind in filter(partial(has_rows, report), ("", ARROW)):
                    page = _put(page, _database(report) + kind, table(report, kind))
                    page = _put(page, _database(report) + kind + CPU, cpu_table(report, kind))
                if service.has_rows(report):
                    page = _put(page, _database(report) + SERVICE, service.table(report))
        readme = _put(readme, OVERVIEW, overview(page))
        readme = _put(readme, OVERVIEW + CPU, cpu_overview(page))
    except LookupError as error:
        print(f"{' or '.join(map(str, documents))}: {error}", file=sys.stderr)
        return 2
    for document, text in zip(documents, (page, readme), strict=True):
        document.write_text(text, encoding="utf-8")
    for name, text in pictures(page).items():
        documents[0].with_name(name).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
