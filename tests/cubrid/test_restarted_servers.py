"""The database server is started again behind its broker: the connection is recognised as lost."""

# Made by tools/async_to_sync.py of test_restarted_servers_async.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest

import headrace
import headrace.cubrid
import headrace.testing
from headrace import errors
from headrace.testing import CubridServer

from .killing import restart

POOLED = 3


@pytest.fixture
def server() -> Iterator[CubridServer]:
    with headrace.testing.cubrid() as running:
        yield running


def check_closed(conn: headrace.cubrid.Connection[Any]) -> None:
    """It is closed, and says why."""
    assert conn.closed
    with pytest.raises(errors.ConnectionClosed, match="the server ended the session"):
        conn.execute("select 1")


@pytest.mark.parametrize("autocommit", [True, False])
def test_a_statement(server: CubridServer, autocommit: bool) -> None:
    conn = headrace.cubrid.connect(server.url, autocommit=autocommit)
    conn.fetchval("select 1")
    conn.commit()
    restart(server.port)
    with pytest.raises(errors.CrashShutdown, match="-111"):
        conn.fetchval("select 1")
    check_closed(conn)


def test_a_ping(server: CubridServer) -> None:
    with headrace.cubrid.connect(server.url, autocommit=True) as conn:
        restart(server.port)
        with pytest.raises(errors.ConnectionFailure, match="has lost the database server"):
            conn.ping()
        check_closed(conn)


def test_the_end_of_a_block(server: CubridServer) -> None:
    with headrace.cubrid.connect(server.url, autocommit=True) as conn:
        conn.execute("create table lost (n int)")
        with pytest.raises(errors.CrashShutdown, match="-111"), conn.transaction():
            conn.execute("insert into lost values (1)")
            restart(server.port)
        check_closed(conn)
    with headrace.cubrid.connect(server.url) as conn:
        assert conn.fetch("select n from lost") == []


def test_a_batch(server: CubridServer) -> None:
    with headrace.cubrid.connect(server.url, autocommit=True) as conn:
        conn.execute("create table lost (n int)")
        restart(server.port)
        with pytest.raises(errors.CrashShutdown, match="-111"):
            conn.executemany("insert into lost values (?)", [(1,), (2,)])
        check_closed(conn)


def use_all(pool: headrace.ConnectionPool[Any]) -> None:
    """Executes a statement on each connection of the pool."""
    with ExitStack() as stack:
        for conn in [stack.enter_context(pool.connection()) for _ in range(POOLED)]:
            conn.fetchval("select 1")


@pytest.mark.parametrize("autocommit", [True, False])
def test_a_pool_replaces_its_connections(server: CubridServer, autocommit: bool) -> None:
    kwargs = {"autocommit": autocommit}
    with headrace.ConnectionPool(server.url, min_size=POOLED, max_size=POOLED, kwargs=kwargs) as pool:
        use_all(pool)
        restart(server.port)
        # Each fails once. Which one is lent next, a lost one or one in the place of another, is the pool's matter.
        for _ in range(POOLED):
            with pytest.raises(errors.CrashShutdown, match="-111"):
                use_all(pool)
        use_all(pool)
