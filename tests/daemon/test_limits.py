"""``max_connections`` holds over all users of a database, and they are served in the order in which they come."""

from __future__ import annotations

import os
import signal
import socket
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace.testing import PostgresServer
from waiting import until

from .conftest import Daemon, config, started
from .raw import READY, query, startup
from .test_status import ask, status

USERS = ("first_user", "second_user")


@pytest.fixture
def daemon(program: Path, folder: Path, server: PostgresServer) -> Iterator[Daemon]:
    """A daemon whose clients name their user, and share one server connection."""
    with headrace.connect(server.url, autocommit=True) as admin:
        for user in USERS:
            admin.executescript(f"drop role if exists {user}; create role {user} superuser login")
    databases = {
        "wide": "max_connections = 1",
        "narrow": "max_connections = 1\npool_size = 1",
        "impatient": "max_connections = 1\nqueue_wait = 0.2",
    }
    with started(program, folder, config(server, **databases).replace('user = "postgres"\n', ""), server) as running:
        yield running


def connect(daemon: Daemon, database: str, user: str) -> Any:
    """A client of a user."""
    return daemon.connect(database, user=user, autocommit=True)


def total(daemon: Daemon, database: str, of: str) -> int:
    """A counter of all pools of a database."""
    return sum(int(pool[of]) for pool in status(daemon)["pools"] if pool["pool"].endswith(f"@{database}"))


@pytest.mark.parametrize("way", ["HTTP", "SIGHUP"])
def test_limit_holds_after_the_configuration_was_read_again(daemon: Daemon, way: str) -> None:
    with connect(daemon, "impatient", USERS[0]) as one:
        one.execute("begin")
        if way == "HTTP":
            assert ask(daemon, "POST", "/reload")[0] == 200
        else:
            os.kill(daemon.process.pid, signal.SIGHUP)
            assert daemon.process.stderr is not None
            assert "read again" in daemon.process.stderr.readline()
        with pytest.raises(headrace.OperationalError) as caught, connect(daemon, "impatient", USERS[1]) as two:
            two.execute("select 1")
        assert caught.value.sqlstate == "HR002"


def test_another_limit_holds_for_connections_that_are_open(daemon: Daemon) -> None:
    file = daemon.folder.parent / "headraced.toml"
    with connect(daemon, "impatient", USERS[0]) as one, connect(daemon, "impatient", USERS[1]) as two:
        one.execute("begin")
        file.write_text(file.read_text().replace("max_connections = 1", "max_connections = 2"))
        assert ask(daemon, "POST", "/reload")[0] == 200
        two.execute("begin")
        with pytest.raises(headrace.OperationalError) as caught, connect(daemon, "impatient", USERS[0]) as three:
            three.execute("select 1")
        assert caught.value.sqlstate == "HR002"


def test_connection_is_handed_over_within_its_pool(daemon: Daemon) -> None:
    """A pool may have ten connections and gets one: those who wait for a second get the first."""

    def work() -> None:
        with connect(daemon, "wide", USERS[0]) as conn:
            for n in range(50):
                assert conn.fetchval("select $1::int", n) == n

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    text = ask(daemon, "GET", "/metrics")[1]
    opened = [line for line in text.splitlines() if line.startswith("headraced_connections_opened_total")]
    assert [line.split()[-1] for line in opened if "@wide" in line] == ["1"]


@pytest.mark.parametrize("database", ["wide", "narrow"])
def test_clients_of_all_pools_are_served_in_the_order_in_which_they_came(daemon: Daemon, database: str) -> None:
    order = [USERS[0], USERS[1], USERS[0], USERS[1]]
    served: list[int] = []

    def work(n: int, conn: Any) -> None:
        with conn.transaction():
            conn.execute("select 1")
            served.append(n)

    holder = connect(daemon, database, USERS[0])
    clients = [connect(daemon, database, user) for user in order]
    holder.execute("begin")
    threads = [threading.Thread(target=work, args=each) for each in enumerate(clients)]
    for n, thread in enumerate(threads, 1):
        thread.start()
        until(lambda n=n: total(daemon, database, "waiting") == n)  # type: ignore[misc]
    holder.execute("commit")
    for thread in threads:
        thread.join()
    assert served == [0, 1, 2, 3]
    for conn in (holder, *clients):
        conn.close()


def test_place_of_a_client_that_leaves_is_the_next_ones(daemon: Daemon) -> None:
    with connect(daemon, "wide", USERS[0]) as holder, connect(daemon, "wide", USERS[1]) as last:
        holder.execute("begin")
        served: list[int] = []
        waiting = threading.Thread(target=lambda: served.append(last.fetchval("select 1")))
        with socket.socket(socket.AF_UNIX) as leaving:
            leaving.connect(str(daemon.socket))
            leaving.sendall(startup(user=USERS[0], database="wide"))
            received = b""
            while not received.endswith(READY + b"I"):
                received += leaving.recv(65536)
            leaving.sendall(query("select 1"))
            until(lambda: total(daemon, "wide", "waiting") == 1)
            waiting.start()
            until(lambda: total(daemon, "wide", "waiting") == 2)
        until(lambda: total(daemon, "wide", "waiting") == 1)
        holder.execute("commit")
        waiting.join()
        assert served == [1]


def test_ever_other_startup_parameters_do_not_use_up_the_server(
    program: Path, folder: Path, server: PostgresServer
) -> None:
    with started(program, folder, config(server, app="pool_size = 2"), server) as daemon:
        for number in range(100):
            with daemon.connect("app", options=f"-c geqo_threshold={number + 10}") as conn:
                assert conn.fetchval("select current_setting('geqo_threshold')") == str(number + 10)
        assert sum(pool["open"] for pool in status(daemon)["pools"]) == 80
