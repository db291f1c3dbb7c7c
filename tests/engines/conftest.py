"""Engines for more than one machine, in local mode. ``make test-engines`` installs them, as they are large."""

from __future__ import annotations

import os
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest

from servers import Database, names

if not os.environ.get("HEADRACE_ENGINES"):
    collect_ignore_glob = ["test_*.py"]

ROWS = 1_000
STAGED = pytest.mark.parametrize("any_db", names(supports_staging_tables=True), indirect=True)
"""A test of tasks that run again: on the databases where the rows of each attempt are kept apart."""


@pytest.fixture
def tables(any_db: Database) -> Iterator[Any]:
    """A connection to a database with two tables: ``many_lines``, and ``copied`` with one row."""
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists many_lines")
        conn.execute("drop table if exists copied")
        conn.execute(
            "create table many_lines (id int not null primary key, k int, name varchar(40), price decimal(10, 2))"
        )
        conn.execute("create table copied (id int not null primary key, name varchar(40))")
        rows = [(n, None if n % 3 == 0 else n, f"name {n}", Decimal(n) / 4) for n in range(ROWS)]
        conn.executemany(f"insert into many_lines values ({any_db.marks(4)})", rows)
        conn.execute("insert into copied values (-1, 'before')")
        yield conn


class First:
    """A function for tasks: true for the first that calls it, in whichever process."""

    def __init__(self, path: Any) -> None:
        self.path = str(path)

    def __call__(self) -> bool:
        """Claims a file, which a task that runs again finds."""
        try:
            os.close(os.open(self.path, os.O_CREAT | os.O_EXCL))
        except FileExistsError:
            return False
        return True


CATALOGUES = {
    "informix": "select tabname from systables where tabname like 'headrace%write%'",
    "cubrid": "select class_name from db_class where class_name like 'headrace%write%'",
}


def staging_tables(db: Database, conn: Any) -> list[Any]:
    """The tables that a write has left."""
    usual = "select table_name from information_schema.tables where table_name like 'headrace%write%'"
    return list(conn.fetch(CATALOGUES.get(db.kind, usual)))


def write_options(db: Database) -> dict[str, Any]:
    """How a table is written: in place of its rows, where that is possible in parts."""
    return {"overwrite": True} if db.supports_staging_tables else {"idempotent": False}


def check_copied(db: Database, conn: Any) -> None:
    """Checks that the table has the rows of the other one after such a write, and that nothing else is left."""
    assert written(conn) == ([] if db.supports_staging_tables else [(-1, "before")]) + EXPECTED
    assert staging_tables(db, conn) == []


def written(conn: Any) -> list[Any]:
    """The rows of the table that was written."""
    return list(conn.fetch("select id, name from copied order by id"))


EXPECTED = [(n, f"name {n}") for n in range(ROWS)]
"""Of the table that was written, if all rows of the other one are there once."""
