"""PostgreSQL, MariaDB, MySQL, and the test servers of Informix and CUBRID, or genuine ones: one of each for the whole
run, and what differs between them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from typing import Any
from urllib.parse import quote

import pytest

import headrace
import headrace.cubrid
import headrace.informix
import headrace.mysql
import headrace.testing
from headrace_lab.differences import DIFFERENCES, Differences
from live import TESTED, URL, cleaned, cubrid_url, live_server
from served import Served


@dataclass(frozen=True)
class Database:
    """A database that a test connects to."""

    differences: Differences
    module: Any
    url: str
    wrong_password: str
    """The URL with another password."""

    @property
    def name(self) -> str:
        """Which database."""
        return self.differences.name

    @property
    def kind(self) -> str:
        """Which driver."""
        return self.differences.driver

    @property
    def slow(self) -> str:
        """A statement that runs for many seconds."""
        return self.differences.slow

    def connect(self, **keywords: Any) -> Any:
        """A blocking connection."""
        return headrace.connect(self.url, **keywords)

    async def aconnect(self, **keywords: Any) -> Any:
        """One on the running loop."""
        return await headrace.aio.connect(self.url, **keywords)


@pytest.fixture(scope="session")
def informix_server() -> Iterator[headrace.testing.InformixServer]:
    """The project's own test server: what holds here is not proven for a genuine one. Or one that is, where
    HEADRACE_INFORMIX_URL names it."""
    with cleaned(live_server()) if URL else headrace.testing.informix() as running:
        with headrace.informix.connect(**running.parameters(), autocommit=True) as admin:
            admin.execute("drop table if exists numbers")
            admin.execute("create table numbers (n int primary key)")
            admin.executemany("insert into numbers values (?)", [(n,) for n in range(1000)])
        yield running


@pytest.fixture(scope="session")
def cubrid_served() -> Iterator[str]:
    """The URL of CUBRID's test server, or of a genuine one."""
    with cubrid_url() as url:
        yield url


def _mysql(served: Served) -> Database:
    url = served.url("test")
    wrong = url.replace("tiger", "wrong")
    return Database(DIFFERENCES[served.name], headrace.mysql, url, wrong)


def _informix(server: headrace.testing.InformixServer) -> Database:
    def url(password: str) -> str:
        where = f"{server.host}:{server.port}/{server.database}"
        return f"informix://{server.user}:{quote(password)}@{where}?server={server.server}"

    return Database(DIFFERENCES["informix"], headrace.informix, url(server.password), url("wrong"))


def _cubrid(url: str) -> Database:
    question = "&" if "?" in url else "?"
    return Database(DIFFERENCES["cubrid"], headrace.cubrid, url, f"{url}{question}password=wrong")


def _postgresql(url: str) -> Database:
    return Database(DIFFERENCES["postgresql"], headrace, url, url)


def database(request: pytest.FixtureRequest, name: str) -> Database:
    """The database of this name, whose server runs from now on."""
    if name == "postgresql":
        return _postgresql(request.getfixturevalue("url"))
    if name == "informix":
        return _informix(request.getfixturevalue("informix_server"))
    if name == "cubrid":
        return _cubrid(request.getfixturevalue("cubrid_served"))
    return _mysql(request.getfixturevalue(f"{name}_served"))


@pytest.fixture(params=[name for name in TESTED if name != "postgresql"])
def db(request: pytest.FixtureRequest) -> Database:
    """One after the other."""
    return database(request, request.param)


@pytest.fixture(params=TESTED)
def any_db(request: pytest.FixtureRequest) -> Database:
    """The same, and PostgreSQL, for what all do alike."""
    return database(request, request.param)


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


@pytest.fixture
async def aconn(db: Database, conn: Any) -> AsyncIterator[Any]:
    """A connection of the running loop in autocommit, and the table ``t``."""
    connection = await db.aconnect(autocommit=True)
    try:
        yield connection
    finally:
        await connection.close()
