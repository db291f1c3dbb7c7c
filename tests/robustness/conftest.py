"""The databases of these tests, and the statements that differ."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import pytest

import headrace
from headrace.cubrid.settings import connect_options
from headrace.testing import InformixServer, PostgresServer, informix
from headrace_lab.differences import DIFFERENCES, Differences
from live import ROWS_OF_NUMBERS, TESTED, cubrid_url
from served import Served


@dataclass(frozen=True)
class Target:
    """A server, and statements that mean the same everywhere."""

    differences: Differences
    port: int
    where: Callable[[int], str]
    """The connection string by the port: the server's own, or that of someone in between."""
    series: Callable[[int], str]
    """A query for the numbers ``n`` from 1 to one given."""

    @property
    def kind(self) -> str:
        """Which driver."""
        return self.differences.driver

    @property
    def mark(self) -> str:
        """A parameter."""
        return self.differences.mark

    @property
    def temporary(self) -> str:
        """Creates an empty table ``r`` of one key, temporary where the database has such tables."""
        dropped = "drop table if exists r; " if self.kind == "cubrid" else ""
        return f"{dropped}{self.differences.temporary} r (n int primary key)"

    @property
    def number(self) -> str:
        """A query for its parameter, a whole number."""
        return f"select {self.differences.integer}{self.differences.from_nothing}"

    @property
    def answer(self) -> str:
        """A query for 42."""
        return f"select 42{self.differences.from_nothing}"

    def connect(self, port: int | None = None, **keywords: Any) -> Any:
        """A blocking connection."""
        return headrace.connect(self.where(port or self.port), **keywords)

    async def aconnect(self, port: int | None = None, **keywords: Any) -> Any:
        """One on the running loop."""
        return await headrace.aio.connect(self.where(port or self.port), **keywords)


def postgresql_target(server: PostgresServer) -> Target:
    """PostgreSQL, as the harnesses want it."""

    def where(port: int) -> str:
        return f"host=127.0.0.1 port={port} user=postgres dbname=postgres sslmode=disable connect_timeout=3"

    return Target(
        DIFFERENCES["postgresql"],
        server.port,
        where,
        lambda count: f"select g as n from generate_series(1, {count}) g",
    )


def _mysql(served: Served) -> Target:
    server = served.server

    def where(port: int) -> str:
        return f"{server.scheme}://tester:tiger@127.0.0.1:{port}/test?ssl_mode=DISABLED&connect_timeout=3"

    return Target(
        DIFFERENCES[served.name],
        server.port,
        where,
        lambda count: f"select seq as n from {served.series(count)}",
    )


def informix_target(server: InformixServer) -> Target:
    """The Informix test server, as the harnesses want it."""

    def where(port: int) -> str:
        login = f"{server.user}:{server.password}"
        return f"informix://{login}@127.0.0.1:{port}/{server.database}?server={server.server}&connect_timeout=3"

    return Target(
        DIFFERENCES["informix"],
        server.port,
        where,
        lambda count: f"select n from numbers where n <= {count}",
    )


def cubrid_target(url: str) -> Target:
    """CUBRID's test server, or a genuine one, as the harnesses want it."""
    options = connect_options(url, {})

    def where(port: int) -> str:
        return f"cubrid://{options.user}@127.0.0.1:{port}/{options.database}?connect_timeout=3"

    def series(count: int) -> str:
        # The table has the numbers from 0 on.
        if count <= ROWS_OF_NUMBERS:
            return f"select n + 1 as n from numbers where n < {count} order by n"
        number = f"a.n * {ROWS_OF_NUMBERS} + b.n"
        return f"select {number} + 1 as n from numbers a, numbers b where {number} < {count} order by 1"

    return Target(DIFFERENCES["cubrid"], options.hosts[0][1], where, series)


@pytest.fixture(scope="session")
def cubrid_server() -> Iterator[str]:
    """The URL of the server."""
    with cubrid_url() as url:
        yield url


@pytest.fixture(scope="session")
def informix_server() -> Iterator[InformixServer]:
    """The test server, with a table of numbers: it has no function that makes them."""
    with informix(locale="en_US.utf8") as running:
        with headrace.connect(informix_target(running).where(running.port), autocommit=True) as admin:
            admin.execute("create table numbers (n int primary key)")
            admin.executemany("insert into numbers values (?)", [(n,) for n in range(1, 5001)])
        yield running


@pytest.fixture(params=TESTED)
def target(request: pytest.FixtureRequest) -> Target:
    """One after the other."""
    if request.param == "informix":
        return informix_target(request.getfixturevalue("informix_server"))
    if request.param == "cubrid":
        return cubrid_target(request.getfixturevalue("cubrid_server"))
    if request.param == "postgresql":
        return postgresql_target(request.getfixturevalue("server"))
    return _mysql(request.getfixturevalue(f"{request.param}_served"))
