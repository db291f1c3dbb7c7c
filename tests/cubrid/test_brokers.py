"""Several brokers: which is tried first, which after one that is dead or never answers, and when the first is tried
again."""

# Made by tools/async_to_sync.py of test_brokers_async.py: edit that file, and run the tool.

from __future__ import annotations

import socket
import time
from collections.abc import Iterator
from typing import Any

import pytest

import headrace.cubrid
from company.gate import Gate
from headrace import errors
from headrace.cubrid.settings import connect_options
from waiting import until

HOST = "127.0.0.1"
LIMIT = 1.0
SOON = 15.0
"""Seconds in which a limit of LIMIT is seen on a busy machine, and none of 30."""


@pytest.fixture(autouse=True)
def others(monkeypatch: pytest.MonkeyPatch) -> None:
    """What this process knows of brokers that other tests had is nothing to this one, whose ports may be theirs."""
    monkeypatch.setattr("headrace.cubrid.settings.unreachable", known := {})
    for shell in ("headrace.cubrid.opening", "headrace.cubrid.opening"):
        monkeypatch.setattr(f"{shell}.unreachable", known)


@pytest.fixture
def port(url: str) -> int:
    """The port of a broker that is there."""
    return connect_options(url, {}).hosts[0][1]


@pytest.fixture
def dead() -> Iterator[int]:
    """A port where nobody listens."""
    with socket.socket() as taken:
        taken.bind((HOST, 0))
        yield taken.getsockname()[1]


@pytest.fixture
def silent(port: int) -> Iterator[Gate]:
    """A way to the broker that accepts connections, and passes nothing."""
    with Gate(port) as gate:
        gate.state = "frozen"
        yield gate


@pytest.fixture
def way(port: int) -> Iterator[Gate]:
    """Another way to the broker, which works, and counts those who come."""
    with Gate(port) as gate:
        yield gate


def came(url: str, gate: Gate, **settings: Any) -> bool:
    """Opens a session with these settings; returns true if it came this way."""
    before = len(gate.pairs)
    with headrace.cubrid.connect(url, **settings) as conn:
        assert conn.fetchval("select 1") == 1
    return len(gate.pairs) > before


def test_the_next_broker_is_tried_where_one_is_dead(url: str, dead: int, way: Gate) -> None:
    assert came(url, way, host=f"{HOST},{HOST}", port=f"{dead},{way.port}")
    assert came(url, way, host=HOST, port=dead, alt_hosts=f"{HOST}:{way.port}")
    assert came(url, way, host=HOST, port=dead, altHosts=f"{HOST}:{dead},{HOST}:{way.port}")
    options = connect_options(url, {})
    string = f"CUBRID:{HOST}:{dead}:{options.database}:{options.user}::?altHosts={HOST}:{way.port}&rcTime=60"
    assert came(string, way)


def test_the_next_broker_is_tried_where_one_never_answers(url: str, silent: Gate, way: Gate) -> None:
    started = time.monotonic()
    settings = {"host": HOST, "port": silent.port, "alt_hosts": f"{HOST}:{way.port}", "connect_timeout": 2 * LIMIT}
    assert came(url, way, **settings)
    assert time.monotonic() - started < SOON


def test_brokers_that_never_answer_share_the_limit(url: str, silent: Gate) -> None:
    settings = {"host": HOST, "port": silent.port, "alt_hosts": [f"{HOST}:{silent.port}"] * 3}
    started = time.monotonic()
    with pytest.raises(errors.ConnectionTimeout, match="connect_timeout=1 s"):
        headrace.cubrid.connect(url, **settings, connect_timeout=LIMIT)
    assert LIMIT * 0.9 < time.monotonic() - started < SOON
    assert len(silent.pairs) == 4


def test_dead_brokers_are_all_named(url: str, dead: int) -> None:
    with pytest.raises(errors.OperationalError) as failed:
        headrace.cubrid.connect(url, host=HOST, port=dead, alt_hosts=f"{HOST}:{dead},{HOST}:{dead}")
    assert str(failed.value).count(f":{dead}") >= 3


def test_a_wrong_password_is_told_to_no_other_broker(url: str, way: Gate) -> None:
    where = connect_options(url, {}).hosts[0]
    settings = {"host": where[0], "port": where[1], "alt_hosts": f"{HOST}:{way.port}"}
    with pytest.raises(errors.InvalidPassword):
        headrace.cubrid.connect(url, **settings, password="wrong")
    assert not way.pairs


def test_the_first_broker_is_tried_again_after_rc_time(url: str, silent: Gate, way: Gate) -> None:
    settings = {"host": HOST, "port": silent.port, "alt_hosts": f"{HOST}:{way.port}", "connect_timeout": 2 * LIMIT}
    assert came(url, way, **settings)
    asked = len(silent.pairs)
    silent.state = "open"
    # Until rc_time is over it is not asked, though it would answer again.
    for name in ("rc_time", "rcTime"):
        assert came(url, way, **settings, **{name: 600})
    assert len(silent.pairs) == asked
    assert not came(url, way, **settings, rc_time=0)
    assert len(silent.pairs) == asked + 1
    # It has answered, so it is the first from now on.
    assert not came(url, way, **settings)


@pytest.mark.slow
def test_rc_time_passes(url: str, silent: Gate, way: Gate) -> None:
    settings = {"host": HOST, "port": silent.port, "alt_hosts": f"{HOST}:{way.port}", "connect_timeout": 2 * LIMIT}
    assert came(url, way, **settings)
    silent.state = "open"
    ended = time.monotonic() + 0.5
    until(lambda: time.monotonic() > ended)
    assert not came(url, way, **settings, rc_time=0.5)


@pytest.mark.parametrize("name", ["load_balance", "loadBalance"])
def test_brokers_share_the_sessions(url: str, name: str, way: Gate, port: int) -> None:
    with Gate(port) as other:
        settings = {"host": HOST, "port": way.port, "alt_hosts": f"{HOST}:{other.port}"}
        ways = [came(url, way, **settings, **{name: "true"}) for _ in range(30)]
        assert {*ways} == {True, False}
        assert len(way.pairs) + len(other.pairs) == 30
        for _ in range(5):
            assert came(url, way, **settings, **{name: "false"})


def test_a_statement_is_cancelled_at_the_broker_of_its_session(url: str, dead: int, way: Gate, numbers: str) -> None:
    slow = f"select count(*) from {numbers} a, {numbers} b, {numbers} c where a.n + b.n + c.n = -1"
    settings = {"host": HOST, "port": dead, "alt_hosts": f"{HOST}:{way.port}"}
    with headrace.cubrid.connect(url, **settings) as conn:
        with pytest.raises(TimeoutError):
            conn.execute(slow, timeout=0.3)
        conn.rollback()
        assert conn.fetchval("select 1") == 1
        assert len(way.pairs) == 2
