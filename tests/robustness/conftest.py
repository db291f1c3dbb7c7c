"""The databases of these tests, which are reached through somebody in between."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import headrace
from headrace.testing import InformixServer, informix
from servers import Database, Informix, PostgreSQL, database, names


def in_plaintext(request: pytest.FixtureRequest, name: str) -> Database:
    """A database without TLS, so that what stands in between sees messages, and where nobody is waited for long."""
    db = database(request, name)
    db.url = db.url_at(db.port, connect_timeout="3")
    return db


@pytest.fixture(scope="session")
def informix_server() -> Iterator[InformixServer]:
    """The test server, with a table of more numbers: it has no function that makes them."""
    with informix(locale="en_US.utf8") as running:
        with headrace.connect(Informix.at(running).url, autocommit=True) as admin:
            admin.execute("create table numbers (n int primary key)")
            admin.executemany("insert into numbers values (?)", [(n,) for n in range(1, 5001)])
        yield running


@pytest.fixture(params=names())
def target(request: pytest.FixtureRequest) -> Database:
    """One after the other."""
    return in_plaintext(request, request.param)


@pytest.fixture
def postgres(request: pytest.FixtureRequest) -> Database:
    """PostgreSQL alone."""
    return in_plaintext(request, PostgreSQL.name)


@pytest.fixture
def informix_only(request: pytest.FixtureRequest) -> Database:
    """Informix alone."""
    return in_plaintext(request, Informix.name)
