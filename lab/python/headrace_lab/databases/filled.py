"""Tables that are filled through our own driver, on servers that cannot make the rows themselves."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from typing import Any

from .. import data
from ..workloads import ALCHEMY, ALCHEMY_ROWS, WRITERS, Sql


class Filled(Sql):
    """What the statements of such databases share. A wrong row would disqualify every contestant: what is right is
    worked out by formula."""

    aware = False
    types: dict[str, str]
    """The columns of each kind of table: ``users``, ``plain``, ``types``, ``wide``, ``stream``."""

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
            f"{self.schema}.users": ("users", data.user_row, data.USERS)
        }
        target = False
        for name, size in chosen:
            if name in WRITERS:
                target = True
                made[self.table("fetch", size)] = ("plain", data.plain_row, size)
            elif name in ("fetch", "bulk_out"):
                made[self.table(name, size)] = ("plain", data.plain_row, size)
            elif name in ALCHEMY:
                made[self.table(name, size)] = ("plain", data.plain_row, ALCHEMY_ROWS)
            elif name == "fetch_types":
                made[self.table(name, size)] = ("types", data.naive_types_row, size)
            elif name == "fetch_wide":
                made[self.table(name, size)] = ("wide", data.wide_row, size)
            elif name == "stream":
                rows = max(size for other, size in chosen if other == "stream")
                made[f"{self.schema}.stream"] = ("stream", data.stream_row, rows)
        if target:
            admin.execute(f"CREATE TABLE {self.target} ({self.types['plain']})")
        for table, (kind, row, count) in made.items():
            columns = self.types[kind]
            admin.execute(f"CREATE TABLE {table} ({columns})")
            marks = ", ".join("?" * len(row(1)))
            admin.executemany(f"INSERT INTO {table} VALUES ({marks})", _rows(row, count))

    def empty(self, admin: Any) -> None:
        """DELETE, or what is quicker."""
        admin.execute(f"DELETE FROM {self.target}")


def _rows(row: Callable[[int], data.Row], count: int) -> Iterator[data.Row]:
    return (row(i) for i in range(1, count + 1))
