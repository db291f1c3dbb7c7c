"""The workloads: their names, sizes and statements. Names and sizes never change, so that results stay comparable over
the years."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any, Final

from . import data
from .digest import RowSet, digest_rows
from .rounds import Length

SIZES: Final = (1_000, 10_000, 100_000)
WIDE_ROWS: Final = 10_000
STREAM_ROWS: Final = 1_000_000
STREAM_BLOCK: Final = 2_000
"""Rows that a contestant fetches at a time while it streams."""
PIPELINED: Final = 10_000
POOL_SIZE: Final = 4
TASKS: Final = 32
LOAD_TASKS: Final = 100
LOAD_POOL: Final = 10
"""Connections of the pool that so many tasks of a web service share."""
LOAD_THREADS: Final = 16
BULK_ROWS: Final = 100_000
"""Rows of each fetch beside which small queries are asked."""
PAUSE_S: Final = 0.001
"""Seconds between such a query and the next."""
KEY: Final = 7
"""The user that the one-row selects look for."""
ALCHEMY: Final = frozenset({"sqlalchemy_core", "sqlalchemy_orm"})
"""The workloads of SQLAlchemy with the contestant under it."""
ALCHEMY_ROWS: Final = 10_000
"""Rows of the table that they read."""
WRITERS: Final = frozenset({"executemany", "executemany_autocommit", "bulk_in", "arrow_in"})
"""The workloads that fill the target table."""
PARTITIONS: Final = {
    "partitions_1": (1, "id"),
    "partitions_2": (2, "id"),
    "partitions_4": (4, "id"),
    "partitions_skewed": (4, "k"),
}
"""The workloads that read a table in parts: how many, and the column that a contestant divides by which needs one."""
ARROW: Final = frozenset({"arrow", "arrow_types", "arrow_wide", "arrow_stream", "arrow_in", *PARTITIONS})
"""The workloads whose rows are Arrow record batches: those that drivers without rows take part in."""
SHARED: Final = frozenset({"concurrent", "pool_load", "pool_threads"})
"""The workloads whose size is a number of tasks or threads, and whose result is the rows of all of them."""
ON_LOOPS: Final = frozenset({"pool_load", "beside_bulk"})
"""The workloads of drivers on a loop alone: what blocks has threads in their place."""
IN_THREADS: Final = frozenset({"pool_threads"})
"""The workloads of drivers that block alone."""
SERVICE: Final = ON_LOOPS | IN_THREADS
"""The workloads of a web service."""
STREAMS: Final = frozenset({"stream", "arrow_stream"})
"""The workloads that read the long table."""
ARROW_BATCH: Final = 65_536
"""Rows of a batch of ``arrow_stream``, at most, where a contestant lets them be chosen."""
TABLES: Final = {
    "fetch": "fetch",
    "fetch_types": "types",
    "fetch_wide": "wide",
    "bulk_out": "fetch",
    "beside_bulk": "fetch",
    "arrow": "fetch",
    "arrow_types": "types",
    "arrow_wide": "wide",
    **dict.fromkeys(PARTITIONS, "parted"),
}
"""The kind of table that a workload reads."""


class Sql(ABC):
    """The statements of a race in one schema, for one database. ``p`` stands for the contestant's own way to write a
    parameter."""

    database: str
    skips: Mapping[str, str] = {}
    """Workloads that this database does not have, each with the reason."""
    aware = True
    """Whether the timestamps of ``fetch_types`` have a zone."""
    loads_rows = False
    """Whether rows go in by LOAD DATA LOCAL, in place of COPY."""
    counts_round_trips = False
    """Whether a race counts them."""
    port = 0
    """The server's, where a URL names none."""
    batches = ""
    """How headrace's ``executemany`` sends rows."""
    streamed: dict[str, Any] = {"fetch_size": STREAM_BLOCK}
    """headrace's keywords for how much to stream at a time."""
    pipelines_in_transaction = False
    """Whether statements are pipelined inside of a transaction only."""

    def __init__(self, schema: str) -> None:
        self.schema = schema
        self.target = self.named("target")

    def named(self, table: str) -> str:
        """A table of the race, as statements name it."""
        return f"{self.schema}.{table}"

    @abstractmethod
    def own(self, count: int) -> list[str]:
        """So many parameters, written the server's own way."""

    @abstractmethod
    def setup(self, admin: Any, chosen: list[tuple[str, int]]) -> None:
        """Makes the tables that the chosen workloads need, in a schema that does not exist yet."""

    @abstractmethod
    def drop(self, admin: Any) -> None:
        """Drops the schema."""

    @abstractmethod
    def empty(self, admin: Any) -> None:
        """Empties the target."""

    @abstractmethod
    def table_digest(self, table: str) -> str:
        """The query for the digest of a table's rows in any order, made by the server."""

    @abstractmethod
    def settings(self, admin: Any) -> dict[str, Any]:
        """The server's version, and the settings that stand in every report."""

    def select_one(self, p: str) -> str:
        """One row by its key."""
        return f"SELECT id, name FROM {self.named('users')} WHERE id = {p}"

    def select_ten(self, p: str) -> str:
        """Ten rows."""
        return f"SELECT id, name FROM {self.named('users')} WHERE id <= {p}"

    def catalog(self, count: int) -> str:
        """So many rows of the catalog, where a workload reads it."""
        raise NotImplementedError

    def pipeline(self, p: str) -> str:
        """A few rows."""
        return f"SELECT id, name FROM {self.named('users')} LIMIT {p}"

    def insert(self, *p: str) -> str:
        """A row into the target: five parameters, or one way to write them all."""
        marks = p if len(p) > 1 else p * len(data.COLUMNS)
        return f"INSERT INTO {self.target} ({', '.join(data.COLUMNS)}) VALUES ({', '.join(marks)})"

    def copy_in(self, options: str) -> str:
        """COPY into the target."""
        return f"COPY {self.target} ({', '.join(data.COLUMNS)}) FROM STDIN {options}"

    def copy_out(self, size: int, options: str) -> str:
        """COPY of a five-column table."""
        return f"COPY {self.table('fetch', size)} TO STDOUT {options}"

    def stream(self, size: int) -> str:
        """A select to stream."""
        return f"SELECT id, name FROM {self.named('stream')} LIMIT {size}"

    def table(self, workload: str, size: int) -> str:
        """The table of a fetch."""
        if workload in ALCHEMY:
            workload, size = "fetch", ALCHEMY_ROWS
        return self.named(f"{TABLES[workload]}_{size}")

    def select(self, workload: str, size: int) -> str:
        """The statement of a fetch."""
        return f"SELECT * FROM {self.table(workload, size)}"

    def ranges(self, workload: str, size: int) -> list[str]:
        """The statements of a fetch in parts, by the numbers of the rows."""
        count, _ = PARTITIONS[workload]
        if count == 1:
            return [self.select(workload, size)]
        bounds = [size * part // count for part in range(count + 1)]
        ranges = (f"WHERE id > {low} AND id <= {high}" for low, high in pairwise(bounds))
        return [f"{self.select(workload, size)} {each}" for each in ranges]


@dataclass(frozen=True)
class Workload:
    """A workload: its sizes in a full race and in a short one; ``inner`` repeats per round of a full race for each
    size, so that a round takes long enough to be timed."""

    name: str
    what: str
    sizes: tuple[int, ...]
    short: tuple[int, ...]
    inner: dict[int, int]
    one_query: bool = False
    only: str | None = None
    """The one database that has it."""
    more: dict[str, tuple[int, ...]] = field(default_factory=dict)
    """Further sizes, by the database that has them."""

    def offered(self, database: str | None, *, full: bool = True) -> tuple[int, ...]:
        """Its sizes on a database; none where it is not for that one."""
        if self.only not in (None, database):
            return ()
        return (*self.more.get(database or "", ()), *self.sizes) if full else self.short

    def repeats(self, size: int, length: Length) -> int:
        """How often a round repeats it."""
        return length.repeats(self.inner.get(size, 1))


WORKLOADS: Final = {
    workload.name: workload
    for workload in (
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
            {10_000: 4},
        ),
        Workload("fetch_wide", "rows of 50 columns", (WIDE_ROWS,), (WIDE_ROWS,), {}),
        Workload(
            "executemany",
            "rows inserted in one transaction",
            SIZES,
            (10_000,),
            {100: 20, 1_000: 4},
            more={"informix": (100,)},
        ),
        Workload(
            "executemany_autocommit",
            "rows inserted, autocommit",
            (1_000,),
            (1_000,),
            {100: 20, 1_000: 4},
            more={"informix": (100,)},
        ),
        Workload("pipeline", "pipelined selects of 10, 5, 1 rows in turn", (PIPELINED,), (PIPELINED,), {}),
        Workload(
            "pipeline_execute",
            "selects of one row, each by a call of its own, none waited for before the next is sent",
            (PIPELINED,),
            (PIPELINED,),
            {},
        ),
        Workload("bulk_in", "rows in by COPY, or LOAD DATA", (100_000,), (100_000,), {}),
        Workload("bulk_out", "rows out by COPY", (100_000,), (100_000,), {}),
        Workload("connect", "connect and close", (1,), (1,), {1: 100}),
        Workload("pool", "acquire, tiny query, release", (1,), (1,), {1: 500}, True),
        Workload("concurrent", f"{TASKS} tasks share a pool of {POOL_SIZE}", (TASKS,), (TASKS,), {TASKS: 640}),
        Workload(
            "pool_load",
            f"tasks share a pool of {LOAD_POOL}: each takes a connection, selects a row by key and gives it back",
            (LOAD_TASKS,),
            (LOAD_TASKS,),
            {LOAD_TASKS: 6000},
        ),
        Workload(
            "pool_threads",
            f"the same in threads that share a pool of {POOL_SIZE}",
            (LOAD_THREADS,),
            (LOAD_THREADS,),
            {LOAD_THREADS: 4000},
        ),
        Workload(
            "beside_bulk",
            "rows of fetch, again and again; p50, p99 and the longest are those of a small query each millisecond "
            "beside it",
            (BULK_ROWS,),
            (BULK_ROWS,),
            {BULK_ROWS: 10},
        ),
        Workload(
            "select_one_row", "one row of the catalog, no parameter", (1,), (1,), {1: 1000}, True, only="informix"
        ),
        Workload(
            "select_systables_first_10", "ten rows of the catalog", (10,), (10,), {10: 1000}, True, only="informix"
        ),
        Workload(
            "sqlalchemy_core",
            "rows by SQLAlchemy Core, each select with a connection of its pool",
            (1, ALCHEMY_ROWS),
            (1, ALCHEMY_ROWS),
            {1: 400, ALCHEMY_ROWS: 4},
        ),
        Workload(
            "sqlalchemy_orm",
            "objects by SQLAlchemy's ORM, each select in a session; every attribute is read",
            (1, ALCHEMY_ROWS),
            (1, ALCHEMY_ROWS),
            {1: 400},
        ),
        Workload("stream", "a streamed select; see peak memory", (1, STREAM_ROWS), (1, 100_000), {}),
        Workload("arrow", "rows of fetch as an Arrow table", SIZES, (1_000,), {1_000: 20, 10_000: 4}),
        Workload("arrow_types", "rows of fetch_types as an Arrow table", (10_000, 100_000), (10_000,), {10_000: 4}),
        Workload("arrow_wide", "rows of 50 columns as an Arrow table", (WIDE_ROWS,), (WIDE_ROWS,), {}),
        Workload(
            "arrow_stream", "record batches of a streamed select; see peak memory", (STREAM_ROWS,), (100_000,), {}
        ),
        Workload("arrow_in", "rows of an Arrow table inserted, autocommit", SIZES, (1_000,), {}),
        Workload("partitions_1", "rows of a table as an Arrow table", (STREAM_ROWS,), (100_000,), {}),
        Workload("partitions_2", "the same in 2 parts, read at the same time", (STREAM_ROWS,), (100_000,), {}),
        Workload("partitions_4", "the same in 4 parts", (STREAM_ROWS,), (100_000,), {}),
        Workload(
            "partitions_skewed",
            "the same in 4 parts by a column in which every tenth value is NULL and half of them are equal",
            (STREAM_ROWS,),
            (100_000,),
            {},
        ),
    )
}

