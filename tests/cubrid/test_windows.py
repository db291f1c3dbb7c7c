"""A broker on Windows: it answers the hello with the port of a process, to which the session is connected."""

# Made by tools/async_to_sync.py of test_windows_async.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Iterator

import pytest

import headrace.cubrid
import headrace.testing
from headrace import errors


@pytest.fixture
def windows() -> Iterator[str]:
    """The URL of such a broker, of one process."""
    with headrace.testing.cubrid(port_answer=True, cas=1) as server:
        yield server.url


def test_a_session_is_connected_to_the_port_that_is_named(windows: str) -> None:
    for setting in ("windows_broker=true", "windows_broker=1&connect_timeout=20"):
        with headrace.cubrid.connect(f"{windows}?{setting}", autocommit=True) as conn:
            conn.execute("drop table if exists t")
            conn.execute("create table t (n int)")
            conn.executemany("insert into t values (?)", [(n,) for n in range(500)])
            with conn.transaction():
                conn.execute("insert into t values (?)", (500,))
            assert conn.fetchval("select sum(n) from t") == sum(range(501))


def test_its_statements_are_cancelled_by_the_broker(windows: str) -> None:
    with headrace.cubrid.connect(f"{windows}?windows_broker=true") as conn:
        conn.execute("create table n (n int)")
        conn.executemany("insert into n values (?)", [(n,) for n in range(500)])
        with pytest.raises(TimeoutError):
            conn.execute("select count(*) from n a, n b, n c where a.n + b.n + c.n = -1", timeout=0.3)
        assert conn.fetchval("select 1") == 1


def test_a_wrong_password_is_refused(windows: str) -> None:
    with pytest.raises(errors.InvalidPassword):
        headrace.cubrid.connect(f"{windows}?windows_broker=true&password=wrong")


def test_a_session_whose_process_was_given_away_is_resumed_at_the_port_that_is_named(windows: str) -> None:
    url = f"{windows}?windows_broker=true"
    conn = headrace.cubrid.connect(url, autocommit=True)
    conn.execute("create table t (n int)")
    for count in range(3):
        with headrace.cubrid.connect(url) as other:
            assert other.fetchval("select count(*) from t") == count
        conn.execute("insert into t values (?)", (count,))
        assert conn.resumed == count + 1
    conn.close()
    with headrace.cubrid.connect(url) as other:
        assert other.fetch("select n from t order by n") == [(0,), (1,), (2,)]
