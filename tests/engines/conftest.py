"""Engines for more than one machine, in local mode. ``make test-engines`` installs them, as they are large."""

from __future__ import annotations

import os
from collections.abc import Iterator
from typing import Any

import pytest

import headrace
from headrace.testing import MysqldServer, PostgresServer

if not os.environ.get("HEADRACE_ENGINES"):
    collect_ignore_glob = ["test_*.py"]

ROWS = 1_000


@pytest.fixture(params=["server", "mariadb_server"], ids=["postgresql", "mariadb"])
def engine_url(request: pytest.FixtureRequest) -> str:
    """A database of each kind: with a shared snapshot and without."""
    server: PostgresServer | MysqldServer = request.getfixturevalue(request.param)
    return server.url


@pytest.fixture
def tables(engine_url: str) -> Iterator[Any]:
    """A connection to a database with two tables: ``lines`` with many rows, and ``copied`` with one."""
    with headrace.connect(engine_url, autocommit=True) as conn:
        conn.execute("drop table if exists many_lines")
        conn.execute("drop table if exists copied")
        conn.execute("create table many_lines (id int primary key, k int, name varchar(40), price decimal(10, 2))")
        conn.execute("create table copied (id int primary key, name varchar(40))")
        rows = [(n, None if n % 3 == 0 else n, f"name {n}", n / 4) for n in range(ROWS)]
        conn.executemany("insert into many_lines values (%s, %s, %s, %s)", rows)
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


def staging_tables(conn: Any) -> list[Any]:
    """The tables that a write has left."""
    return list(conn.fetch("select table_name from information_schema.tables where table_name like 'headrace%write%'"))


def written(conn: Any) -> list[Any]:
    """The rows of the table that was written."""
    return list(conn.fetch("select id, name from copied order by id"))


EXPECTED = [(n, f"name {n}") for n in range(ROWS)]
"""Of the table that was written, if all rows of the other one are there once."""
