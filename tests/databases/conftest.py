"""MariaDB, MySQL and the Informix test server: one of each for the whole run, and what differs between them."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest

import headrace
import headrace.informix
import headrace.mysql
import headrace.testing
from live import URL, cleaned, live_server
from served import Served


@dataclass(frozen=True)
class Database:
    """A database that a test connects to."""

    name: str
    kind: str
    """Which driver: ``postgresql``, ``mysql`` or ``informix``."""
    module: Any
    url: str
    slow: str
    """A statement that runs for many seconds."""
    wrong_password: str
    """The URL with another password."""

    def connect(self, **keywords: Any) -> Any:
        """A blocking connection."""
        return headrace.connect(self.url, **keywords)

    async def aconnect(self, **keywords: Any) -> Any:
        """One on the running loop."""
        return await headrace.aio.connect(self.url, **keywords)


@pytest.fixture(scope="session")
def informix_server() -> Iterator[headrace.testing.InformixServer]:
    """The test server, which is ours: what holds here is not proven for a genuine one. Or one that is, where
    HEADRACE_INFORMIX_URL names it."""
    with cleaned(live_server()) if URL else headrace.testing.informix() as running:
        with headrace.informix.connect(**running.parameters(), autocommit=True) as admin:
            admin.execute("drop table if exists numbers")
            admin.execute("create table numbers (n int primary key)")
            admin.executemany("insert into numbers values (?)", [(n,) for n in range(1000)])
        yield running


def _mysql(served: Served) -> Database:
    url = served.url("test")
    wrong = url.replace("tiger", "wrong")
    return Database(served.name, "mysql", headrace.mysql, url, "select sleep(20)", wrong)


def _informix(server: headrace.testing.InformixServer) -> Database:
    def url(password: str) -> str:
        where = f"{server.host}:{server.port}/{server.database}"
        return f"informix://{server.user}:{quote(password)}@{where}?server={server.server}"

    slow = "select count(*) from numbers a, numbers b, numbers c where a.n + b.n + c.n = 7"
    return Database("informix", "informix", headrace.informix, url(server.password), slow, url("wrong"))


def _postgresql(url: str) -> Database:
    return Database("postgresql", "postgresql", headrace, url, "select pg_sleep(20)", url)


def _database(request: pytest.FixtureRequest) -> Database:
    if request.param == "postgresql":
        return _postgresql(request.getfixturevalue("url"))
    if request.param == "informix":
        return _informix(request.getfixturevalue("informix_server"))
    return _mysql(request.getfixturevalue(f"{request.param}_served"))


@pytest.fixture(params=["mariadb", "mysql", "informix"])
def db(request: pytest.FixtureRequest) -> Database:
    """One after the other."""
    return _database(request)


@pytest.fixture(params=["postgresql", "mariadb", "mysql", "informix"])
def any_db(request: pytest.FixtureRequest) -> Database:
    """The same, and PostgreSQL, for what all four do alike."""
    return _database(request)


@pytest.fixture
def conn(db: Database) -> Iterator[Any]:
    """A connection in autocommit, and an empty table ``t (id, name)``."""
    connection = db.connect(autocommit=True)
    try:
        connection.execute("drop table if exists t")
        connection.execute("create table t (id int primary key, name varchar(40))")
        yield connection
    finally:
        connection.close()
