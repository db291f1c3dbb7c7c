"""The workloads: their names, sizes, statements and data. Names and sizes never change, so that results stay
comparable over the years."""

from __future__ import annotations

import datetime
import hashlib
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

SCHEMA = "headrace_race"
"""The only schema that a race touches."""
SIZES = (1_000, 10_000, 100_000)
WIDE_ROWS = 10_000
STREAM_ROWS = 1_000_000
PIPELINED = 10_000
POOL_SIZE = 4
TASKS = 32

SELECT_ONE = f"SELECT id, name FROM {SCHEMA}.users WHERE id = {{p}}"
SELECT_TEN = f"SELECT id, name FROM {SCHEMA}.users WHERE id <= {{p}}"
PIPELINE = f"SELECT id, name FROM {SCHEMA}.users LIMIT {{p}}"
INSERT = f"INSERT INTO {SCHEMA}.target (id, name, n, f, d) VALUES ({{p}}, {{p}}, {{p}}, {{p}}, {{p}})"
STREAM = f"SELECT id, name FROM {SCHEMA}.stream"
COLUMNS = ("id", "name", "n", "f", "d")


@dataclass(frozen=True)
class Workload:
    """A workload: `sizes` of the full race and of the quick one; `inner` repeats per round for each size, so that a
    round takes long enough to be timed."""

    name: str
    what: str
    sizes: tuple[int, ...]
    quick: tuple[int, ...]
    inner: dict[int, int]
    one_query: bool = False

    def repeats(self, size: int, quick: bool) -> int:
        """How often a round repeats it."""
        return max(1, self.inner.get(size, 1) // (4 if quick else 1))


WORKLOADS = {
    w.name: w
    for w in (
        Workload("select_one", "one row by key, prepared", (1,), (1,), {1: 1000}, True),
        Workload("select_ten", "ten rows, prepared", (10,), (10,), {10: 1000}, True),
        Workload(
            "fetch",
            "rows of int, varchar(64), int, float8, date",
            SIZES,
            (10_000, 100_000),
            {1_000: 20, 10_000: 4},
        ),
        Workload(
            "fetch_types",
            "rows of numeric, timestamptz, text with NULLs and non-ASCII",
            (10_000, 100_000),
            (10_000,),
            {10_000: 2},
        ),
        Workload("fetch_wide", "rows of 50 columns", (WIDE_ROWS,), (WIDE_ROWS,), {}),
        Workload("executemany", "rows inserted in one transaction", SIZES, (10_000,), {1_000: 4}),
        Workload("executemany_autocommit", "rows inserted, autocommit", (1_000,), (1_000,), {1_000: 2}),
        Workload("pipeline", "pipelined selects of 10, 5, 1 rows in turn", (PIPELINED,), (PIPELINED,), {}),
        Workload("bulk_in", "rows in by COPY", (100_000,), (100_000,), {}),
        Workload("bulk_out", "rows out by COPY", (100_000,), (100_000,), {}),
        Workload("connect", "connect and close", (1,), (1,), {1: 20}),
        Workload("pool", "acquire, tiny query, release", (1,), (1,), {1: 500}, True),
        Workload("concurrent", f"{TASKS} tasks share a pool of {POOL_SIZE}", (TASKS,), (TASKS,), {TASKS: 640}),
        Workload("stream", "a streamed select; see peak memory", (STREAM_ROWS,), (100_000,), {}),
    )
}


def setup_statements() -> list[str]:
    """Makes the schema and its tables."""
    s = SCHEMA
    five = "id int, name varchar(64), n int, f float8, d date"
    make_five = "g, 'name of row ' || g, g * 7 % 1000, g / 7.0::float8, date '2020-01-01' + g % 1000"
    statements = [
        f"DROP SCHEMA IF EXISTS {s} CASCADE",
        f"CREATE SCHEMA {s}",
        f"CREATE TABLE {s}.users (id int PRIMARY KEY, name text)",
        f"INSERT INTO {s}.users SELECT g, 'user ' || g FROM generate_series(1, 1000) g",
        f"CREATE UNLOGGED TABLE {s}.target ({five})",
        f"CREATE TABLE {s}.stream (id int, name text)",
        f"INSERT INTO {s}.stream SELECT g, 'name of row ' || g FROM generate_series(1, {STREAM_ROWS}) g",
    ]
    for size in SIZES:
        statements += [
            f"CREATE TABLE {s}.fetch_{size} ({five})",
            f"INSERT INTO {s}.fetch_{size} SELECT {make_five} FROM generate_series(1, {size}) g",
            f"CREATE TABLE {s}.types_{size} (n numeric(14,4), t timestamptz, a text, b text)",
            f"INSERT INTO {s}.types_{size} SELECT g * 1.2345, timestamptz '2020-01-01 00:00:00Z' + g * interval '1.5 s',"
            f" CASE WHEN g % 3 = 0 THEN NULL ELSE 'text ' || g END, 'čeština 日本 ' || g"
            f" FROM generate_series(1, {size}) g",
        ]
    wide = ", ".join(f"c{i} {'int' if i % 2 else 'text'}" for i in range(50))
    values = ", ".join("g" if i % 2 else f"'value {i} of ' || g" for i in range(50))
    statements += [
        f"CREATE TABLE {s}.wide ({wide})",
        f"INSERT INTO {s}.wide SELECT {values} FROM generate_series(1, {WIDE_ROWS}) g",
    ]
    return statements


def select(workload: str, size: int) -> str:
    """The statement of a fetch."""
    table = {
        "fetch": f"fetch_{size}",
        "fetch_types": f"types_{size}",
        "fetch_wide": "wide",
        "bulk_out": f"fetch_{size}",
    }
    return f"SELECT * FROM {SCHEMA}.{table[workload]}"


def insert_rows(size: int) -> list[tuple[Any, ...]]:
    """The rows that are inserted."""
    day = datetime.date(2020, 1, 1)
    days = [day + datetime.timedelta(days=i) for i in range(1000)]
    return [(i, f"name of row {i}", i * 7 % 1000, i / 7.0, days[i % 1000]) for i in range(size)]


def pipeline_params() -> list[int]:
    """The parameters of the pipelined selects."""
    return [(10, 5, 1)[i % 3] for i in range(PIPELINED)]


def digest(rows: Sequence[Any]) -> str:
    """What two results must agree in: every value, with its type's meaning, in order."""
    h = hashlib.sha256()
    for row in rows:
        values = row.values() if isinstance(row, dict) else row
        h.update(repr([_plain(v) for v in values]).encode())
    return h.hexdigest()[:16]


def _plain(value: Any) -> Any:
    if isinstance(value, datetime.datetime) and value.tzinfo is not None:
        return value.astimezone(datetime.timezone.utc).isoformat()
    if isinstance(value, (list, tuple)):
        return [_plain(v) for v in value]
    return value
