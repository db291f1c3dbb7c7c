"""What is killed, cut or full: nothing runs twice, nothing is confirmed that was not done, and the others go on."""

from __future__ import annotations

import contextlib
import signal
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace
from accepting import Accepting
from headrace.testing import PostgresServer
from long import every
from waiting import Work, until

from .conftest import Daemon, config, started
from .raw import startup

WRITERS, WRITES = 6, 300
ENDED = "select count(pg_terminate_backend(pid)) from pg_stat_activity where application_name = 'to be cut'"
"""Ends the sessions of a client, and counts those that are still there."""


class Cutting(Accepting):
    """Passes everything on, but cuts the next connection after ``cut`` bytes of the server."""

    def __init__(self, target: int) -> None:
        super().__init__()
        self.target = target
        self.cut: int | None = None
        self.listen()

    def serve(self, client: socket.socket) -> None:
        left, self.cut = self.cut, None
        server = self.connected(self.target)
        self.start(self._up, client, server)
        with contextlib.suppress(OSError):
            while block := server.recv(65536):
                if left is not None:
                    block = block[:left]
                    left -= len(block)
                client.sendall(block)
                if left == 0:
                    break
        self._end(client, server)

    def _up(self, client: socket.socket, server: socket.socket) -> None:
        with contextlib.suppress(OSError):
            while block := client.recv(65536):
                server.sendall(block)
        self._end(client, server)

    @staticmethod
    def _end(*sockets: socket.socket) -> None:
        for each in sockets:
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@pytest.fixture
def network(server: PostgresServer) -> Iterator[Cutting]:
    """The way to the server."""
    with Cutting(server.port) as way:
        yield way


def test_network_that_is_cut_at_each_byte_of_an_answer_makes_no_other_answer(
    program: Path, folder: Path, server: PostgresServer, network: Cutting
) -> None:
    text = config(server, app="pool_size = 1").replace(f"port = {server.port}", f"port = {network.port}")
    with (
        started(program, folder, text, server) as daemon,
        headrace.connect(server.url, autocommit=True) as admin,
    ):
        admin.executescript("drop table if exists cut; create table cut (n int)")
        with daemon.connect(application_name="to be cut"):
            # From now on a client is welcomed without a connection to the server.
            pass
        cut, answer, said = 1, None, set()
        while answer is None:
            # If the end of the session before was seen, the client is welcomed by a new one.
            network.cut = None
            with daemon.connect(application_name="to be cut", autocommit=True) as client:
                # The function itself would look every 100 ms whether the session has ended.
                until(lambda: not admin.fetchval(ENDED))
                network.cut = cut
                try:
                    answer = client.fetchval("insert into cut values (%s) returning n", cut)
                except headrace.OperationalError as error:
                    if network.cut is not None:
                        # The end of the session before was not seen yet, and there is no other one.
                        continue
                    said.add(error.sqlstate or error.code)
                    # At the login nothing has reached a client yet, and each byte is as the one before.
                    cut += 5 if error.sqlstate == "08001" else every(3)
        found = dict(admin.execute("select n, count(*) from cut group by n").fetchall())
    assert set(found.values()) == {1}
    assert answer == cut > 300
    assert cut in found
    # An error in the middle of a row would be taken for the row's rest: there the connection ends without one.
    assert said == {"08001", "HR005", "connection_lost"}


def test_daemon_that_is_killed_during_writes_does_nothing_twice(
    program: Path, folder: Path, server: PostgresServer
) -> None:
    acknowledged: list[tuple[int, int]] = []

    def write(daemon: Daemon, writer: int) -> headrace.Error:
        with daemon.connect(autocommit=True) as conn:
            n = 0
            while True:
                try:
                    conn.execute("insert into journal values (%s, %s)", (writer, n))
                except headrace.Error as error:
                    return error
                acknowledged.append((writer, n))
                n += 1

    with headrace.connect(server.url, autocommit=True) as admin:
        admin.executescript("drop table if exists journal; create table journal (writer int, n int)")
        with started(program, folder, config(server, app="pool_size = 3"), server) as daemon:
            writers = [Work(write, daemon, writer) for writer in range(WRITERS)]
            until(lambda: len(acknowledged) >= WRITES)
            daemon.process.kill()
            errors = [writer.result() for writer in writers]
        with started(program, folder, config(server, app=""), server) as again, again.connect(autocommit=True) as conn:
            assert conn.fetchval("select 1") == 1
        idle = "select count(*) from pg_stat_activity where query like 'insert into journal%' and state <> 'idle'"
        until(lambda: admin.fetchval(idle) == 0)
        found = admin.execute("select writer, n, count(*) from journal group by writer, n").fetchall()
    assert all(isinstance(error, headrace.OperationalError) for error in errors), errors
    assert {error.code for error in errors} == {"connection_lost"}
    assert all("unknown whether" in str(error) for error in errors), errors
    assert {count for _, _, count in found} == {1}
    written = {(writer, n) for writer, n, _ in found}
    assert set(acknowledged) <= written
    # The one of each writer that was under way may have been done, or not.
    assert len(written) - len(acknowledged) <= WRITERS


def test_client_that_leaves_at_each_byte_takes_nothing_with_it(daemon: Daemon) -> None:
    query = b"begin; create temp table left_behind (n int); select 1\0"
    sent = startup(user="me", database="one") + b"Q" + (len(query) + 4).to_bytes(4, "big") + query
    for end in range(len(sent)):
        with socket.socket(socket.AF_UNIX) as raw:
            raw.connect(str(daemon.socket))
            raw.sendall(sent[: end + 1])
    with daemon.connect("one", autocommit=True) as conn:
        assert conn.fetchval("select to_regclass('left_behind') is null")
        assert conn.fetchval("select count(*) from pg_stat_activity where state like 'idle in%'") == 0


def accepts(path: Path) -> bool:
    """True once somebody listens there: the file is there a little earlier."""
    with socket.socket(socket.AF_UNIX) as raw:
        return raw.connect_ex(str(path)) == 0


def test_full_disk_for_what_it_says_does_not_end_it(program: Path, folder: Path, server: PostgresServer) -> None:
    (folder / "c.toml").write_text(config(server, app=""))
    command = [program, "--config", folder / "c.toml", "--folder", folder / "run"]
    with open("/dev/full", "wb") as full, subprocess.Popen(command, stdout=full, stderr=full) as process:
        try:
            daemon = Daemon(process, folder / "run", server)  # type: ignore[arg-type]
            until(lambda: accepts(daemon.socket))
            with daemon.connect(autocommit=True) as conn:
                (folder / "c.toml").write_text("[broken")
                for _ in range(3):
                    process.send_signal(signal.SIGHUP)
                    assert conn.fetchval("select 1") == 1
            with daemon.connect(autocommit=True) as conn:
                assert conn.fetchval("select 2") == 2
            assert process.poll() is None
        finally:
            process.kill()
