"""A database of its own for each test module on the shared MariaDB."""

from __future__ import annotations

import itertools
from collections.abc import AsyncIterator, Iterator
from typing import Any

import pytest

import headrace.aio.mysql
import headrace.mysql
from headrace.lab.mariadb import MariaDB

_numbers = itertools.count(1)


@pytest.fixture(scope="module")
def my_url(mariadb_server: MariaDB) -> str:
    """The URL of an empty database."""
    name = f"module_{next(_numbers)}"
    with headrace.mysql.connect(mariadb_server.url, autocommit=True) as admin:
        admin.execute(f"create database {name}")
    return f"mariadb://tester:tiger@{mariadb_server.host}:{mariadb_server.port}/{name}"


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
