"""The status of the daemon: JSON, metrics, and the reloading of its configuration."""

from __future__ import annotations

import contextlib
import http.client
import json
import os
import re
import signal
import socket
import stat
from pathlib import Path
from typing import Any, Protocol

import pytest

import headrace

from .conftest import Daemon, config
from .raw import READY, startup


class Place(Protocol):
    """What has a daemon's folder."""

    @property
    def folder(self) -> Path:
        """Of its sockets."""


class _Unix(http.client.HTTPConnection):
    """HTTP on a Unix socket."""

    def __init__(self, path: Path) -> None:
        super().__init__("localhost")
        self.path = path

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(str(self.path))


def ask(daemon: Place, method: str, path: str) -> tuple[int, str]:
    """The status and the body of the answer of the daemon's second socket."""
    connection = _Unix(daemon.folder / ".s.PGSQL.5432.http")
    connection.request(method, path)
    answer = connection.getresponse()
    return answer.status, answer.read().decode()


def status(daemon: Place) -> dict[str, Any]:
    """The daemon's state."""
    found: dict[str, Any] = json.loads(ask(daemon, "GET", "/status")[1])
    return found


def test_status_names_clients_pins_and_hit_rates(daemon: Daemon) -> None:
    with daemon.connect("two", autocommit=True) as one, daemon.connect("two", autocommit=True) as two:
        for conn in (one, two):
            assert conn.fetchval("select $1::int", 1) == 1
        one.execute("create temp table mine (n int)")
        found = status(daemon)
        pinned = next(client for client in found["clients"] if client["state"] == "pinned")
        assert pinned["pinned_by"] == "a temporary table"
        assert pinned["pid"] == os.getpid()
        pool = next(pool for pool in found["pools"] if pool["pool"] == "postgres@two")
        assert pool["mode"] == "transaction"
        assert pool["size"] == 2
        assert pool["statements_shared_total"] >= 1
        assert 0 < pool["hit_rate"] < 1
        assert pool["pins_total"] == {"a temporary table": 1}
    assert found["pid"] == daemon.process.pid


def test_metrics_have_the_names_of_opentelemetry(daemon: Daemon) -> None:
    with daemon.connect("app", autocommit=True) as conn:
        with pytest.raises(headrace.errors.DivisionByZero):
            conn.execute("select 1 / 0")
        code, text = ask(daemon, "GET", "/metrics")
    assert code == 200
    values = dict(re.findall(r"^([^#].*) (\S+)$", text, re.MULTILINE))
    pool = 'db_client_connection_pool_name="postgres@app"'
    assert values[f'db_client_connection_count{{{pool},db_client_connection_state="idle"}}'] == "1"
    assert values[f"db_client_connection_max{{{pool}}}"] == "10"
    assert values[f'headraced_errors_total{{{pool},db_response_status_code="22012"}}'] == "1"
    wait = "db_client_connection_wait_time_seconds"
    buckets = [int(n) for name, n in values.items() if name.startswith(f"{wait}_bucket{{{pool}")]
    assert buckets == sorted(buckets)
    assert str(buckets[-1]) == values[f"{wait}_count{{{pool}}}"]
    families = set(re.findall(r"^# TYPE (\S+)", text, re.MULTILINE))
    for name in re.findall(r"^([a-z_]+)", text, re.MULTILINE):
        assert {name, re.sub("_(bucket|sum|count)$", "", name)} & families, name


def test_pools_of_one_user_are_told_apart(daemon: Daemon) -> None:
    with daemon.connect("one", autocommit=True), contextlib.ExitStack() as stack:
        for timeout in ("5s", "6s"):
            given = startup(user="anyone", database="one", statement_timeout=timeout)
            raw = stack.enter_context(socket.socket(socket.AF_UNIX))
            raw.connect(str(daemon.socket))
            raw.sendall(given)
            received = b""
            while not received.endswith(READY + b"I"):
                received += raw.recv(65536)
        shown = {pool["pool"]: pool["startup"] for pool in status(daemon)["pools"]}
        text = ask(daemon, "GET", "/metrics")[1]
    assert shown == {
        "postgres@one": {},
        "postgres@one (2)": {"statement_timeout": "5s"},
        "postgres@one (3)": {"statement_timeout": "6s"},
    }
    series = [line.rpartition(" ")[0] for line in text.splitlines() if not line.startswith("#")]
    assert len(series) == len(set(series))