PUBLISHED: Final = {
    "informix": {
        "select_bench_table_all": ("fetch", 1_000),
        "executemany(100)": ("executemany_autocommit", 100),
        "executemany(1000)": ("executemany_autocommit", 1_000),
        "executemany(100) in a transaction": ("executemany", 100),
        "executemany(1000) in a transaction": ("executemany", 1_000),
        "cold_connect_disconnect": ("connect", 1),
        "pool_acquire_query_release": ("pool", 1),
    }
}
"""What the published comparison of informix-driver with IfxPy calls workloads that have another name here. Those that it
has alone, ``select_one_row`` and ``select_systables_first_10``, have its names."""
CATALOG: Final = (
    "systables", "syscolumns", "sysindices", "systabauth", "syscolauth", "sysviews", "sysusers", "sysdepend",
    "syssynonyms", "syssyntable",
)  # fmt: skip
"""The first tables that every Informix database has, in the order of their numbers."""


def published(database: str, workload: str, size: int) -> str | None:
    """The name of a workload in the published comparison, where it has another."""
    names = PUBLISHED.get(database, {})
    return next((name for name, which in names.items() if which == (workload, size)), None)


def units(workload: str, size: int) -> int:
    """The rows or queries that the time of a workload is divided by to have that of one."""
    return 1 if workload in SHARED else size


