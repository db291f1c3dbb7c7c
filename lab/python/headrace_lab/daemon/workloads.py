"""What is done: the statements of the published claim for a local daemon, in sizes that can be compared.

The statement returns the first 10, 5 or 1 rows of a small table, in turn. That is the most favourable case for
everything that is not the server: what differs between the routes shows best.
"""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, Final

from ..rounds import Length

TABLE_ROWS: Final = 1_000
LIMITS: Final = (10, 5, 1)
"""The numbers of rows that statements ask for, in turn."""
SETUP: Final = (
    "CREATE TABLE people (id int PRIMARY KEY, name text NOT NULL)",
    f"INSERT INTO people SELECT g, 'user ' || g FROM generate_series(1, {TABLE_ROWS}) g",
    "VACUUM ANALYZE people",
)
SELECT: Final = "SELECT id, name FROM people LIMIT "
"""The statement, up to its parameter."""
ANSWER: Final = "SELECT 42"
"""The query after connecting."""
BULK_CLIENTS: Final = 3
"""Clients that stream batches beside the small queries."""
BULK_BATCH: Final = 9_999
"""Queries of their batches."""
PAUSE: Final = 0.002
"""Seconds between queries of a client that is not in a hurry."""

SHARED, APART, FREE = "shared", "apart", "free"
CORES: Final = {
    SHARED: "all on one core",
    APART: "clients on one half of the cores, pooler and server on the other, kept awake",
    FREE: "cores as the system assigns them",
}


@dataclass(frozen=True)
class Workload:
    """A workload, the sizes that it is raced with, and the cores.

    Attributes:
        what: its description, with the size as ``{size:,}``.
        sizes: all sizes.
        short: the sizes of a short race.
        cores: keys of ``CORES``.
        work: operations in one timed round of a full race, in any size; a size that is larger is one round.
        latencies: the times of single operations are compared, not their sum. A short race has as many of them, since
            few have no p99.
        pause: seconds before each operation.
        bulk: clients with batches stream beside it.
        most_rounds: timed rounds at most; opening connections takes longer than the rounds themselves.
    """

    what: str
    sizes: tuple[int, ...]
    short: tuple[int, ...]
    cores: tuple[str, ...]
    work: int
    latencies: bool = False
    pause: float = 0.0
    bulk: bool = False
    most_rounds: int = 1_000

    def offered(self, *, full: bool) -> tuple[int, ...]:
        """Its sizes."""
        return self.sizes if full else self.short

    def repeats(self, size: int, length: Length) -> int:
        """How many operations of this size a round consists of."""
        return max(1, (self.work if self.latencies else length.repeats(self.work)) // size)


BATCHES: Final = (9, 99, 999, 9_999)
WORKLOADS: Final[dict[str, Workload]] = {
    "connect": Workload("connect and one query, again and again in one process", (1,), (1,), (SHARED, APART), 40),
    "connect_cold": Workload("connect and one query, the first of a fresh process", (1,), (1,), (APART,), 1),
    "one": Workload("one prepared query per call, rows as objects", (1,), (1,), (SHARED, APART), 1_500),
    "batch": Workload("{size:,} prepared queries in a pipeline, rows as objects", BATCHES, (9, 9_999), (APART,), 6_000),
    "count": Workload(
        "{size:,} prepared queries in a pipeline, count only: no row reaches the program",
        BATCHES, (9_999,), (APART,), 6_000,
    ),
    "clients": Workload(
        "queries of {size:,} clients, each one at a time", (1, 8, 64, 500), (8, 64), (FREE,), 4_000, most_rounds=7
    ),
    "alone": Workload("times of single queries of one client, alone", (1,), (1,), (FREE,), 300, latencies=True),
    "beside": Workload(
        f"times of single queries of one client beside {BULK_CLIENTS} clients with batches of {BULK_BATCH:,}",
        (1,), (1,), (FREE,), 300, latencies=True, bulk=True,
    ),
    "paced": Workload(
        f"times of single queries of one client, one after each pause of {PAUSE * 1000:.0f} ms, alone",
        (1,), (1,), (FREE,), 100, latencies=True, pause=PAUSE,
    ),
    "paced_beside": Workload(
        f"times of single queries of one client, one after each pause of {PAUSE * 1000:.0f} ms, beside {BULK_CLIENTS} "
        f"clients with batches of {BULK_BATCH:,}",
        (1,), (1,), (FREE,), 100, latencies=True, pause=PAUSE, bulk=True,
    ),
}  # fmt: skip


def what(name: str, size: int) -> str:
    """A workload in words."""
    return WORKLOADS[name].what.format(size=size)


def queries(name: str, size: int, inner: int) -> int:
    """The number of queries in a round."""
    return size * inner if name in ("batch", "count", "clients") else inner


def limits(count: int) -> list[int]:
    """The parameters of so many statements."""
    whole, rest = divmod(count, len(LIMITS))
    return [*LIMITS] * whole + [*LIMITS[:rest]]


def digest(rows: Iterable[Sequence[Any]]) -> str:
    """The digest of rows: MD5 over their values as text, which a client in any language can make."""
    text = "".join("|".join(map(str, row)) + "\n" for row in rows)
    return hashlib.md5(text.encode(), usedforsecurity=False).hexdigest()


def right_rows(count: int) -> list[tuple[int, str]]:
    """The rows of so many statements, one statement after the other."""
    table = [(n, f"user {n}") for n in range(1, max(LIMITS) + 1)]
    return [row for limit in limits(count) for row in table[:limit]]


@functools.cache
def expected(name: str, size: int, inner: int) -> str:
    """The right digest of a round. The queries of several clients are of one limit, since they end in any order."""
    if name in ("connect", "connect_cold"):
        return digest([(42,)] * inner)
    if name == "count":
        return ""
    if name == "clients":
        return digest(right_rows(1)[:1] * queries(name, size, inner))
    if name == "batch":
        return digest(right_rows(size) * inner)
    return digest(right_rows(inner))
