"""A table of PostgreSQL as a Spark data frame: by ``headrace.spark`` and by Spark's own JDBC source with pgjdbc, in 1,
2 and 4 partitions, side by side in one session of Spark.

Every round reads the whole table and throws the rows away (the format ``noop``), after a round that is not counted.
Both read by the integer column ``id``, and then by ``k``, in which every tenth value is NULL and half of them are
equal; the JDBC source needs the bounds of the column, and is given the right ones. What the frames hold is compared
first. The memory is that of the JVM and, for headrace, of the processes of Python beside it, at its peak.

    make test-engines TEST_ARGS=--collect-only   installs Spark
    .venv-engines/bin/python benches/engines/spark_jdbc.py --driver postgresql.jar
"""

from __future__ import annotations

import argparse
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from pyspark.sql import SparkSession

import headrace
import headrace.spark
from headrace.testing import postgres

ROWS = 1_000_000
FETCH_SIZE = 10_000
"""Rows of a round trip of pgjdbc, whose default is the whole result at once."""
SAMPLE_SECONDS = 0.05
Read = Callable[[], Any]


def process_tree(root: int) -> list[int]:
    """A process and its descendants."""
    children: dict[int, list[int]] = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                parent = int((entry / "stat").read_text().rpartition(")")[2].split()[1])
            except OSError:
                continue
            children.setdefault(parent, []).append(int(entry.name))
    found = [root]
    for each in found:
        found.extend(children.get(each, []))
    return found


def resident_mb(pids: list[int]) -> float:
    """The proportional share of memory of these processes."""
    total = 0
    for pid in pids:
        try:
            lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        except OSError:
            continue
        total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
    return total / 1024


class Peak:
    """The most memory that Spark has had."""

    def __enter__(self) -> Peak:
        self.most, self.ended = 0.0, threading.Event()
        self.thread = threading.Thread(target=self._watch)
        self.thread.start()
        return self

    def _watch(self) -> None:
        while not self.ended.wait(SAMPLE_SECONDS):
            # Without this process itself, which plans only.
            self.most = max(self.most, resident_mb([pid for pid in process_tree(os.getpid()) if pid != os.getpid()]))

    def __exit__(self, *_: object) -> None:
        self.ended.set()
        self.thread.join()


def timed(read: Read) -> tuple[float, float]:
    """Milliseconds of one read, and megabytes."""
    with Peak() as peak:
        started = time.perf_counter()
        read().write.format("noop").mode("overwrite").save()
        took = time.perf_counter() - started
    return took * 1000, peak.most


def readers(spark: Any, server: Any, driver_url: str, column: str, bounds: tuple[int, int]) -> dict[str, Read]:
    """The ways to read the table."""
    found: dict[str, Read] = {}
    for count in (1, 2, 4):
        plan = headrace.partitions(server.url, table="lines", by=column, count=count)
        found[f"headrace, {count}"] = lambda plan=plan: headrace.spark.read(spark, plan, url=server.url)
        jdbc = {
            "url": driver_url, "dbtable": "lines", "user": server.user, "fetchsize": str(FETCH_SIZE),
            "driver": "org.postgresql.Driver",
        }  # fmt: skip
        if count > 1:
            jdbc |= {
                "partitionColumn": column, "numPartitions": str(count),
                "lowerBound": str(bounds[0]), "upperBound": str(bounds[1]),
            }  # fmt: skip
        found[f"JDBC, {count}"] = lambda jdbc=jdbc: spark.read.format("jdbc").options(**jdbc).load()
    return found


def facts(frame: Any) -> tuple[Any, ...]:
    """What two frames of one table have in common, and the rows of each partition, the largest first."""
    row = frame.selectExpr("count(*)", "sum(id)", "count(k)", "sum(k)", "sum(length(name))", "sum(price)").collect()[0]
    sizes = frame.rdd.mapPartitions(lambda rows: [sum(1 for _ in rows)]).collect()
    return tuple(row), sorted(sizes, reverse=True)


def main() -> None:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--driver", type=Path, required=True, help="pgjdbc's jar")
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    spark: Any = (
        SparkSession.builder.master("local[4]")
        .config("spark.ui.enabled", "false")
        .config("spark.jars", str(given.driver))
        .config("spark.driver.memory", "2g")
        .config("spark.sql.session.timeZone", "UTC")
        .getOrCreate()
    )
    spark.sparkContext.setLogLevel("ERROR")
    with postgres() as server, headrace.connect(server.url, autocommit=True) as admin:
        admin.execute("create table lines (id int primary key, k int, name text, price numeric(10, 2), at timestamp)")
        admin.execute(
            "insert into lines select n, case when n % 10 = 0 then null when n % 2 = 0 then 7 else n end,"
            " 'Name of row ' || n, n / 8.0, timestamp '2026-01-01' + n * interval '1 s'"
            f" from generate_series(1, {ROWS}) n"
        )
        admin.execute("create index on lines (k)")
        admin.execute("vacuum analyze lines")
        driver_url = f"jdbc:postgresql://127.0.0.1:{server.port}/{server.url.rpartition('/')[2].partition('?')[0]}"
        for column, bounds in {"id": (1, ROWS), "k": (1, ROWS)}.items():
            ways = readers(spark, server, driver_url, column, bounds)
            known = {name: facts(read()) for name, read in ways.items()}
            whole = {what for what, _ in known.values()}
            print(f"\nby {column}: {'all frames are equal' if len(whole) == 1 else known}\n")
            print("| partitions | rows of the largest part | median | to headrace | peak memory |")
            print("|---|---:|---:|---:|---:|")
            times: dict[str, list[float]] = {name: [] for name in ways}
            peaks: dict[str, float] = dict.fromkeys(ways, 0.0)
            for number in range(given.rounds + 1):
                for name, read in ways.items():
                    took, peak = timed(read)
                    if number:
                        times[name].append(took)
                        peaks[name] = max(peaks[name], peak)
            for name in ways:
                ours = statistics.median(times["headrace," + name.partition(",")[2]])
                median, largest = statistics.median(times[name]), known[name][1][0]
                figures = f"{largest:,} | {median:,.0f} ms | {median / ours:.2f} | {peaks[name]:,.0f} MB"
                print(f"| {name} | {figures} |", flush=True)
    spark.stop()


if __name__ == "__main__":
    main()