def test_second_socket_is_for_this_user_only(daemon: Daemon) -> None:
    assert stat.S_IMODE((daemon.folder / ".s.PGSQL.5432.http").stat().st_mode) == 0o600
    assert ask(daemon, "GET", "/secrets")[0] == 404


def test_configuration_is_read_again(daemon: Daemon) -> None:
    file = daemon.folder.parent / "headraced.toml"
    with daemon.connect("one", autocommit=True) as kept:
        file.write_text(config(daemon.server, one="pool_size = 3", new=""))
        assert ask(daemon, "POST", "/reload") == (200, "")
        assert kept.fetchval("select 1") == 1
        with daemon.connect("new", autocommit=True) as conn:
            assert conn.fetchval("select 1") == 1
        with pytest.raises(headrace.OperationalError, match="not configured"):
            daemon.connect("two")
        with daemon.connect("one"):
            sizes = [pool["size"] for pool in status(daemon)["pools"] if pool["pool"] == "postgres@one"]
    assert sizes == [3]


def test_clients_follow_limits_that_were_changed(daemon: Daemon) -> None:
    file = daemon.folder.parent / "headraced.toml"
    with contextlib.ExitStack() as closing:
        clients = [closing.enter_context(daemon.connect("one")) for _ in range(3)]
        used = set()
        for size in (2, 5, 1, 3):
            file.write_text(config(daemon.server, one=f"pool_size = {size}"))
            assert ask(daemon, "POST", "/reload") == (200, "")
            for client in clients:
                used.add(client.fetchval("select pg_backend_pid()"))
                client.rollback()
        assert len(used) == 1, "no client has logged in again"
        # All at the same time, on connections of one pool.
        used = {client.fetchval("select pg_backend_pid()") for client in clients}
        assert len(used) == 3
        pools = {pool["pool"]: pool["open"] for pool in status(daemon)["pools"] if pool["open"]}
        assert pools == {"postgres@one": 3}
        file.write_text(config(daemon.server, one="pool_size = 3\nserver_lifetime = 0.001"))
        assert ask(daemon, "POST", "/reload") == (200, "")
        for client in clients:
            client.rollback()
            assert client.fetchval("select pg_backend_pid()") not in used


def test_client_of_a_pool_that_was_changed_shares_its_connection_as_before(daemon: Daemon) -> None:
    file = daemon.folder.parent / "headraced.toml"
    with daemon.connect("one", autocommit=True) as kept:
        file.write_text(config(daemon.server, one="pool_size = 3\nread_only = true"))
        assert ask(daemon, "POST", "/reload") == (200, "")
        assert len({kept.fetchval("select pg_backend_pid()") for _ in range(5)}) == 1
        with daemon.connect("one", autocommit=True) as conn:
            assert conn.fetchval("select 1") == 1
            shown = {pool["pool"]: pool["size"] for pool in status(daemon)["pools"]}
    assert shown == {"postgres@one": 3, "postgres@one (before a change, 1)": 1}


@pytest.mark.parametrize("way", ["HTTP", "SIGHUP"])
def test_mode_of_the_socket_follows_the_configuration(daemon: Daemon, way: str) -> None:
    file = daemon.folder.parent / "headraced.toml"
    own = file.read_text()
    for text, mode in ((f"[local_users.0]\n{own}", 0o666), (own, 0o600)):
        file.write_text(text)
        if way == "HTTP":
            assert ask(daemon, "POST", "/reload") == (200, "")
        else:
            os.kill(daemon.process.pid, signal.SIGHUP)
            assert daemon.process.stderr is not None
            assert "read again" in daemon.process.stderr.readline()
        assert stat.S_IMODE(daemon.socket.stat().st_mode) == mode


def test_mistake_in_a_reloaded_configuration_changes_nothing(daemon: Daemon) -> None:
    (daemon.folder.parent / "headraced.toml").write_text('[databases.app]\nhost = "h"\npassword = 5\n')
    code, said = ask(daemon, "POST", "/reload")
    assert code == 409
    assert "line 3" in said
    os.kill(daemon.process.pid, signal.SIGHUP)
    assert daemon.process.stderr is not None
    assert "stays as it is" in daemon.process.stderr.readline()
    with daemon.connect("app", autocommit=True) as conn:
        assert conn.fetchval("select 1") == 1
