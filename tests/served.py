"""The servers of MySQL's kin that tests run on, and what each wants said in its own way."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import headrace.mysql
from headrace.testing import MysqldServer

NUMBERS = 1000
"""Rows of the table ``test.numbers``, from 0."""
SETTINGS = {"optimizer_switch": "block_nested_loop=off"}
"""Of the servers that have no sequences: a join returns its rows in the order of its tables."""


@dataclass(frozen=True)
class Served:
    """A running server, with the user ``tester`` and a table of numbers."""

    name: str
    """As it stands in the names of tests."""
    server: MysqldServer

    @property
    def is_mariadb(self) -> bool:
        """MariaDB, and not MySQL."""
        return self.server.scheme == "mariadb"

    @property
    def isolation(self) -> str:
        """The variable of the isolation level."""
        old = self.server.version.startswith(("5.", "10."))
        return "@@tx_isolation" if old else "@@transaction_isolation"

    @property
    def where(self) -> dict[str, Any]:
        """How to connect, as every driver takes it."""
        return {"host": self.server.host, "port": self.server.port, "user": "tester", "password": "tiger"}

    def url(self, database: str) -> str:
        """The URL of a database."""
        return f"{self.server.scheme}://tester:tiger@{self.server.host}:{self.server.port}/{database}"

    def series(self, count: int) -> str:
        """A table with one column ``seq`` of the numbers from 1 on, in order and made on the way."""
        if self.is_mariadb:
            return f"seq_1_to_{count}"
        high, low = (count - 1) // NUMBERS, NUMBERS
        if count <= NUMBERS:
            return f"(select n + 1 as seq from test.numbers where n < {count}) as series"
        if high < NUMBERS:
            value = f"a.n * {low} + b.n + 1"
            tables = "test.numbers a straight_join test.numbers b"
            return f"(select {value} as seq from {tables} where a.n <= {high} and {value} <= {count}) as series"
        value = f"a.n * {low * NUMBERS} + b.n * {low} + c.n + 1"
        tables = "test.numbers a straight_join test.numbers b straight_join test.numbers c"
        most = high // NUMBERS
        return f"(select {value} as seq from {tables} where a.n <= {most} and {value} <= {count}) as series"


def served(name: str, server: MysqldServer) -> Served:
    """A server that has just started, made ready."""
    made = Served(name, server)
    with headrace.mysql.connect(server.url, autocommit=True) as admin:
        admin.execute("create user tester@'%' identified by 'tiger'")
        admin.execute("grant all on *.* to tester@'%' with grant option")
        admin.execute("create table if not exists test.numbers (n int primary key)")
        admin.executemany("insert into test.numbers values (?)", [(n,) for n in range(NUMBERS)])
    # Servers with caching_sha2_password know the password from now on, and need no TLS for it.
    headrace.mysql.connect(made.url("test")).close()
    return made


def fresh(conn: Any, what: str) -> None:
    """Creates a table or procedure, in the place of one of the same name: MySQL has no CREATE OR REPLACE.

    ``what`` is the text after CREATE, such as ``table t (n int)``.
    """
    kind, name = what.replace("(", " ").split()[:2]
    conn.executescript(f"drop {kind} if exists {name}")
    conn.executescript(f"create {what}")
