"""A small bench, and its servers."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace.testing
from headrace.testing import MariaDBServer, MysqldServer, PostgresServer
from headrace_lab.databases import informix
from headrace_lab.iibench.bench import Bench
from headrace_lab.iibench.options import BenchmarkOptions

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def mariadb(mariadb_server: MariaDBServer) -> MariaDBServer:
    """MariaDB, without RocksDB: a bench leaves nothing on it."""
    return mariadb_server


@pytest.fixture(scope="session")
def rocksdb() -> Iterator[MariaDBServer]:
    """MariaDB with RocksDB."""
    with headrace.testing.mariadb(plugins=["ha_rocksdb"]) as running:
        yield running


@pytest.fixture(scope="session")
def informix_url() -> Iterator[str]:
    """The Informix test server."""
    with informix.start() as (url, _):
        yield url


class Ran:
    """What a bench told."""

    def __init__(self, right: bool, told: list[dict[str, Any]]) -> None:
        self.right = right
        self.told = told

    def all(self, kind: str) -> list[dict[str, Any]]:
        return [what for what in self.told if what["type"] == kind]

    def one(self, kind: str) -> dict[str, Any]:
        (found,) = self.all(kind)
        return found

    @property
    def step(self) -> dict[str, Any]:
        return self.one("step")

    @property
    def seconds(self) -> list[dict[str, Any]]:
        return self.all("second")


def bench(url: str, watch: Callable[[dict[str, Any]], None] = lambda what: None, **options: Any) -> Ran:
    """Runs a bench on tables with a name of their own, and drops them."""
    told: list[dict[str, Any]] = []
    given = {"setup": True, "cleanup": True, "table_name": f"purchases_{next(_numbers)}"}
    if not options.get("step"):
        given["rows_per_commit"] = 100
    right = Bench(BenchmarkOptions(url=url, **{**given, **options}), told.append, watch).run()
    return Ran(right, told)


@pytest.fixture
def postgres(server: PostgresServer) -> Callable[..., Ran]:
    """Runs a bench on PostgreSQL."""
    return lambda **options: bench(server.socket_url, **options)


@pytest.fixture
def maria(mariadb: MariaDBServer) -> Callable[..., Ran]:
    """Runs a bench on MariaDB, through mysqlclient."""
    given = {"database": "mariadb", "driver": "mysqlclient"}
    return lambda **options: bench(mariadb.socket_url, **{**given, **options})


@pytest.fixture
def genuine(mysql_server: MysqldServer) -> Callable[..., Ran]:
    """Runs a bench on MySQL."""
    return lambda **options: bench(mysql_server.socket_url, **{"database": "mysql", **options})


@pytest.fixture
def ifx(informix_url: str) -> Callable[..., Ran]:
    """Runs a bench on the Informix test server."""
    return lambda **options: bench(informix_url, **{"database": "informix", **options})


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Where results may go."""
    return tmp_path / "results"
