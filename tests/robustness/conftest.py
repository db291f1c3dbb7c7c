"""The databases of these tests, reached through somebody in between."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import headrace
from headrace.testing import InformixServer, informix
from headrace_lab.differences import Differences
from servers import Database, Informix, PostgreSQL, database, names


class Target:
    """A database, and statements that mean the same everywhere."""

    def __init__(self, db: Database) -> None:
        self.db = db

    @property
    def differences(self) -> Differences:
        """What the lab knows of the database."""
        return self.db.differences

    @property
    def kind(self) -> str:
        """Which driver: the key of tables of cases."""
        return self.db.kind

    @property
    def port(self) -> int:
        """Of the server."""
        return self.db.port

    @property
    def mark(self) -> str:
        """A parameter."""
        return self.db.mark

    def series(self, count: int) -> str:
        """A query for the numbers ``n`` from 1 to one given."""
        return self.db.series(count)

    @property
    def temporary(self) -> str:
        """Creates an empty table ``r`` of one key, temporary where the database has such tables."""
        return f"{self.db.before_temporary}{self.differences.temporary} r (n int primary key)"

    @property
    def number(self) -> str:
        """A query for its parameter, a whole number."""
        return f"select {self.differences.integer}{self.differences.from_nothing}"

    @property
    def answer(self) -> str:
        """A query for 42."""
        return f"select 42{self.differences.from_nothing}"

    def where(self, port: int) -> str:
        """The URL by the port: the server's own, or that of someone in between."""
        return self.db.url_at(port, connect_timeout="3")

    def connect(self, port: int | None = None, **keywords: Any) -> Any:
        """A blocking connection."""
        return headrace.connect(self.where(port or self.port), **keywords)

    async def aconnect(self, port: int | None = None, **keywords: Any) -> Any:
        """One on the running loop."""
        return await headrace.aio.connect(self.where(port or self.port), **keywords)


@pytest.fixture(scope="session")
def informix_server() -> Iterator[InformixServer]:
    """The test server, with a table of more numbers: it has no function that makes them."""
    with informix(locale="en_US.utf8") as running:
        with headrace.connect(Informix.at(running).url, autocommit=True) as admin:
            admin.execute("create table numbers (n int primary key)")
            admin.executemany("insert into numbers values (?)", [(n,) for n in range(1, 5001)])
        yield running


@pytest.fixture(params=names())
def target(request: pytest.FixtureRequest) -> Target:
    """One after the other."""
    return Target(database(request, request.param))


@pytest.fixture
def postgres(request: pytest.FixtureRequest) -> Target:
    """PostgreSQL alone."""
    return Target(database(request, PostgreSQL.name))


@pytest.fixture
def informix_only(request: pytest.FixtureRequest) -> Target:
    """Informix alone."""
    return Target(database(request, Informix.name))
