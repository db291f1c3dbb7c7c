"""Batches to PostgreSQL that a COPY cannot take, side by side in one run: ``executemany`` with one row for each
execution, pipelined, and as it does it by itself, in statements of many rows; and such statements written by hand: the
columns as arrays for ``unnest``, and VALUES of many rows.

The times are those of a batch in a transaction of its own, on an embedded server and a table that was emptied before.
A statement of ``unnest`` or with several rows is another one than the program's: in which order triggers fire and which
row is named by an error may differ. So a batch takes it only where that has the same meaning. ``--within`` measures
batches in a transaction that is open already.
"""

from __future__ import annotations

import statistics
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any

import headrace
from headrace.testing import postgres

ROUNDS = 7
SIZES = (1_000, 5_000, 10_000, 100_000)
VALUES_ROWS = (100,)
"""Rows of one statement with VALUES."""
TYPES = ("int", "text", "int", "float8")
STATEMENTS = {
    "ON CONFLICT DO UPDATE": ("{}", " on conflict (a) do update set b = excluded.b"),
    "an expression": ("lower({})", ""),
}
"""What stands around the parameter of the second column, and behind the rows."""
Row = tuple[int, str, int, float]
Write = Callable[[Any, Sequence[Row]], None]


def rows_of(size: int) -> list[Row]:
    """The rows of a batch."""
    return [(n, f"Name of row {n}", n % 7, n / 7.0) for n in range(size)]


def placed(kind: str, first: int) -> str:
    """The parenthesised parameters of a row."""
    around, _ = STATEMENTS[kind]
    marks = [f"${first + column}" for column in range(len(TYPES))]
    marks[1] = around.format(marks[1])
    return f"({', '.join(marks)})"


def pipelined(kind: str) -> Write:
    """``executemany``, as the connection does it."""
    sql = f"insert into batch values {placed(kind, 1)}{STATEMENTS[kind][1]}"
    return lambda conn, rows: conn.executemany(sql, rows)


def unnest(kind: str) -> Write:
    around, behind = STATEMENTS[kind]
    arrays = ", ".join(f"${n}::{name}[]" for n, name in enumerate(TYPES, 1))
    sql = f"insert into batch select a, {around.format('b')}, c, d from unnest({arrays}) as rows (a, b, c, d){behind}"

    def write(conn: Any, rows: Sequence[Row]) -> None:
        conn.execute(sql, [list(column) for column in zip(*rows, strict=True)])

    return write


def values(kind: str, count: int) -> Write:
    many = ", ".join(placed(kind, 1 + row * len(TYPES)) for row in range(count))
    sql = f"insert into batch values {many}{STATEMENTS[kind][1]}"

    def write(conn: Any, rows: Sequence[Row]) -> None:
        conn.executemany(sql, [sum(rows[at : at + count], ()) for at in range(0, len(rows), count)])

    return write


def main() -> None:
    """Prints a table for each statement."""
    within = "--within" in sys.argv
    with (
        postgres() as server,
        headrace.connect(server.url, batch_strategy="pipelined") as conn,
        headrace.connect(server.url) as auto,
    ):
        print(conn.execute("select version()").fetchone()[0].split(" on ")[0], f"- milliseconds, median of {ROUNDS}")
        conn.execute("create table batch (a int primary key, b text, c int, d float8)")
        conn.commit()
        for kind in STATEMENTS:
            ways = {"pipelined": (conn, pipelined(kind)), "executemany": (auto, pipelined(kind))}
            ways |= {"unnest": (conn, unnest(kind))}
            ways |= {f"VALUES of {count:,}": (conn, values(kind, count)) for count in VALUES_ROWS}
            print(f"\n{kind:22}", *(f"{size:>10,} rows      " for size in SIZES))
            taken: dict[tuple[str, int], list[float]] = {(way, size): [] for way in ways for size in SIZES}
            for size in SIZES:
                rows = rows_of(size)
                for _ in range(ROUNDS):
                    for way, (used, write) in ways.items():
                        conn.execute("truncate batch")
                        conn.commit()
                        if within:
                            used.execute("select 1")
                        start = time.perf_counter()
                        write(used, rows)
                        used.commit()
                        taken[way, size].append((time.perf_counter() - start) * 1000)
                        assert conn.execute("select count(*) from batch").fetchone()[0] == size
                        conn.commit()
            for way in ways:
                print(f"{way:22}", *(cell(taken[way, size], taken["pipelined", size]) for size in SIZES))


def cell(times: list[float], pipelined: list[float]) -> str:
    """A median, and how many times as fast as pipelined it is."""
    median = statistics.median(times)
    return f"{median:>10.1f} ({statistics.median(pipelined) / median:4.2f} x)  "


if __name__ == "__main__":
    main()
