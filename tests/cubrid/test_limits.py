"""The limits of time: of connecting, of a statement in the server, of a wait for the server's bytes. Each against a
server that does not keep it."""

# Made by tools/async_to_sync.py of test_limits_async.py: edit that file, and run the tool.

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import pytest

import headrace.cubrid
import headrace.testing
from company.gate import Gate
from headrace import errors
from headrace.cubrid.settings import connect_options
from waiting import Work

HOST = "127.0.0.1"
SOON = 15.0
"""Seconds in which a limit is seen on a busy machine, and none of 30."""


@pytest.fixture
def gate(url: str) -> Iterator[Gate]:
    """A way to the server that can be frozen."""
    with Gate(connect_options(url, {}).hosts[0][1]) as gate:
        yield gate


def slow(numbers: str) -> str:
    """A query that takes minutes."""
    return f"select count(*) from {numbers} a, {numbers} b, {numbers} c where a.n + b.n + c.n = -1"


@pytest.mark.parametrize("state", ["frozen", "dripping"])
@pytest.mark.parametrize(
    "limit",
    [{"connect_timeout": 0.3}, {"loginTimeout": 300}, {"login_timeout": 300}],
    ids=lambda limit: next(iter(limit)),
)
def test_connecting(url: str, gate: Gate, state: str, limit: dict[str, Any]) -> None:
    gate.state = state
    started = time.monotonic()
    with pytest.raises(errors.ConnectionTimeout, match=r"connect_timeout=0\.3 s"):
        headrace.cubrid.connect(url, host=HOST, port=gate.port, **limit)
    assert time.monotonic() - started < SOON


def test_connecting_where_all_processes_are_in_use() -> None:
    with headrace.testing.cubrid(cas=1) as server:
        first = headrace.cubrid.connect(server.url)
        first.execute("create table t (n int)")
        for _ in range(3):
            with pytest.raises(errors.ConnectionTimeout):
                headrace.cubrid.connect(server.url, connect_timeout=0.3)
        first.commit()
        # Those that have given up take no process, also where the broker has noticed none of them.
        with headrace.cubrid.connect(server.url) as second:
            assert second.fetchval("select 1") == 1
        first.execute("insert into t values (1)")
        first.commit()
        first.close()


@pytest.mark.parametrize("limit", ["query_timeout", "queryTimeout"])
def test_the_limit_of_the_server(url: str, numbers: str, limit: str) -> None:
    with headrace.cubrid.connect(url, **{limit: 300}) as conn:
        started = time.monotonic()
        with pytest.raises(errors.QueryCanceled):
            conn.execute(slow(numbers))
        with pytest.raises(errors.QueryCanceled):
            for _ in conn.stream(slow(numbers)):
                pass
        with pytest.raises(errors.QueryCanceled):
            conn.execute(f"select 1; {slow(numbers)}")
        assert time.monotonic() - started < 2 * SOON
        conn.rollback()
        assert conn.fetchval("select 1") == 1


def test_the_limit_of_a_statement(url: str, numbers: str) -> None:
    for settings, timeout in (({}, 0.3), ({"command_timeout": 0.3}, None)):
        with headrace.cubrid.connect(url, **settings) as conn:
            started = time.monotonic()
            with pytest.raises(TimeoutError):
                conn.execute(slow(numbers), timeout=timeout)
            assert time.monotonic() - started < SOON
            conn.rollback()
            assert conn.fetchval("select 1", timeout=SOON) == 1


@pytest.mark.parametrize("state", ["frozen", "dripping"])
@pytest.mark.slow
def test_the_limit_of_a_wait(url: str, numbers: str, gate: Gate, state: str) -> None:
    sql = f"select n from {numbers} order by n"
    conn = headrace.cubrid.connect(url, host=HOST, port=gate.port, read_timeout=0.3)
    assert len(conn.fetch(sql)) == 1000
    gate.state = state
    if state == "frozen":
        started = time.monotonic()
        with pytest.raises(errors.OperationalError, match=r"read_timeout=0\.3"):
            conn.fetch(sql)
        assert conn.closed
        assert time.monotonic() - started < SOON
    else:
        # Each wait is short.
        assert conn.fetch("select 'x'") == [("x",)]
    conn.close()


def test_the_limit_of_a_wait_after_the_session_was_resumed() -> None:
    with headrace.testing.cubrid(cas=1) as server, Gate(server.port) as gate:
        url = f"cubrid://{server.user}@{HOST}:{gate.port}/{server.database}?read_timeout=0.5"
        conn = headrace.cubrid.connect(url, autocommit=True)
        assert conn.fetchval("select 1") == 1
        with headrace.cubrid.connect(server.url) as other:
            assert other.fetchval("select 1") == 1
        assert conn.fetchval("select 1") == 1
        assert conn.resumed == 1
        gate.state = "frozen"
        with pytest.raises(errors.OperationalError, match=r"read_timeout=0\.5"):
            conn.fetchval("select 1")
        assert conn.closed


def test_the_limit_of_a_statement_of_a_server_that_drips(url: str, numbers: str, gate: Gate) -> None:
    conn = headrace.cubrid.connect(url, host=HOST, port=gate.port)
    gate.state = "dripping"
    started = time.monotonic()
    with pytest.raises((TimeoutError, errors.OperationalError)):
        conn.fetch(f"select n from {numbers}", timeout=0.5)
    assert time.monotonic() - started < SOON
    gate.state = "open"
    assert conn.closed or conn.fetchval("select 1", timeout=SOON) == 1
    conn.close()


def test_the_limit_of_a_lock(url: str) -> None:
    with headrace.cubrid.connect(url, autocommit=True) as first:
        first.execute("drop table if exists hr_locked")
        first.execute("create table hr_locked (n int primary key)")
        first.execute("insert into hr_locked values (1)")
        with headrace.cubrid.connect(url, lock_timeout=0.2) as second:
            with first.transaction():
                first.execute("update hr_locked set n = 2")
                work = Work(second.execute, "update hr_locked set n = 3")
                with pytest.raises(errors.LockNotAvailable):
                    work.result(SOON)
            second.rollback()
        first.execute("drop table hr_locked")
