"""MariaDB, and what MySQL shares with it."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any, Final

from .. import data
from .filled import Filled

SETTINGS: Final = (
    "version",
    "innodb_buffer_pool_size",
    "innodb_flush_log_at_trx_commit",
    "log_bin",
    "max_connections",
    "have_ssl",
)
"""Server settings that stand in every report."""


class Statements(Filled):
    """Its statements."""

    database = "mariadb"
    batches = "bulk execution"
    loads_rows = True
    skips = {"bulk_out": "there is no such statement"}
    types = {
        "users": "id int PRIMARY KEY, name text",
        "plain": "id int, name varchar(64), n int, f double, d date",
        "types": "n decimal(14,4), t datetime(6), a text, b text",
        "wide": ", ".join(f"c{i} {'int' if i % 2 else 'text'}" for i in range(data.WIDE_COLUMNS)),
        "stream": "id int, name text",
        "parted": "id int PRIMARY KEY, k int, name varchar(64), f double, d date, INDEX (k)",
    }

    def create_schema(self, admin: Any) -> None:
        """A schema is a database."""
        admin.execute(f"CREATE DATABASE {self.schema} CHARACTER SET utf8mb4")

    def drop(self, admin: Any) -> None:
        """With all that is in it."""
        admin.execute(f"DROP DATABASE IF EXISTS {self.schema}")

    def empty(self, admin: Any) -> None:
        """TRUNCATE."""
        admin.execute(f"TRUNCATE {self.target}")

    def table_digest(self, table: str) -> str:
        """Sums of a hash of every row."""
        row = "crc32(concat_ws('|', id, name, n, f, d))"
        return f"SELECT concat('table:', count(*), ':', coalesce(sum({row} * (id % 97 + 1)), 0)) FROM {table}"

    def settings(self, admin: Any) -> dict[str, Any]:
        """As the server reports them."""
        rows = dict(admin.fetch("SHOW VARIABLES"))
        found = {name: rows[name] for name in SETTINGS if name in rows}
        return {"server_version": found.pop("version"), **found}


@contextlib.contextmanager
def start() -> Iterator[tuple[str, int | None]]:
    """MariaDB from the system's packages."""
    import headrace.testing

    with headrace.testing.mariadb() as server:
        yield server.url, server.pid
