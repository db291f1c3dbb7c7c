"""Informix: the project's test server, unless a genuine one is named. The figures of the test server compare clients,
and say nothing of an Informix."""

from __future__ import annotations

import string
from collections.abc import Iterator
from contextlib import contextmanager

from ...databases import informix
from ..options import BenchmarkOptions
from . import base
from .base import COLUMNS, INDEXES, KEY, NO_ENGINES, Ask, Facts, Started

LOCK_WAIT = 30
"""Seconds that a session waits for a lock: the test server has one writer at a time."""
CODES = ", ".join(f"'{c}', {ord(c)}" for c in string.ascii_letters + string.digits + "+/")
"""The characters of data and their codes: not every Informix has ASCII()."""
ONE_ROW = "Informix takes one row in an INSERT; use executemany"


class InformixDatabase(base.BenchmarkDatabase):
    name = "informix"
    drivers = {"headrace": "headrace_informix", "informix-driver": "informix_driver_informix"}
    started_as = "the project's test server, as {}"
    strategy = "executemany"
    strategies = {
        "text": ONE_ROW,
        "prepared": ONE_ROW,
        "copy": "Informix has no such statement: LOAD is one of its tools'",
    }
    lacks = {
        "num_partitions": "the test server has no fragments",
        "engine_options": "it has no storage engines",
        "server_setting": "the test server has no settings",
        **NO_ENGINES,
    }
    sums_of_data = f"SUM(LENGTH(data)), SUM(DECODE(SUBSTR(data, LENGTH(data), 1), {CODES}))"

    @contextmanager
    def start(self, options: BenchmarkOptions) -> Iterator[Started]:
        with informix.start() as (url, pid):
            yield Started(url, pid, None)

    def facts(self, ask: Ask) -> Facts:
        found = ask("SELECT DBINFO('version', 'full') FROM systables WHERE tabid = 1")
        return Facts(version=str(found[0][0]).strip(), settings={}, pid=None, data_dir=None)

    def create_table(self, table: str, options: BenchmarkOptions) -> Iterator[str]:
        yield (
            f"CREATE TABLE {table} ({KEY} BIGSERIAL NOT NULL PRIMARY KEY, dateandtime DATETIME YEAR TO SECOND, "
            "cashregisterid INT NOT NULL, customerid INT NOT NULL, productid INT NOT NULL, price INT NOT NULL, "
            "data LVARCHAR(4000))"
        )

    def create_indexes(self, table: str, options: BenchmarkOptions) -> Iterator[str]:
        for name in list(INDEXES)[: options.num_secondary_indexes]:
            yield f"CREATE INDEX {table}_{name} ON {table} ({', '.join(INDEXES[name])})"

    def delete(self, table: str, rows: int, lowest: int) -> str:
        oldest = f"SELECT FIRST {rows} {KEY} FROM {table} WHERE {KEY} >= {lowest} ORDER BY {KEY}"
        return f"DELETE FROM {table} WHERE {KEY} IN (SELECT {KEY} FROM ({oldest}))"

    def range_query(self, table: str, index: str, place: str, limit: int) -> str:
        columns = ", ".join(INDEXES[index])
        first = INDEXES[index][0]
        return f"SELECT FIRST {limit} {columns} FROM {table} WHERE {first} >= {place} ORDER BY {columns}"

    def insert_one(self, table: str) -> str:
        """An INSERT of one row, with places for its values."""
        return f"{self.insert_head(table)}({', '.join('?' * len(COLUMNS))})"

    def session(self, options: BenchmarkOptions, loading: bool) -> Iterator[str]:
        yield f"SET LOCK MODE TO WAIT {LOCK_WAIT}"

    def settle(self, tables: list[str]) -> Iterator[str]:
        for table in tables:
            yield f"UPDATE STATISTICS MEDIUM FOR TABLE {table}"


DATABASE = InformixDatabase
