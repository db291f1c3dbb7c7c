"""Puts the figures of a race into the README: ``python -m headrace.lab.readme results.json [README.md]``."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

from .report import duration, where

BEGIN, END = "<!-- race:begin -->", "<!-- race:end -->"
ROWS = (
    ("select_one", 1, "one-row select"),
    ("fetch", 10_000, "fetch 10,000 rows × 5"),
    ("fetch", 100_000, "fetch 100,000 rows × 5"),
    ("fetch_types", 100_000, "fetch 100,000, numeric, timestamptz, NULL"),
    ("fetch_wide", 10_000, "fetch 10,000 rows × 50"),
    ("pipeline", 10_000, "10,000 pipelined selects"),
    ("executemany", 10_000, "executemany 10,000"),
    ("executemany", 100_000, "executemany 100,000"),
    ("bulk_in", 100_000, "COPY in 100,000 rows"),
    ("connect", 1, "connect and close"),
)
COLUMNS = ("floor", "headrace", "headrace-uvloop", "psycopg", "asyncpg-uvloop", "psqlpy", "pg8000")


def table(report: dict[str, Any]) -> str:
    """The medians, with the ratio to the floor behind each."""
    rounds = max(r["rounds"] for r in report["results"])
    lines = [
        f"{where(report)}; median of {rounds} rounds, ratio to the floor in brackets.",
        "",
        "| | " + " | ".join(COLUMNS) + " |",
        "|---|" + "---:|" * len(COLUMNS),
    ]
    for workload, size, label in ROWS:
        cells: list[str] = []
        for contestant in COLUMNS:
            found = [
                r
                for r in report["results"]
                if (r["workload"], r["size"], r["contestant"]) == (workload, size, contestant)
                and r.get("cores", "idle") == "idle"
            ]
            if not found or found[0]["median_s"] is None or found[0].get("disqualified"):
                cells.append("-")
                continue
            ratio = found[0]["ratio_to_floor"]
            cells.append(
                duration(found[0]["median_s"]) + (f" ({ratio:.2f})" if contestant != "floor" and ratio else "")
            )
        lines.append(f"| {label} | " + " | ".join(cells) + " |")
    return "\n".join(lines)


def main(argv: list[str]) -> int:
    """Replaces what stands between the markers."""
    if not argv:
        print("usage: python -m headrace.lab.readme results.json [README.md]", file=sys.stderr)
        return 2
    readme = Path(argv[1] if len(argv) > 1 else "README.md")
    report = json.loads(Path(argv[0]).read_text(encoding="utf-8"))
    text = readme.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    readme.write_text(f"{before}{BEGIN}\n{table(report)}\n{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
