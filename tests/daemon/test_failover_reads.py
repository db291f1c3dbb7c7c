"""Failovers under clients that write, and read on standbys: they go on, and read nothing older than ``max_lag``."""

from __future__ import annotations

import contextlib
import socket
import threading
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace
from servers.replicas import Cluster, Replica, cluster
from waiting import until

from .conftest import Daemon, started
from .raw import Client, query, sqlstates, values

pytestmark = pytest.mark.slow

LAG_SECONDS, READERS = 0.5, 3
PAUSE_SECONDS = 0.005
MEGABYTES = "insert into filler select repeat('x', 1000) from generate_series(1, {} * 1000)"
ENDS = ("HR005", "57P01", "57P02")
"""What a client is told whose server is lost while it executes something."""
READ = query("begin read only") + query("select concat(max(n), ' ', inet_server_port()) from kept") + query("commit")


class Work:
    """Clients that write numbers, one after the other, and that read the last one."""

    def __init__(self, daemon: Daemon) -> None:
        self.daemon = daemon
        self.ended = threading.Event()
        self.lock = threading.Lock()
        self.confirmed: list[tuple[float, int, int]] = []
        """When a number was confirmed, and on which server."""
        self.kept: dict[int, int] = {}
        """Of servers that are lost, the last number that another one has."""
        self.reads: list[tuple[float, int]] = []
        """When a read has begun, and on which server."""
        self.broken = 0
        self.faults: list[str] = []

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """All of them, as long as the block runs."""
        threads = [threading.Thread(target=self.go_on, args=(way,)) for way in [self.write] + [self.read] * READERS]
        for each in threads:
            each.start()
        try:
            yield
        finally:
            self.ended.set()
            for each in threads:
                each.join()

    def go_on(self, way: object) -> None:
        """One client after the other."""
        assert callable(way)
        try:
            while not self.ended.is_set():
                try:
                    with socket.socket(socket.AF_UNIX) as connected:
                        connected.connect(str(self.daemon.socket))
                        client = Client(connected, user="me", database="app")
                        while not self.ended.wait(PAUSE_SECONDS):
                            way(client)
                except ConnectionError as error:
                    self.broken += 1
                    if "ended" in str(error) and not any(state in str(error) for state in ENDS):
                        raise
        except Exception as error:
            self.faults.append(repr(error))

    def write(self, client: Client) -> None:
        """The next number."""
        with self.lock:
            number = max((each[1] for each in self.confirmed), default=0) + 1
        received = client.ask(query(f"insert into kept values ({number}) returning inet_server_port()"))
        assert not sqlstates(received), received
        with self.lock:
            self.confirmed.append((time.monotonic(), number, int(values(received)[0])))

    def read(self, client: Client) -> None:
        """The last number is not older than the bound."""
        began = time.monotonic()
        received = client.ask(READ, 3)
        assert not sqlstates(received), received
        number, port = map(int, values(received)[0].split())
        with self.lock:
            self.reads.append((began, port))
            old = [each for at, each, on in self.confirmed if at <= began - LAG_SECONDS and self.is_kept(each, on)]
        assert number >= max(old, default=0), f"{number} was read on {port}, and {old[-1]} confirmed before"

    def is_kept(self, number: int, port: int) -> bool:
        """Whether a number that was confirmed by a server is not lost with it."""
        return port not in self.kept or number <= self.kept[port]

    def move(self, lost: int, new: Replica, others: list[Replica]) -> float:
        """A standby takes the place of a primary, which is lost, and others follow it; returns when."""
        until(lambda: new.position("pg_last_wal_replay_lsn") == new.position("pg_last_wal_receive_lsn"))
        with headrace.connect(new.url) as conn, self.lock:
            self.kept[lost] = conn.fetchval("select max(n) from kept")
        new.promote()
        for other in others:
            other.follow(new.port)
        return time.monotonic()

    def ports(self, since: float) -> set[int]:
        """Where was read since then."""
        with self.lock:
            return {port for began, port in self.reads if began >= since}

    def has_written(self, port: int) -> bool:
        """Whether a server has confirmed some numbers."""
        with self.lock:
            return sum(on == port for _, _, on in self.confirmed) > 20


def text(servers: Cluster) -> str:
    """The configuration."""
    hosts = ",".join(f"127.0.0.1:{port}" for port in reversed(servers.ports))
    common = f'host = "{hosts}"\nuser = "{servers.primary.user}"\ndbname = "postgres"\n'
    return f"[databases.app]\n{common}standby_reads = true\nmax_lag = {LAG_SECONDS}\n"


def test_clients_go_on_and_read_nothing_that_is_too_old(program: Path, folder: Path) -> None:
    with cluster(3) as servers:
        with headrace.connect(servers.primary.url, autocommit=True) as conn:
            conn.executescript("create table kept (n int); create table filler (x text); insert into kept values (0)")
        servers.wait_until_replayed()
        with started(program, folder, text(servers), servers.primary) as daemon:
            work = Work(daemon)
            with work.running():
                fail_over(servers, work)
    assert not work.faults
    assert work.broken <= 4 * (READERS + 1)


def fail_over(servers: Cluster, work: Work) -> None:
    """Twice."""
    until(lambda: work.ports(0) >= set(servers.ports[1:]) or work.faults)
    # To the standby that has received most. The others follow it.
    servers.primary.stop()
    first = max(servers.standbys, key=lambda standby: standby.position("pg_last_wal_receive_lsn"))
    left, second = (standby for standby in servers.standbys if standby is not first)
    moved = work.move(servers.primary.port, first, [left, second])
    until(lambda: (work.has_written(first.port) and work.ports(moved) >= {left.port, second.port}) or work.faults)
    # To one that has less than another standby, which cannot follow it.
    second.follow(None)
    first.run(MEGABYTES.format(20))
    last = first.position("pg_current_wal_lsn")
    until(lambda: left.position("pg_last_wal_replay_lsn") >= last)
    first.end()
    moved = work.move(first.port, second, [])
    for more in (0, 40):
        second.run(MEGABYTES.format(more))
        began = time.monotonic()
        while time.monotonic() < began + 3 * LAG_SECONDS:
            left.run(
                "select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'headraced max_lag'"
            )
            time.sleep(LAG_SECONDS / 20)
    until(lambda: work.has_written(second.port) or work.faults)
    assert work.ports(moved + LAG_SECONDS) == {second.port}
