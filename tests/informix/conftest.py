"""One Informix test server for all tests of the driver, and the connections they use."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Iterator
from typing import Any

import pytest

import headrace.aio.informix
import headrace.informix
from headrace.testing import InformixServer, informix

_numbers = itertools.count(1)


@pytest.fixture(scope="session")
def ifx() -> Iterator[InformixServer]:
    """A logged database in Latin 1."""
    with informix() as running:
        yield running


@pytest.fixture
def conn(ifx: InformixServer) -> Iterator[headrace.informix.Connection[Any]]:
    """A blocking connection, closed (and rolled back) afterwards."""
    connection = headrace.informix.connect(**ifx.parameters())
    yield connection
    connection.close()


@pytest.fixture
def table() -> str:
    """The name of a table that nobody else has."""
    return f"t_{next(_numbers)}"


@pytest.fixture
def slow(conn: headrace.informix.Connection[Any], table: str) -> str:
    """A query that runs until it is interrupted."""
    with conn.transaction():
        conn.execute(f"create table {table}_slow (n int)")
        conn.executemany(f"insert into {table}_slow values (?)", [(n,) for n in range(1000)])
    return f"select count(*) from {table}_slow a, {table}_slow b, {table}_slow c, {table}_slow d where a.n + b.n + c.n + d.n < 0"


@pytest.fixture
async def aconn(ifx: InformixServer) -> Any:
    """An asyncio connection, closed afterwards."""
    connection = await headrace.aio.informix.connect(**ifx.parameters())
    yield connection
    await connection.close()
    await asyncio.sleep(0)


@pytest.fixture
def url(ifx: InformixServer) -> str:
    """The server as a URL."""
    return f"informix://{ifx.user}:{ifx.password}@{ifx.host}:{ifx.port}/{ifx.database}?server={ifx.server}"
