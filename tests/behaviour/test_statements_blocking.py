"""Statements of several threads, and iterators that use their own connection."""

from __future__ import annotations

import dataclasses
import threading
import time
from typing import Any

import pytest

import headrace
from headrace import errors
from headrace.testing import PostgresServer

Conn = headrace.Connection[Any]


@dataclasses.dataclass
class User:
    id: int
    name: str


def test_threads_share_a_connection(conn: Conn) -> None:
    results: list[int] = []

    def work(n: int) -> None:
        for i in range(20):
            assert conn.fetchval("select $1::int", n * 100 + i) == n * 100 + i
        results.append(n)

    threads = [threading.Thread(target=work, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(results) == list(range(8))


def test_cancel_from_another_thread(conn: Conn) -> None:
    timer = threading.Timer(0.2, conn.cancel)
    timer.start()
    started = time.monotonic()
    with pytest.raises(errors.QueryCanceled):
        conn.execute("select pg_sleep(30)")
    assert time.monotonic() - started < 5
    conn.rollback()
    assert conn.fetchval("select 1") == 1


def test_an_iterator_that_uses_its_own_connection_is_refused_not_stuck(conn: Conn) -> None:
    conn.execute("create temp table own (n int)")

    def rows_of_own() -> Any:
        yield (conn.fetchval("select 1"),)

    with pytest.raises(errors.InterfaceError, match="busy"):
        conn.executemany("insert into own values (%s)", rows_of_own())
    conn.rollback()
    assert conn.fetchval("select 1") == 1


def test_closing_from_another_thread_ends_the_running_statement(server: PostgresServer) -> None:
    conn = headrace.connect(server.url)
    met: list[BaseException] = []

    def work() -> None:
        try:
            conn.execute("select pg_sleep(30)")
        except BaseException as error:
            met.append(error)

    thread = threading.Thread(target=work)
    thread.start()
    with headrace.connect(server.url, autocommit=True) as other:
        running = "select count(*) from pg_stat_activity where pid = $1 and state = 'active'"
        while not other.fetchval(running, conn.backend_pid):
            time.sleep(0.01)
        conn.close()
        thread.join(5)
        assert not thread.is_alive()
        assert conn.closed
        (error,) = met
        assert isinstance(error, errors.OperationalError)
        assert "closed by another thread" in str(error)
        other.execute("select pg_terminate_backend($1)", (conn.backend_pid,))
