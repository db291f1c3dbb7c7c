"""Test servers, IBM's JDBC driver as a program, and what the tests of the driver connect with."""

from __future__ import annotations

import asyncio
import itertools
import subprocess
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import informix_db
import pytest

import headrace.aio.informix
import headrace.informix
from headrace.testing import InformixServer, informix
from live import PREFIX, URL, cleaned, live_server
from toolchains import java_command

from . import sample
from .relay import Recorder

PROJECT = Path(__file__).parent / "jdbc"
# Seconds. All cases together take a tenth of it.
JDBC_TIMEOUT = 240

_numbers = itertools.count(1)

Jdbc = Callable[..., dict[str, str]]


@pytest.fixture(scope="module")
def server() -> Iterator[InformixServer]:
    with informix() as started:
        yield started


@pytest.fixture(scope="module")
def connection(server: InformixServer) -> Iterator[Any]:
    """informix-driver on the test server, in autocommit, with the table q."""
    opened = informix_db.connect(**server.parameters(), autocommit=True)
    cursor = opened.cursor()
    cursor.execute(sample.TABLE)
    for row in sample.ROWS:
        cursor.execute(f"insert into q values ({row})")
    yield opened
    opened.close()


@pytest.fixture(scope="session")
def jdbc_command() -> list[str]:
    """The command that runs the interop test with JDBC, compiled with Maven, which fetches IBM's driver."""
    return java_command(PROJECT)


@pytest.fixture(scope="session")
def jdbc(jdbc_command: list[str]) -> Jdbc:
    """Runs cases against a URL, all of them if none is named; the result is the verdict for each."""

    def run(url: str, *cases: str, options: tuple[str, ...] = ()) -> dict[str, str]:
        command = [jdbc_command[0], *options, *jdbc_command[1:], "headrace.InteropTest", url, *cases]
        done = subprocess.run(command, capture_output=True, text=True, timeout=JDBC_TIMEOUT, check=False)
        lines = [line.partition(" ") for line in done.stdout.splitlines()]
        found = {rest.partition(":")[0]: f"{first} {rest}" for first, _, rest in lines if first in ("ok", "FAIL")}
        assert found, done.stdout + done.stderr
        return found

    return run


@pytest.fixture(scope="session")
def ifx() -> Iterator[InformixServer]:
    """A logged database in Latin 1: of the test server, or of the one that HEADRACE_INFORMIX_URL names."""
    with cleaned(live_server()) if URL else informix() as running:
        yield running


@pytest.fixture
def conn(ifx: InformixServer) -> Iterator[headrace.informix.Connection[Any]]:
    """A blocking connection, closed (and rolled back) afterwards."""
    connection = headrace.informix.connect(**ifx.parameters())
    yield connection
    connection.close()


@pytest.fixture
def table() -> str:
    """A name of a table that no other test has."""
    return f"{PREFIX}{next(_numbers)}"


@pytest.fixture
def slow(conn: headrace.informix.Connection[Any], table: str) -> str:
    """A query that runs until it is interrupted."""
    with conn.transaction():
        conn.execute(f"create table {table}_slow (n int)")
        conn.executemany(f"insert into {table}_slow values (?)", [(n,) for n in range(1000)])
    tables = ", ".join(f"{table}_slow {alias}" for alias in "abcd")
    return f"select count(*) from {tables} where a.n + b.n + c.n + d.n < 0"


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


@pytest.fixture
def recorder(ifx: InformixServer) -> Iterator[Recorder]:
    """A way to the server that keeps what clients say."""
    with Recorder(ifx.host, ifx.port) as running:
        yield running
