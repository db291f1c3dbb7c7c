"""headraced in front of MariaDB, PostgreSQL and the test servers of Informix and CUBRID: one daemon for all tests."""

from __future__ import annotations

import json
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
import pytest

import headrace
import headrace.testing
from served import Served
from servers import DATABASES, Database

from ..conftest import config

PORT = 5432
START_SECONDS = 30


@dataclass(frozen=True)
class Front:
    """A database behind the front."""

    name: str
    """Of the database, in the configuration and in the tests."""
    folder: Path
    """Of the daemon's socket."""
    url: str
    """Of the server itself."""
    one_row: str
    """What follows an expression in a query of one row: FROM and a table, where the server needs one."""
    limited: str = "select {columns} from {table} limit $1"
    """The query of a number of rows."""

    @property
    def db(self) -> type[Database]:
        """What is known of the database."""
        return DATABASES[self.name]

    @property
    def socket(self) -> Path:
        """The daemon's socket."""
        return self.folder / f".s.PGSQL.{PORT}"

    def where(self, database: str = "", **more: Any) -> dict[str, Any]:
        """Keywords of libpq."""
        return {"host": str(self.folder), "port": PORT, "dbname": database or self.name, "user": "anyone", **more}

    def psycopg(self, **more: Any) -> psycopg.Connection[Any]:
        """psycopg, through the daemon."""
        return psycopg.connect(**self.where(**more))

    def direct(self) -> Any:
        """Our own driver for the database, without the daemon."""
        return headrace.connect(self.url, autocommit=True)

    def table(self, name: str, columns: str) -> str:
        """An empty table."""
        with self.direct() as admin:
            admin.execute(f"drop table if exists {name}")
            admin.execute(f"create table {name} ({columns})")
        return name


def _informix(server: headrace.testing.InformixServer) -> str:
    found = server.parameters()
    return (
        f"informix://{quote(found['user'])}:{quote(found['password'])}@{found['host']}:{found['port']}"
        f"/{found['database']}?server={quote(found['server'])}"
    )


@contextmanager
def running(program: Path, text: str) -> Iterator[Path]:
    """A daemon with this configuration; the folder of its socket."""
    with tempfile.TemporaryDirectory(prefix="headraced-") as made:
        folder = Path(made)
        (folder / "headraced.toml").write_text(text)
        command = [program, "--config", folder / "headraced.toml", "--folder", folder / "run"]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            line = process.stdout.readline()
            assert line.startswith("headraced: serving"), process.communicate(timeout=START_SECONDS)
            yield folder / "run"
        finally:
            process.kill()
            process.communicate()


@pytest.fixture(scope="session")
def fronts(program: Path, server: headrace.testing.PostgresServer) -> Iterator[dict[str, Front]]:
    """All databases behind one daemon; each also with one session, with two, with two that no other test counts, and
    with sessions of the clients' own."""
    with ExitStack() as stack:
        urls = {
            "mariadb": stack.enter_context(headrace.testing.mariadb()).url,
            "informix": _informix(stack.enter_context(headrace.testing.informix())),
            "cubrid": stack.enter_context(headrace.testing.cubrid()).url,
        }
        text = "".join(
            f"[databases.{name}]\nurl = {json.dumps(url)}\n"
            f"[databases.{name}_one]\nurl = {json.dumps(url)}\npool_size = 1\n"
            f"[databases.{name}_two]\nurl = {json.dumps(url)}\npool_size = 2\n"
            f"[databases.{name}_shown]\nurl = {json.dumps(url)}\npool_size = 2\n"
            f"[databases.{name}_session]\nurl = {json.dumps(url)}\npool_mode = 'session'\n"
            for name, url in urls.items()
        )
        folder = stack.enter_context(running(program, text + config(server, postgresql="")))
        differs = {"informix": (" from systables where tabid = 1", "select first $1 {columns} from {table}")}
        yield {
            name: Front(name, folder, url, *differs.get(name, ("",)))
            for name, url in {**urls, "postgresql": server.url}.items()
        }


@pytest.fixture(params=["mariadb", "informix", "cubrid"])
def front(request: pytest.FixtureRequest, fronts: dict[str, Front]) -> Front:
    """Each of them in turn."""
    return fronts[request.param]


@pytest.fixture(params=["postgresql", "mariadb", "informix", "cubrid"])
def behind(request: pytest.FixtureRequest, fronts: dict[str, Front]) -> Front:
    """Each of them, and PostgreSQL."""
    return fronts[request.param]


@pytest.fixture(scope="session")
def mysql_front(program: Path, mysql_served: Served) -> Iterator[Front]:
    """MySQL behind a daemon of its own."""
    url = mysql_served.url("test")
    text = "".join(
        f"[databases.{name}]\nurl = {json.dumps(url)}\n{more}\n"
        for name, more in (("mysql", ""), ("mysql_one", "pool_size = 1"), ("mysql_two", "pool_size = 2"))
    )
    with running(program, text) as folder:
        yield Front("mysql", folder, url, "")


def _or_mysql(request: pytest.FixtureRequest) -> Front:
    if request.param == "mysql":
        return request.getfixturevalue("mysql_front")  # type: ignore[no-any-return]
    return request.getfixturevalue("fronts")[request.param]  # type: ignore[no-any-return]


@pytest.fixture(params=["mariadb", "mysql", "informix", "cubrid"])
def other(request: pytest.FixtureRequest) -> Front:
    """Each that is not PostgreSQL, MySQL among them."""
    return _or_mysql(request)


@pytest.fixture(params=["postgresql", "mariadb", "mysql", "informix", "cubrid"])
def each(request: pytest.FixtureRequest) -> Front:
    """Each of all."""
    return _or_mysql(request)
