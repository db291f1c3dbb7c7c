"""The statements of the benchmark for a database.

Columns, indexes and queries are those of iiBench. Its range query of the register index asks for rows beyond the given
value where the others include it; here all three include it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from ..options import BenchmarkOptions

COLUMNS: Final = ("dateandtime", "cashregisterid", "customerid", "productid", "price", "data")
"""Columns that rows have values for, in the order in which they are inserted."""
KEY: Final = "transactionid"
ORIGIN: Final = "2020-01-01 00:00:00"
"""The first row's time."""
NO_ENGINES: Final = dict.fromkeys(("engine", "unique_checks", "bulk_load"), "it has no storage engines to choose from")
"""What a database lacks that has one way to store tables."""
INDEXES: Final = {
    "marketsegment": ("productid", "customerid", "price"),
    "registersegment": ("cashregisterid", "customerid", "price"),
    "pdc": ("price", "dateandtime", "customerid"),
}
"""The secondary indexes, in the order in which they are made."""
KEYS_PER_POINT_QUERY: Final = 10

Ask = Callable[[str], list[tuple[Any, ...]]]
"""Runs a statement and returns its rows."""


@dataclass(frozen=True)
class Started:
    """A server that runs for the benchmark alone."""

    url: str
    pid: int | None
    data_dir: Path | None


@dataclass(frozen=True)
class Facts:
    """What a server reports of itself."""

    version: str
    settings: dict[str, str]
    pid: int | None
    """Process id of the server, or of the parent of its processes, as the server sees it."""
    data_dir: Path | None


class BenchmarkDatabase(ABC):
    """One database's words."""

    name = ""
    drivers: Mapping[str, str] = {}
    """The modules in :mod:`..sessions` by the drivers' names."""
    thread_names: tuple[str, ...] = ()
    many_processes = False
    """Whether each connection has a process of its own on the server."""
    started_as = "{}"
    """How a server that was started for the benchmark is called in results; ``{}`` is what it calls itself."""
    strategy = "text"
    """The way to insert where none is asked for."""
    strategies: Mapping[str, str] = {}
    """For each strategy that the database does not have, the reason."""
    lacks: Mapping[str, str] = {}
    """For each option that it cannot follow, why: what is not the option's default is refused."""
    sums_of_data = "SUM(LENGTH(data)), SUM(ASCII(RIGHT(data, 1)))"
    sum_of_times = ""
    """The seconds from the first row's time to those of all rows, added up; empty without a function for it."""

    @abstractmethod
    def start(self, options: BenchmarkOptions) -> AbstractContextManager[Started]:
        """Starts a server for the benchmark alone. Raises ServerUnavailable."""

    @abstractmethod
    def facts(self, ask: Ask) -> Facts:
        """What the server reports of itself."""

    @abstractmethod
    def create_table(self, table: str, options: BenchmarkOptions) -> Iterator[str]:
        """The statements that make a table, without secondary indexes."""

    @abstractmethod
    def create_indexes(self, table: str, options: BenchmarkOptions) -> Iterator[str]:
        """The statements that build the secondary indexes of a table that may have rows."""

    @abstractmethod
    def delete(self, table: str, rows: int, lowest: int) -> str:
        """The statement that deletes the ``rows`` oldest rows; no key is below ``lowest``."""

    def thread(self) -> str:
        """Asks for the number of the server's thread, or process, that serves the connection which asks; its name
        begins with :attr:`thread_names`. Nothing where it cannot be known."""
        return ""

    def session(self, options: BenchmarkOptions, loading: bool) -> Iterator[str]:
        """Statements for a connection that inserts; ``loading`` where there is no secondary index to keep."""
        yield from ()

    def session_end(self, options: BenchmarkOptions, loading: bool) -> Iterator[str]:
        """Statements for such a connection when it has inserted everything."""
        yield from ()

    def settle(self, tables: list[str]) -> Iterator[str]:
        """Statements at the beginning of a rest, by which the server does what it has put off."""
        yield from ()

    def drop_table(self, table: str) -> str:
        """Drops a table that may not be there."""
        return f"DROP TABLE IF EXISTS {table}"

    def insert_head(self, table: str) -> str:
        """An INSERT up to the values."""
        return f"INSERT INTO {table} ({', '.join(COLUMNS)}) VALUES "

    def insert_one(self, table: str) -> str:
        """An INSERT of one row, with ``%s`` for its values unless the database's drivers write them otherwise."""
        return f"{self.insert_head(table)}({', '.join(['%s'] * len(COLUMNS))})"

    def lowest(self, table: str, bound: int) -> str:
        """Asks for the lowest key, which is not below ``bound``."""
        return f"SELECT MIN({KEY}) FROM {table} WHERE {KEY} >= {bound}"

    def range_query(self, table: str, index: str, place: str, limit: int) -> str:
        """The first ``limit`` rows of an index from a value of its first column on, which goes to ``place``."""
        columns = ", ".join(INDEXES[index])
        first = INDEXES[index][0]
        return (
            f"SELECT {columns} FROM {self.indexed(table, index)} WHERE {first} >= {place} ORDER BY {columns} "
            f"LIMIT {limit}"
        )

    def indexed(self, table: str, index: str) -> str:
        """The table, with the index to read it by, where the database needs a hint."""
        return table

    def point_query(self, table: str, places: str) -> str:
        """The rows of the keys in ``places``."""
        return f"SELECT {KEY}, {', '.join(COLUMNS)} FROM {table} WHERE {KEY} IN ({places})"

    def check(self, table: str) -> str:
        """Asks for what a table holds: rows, lowest and highest key, sums of columns, the earliest and latest time and,
        where it can be had, the sum of times."""
        sums = ", ".join(f"SUM({column})" for column in ("cashregisterid", "customerid", "productid", "price"))
        return (
            f"SELECT COUNT(*), MIN({KEY}), MAX({KEY}), {sums}, {self.sums_of_data}, "
            f"MIN(dateandtime), MAX(dateandtime){self.sum_of_times and ', ' + self.sum_of_times} FROM {table}"
        )
