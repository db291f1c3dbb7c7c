"""Engines of SQLAlchemy on headrace, blocking and asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any, TypeVar
from urllib.parse import quote

import pytest
import sqlalchemy as sa
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine

import headrace.informix
import headrace.mysql
from headrace.testing import InformixServer
from served import Served

T = TypeVar("T")


class Engines:
    """A blocking engine and its asyncio form, and one of them to run functions on: what is promised holds on both."""

    def __init__(self, url: str, is_async: bool, **options: Any) -> None:
        self.url = url
        self.options = options
        self.is_async = is_async
        self._loop = asyncio.new_event_loop() if is_async else None
        self._engine: Any = (create_async_engine if is_async else sa.create_engine)(url, **options)
        self.engine: sa.Engine = self._engine.sync_engine if is_async else self._engine

    def connected(self, work: Callable[[sa.Connection], T], begin: bool = True) -> T:
        """What ``work`` returns, given a connection; without ``begin`` it ends its transactions itself."""
        if self._loop is None:
            with self.engine.begin() if begin else self.engine.connect() as connection:
                return work(connection)

        async def run(engine: AsyncEngine) -> T:
            async with engine.begin() if begin else engine.connect() as connection:
                return await connection.run_sync(work)

        return self._loop.run_until_complete(run(self._engine))

    def made(self, **options: Any) -> Engines:
        """Engines with other options."""
        return Engines(self.url, self.is_async, **options)

    def dispose(self) -> None:
        """Closes every connection."""
        if self._loop is None:
            self.engine.dispose()
            return
        self._loop.run_until_complete(self._engine.dispose())
        self._loop.close()


@pytest.fixture(params=["blocking", "asyncio"])
def shell(request: pytest.FixtureRequest) -> str:
    """Which of the two shells."""
    return str(request.param)


@pytest.fixture(params=["mariadb", "mysql"])
def my(request: pytest.FixtureRequest, shell: str) -> Iterator[Engines]:
    """Engines of MariaDB and MySQL, each with its own dialect."""
    served: Served = request.getfixturevalue(f"{request.param}_served")
    url = served.url("test").replace("://", "+headrace://")
    engines = Engines(url, shell == "asyncio")
    yield engines
    engines.dispose()


@pytest.fixture(scope="session")
def alchemy(mariadb_served: Served) -> str:
    """The URL of a database of MariaDB's whose character set is not the server's."""
    with headrace.mysql.connect(mariadb_served.server.url, autocommit=True) as admin:
        admin.execute("create database if not exists alchemy character set utf8mb4")
    return mariadb_served.url("alchemy")


@pytest.fixture(scope="session")
def ifx(informix_server: InformixServer) -> str:
    """The URL of a database of Informix whose code set is not the server's."""
    server = informix_server
    with headrace.informix.connect(**server.parameters(), autocommit=True, DB_LOCALE="en_US.utf8") as admin:
        admin.execute("create database if not exists alchemy with log")
    where = f"{quote(server.user)}:{quote(server.password)}@{server.host}:{server.port}/alchemy"
    return f"informix://{where}?server={server.server}&lock_wait=5&DB_LOCALE=en_US.utf8"


@pytest.fixture
def ifx_engines(ifx: str, shell: str) -> Iterator[Engines]:
    """Engines of Informix."""
    engines = Engines(ifx.replace("://", "+headrace://"), shell == "asyncio")
    yield engines
    engines.dispose()


@pytest.fixture(params=["url", "alchemy"], ids=["postgresql", "mariadb"])
def any_database(request: pytest.FixtureRequest) -> str:
    """The URL of an engine of each database that SQLAlchemy knows, for what both do alike."""
    url: str = request.getfixturevalue(request.param)
    return url.replace("://", "+headrace://")


@pytest.fixture
def cub_engines(cubrid_served: str, shell: str) -> Iterator[Engines]:
    """Engines of CUBRID."""
    engines = Engines(cubrid_served.replace("://", "+headrace://"), shell == "asyncio")
    yield engines
    engines.dispose()


@pytest.fixture(params=["url", "alchemy", "ifx", "cubrid_served"], ids=["postgresql", "mariadb", "informix", "cubrid"])
def every_engines(request: pytest.FixtureRequest, shell: str) -> Iterator[Engines]:
    """Engines of every database, for what all do alike."""
    url: str = request.getfixturevalue(request.param)
    made = Engines(url.replace("://", "+headrace://"), shell == "asyncio")
    yield made
    made.dispose()


@pytest.fixture
def engines(any_database: str, shell: str) -> Iterator[Engines]:
    """Engines of each database."""
    made = Engines(any_database, shell == "asyncio")
    yield made
    made.dispose()


@pytest.fixture
def postgres(url: str, shell: str) -> Iterator[Engines]:
    """Engines of PostgreSQL."""
    engines = Engines(url.replace("postgresql://", "postgresql+headrace://"), shell == "asyncio")
    yield engines
    engines.dispose()
