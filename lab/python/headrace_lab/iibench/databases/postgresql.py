"""PostgreSQL."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import headrace.testing

from ..options import BenchmarkOptions
from . import base
from .base import INDEXES, KEY, NO_ENGINES, ORIGIN, Ask, Facts, Started

SETTINGS = (
    "shared_buffers",
    "fsync",
    "synchronous_commit",
    "full_page_writes",
    "wal_level",
    "max_wal_size",
    "checkpoint_timeout",
    "autovacuum",
    "server_version",
)
"""Settings that stand in every result."""
STARTED = {"shared_buffers": "1GB", "synchronous_commit": "off", "max_wal_size": "8GB", "checkpoint_timeout": "15min"}
"""What a server that is started for the benchmark has, beside what the launcher gives all."""
SEQUENCE_CACHE = 1_000
"""Keys that a connection takes from the sequence at a time, as iiBench has it."""


class PostgreSQLDatabase(base.BenchmarkDatabase):
    name = "postgresql"
    drivers = {"headrace": "headrace_postgresql", "psycopg": "psycopg_postgresql", "asyncpg": "asyncpg_postgresql"}
    many_processes = True
    lacks = NO_ENGINES
    thread_names = ("postgres",)
    sum_of_times = f"SUM(EXTRACT(EPOCH FROM dateandtime - TIMESTAMP '{ORIGIN}'))::bigint"

    @contextmanager
    def start(self, options: BenchmarkOptions) -> Iterator[Started]:
        settings = dict(STARTED) | {
            name.strip(): value.strip() for name, _, value in (s.partition("=") for s in options.server_setting)
        }
        with headrace.testing.postgres(settings=settings) as server:
            yield Started(server.socket_url, server.pid, server.data_dir)

    def facts(self, ask: Ask) -> Facts:
        settings = {name: str(ask(f"SELECT current_setting('{name}')")[0][0]) for name in SETTINGS}
        # The parent of every session's process; only a superuser may know where the data is.
        pid = int(ask("SELECT pg_backend_pid()")[0][0])
        found = ask("SELECT setting FROM pg_settings WHERE name = 'data_directory'")
        return Facts(
            version=f"PostgreSQL {settings['server_version'].split()[0]}",
            settings=settings,
            pid=parent_of(pid),
            data_dir=Path(found[0][0]) if found and found[0][0] else None,
        )

    def create_table(self, table: str, options: BenchmarkOptions) -> Iterator[str]:
        partitioned = f" PARTITION BY RANGE ({KEY})" if options.num_partitions else ""
        yield (
            f"CREATE TABLE {table} ({KEY} bigserial PRIMARY KEY, dateandtime timestamp without time zone, "
            "cashregisterid int NOT NULL, customerid int NOT NULL, productid int NOT NULL, price int NOT NULL, "
            f"data varchar(4000)){partitioned}{'' if partitioned else ' ' + options.engine_options}"
        )
        yield f"ALTER SEQUENCE {table}_{KEY}_seq CACHE {SEQUENCE_CACHE}"
        for n in range(options.num_partitions):
            low = "MINVALUE" if n == 0 else n * options.keys_per_partition
            high = "MAXVALUE" if n == options.num_partitions - 1 else (n + 1) * options.keys_per_partition
            keys = f"FOR VALUES FROM ({low}) TO ({high})"
            yield f"CREATE TABLE {table}_p{n + 1} PARTITION OF {table} {keys} {options.engine_options}"

    def create_indexes(self, table: str, options: BenchmarkOptions) -> Iterator[str]:
        for name in list(INDEXES)[: options.num_secondary_indexes]:
            yield f"CREATE INDEX {table}_{name} ON {table} ({', '.join(INDEXES[name])})"

    def delete(self, table: str, rows: int, lowest: int) -> str:
        oldest = f"SELECT {KEY} FROM {table} WHERE {KEY} >= {lowest} ORDER BY {KEY} LIMIT {rows}"
        return f"DELETE FROM {table} WHERE {KEY} IN ({oldest})"

    def thread(self) -> str:
        return "SELECT pg_backend_pid()"

    def settle(self, tables: list[str]) -> Iterator[str]:
        for table in tables:
            yield f"VACUUM (ANALYZE) {table}"
        yield "CHECKPOINT"


def parent_of(pid: int) -> int | None:
    """The parent of a process of this machine, where that is a PostgreSQL server's."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")
        comm = fields[0].partition("(")[2]
        return int(fields[2].split()[1]) if comm.startswith("postgres") else None
    except (OSError, ValueError, IndexError):
        return None


DATABASE = PostgreSQLDatabase
