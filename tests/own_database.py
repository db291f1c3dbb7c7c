"""A database of PostgreSQL that is one test module's own."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import headrace
from headrace.testing import PostgresServer


@contextlib.contextmanager
def own_database(server: PostgresServer, name: str) -> Iterator[str]:
    """Creates it and yields its URL. At the end the disk has it back: a run makes hundreds of them."""
    with headrace.connect(server.url, autocommit=True) as connection:
        connection.execute(f"create database {name}")
    yield f"postgresql://postgres@127.0.0.1:{server.port}/{name}"
    # One with a prepared transaction or a replication slot stays.
    with contextlib.suppress(headrace.OperationalError), headrace.connect(server.url, autocommit=True) as connection:
        connection.execute(f"drop database if exists {name} with (force)")
