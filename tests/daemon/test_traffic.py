"""Clients that move much are served by other threads than those that ask small questions."""

from __future__ import annotations

import threading
import time
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace.testing import PostgresServer

from .conftest import Daemon, config, started

SMALL_QUERIES = 40
"""More than it takes to count as interactive again."""
LARGE_ROWS = 60_000


def woken(daemon: Daemon, name: str) -> int:
    """How often the daemon's threads of this name have got a core."""
    threads = Path(f"/proc/{daemon.process.pid}/task").iterdir()
    named = [thread for thread in threads if (thread / "comm").read_text().strip() == name]
    assert named
    return sum(int((thread / "schedstat").read_text().split()[2]) for thread in named)


def small(connection: Any, first: int) -> None:
    for number in range(first, first + SMALL_QUERIES):
        assert connection.fetchval("select $1::int + 1", number) == number + 1


def large(connection: Any, number: int) -> None:
    rows = connection.fetch("select g + $1::int, 'row ' || g from generate_series(1, $2::int) g", number, LARGE_ROWS)
    assert rows == [(g + number, f"row {g}") for g in range(1, LARGE_ROWS + 1)]


def copied(connection: Any, number: int) -> None:
    with connection.transaction():
        connection.execute(f"create table copied_{number} (n int, t text)")
        connection.copy_in(f"copied_{number}", ((number, "x" * 30) for _ in range(LARGE_ROWS // 2)))
        out = b"".join(connection.copy_out(f"copied_{number}", format="text"))
        assert out == f"{number}\t{'x' * 30}\n".encode() * (LARGE_ROWS // 2)
        connection.execute(f"drop table copied_{number}")


@pytest.mark.parametrize("database", ["app", "one", "session"])
def test_client_changes_threads_with_what_it_does(daemon: Daemon, database: str) -> None:
    with daemon.connect(database) as connection:
        small(connection, 0)
        before = woken(daemon, "bulk")
        large(connection, 7)
        assert woken(daemon, "bulk") > before
        small(connection, 100)
        before = woken(daemon, "bulk")
        small(connection, 200)
        # Each query wakes a thread twice.
        assert woken(daemon, "bulk") < before + SMALL_QUERIES, "it is not back among those with small questions"


def test_cancelled_on_other_threads(daemon: Daemon) -> None:
    with daemon.connect("one") as connection:
        before = woken(daemon, "bulk")

        def cancel() -> None:
            while woken(daemon, "bulk") == before:
                time.sleep(0.01)
            connection.cancel()

        canceller = threading.Thread(target=cancel)
        canceller.start()
        with pytest.raises(headrace.errors.QueryCanceled):
            connection.fetch("select repeat('x', $1), generate_series(1, 1000000000)", 1000)
        canceller.join()
        connection.rollback()
        small(connection, 0)


@pytest.mark.parametrize("host", ["tcp", "unix"])
def test_clients_of_both_kinds_share_server_connections(
    program: Path, folder: Path, server: PostgresServer, host: str
) -> None:
    text = config(server, app="pool_size = 2")
    if host == "unix":
        text = text.replace('host = "127.0.0.1"', f'host = "{server.socket_dir}"')
    failures: list[BaseException] = []

    def client(daemon: Daemon, number: int) -> None:
        try:
            with daemon.connect(autocommit=True) as connection:
                for turn in range(4):
                    small(connection, number)
                    if (turn + number) % 2:
                        large(connection, number)
                    else:
                        copied(connection, number)
        except BaseException as error:
            failures.append(error)

    with started(program, folder, text, server) as daemon:
        threads = [threading.Thread(target=client, args=(daemon, number)) for number in range(5)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert not failures
        assert daemon.backends() <= 2
