"""MariaDB, on InnoDB or RocksDB."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import headrace.testing

from ..options import BenchmarkOptions
from . import base
from .base import INDEXES, KEY, ORIGIN, Ask, Facts, Started

SETTINGS = (
    "version",
    "innodb_buffer_pool_size",
    "innodb_flush_log_at_trx_commit",
    "innodb_log_file_size",
    "innodb_doublewrite",
    "log_bin",
    "sync_binlog",
    "rocksdb_block_cache_size",
    "rocksdb_flush_log_at_trx_commit",
)
"""Settings that stand in every result, where the server has them."""
STARTED = {
    "innodb_buffer_pool_size": "1G",
    "innodb_log_file_size": "1G",
    "innodb_flush_log_at_trx_commit": "2",
}
"""What a server that is started for the benchmark has, beside what the launcher gives all."""
STARTED_ROCKSDB = {"rocksdb_block_cache_size": "1G", "rocksdb_flush_log_at_trx_commit": "2"}


def given_settings(options: BenchmarkOptions) -> dict[str, str]:
    """Those of the server that the command line gives."""
    parts = (setting.partition("=") for setting in options.server_setting)
    return {name.strip(): value.strip() for name, _, value in parts}


class MariaDBDatabase(base.BenchmarkDatabase):
    name = "mariadb"
    drivers = {"headrace": "headrace_mariadb", "mysqlclient": "mysqlclient_mariadb", "pymysql": "pymysql_mariadb"}

    thread_names: tuple[str, ...] = ("mariadbd", "mysqld", "one_connection")
    called = "MariaDB"
    sum_of_times = f"SUM(TIMESTAMPDIFF(SECOND, '{ORIGIN}', dateandtime))"
    settings: tuple[str, ...] = SETTINGS

    @contextmanager
    def start(self, options: BenchmarkOptions) -> Iterator[Started]:
        rocksdb = options.engine.lower() == "rocksdb"
        settings = STARTED | (STARTED_ROCKSDB if rocksdb else {})
        plugins = ["ha_rocksdb"] if rocksdb else []
        with headrace.testing.mariadb(settings=settings | given_settings(options), plugins=plugins) as server:
            yield Started(server.socket_url, server.pid, server.data_dir)

    def facts(self, ask: Ask) -> Facts:
        names = ", ".join(f"'{name}'" for name in (*self.settings, "datadir", "pid_file"))
        found = {str(k): str(v) for k, v in ask(f"SHOW GLOBAL VARIABLES WHERE Variable_name IN ({names})")}
        pid = None
        with contextlib.suppress(OSError, ValueError, KeyError):
            pid = int((Path(found["datadir"]) / found["pid_file"]).read_text())
        return Facts(
            version=f"{self.called} {found.get('version', '').partition('-')[0]}",
            settings={name: found[name] for name in self.settings if name in found},
            pid=pid,
            data_dir=Path(found["datadir"]) if "datadir" in found else None,
        )

    def create_table(self, table: str, options: BenchmarkOptions) -> Iterator[str]:
        partitions = ""
        if options.num_partitions:
            parts = [
                f"PARTITION p{n + 1} VALUES LESS THAN ({(n + 1) * options.keys_per_partition})"
                for n in range(options.num_partitions - 1)
            ]
            parts.append(f"PARTITION p{options.num_partitions} VALUES LESS THAN MAXVALUE")
            partitions = f" PARTITION BY RANGE ({KEY}) ({', '.join(parts)})"
        yield (
            f"CREATE TABLE {table} ({KEY} bigint NOT NULL AUTO_INCREMENT, dateandtime datetime, "
            "cashregisterid int NOT NULL, customerid int NOT NULL, productid int NOT NULL, price int NOT NULL, "
            f"data varchar(4000), PRIMARY KEY ({KEY})) ENGINE={options.engine} {options.engine_options}{partitions}"
        )

    def create_indexes(self, table: str, options: BenchmarkOptions) -> Iterator[str]:
        wanted = list(INDEXES)[: options.num_secondary_indexes]
        each = [f"ADD INDEX {name} ({', '.join(INDEXES[name])})" for name in wanted]
        # As iiBench does it: InnoDB builds them in one pass, RocksDB one after the other.
        together = [", ".join(each)] if options.engine.lower() == "innodb" and each else each
        for changes in together:
            yield f"ALTER TABLE {table} {changes}"

    def indexed(self, table: str, index: str) -> str:
        return f"{table} FORCE INDEX ({index})"

    def delete(self, table: str, rows: int, lowest: int) -> str:
        return f"DELETE FROM {table} WHERE {KEY} >= {lowest} ORDER BY {KEY} LIMIT {rows}"

    def session(self, options: BenchmarkOptions, loading: bool) -> Iterator[str]:
        yield f"SET SESSION unique_checks = {options.unique_checks}"
        if self.loads_in_bulk(options, loading):
            yield "SET SESSION rocksdb_bulk_load = 1"

    def session_end(self, options: BenchmarkOptions, loading: bool) -> Iterator[str]:
        if self.loads_in_bulk(options, loading):
            yield "SET SESSION rocksdb_bulk_load = 0"

    def loads_in_bulk(self, options: BenchmarkOptions, loading: bool) -> bool:
        """Whether rows are written past the memtable: in order of the key, so only where a table has one client."""
        rocksdb = options.engine.lower() == "rocksdb"
        return rocksdb and loading and bool(options.bulk_load) and options.clients <= options.tables

    def thread(self) -> str:
        return "SELECT TID FROM information_schema.PROCESSLIST WHERE ID = CONNECTION_ID()"

    def settle(self, tables: list[str]) -> Iterator[str]:
        for table in tables:
            yield f"ANALYZE TABLE {table}"


DATABASE = MariaDBDatabase