def pipeline_params(size: int) -> list[int]:
    """The parameters of so many pipelined selects."""
    return [(10, 5, 1)[i % 3] for i in range(size)]


def keys(size: int) -> list[int]:
    """The users that so many pipelined selects of one row look for."""
    return [1 + i % data.USERS for i in range(size)]


def material(sql: Sql, workload: str, size: int) -> Any:
    """What a contestant is given, made before the clock runs: a statement, rows to insert, parameters, or nothing."""
    if workload in TABLES and workload != "bulk_out":
        return sql.select(workload, size)
    if workload == "arrow_in":
        return data.plain_table(size)
    if workload in WRITERS:
        return data.plain_rows(size)
    if workload in ("select_one_row", "select_systables_first_10"):
        return sql.catalog(size)
    if workload == "pipeline_execute":
        return keys(size)
    return pipeline_params(size) if workload == "pipeline" else None


def expected(workload: str, size: int, inner: int, aware: bool = True) -> str | None:
    """The digest of a right result of one round; ``None`` where there is no result, or the server makes the digest."""
    if workload in STREAMS or workload in PARTITIONS:
        rows = RowSet()
        rows.add(data.rows_of(workload, size))
        return rows.value()
    if workload in ("select_one", "pool"):
        return digest_rows([data.user_row(KEY)])
    if workload == "select_one_row":
        return digest_rows([(1,)])
    if workload == "select_systables_first_10":
        return digest_rows([(name, number) for number, name in enumerate(CATALOG, 1)])
    if workload in SHARED:
        return digest_rows([data.user_row(KEY)] * inner)
    if workload == "pipeline":
        return digest_rows(data.user_row(i) for n in pipeline_params(size) for i in range(1, n + 1))
    if workload == "pipeline_execute":
        return digest_rows(map(data.user_row, keys(size)))
    if workload == "connect" or workload in WRITERS:
        return None
    return digest_rows(data.rows_of(workload, size, aware))
