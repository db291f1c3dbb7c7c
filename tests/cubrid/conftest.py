"""The CUBRID test server, or a genuine one, which HEADRACE_CUBRID_URL names."""

from __future__ import annotations

import os
import random
from collections.abc import Iterator
from typing import Any

import pytest

import headrace.cubrid
import headrace.testing
from live import CUBRID_URL

from .older import LONGEST, ROWS, VERSIONS

# What needs a genuine server is not among the tests of a run without one: make test-live has them. What injects faults
# needs the test server.
collect_ignore = (
    ["test_lost_blocks.py", "test_lost_blocks_async.py"] if CUBRID_URL else ["test_objects.py", "test_row_locks.py"]
)
if not (CUBRID_URL and os.environ.get("HEADRACE_CUBRID_SMALL_PORT")):
    collect_ignore.append("test_release.py")

if not (CUBRID_URL and os.environ.get("HEADRACE_CUBRID_PROCEDURES")):
    collect_ignore.append("test_procedures.py")


@pytest.fixture(scope="session")
def url() -> Iterator[str]:
    """Of the server."""
    if CUBRID_URL:
        yield CUBRID_URL
        return
    with headrace.testing.cubrid() as server:
        yield server.url


@pytest.fixture(scope="session")
def numbers(url: str) -> str:
    """A table of the numbers below 1,000."""
    with headrace.cubrid.connect(url, autocommit=True) as admin:
        admin.execute("drop table if exists numbers")
        admin.execute("create table numbers (n int primary key)")
        admin.executemany("insert into numbers values (?)", [(n,) for n in range(1000)])
    return "numbers"


@pytest.fixture
def conn(url: str) -> Iterator[headrace.cubrid.Connection[Any]]:
    """A connection that is closed (and rolled back) afterwards."""
    connection = headrace.cubrid.connect(url)
    yield connection
    connection.close()


@pytest.fixture(params=VERSIONS)
def older_server(request: pytest.FixtureRequest) -> Iterator[Any]:
    """A test server of an older version of the protocol."""
    with headrace.testing.cubrid(protocol=request.param) as running:
        yield running


@pytest.fixture
def long_rows() -> list[tuple[int, str]]:
    """Rows of very different lengths: which rows a page has cannot be guessed."""
    rng = random.Random(1)
    return [(n, "x" * rng.randrange(LONGEST if n % 7 else 10)) for n in range(ROWS)]
