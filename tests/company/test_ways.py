"""The same company by other ways to the server: TLS, and poolers that give each transaction another session."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from headrace.testing import PostgresServer
from served import Served

from .meeting import on_a_pool, on_one_connection
from .mysql import mysql
from .places import Place
from .pooler import newest_pgbouncer, pgbouncer, system_pgbouncer
from .postgresql import postgresql
from .shells import Shell

SESSION = ("held_cursors", "notified")
"""Operations that need a session of their own."""


def encrypted_postgresql(server: PostgresServer) -> Place:
    """PostgreSQL over TLS, whose certificate is verified."""
    return postgresql(f"{server.url}?sslmode=verify-ca&sslrootcert={server.ca_file}", "postgresql_tls")


def encrypted_mysql(served: Served) -> Place:
    """MySQL over TLS."""
    return mysql(served, url=served.url("test") + "?ssl_mode=REQUIRED", name="mysql_tls")


ENCRYPTED: dict[str, tuple[str, Callable[[Any], Place]]] = {
    "postgresql": ("tls_server", encrypted_postgresql),
    "mysql": ("mysql_served", encrypted_mysql),
}
"""Servers with TLS: the fixture of each, and what makes a place of it. (Over TLS Informix has no way to interrupt a
statement.)"""


@pytest.fixture(params=ENCRYPTED)
def encrypted(request: pytest.FixtureRequest) -> Place:
    """One of them after the other."""
    fixture, made = ENCRYPTED[request.param]
    return made(request.getfixturevalue(fixture))


def behind_a_pooler(place: Place) -> Place:
    """Without what a session of its own is needed for."""
    return dataclasses.replace(
        place, operations={name: one for name, one in place.operations.items() if name not in SESSION}
    )


@pytest.fixture(scope="module", params=["system", "newest"])
def pooled(request: pytest.FixtureRequest, server: PostgresServer) -> Iterator[Place]:
    """PgBouncer of the system, which has no prepared statements, and the newest, which does."""
    if request.param == "system":
        with pgbouncer(system_pgbouncer(), server) as url:
            yield behind_a_pooler(postgresql(url, "pgbouncer", prepared=False))
        return
    with pgbouncer(newest_pgbouncer(), server, "max_prepared_statements = 50") as url:
        yield behind_a_pooler(postgresql(url, "newest_pgbouncer"))


def test_workers_on_one_encrypted_connection(encrypted: Place, shell: Shell) -> None:
    on_one_connection(encrypted, shell, 4)


def test_workers_on_an_encrypted_pool(encrypted: Place, shell: Shell) -> None:
    on_a_pool(encrypted, shell, 5, 3, autocommit=True)


def test_workers_on_one_connection_to_a_pooler(pooled: Place, shell: Shell) -> None:
    on_one_connection(pooled, shell, 4)


@pytest.mark.parametrize("autocommit", [True, False], ids=["autocommit", "implicit"])
def test_workers_on_a_pool_of_a_pooler(pooled: Place, shell: Shell, autocommit: bool) -> None:
    on_a_pool(pooled, shell, 6, 4, autocommit)
