"""Puts the figures of races into the README: ``python -m headrace.lab.readme results.json [...] [README.md]``.

The table of each database goes between marks of its own, ``<!-- race:postgresql:begin -->`` and the like.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from .report import duration, where

ROWS = (
    ("select_one", 1, "one-row select, one core for both", "shared"),
    ("select_one", 1, "one-row select, a core each", "awake"),
    ("fetch", 10_000, "fetch 10,000 rows × 5", "idle"),
    ("fetch", 100_000, "fetch 100,000 rows × 5", "idle"),
    ("fetch_types", 100_000, "fetch 100,000, decimals, moments, NULL", "idle"),
    ("fetch_wide", 10_000, "fetch 10,000 rows × 50", "idle"),
    ("pipeline", 10_000, "10,000 pipelined selects", "idle"),
    ("pipeline_execute", 10_000, "10,000 pipelined executes of one row", "idle"),
    ("executemany", 10_000, "executemany 10,000", "idle"),
    ("executemany", 100_000, "executemany 100,000", "idle"),
    ("bulk_in", 100_000, "COPY or LOAD DATA, 100,000 rows", "idle"),
    ("connect", 1, "connect and close", "idle"),
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
}


def marks(database: str) -> tuple[str, str]:
    """What stands before and behind the table of a database."""
    return f"<!-- race:{database}:begin -->", f"<!-- race:{database}:end -->"


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


def table(report: dict[str, Any]) -> str:
    """The medians, with the ratio to the floor behind each."""
    rounds = max(r["rounds"] for r in report["results"])
    columns = COLUMNS[_database(report)]
    lines = [
        f"{where(report)}; median of {rounds} rounds, ratio to the floor in brackets.",
        "",
        "| | " + " | ".join(columns) + " |",
        "|---|" + "---:|" * len(columns),
    ]
    for workload, size, label, cores in ROWS:
        cells = [_cell(report, workload, size, contestant, cores) for contestant in columns]
        if any(cell != "-" for cell in cells):
            lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    """Replaces what stands between the marks. Gives 2 where there are none for a database."""
    results = [name for name in argv if name.endswith(".json")]
    if not results:
        print("usage: python -m headrace.lab.readme results.json [...] [README.md]", file=sys.stderr)
        return 2
    readme = Path(next((name for name in argv if not name.endswith(".json")), "README.md"))
    text = readme.read_text(encoding="utf-8")
    for name in results:
        report = json.loads(Path(name).read_text(encoding="utf-8"))
        begin, end = marks(_database(report))
        before, found, rest = text.partition(begin)
        _, ended, after = rest.partition(end)
        if not found or not ended:
            print(f"{readme} has no line {begin} with {end} behind it", file=sys.stderr)
            return 2
        text = f"{before}{begin}\n{table(report)}\n{end}{after}"
    readme.write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
