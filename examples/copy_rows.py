"""Loading and unloading by COPY: rows, bytes and files."""

from __future__ import annotations

import datetime
import io
import sys
import time
from collections.abc import Iterator

import headrace

START = datetime.datetime(2024, 1, 1, tzinfo=datetime.timezone.utc)


def readings(count: int) -> Iterator[tuple[datetime.datetime, int, float]]:
    """Made up, one at a time: they are never all in memory."""
    for n in range(count):
        yield START + datetime.timedelta(seconds=n), n % 8, n / 10


def main(conninfo: str) -> None:
    """A hundred thousand rows, in and out."""
    with headrace.connect(conninfo) as conn:
        conn.execute("CREATE TEMP TABLE readings (at timestamptz, sensor int, value float8)")

        started = time.perf_counter()
        count = conn.copy_in("readings", readings(100_000))
        print(f"{count} rows in, {time.perf_counter() - started:.2f} s")

        conn.copy_in("readings", b"2025-01-01 00:00+00,9,1.5\n", format="csv")

        started = time.perf_counter()
        total = sum(value for _, _, value in conn.copy_out("readings"))
        print(f"all rows out, {time.perf_counter() - started:.2f} s, sum {total:.0f}")

        file = io.BytesIO()
        query = "SELECT sensor, count(*) FROM readings GROUP BY sensor ORDER BY sensor"
        conn.copy_out(query, format="csv", to=file)
        print(file.getvalue().decode())


if __name__ == "__main__":
    main(sys.argv[1] if len(sys.argv) > 1 else "")
