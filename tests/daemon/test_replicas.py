"""A primary and its standbys behind the daemon: roles are asked for, and again when a server is lost."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace
from servers.replicas import Cluster, cluster

from .conftest import Daemon, started

pytestmark = pytest.mark.slow

WAIT_SECONDS = 20


@pytest.fixture
def servers() -> Iterator[Cluster]:
    """A primary and two standbys, which a test may end and promote."""
    with cluster(2) as made:
        yield made


def text(servers: Cluster) -> str:
    """Entries of the configuration for each role, with the standbys named first."""
    hosts = ",".join(f"127.0.0.1:{port}" for port in reversed(servers.ports))
    entries = {"main": "primary", "writes": "read-write", "reads": "standby", "mostly": "prefer-standby"}
    return "".join(
        f'[databases.{name}]\nhost = "{hosts}"\nuser = "{servers.primary.user}"\ndbname = "postgres"\n'
        f'target_session_attrs = "{role}"\nqueue_wait = {WAIT_SECONDS if name != "reads" else 2}\n'
        for name, role in entries.items()
    ) + (
        f'[databases.spread]\nhost = "{hosts}"\nuser = "{servers.primary.user}"\ndbname = "postgres"\n'
        'target_session_attrs = "standby"\nload_balance_hosts = "random"\nserver_lifetime = 0.01\n'
    )


@pytest.fixture
def daemon(program: Path, folder: Path, servers: Cluster) -> Iterator[Daemon]:
    with started(program, folder, text(servers), servers.primary) as running:
        yield running


def port_of(daemon: Daemon, database: str) -> int:
    """The server on which a client's statement runs."""
    with daemon.connect(database, autocommit=True) as conn:
        return int(conn.fetchval("select inet_server_port()"))


def test_roles_are_found_and_found_again_after_a_failover(daemon: Daemon, servers: Cluster) -> None:
    primary, *standbys = servers.ports
    assert [port_of(daemon, name) for name in ("main", "writes")] == [primary, primary]
    assert port_of(daemon, "reads") in standbys
    assert port_of(daemon, "mostly") in standbys
    assert {port_of(daemon, "spread") for _ in range(40)} == set(standbys)
    new = servers.standbys[1]
    busy = daemon.connect("main")
    with daemon.connect("main", autocommit=True) as idle:
        idle.execute("create table kept (n int)")
        busy.execute("insert into kept values (1)")
        servers.wait_until_replayed()
        servers.primary.stop()
        began = time.monotonic()
        promotion = threading.Timer(1, new.promote)
        promotion.start()
        # Its transaction was on the server that is lost: nothing is executed a second time.
        with pytest.raises(headrace.OperationalError) as caught:
            busy.execute("insert into kept values (2)")
        busy.close()
        assert caught.value.sqlstate in ("HR005", "57P01", "57P02")
        idle.execute("insert into kept values (3)")
        assert idle.fetchval("select inet_server_port()") == new.port, "it has waited for the promotion"
        assert 1 <= time.monotonic() - began < WAIT_SECONDS
        assert idle.fetchval("select array_agg(n) from kept") == [3]
        promotion.join()
    assert port_of(daemon, "writes") == new.port
    # A session of an entry for reads that was opened on it is used until the server has said what it is now.
    while port_of(daemon, "reads") != servers.standbys[0].port:
        assert time.monotonic() - began < WAIT_SECONDS
    assert port_of(daemon, "reads") == servers.standbys[0].port
    servers.standbys[0].end()
    assert port_of(daemon, "mostly") == new.port
    with pytest.raises(headrace.OperationalError, match="target_session_attrs") as caught:
        daemon.connect("reads")
    assert caught.value.sqlstate == "08001"
