"""The databases that the harnesses here run on, and what each has to be told."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest

import headrace
from headrace.lab.mariadb import MariaDB
from headrace.lab.servers import Server


@dataclass(frozen=True)
class Judged:
    """A server, and statements that mean the same everywhere."""

    name: str
    port: int
    where: Callable[[int], str]
    """The connection string by the port: the server's own, or that of someone in between."""
    series: str
    """A query for the numbers ``n`` from 1 to ``{}``."""
    number: str
    """A query for its parameter, a whole number."""
    temporary: str
    """Creates a temporary table ``r`` of one key."""

    def connect(self, port: int | None = None, **keywords: Any) -> Any:
        """A blocking connection."""
        return headrace.connect(self.where(port or self.port), **keywords)

    async def aconnect(self, port: int | None = None, **keywords: Any) -> Any:
        """One on the running loop."""
        return await headrace.aio.connect(self.where(port or self.port), **keywords)


def _postgresql(server: Server) -> Judged:
    def where(port: int) -> str:
        return f"host=127.0.0.1 port={port} user=postgres dbname=postgres sslmode=disable connect_timeout=3"

    return Judged(
        "postgresql",
        server.port,
        where,
        "select g as n from generate_series(1, {}) g",
        "select $1::int",
        "create temp table r (n int primary key)",
    )


def _mariadb(server: MariaDB) -> Judged:
    def where(port: int) -> str:
        return f"mariadb://tester:tiger@127.0.0.1:{port}/test?ssl_mode=DISABLED&connect_timeout=3"

    return Judged(
        "mariadb",
        server.port,
        where,
        "select seq as n from seq_1_to_{}",
        "select cast(? as signed)",
        "create temporary table r (n int primary key)",
    )


@pytest.fixture(params=["postgresql", "mariadb"])
def judged(request: pytest.FixtureRequest) -> Judged:
    """One after the other."""
    if request.param == "postgresql":
        return _postgresql(request.getfixturevalue("server"))
    return _mariadb(request.getfixturevalue("mariadb_server"))
