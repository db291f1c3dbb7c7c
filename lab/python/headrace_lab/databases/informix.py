"""Informix: the test server, unless a genuine one is named."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

from .. import data
from ..workloads import PARTITIONS
from .filled import Prefixed


class Statements(Prefixed):
    """Informix's."""

    database = "informix"
    batches = "insert cursor"
    counts_round_trips = True
    skips = {
        "bulk_in": "there is no such statement",
        "bulk_out": "there is no such statement",
        **dict.fromkeys(PARTITIONS, "no other driver reads a table in parts"),
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

    def stream(self, size: int) -> str:
        """A select to stream."""
        return f"SELECT FIRST {size} id, name FROM {self.named('stream')}"

    def pipeline(self, p: str) -> str:
        """A few rows: FIRST takes no parameter, the key does."""
        return self.select_ten(p)

    def catalog(self, count: int) -> str:
        """Of systables, which every database has."""
        if count == 1:
            return "SELECT 1 FROM systables WHERE tabid = 1"
        return f"SELECT FIRST {count} tabname, tabid FROM systables ORDER BY tabid"

    def table_digest(self, table: str) -> str:
        """Count and sums: the server has no hash function."""
        return f"SELECT count(*), sum(id), sum(n), sum(f), min(name), max(name), min(d), max(d) FROM {table}"

    def settings(self, admin: Any) -> dict[str, Any]:
        """As the server reports them."""
        return {"server_version": admin.server_version, "logging": admin.logging, "encoding": admin.encoding}


@contextlib.contextmanager
def start() -> Iterator[tuple[str, int | None]]:
    """The test server, optimised."""
    import headrace.testing

    with headrace.testing.informix(locale="en_US.utf8", optimized=True) as server:
        yield server.url, server.pid
