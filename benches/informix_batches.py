"""The three strategies of executemany to Informix, side by side in one run: rows put into an insert cursor, rows
executed in groups, and a group for each row.

What is shown is the time of a whole batch in a transaction, the CPU time of this process, and the bytes that it sends,
each per row. The server is the project's own test server: what a genuine one does with the same bytes takes it another
time, but the client's part and the bytes are the same.
"""

from __future__ import annotations

import datetime as dt
import os
import random
import socket
import statistics
import struct
import time
from decimal import Decimal
from typing import Any

import headrace.informix
from headrace.testing import informix

STRATEGIES = ("put", "groups", "rows")
ROUNDS = 15
TCPI_BYTES_SENT = 200
"""Where ``tcpi_bytes_sent`` is in Linux's ``struct tcp_info``."""
TABLES: dict[str, tuple[str, Any]] = {
    "int": ("a int", lambda n: (n,)),
    "int, varchar, decimal": (
        "a int, b varchar(20), c decimal(10,2)",
        lambda n: (n, f"name {n}", Decimal(n % 10_000) / 4),
    ),
    "five columns": (
        "a int, b varchar(64), c smallint, d float, e date",
        lambda n: (n, f"name of row {n}", n % 7, n / 7.0, dt.date(2020, 1, 1) + dt.timedelta(n % 1000)),
    ),
    "char(200)": ("a char(200)", lambda n: (f"row {n}",)),
}


def bytes_sent(conn: Any) -> int:
    """What the kernel has sent of this connection so far."""
    with socket.socket(fileno=os.dup(conn._core.wire.fileno())) as own:
        info = own.getsockopt(socket.IPPROTO_TCP, socket.TCP_INFO, 256)
    return int(struct.unpack_from("Q", info, TCPI_BYTES_SENT)[0])


def batch(conn: Any, strategy: str, sql: str, rows: list[Any]) -> tuple[float, float]:
    """Seconds, and seconds of CPU, of one batch with one strategy; it is rolled back."""
    wall, cpu = time.perf_counter(), time.process_time()
    result = conn._wait(conn._core.wire.execute_batch(sql, rows, begin=True, strategy=strategy), None)
    taken = time.perf_counter() - wall, time.process_time() - cpu
    assert result.rowcount == len(rows)
    conn.rollback()
    return taken


def ratio(slow: list[float], fast: list[float]) -> str:
    """How much faster, with the interval of a bootstrap over the rounds, each paired with its neighbour."""
    pairs = [s / f for s, f in zip(slow, fast, strict=True)]
    drawn = sorted(statistics.median(random.choices(pairs, k=len(pairs))) for _ in range(2000))
    return f"{statistics.median(pairs):.2f} ({drawn[50]:.2f} to {drawn[-51]:.2f})"


def main() -> None:
    """Prints a table."""
    random.seed(1)
    with informix(optimized=True) as server, headrace.informix.connect(**server.parameters()) as conn:
        print("batch                              strategy     µs/row  CPU µs/row  bytes/row")
        for number, (name, (columns, make)) in enumerate(TABLES.items()):
            table = f"b{number}"
            conn.execute(f"create table {table} ({columns})")
            conn.commit()
            sql = f"insert into {table} values ({', '.join('?' * (columns.count(',') - columns.count('(10,2)') + 1))})"
            for count in (10, 100, 1000, 10_000):
                rows = [make(n) for n in range(count)]
                wall: dict[str, list[float]] = {strategy: [] for strategy in STRATEGIES}
                cpu: dict[str, list[float]] = {strategy: [] for strategy in STRATEGIES}
                sent: dict[str, int] = {}
                for strategy in STRATEGIES:
                    before = bytes_sent(conn)
                    batch(conn, strategy, sql, rows)
                    sent[strategy] = bytes_sent(conn) - before
                for _ in range(ROUNDS):
                    for strategy in STRATEGIES:
                        seconds, own = batch(conn, strategy, sql, rows)
                        wall[strategy].append(seconds)
                        cpu[strategy].append(own)
                for strategy in STRATEGIES:
                    row = f"{name} × {count}"
                    print(
                        f"{row:34} {strategy:8} {statistics.median(wall[strategy]) / count * 1e6:7.2f}"
                        f"  {statistics.median(cpu[strategy]) / count * 1e6:10.2f}  {sent[strategy] / count:9.1f}"
                    )
                print(
                    f"{'':34} put is faster than groups by {ratio(wall['groups'], wall['put'])},"
                    f" than rows by {ratio(wall['rows'], wall['put'])}"
                )


if __name__ == "__main__":
    main()
