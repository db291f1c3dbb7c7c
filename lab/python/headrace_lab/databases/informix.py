"""Informix: the test server, unless a genuine one is named."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .. import data
from ..workloads import ALCHEMY
from .filled import Filled


class Statements(Filled):
    """Informix's. There are no schemas: what is one elsewhere is the beginning of the tables' names."""

    database = "informix"
    counts_round_trips = True
    skips = {
        "bulk_in": "there is no such statement",
        "bulk_out": "there is no such statement",
        **dict.fromkeys(ALCHEMY, "SQLAlchemy has no dialect of it"),
    }
    port = 9088
    streamed = {"fetch_bytes": 64 * 1024}
    types = {
        "users": "id int PRIMARY KEY, name varchar(64)",
        "plain": "id int, name varchar(64), n int, f float, d date",
        "types": "n decimal(14,4), t datetime year to fraction(5), a lvarchar(100), b lvarchar(100)",
        "wide": ", ".join(f"c{i} {'int' if i % 2 else 'varchar(64)'}" for i in range(data.WIDE_COLUMNS)),
        "stream": "id int, name varchar(64)",
    }

    def __init__(self, schema: str) -> None:
        super().__init__(schema)
        self.target = f"{schema}_target"
        self.made: list[str] = []

    def table(self, workload: str, size: int) -> str:
        """The table of a fetch."""
        return super().table(workload, size).replace(".", "_")

    def select_one(self, p: str) -> str:
        """One row by its key."""
        return super().select_one(p).replace(f"{self.schema}.", f"{self.schema}_")

    def select_ten(self, p: str) -> str:
        """Ten rows."""
        return super().select_ten(p).replace(f"{self.schema}.", f"{self.schema}_")

    def stream(self, size: int) -> str:
        """A select to stream."""
        return f"SELECT FIRST {size} id, name FROM {self.schema}_stream"

    def pipeline(self, p: str) -> str:
        """A few rows: FIRST takes no parameter, the key does."""
        return self.select_ten(p)

    def catalog(self, count: int) -> str:
        """Of systables, which every database has."""
        if count == 1:
            return "SELECT 1 FROM systables WHERE tabid = 1"
        return f"SELECT FIRST {count} tabname, tabid FROM systables ORDER BY tabid"

    def create_schema(self, admin: Any) -> None:
        """Nothing."""

    def setup(self, admin: Any, chosen: list[tuple[str, int]]) -> None:
        """Row by row."""
        super().setup(_Renaming(admin, self), chosen)

    def drop(self, admin: Any) -> None:
        """Table by table."""
        for table in self.made:
            admin.execute(f"DROP TABLE {table}")

    def table_digest(self, table: str) -> str:
        """Count and sums: the server has no hash function."""
        return f"SELECT count(*), sum(id), sum(n), sum(f), min(name), max(name), min(d), max(d) FROM {table}"

    def settings(self, admin: Any) -> dict[str, Any]:
        """As the server reports them."""
        return {"server_version": admin.server_version, "logging": admin.logging, "encoding": admin.encoding}


class _Renaming:
    """A connection for statements that name a schema."""

    def __init__(self, admin: Any, sql: Statements) -> None:
        self.admin = admin
        self.sql = sql

    def _named(self, statement: str) -> str:
        return statement.replace(f"{self.sql.schema}.", f"{self.sql.schema}_")

    def execute(self, statement: str) -> None:
        named = self._named(statement)
        self.admin.execute(named)
        self.sql.made.append(named.split()[2])

    def executemany(self, statement: str, rows: Any) -> None:
        self.admin.executemany(self._named(statement), rows)


@contextlib.contextmanager
def start() -> Iterator[tuple[str, int | None]]:
    """The test server, optimised."""
    import headrace.testing

    with headrace.testing.informix(locale="en_US.utf8", optimized=True) as server:
        yield server.url, server.pid
