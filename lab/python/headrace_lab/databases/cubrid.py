"""CUBRID: the test server, unless a genuine one is named."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

from .. import data
from ..workloads import PARTITIONS
from .filled import Prefixed


class Statements(Prefixed):
    """CUBRID's."""

    database = "cubrid"
    batches = "EXECUTE_ARRAY, many rows each"
    counts_round_trips = True
    skips = {
        "bulk_in": "there is no such statement",
        "bulk_out": "there is no such statement",
        **dict.fromkeys(PARTITIONS, "no other driver reads a table in parts"),
    }
    aware = False
    port = 33000
    pipelines_in_transaction = True
    types = {
        "users": "id int PRIMARY KEY, name varchar(64)",
        "plain": "id int, name varchar(64), n int, f double, d date",
        "types": "n numeric(14,4), t datetime, a varchar(100), b varchar(100)",
        "wide": ", ".join(f"c{i} {'int' if i % 2 else 'varchar(64)'}" for i in range(data.WIDE_COLUMNS)),
        "stream": "id int, name varchar(64)",
    }

    def empty(self, admin: Any) -> None:
        """TRUNCATE."""
        admin.execute(f"TRUNCATE {self.target}")

    def table_digest(self, table: str) -> str:
        """Count and sums. Doubles are compared to six digits after the point: a server makes others of some literals
        than Python does, and literals are what pycubrid's batches consist of."""
        sums = "sum(id), sum(n), sum(cast(f * 1000000 as bigint))"
        return f"SELECT count(*), {sums}, min(name), max(name), min(d), max(d) FROM {table}"

    def settings(self, admin: Any) -> dict[str, Any]:
        """As the server reports them."""
        return {"server_version": admin.fetch_server_version(), "protocol": admin.protocol_version}


PROCESSES: Final = 200
"""Of the test server: more than all contestants have connections at once. With fewer it takes away those that are idle,
of which the floor knows nothing."""


@contextlib.contextmanager
def start() -> Iterator[tuple[str, int | None]]:
    """The test server, optimised."""
    import headrace.testing

    with headrace.testing.cubrid(optimized=True, cas=PROCESSES) as server:
        yield server.url, server.pid
