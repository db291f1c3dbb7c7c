"""Tables that are filled through our own driver, on servers that cannot make the rows themselves."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Final

from .. import data
from ..workloads import ALCHEMY, ALCHEMY_ROWS, STREAMS, TABLES, WRITERS, Sql

ROWS: Final[dict[str, tuple[str, Callable[[int], data.Row]]]] = {
    "fetch": ("plain", data.plain_row),
    "types": ("types", data.naive_types_row),
    "wide": ("wide", data.wide_row),
    "parted": ("parted", data.parted_row),
}
"""The columns and the rows of each kind of table."""


class Filled(Sql):
    """What the statements of such databases share. A wrong row would disqualify every contestant: what is right is
    worked out by formula."""

    aware = False
    types: dict[str, str]
    """The columns of each kind of table: ``users``, ``plain``, ``types``, ``wide``, ``stream``, and
    ``parted`` where tables are read in parts."""

    def own(self, count: int) -> list[str]:
        """Question marks."""
        return ["?"] * count

    @abstractmethod
    def create_schema(self, admin: Any) -> None:
        """Makes the place where the tables go."""

    def setup(self, admin: Any, chosen: list[tuple[str, int]]) -> None:
        """Row by row."""
        self.create_schema(admin)
        made: dict[str, tuple[str, Callable[[int], data.Row], int]] = {
            self.named("users"): ("users", data.user_row, data.USERS)
        }
        target = False
        for name, size in chosen:
            if name in WRITERS:
                target = True
                made[self.table("fetch", size)] = ("plain", data.plain_row, size)
            elif name in ALCHEMY:
                made[self.table(name, size)] = ("plain", data.plain_row, ALCHEMY_ROWS)
            elif name in TABLES:
                kind, row = ROWS[TABLES[name]]
                # Where tables are not read in parts, nobody is raced on those either.
                if kind in self.types:
                    made[self.table(name, size)] = (kind, row, size)
            elif name in STREAMS:
                rows = max(size for other, size in chosen if other in STREAMS)
                made[self.named("stream")] = ("stream", data.stream_row, rows)
        if target:
            self.create(admin, self.target, "plain")
        for table, (kind, row, count) in made.items():
            self.create(admin, table, kind)
            marks = ", ".join("?" * len(row(1)))
            admin.executemany(f"INSERT INTO {table} VALUES ({marks})", _rows(row, count))

    def create(self, admin: Any, table: str, kind: str) -> None:
        """Makes a table."""
        admin.execute(f"CREATE TABLE {table} ({self.types[kind]})")

    def empty(self, admin: Any) -> None:
        """DELETE, or what is quicker."""
        admin.execute(f"DELETE FROM {self.target}")


class Prefixed(Filled):
    """Where there are no schemas: what is one elsewhere is the beginning of the tables' names."""

    def __init__(self, schema: str) -> None:
        super().__init__(schema)
        self.made: list[str] = []

    def named(self, table: str) -> str:
        """With the beginning that no other race has."""
        return f"{self.schema}_{table}"

    def create_schema(self, admin: Any) -> None:
        """Nothing."""

    def create(self, admin: Any, table: str, kind: str) -> None:
        """To be dropped by itself."""
        super().create(admin, table, kind)
        self.made.append(table)

    def drop(self, admin: Any) -> None:
        """Table by table."""
        for table in self.made:
            admin.execute(f"DROP TABLE {table}")


def _rows(row: Callable[[int], data.Row], count: int) -> Iterator[data.Row]:
    return (row(i) for i in range(1, count + 1))
