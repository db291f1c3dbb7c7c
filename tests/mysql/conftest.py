"""A database of its own for each test module, on each server that the test is for.

That is MariaDB of the system and the newest MySQL, unless a test or its module says otherwise:
``@pytest.mark.servers("mysql")``.
"""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import headrace.aio.mysql
import headrace.mysql
from headrace.testing import mariadb, mysql
from served import SETTINGS, Served, served

from .maven import mysql80
from .versions import new_mariadb, old_mysql

EVERYDAY = ("mariadb", "mysql")
"""The servers that every test runs on unless it says otherwise."""
_numbers = itertools.count(1)


def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    named = {name for mark in metafunc.definition.iter_markers("parametrize") for name in mark.args[0]}
    if "my_server" in metafunc.fixturenames and "my_server" not in named:
        mark = metafunc.definition.get_closest_marker("servers")
        metafunc.parametrize("my_server", mark.args if mark else EVERYDAY, indirect=True, scope="module")


@pytest.fixture(scope="session")
def mariadb118_served() -> Iterator[Served]:
    """MariaDB 11.8, with the certificate that it makes for itself."""
    settings = {"plugin_load_add": "auth_parsec", "plugin_maturity": "unknown"}
    with mariadb(home=new_mariadb(), settings=settings) as running:
        yield served("mariadb118", running)


@pytest.fixture(scope="session")
def mysql56_served() -> Iterator[Served]:
    """MySQL 5.6, without TLS."""
    with mysql(installation=old_mysql(), settings=SETTINGS) as running:
        yield served("mysql56", running)


@pytest.fixture(scope="session")
def mysql80_served() -> Iterator[Served]:
    """MySQL 8.0, with the certificate that it makes for itself."""
    with mysql(installation=mysql80(), settings=SETTINGS, tls=True) as running:
        yield served("mysql80", running)


@pytest.fixture(scope="module")
def my_server(request: pytest.FixtureRequest) -> Served:
    """The server."""
    return request.getfixturevalue(f"{request.param}_served")  # type: ignore[no-any-return]


@pytest.fixture(scope="module")
def my_url(my_server: Served) -> str:
    """The URL of an empty database."""
    name = f"module_{next(_numbers)}"
    with headrace.mysql.connect(my_server.server.url, autocommit=True) as admin:
        admin.execute(f"create database {name} character set utf8mb4")
    return my_server.url(name)


@pytest.fixture
def my(my_url: str) -> Iterator[headrace.mysql.Connection[Any]]:
    """A blocking connection in autocommit that may load data."""
    connection = headrace.mysql.connect(my_url, autocommit=True, local_infile=True)
    yield connection
    connection.close()


@pytest.fixture
async def amy(my_url: str) -> AsyncIterator[Any]:
    """One on the running loop."""
    connection = await headrace.aio.mysql.connect(my_url, autocommit=True, local_infile=True)
    yield connection
    await connection.close()
