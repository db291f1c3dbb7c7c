"""A connection that is not in a transaction keeps no process of the broker from other clients, used or not."""

# Made by tools/async_to_sync.py of test_unused_processes_async.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any

import pytest

import headrace
import headrace.cubrid
import headrace.testing

PROCESSES = 2
SECONDS = 10


@pytest.fixture
def few() -> Iterator[str]:
    """The URL of a server of few processes."""
    with headrace.testing.cubrid(cas=PROCESSES) as server:
        yield server.url


@contextmanager
def connections(url: str, **settings: Any) -> Iterator[list[headrace.cubrid.Connection[Any]]]:
    """As many as there are processes."""
    with ExitStack() as stack:
        yield [stack.enter_context(headrace.cubrid.connect(url, **settings)) for _ in range(PROCESSES)]


def check_free(url: str) -> None:
    """As many others as there are processes get one each."""
    with connections(url, connect_timeout=SECONDS, autocommit=True) as others:
        for other in others:
            assert other.fetchval("select 1") == 1


@pytest.mark.parametrize("autocommit", [True, False])
def test_a_connection_that_has_executed_nothing(few: str, autocommit: bool) -> None:
    with connections(few, autocommit=autocommit) as unused:
        check_free(few)
        for conn in unused:
            assert conn.fetchval("select 1") == 1


def test_a_pool_that_was_warmed(few: str) -> None:
    with headrace.ConnectionPool(few, min_size=PROCESSES, max_size=PROCESSES) as pool:
        pool.wait()
        check_free(few)


@pytest.mark.parametrize(
    "request_name", ["rollback", "commit", "reset", "ping", "fetch_server_version", "last_insert_id"]
)
def test_a_request_after_the_process_was_given_up(few: str, request_name: str) -> None:
    with connections(few, autocommit=True) as first:
        check_free(few)
        for conn in first:
            getattr(conn, request_name)()
        check_free(few)


@pytest.mark.parametrize("autocommit", [True, False])
def test_an_end_of_nothing_asks_for_no_process(few: str, autocommit: bool) -> None:
    # Another request may find that the session is gone, which is no error of what was committed before.
    with connections(few, autocommit=autocommit) as first:
        for conn in first:
            conn.fetchval("select 1")
            conn.commit()
        check_free(few)
        for conn in first:
            conn.commit()
            conn.rollback()
    assert [conn.resumed for conn in first] == [0] * PROCESSES


def test_a_process_that_is_kept_is_kept(few: str) -> None:
    with connections(few, keep_cas=True), pytest.raises(headrace.errors.ConnectionTimeout):
        headrace.cubrid.connect(few, connect_timeout=0.3)
    check_free(few)
