"""A client that takes its rows more slowly than they come has all of them in the end."""

from __future__ import annotations

import contextlib
import os
import signal
import socket
import struct
import time
from pathlib import Path
from typing import Any

import headrace
from headrace.testing import PostgresServer
from long import times
from waiting import until

from .conftest import Daemon, config, started
from .raw import SECONDS, messages, query, startup

ROW = 10_000
BUFFER = 256 * 1024
"""Bytes for the client from which on the daemon waits for it (``WRITE_BUFFER_HIGH_BYTES``)."""
MANY = 200
"""Queries in flight: so many that the daemon lets replies accumulate."""
LAST = 11
"""Rows that come last, and do not all fit into the buffer."""
TURNS = times(10)
SESSION = "select {} from pg_stat_activity where application_name = 'through headraced'"
"""What the daemon's session does on the server."""


def first_rows(turn: int) -> int:
    """Rows that fill the socket to the client, and the daemon's buffer but for 20 to 60 KB."""
    one, other = socket.socketpair()
    with one, other:
        room = one.getsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF)
    return (room + BUFFER - 20_000 - turn % 5 * 10_000) // ROW


def answered(received: bytes) -> int:
    return sum(tag == b"Z" for tag, _ in messages(received))


def test_room_that_comes_at_the_same_moment_as_the_last_rows_is_not_overlooked(
    program: Path, folder: Path, server: PostgresServer
) -> None:
    with (
        started(program, folder, config(server, app="pool_size = 1"), server) as daemon,
        headrace.connect(server.url, autocommit=True) as admin,
        socket.socket(socket.AF_UNIX) as client,
    ):
        client.settimeout(SECONDS)
        client.connect(str(daemon.socket))
        client.sendall(startup(user="anyone", database="app", application_name="through headraced"))
        received = b""
        while not answered(received):
            received += client.recv(65536)
        early = False
        for turn in range(TURNS):
            first = first_rows(turn)
            rows = f"""select case when n = {first + 1} then pg_sleep(0.2)::text else '' end || repeat('x', {ROW})
                from generate_series(1, {first + LAST}) n"""
            client.sendall((query(rows) + query("select 1") * MANY)[early:])
            until(lambda: admin.fetchval(SESSION.format("wait_event = 'PgSleep'")))
            # Where the daemon needs longer for what has come this turn shows nothing, and others do.
            time.sleep(0.08)
            received = drained_while_it_stands(daemon, client, admin)
            early = True
            while answered(received) < 1 + MANY:
                received += client.recv(1 << 20)
            sizes = [struct.unpack_from("!i", body, 2)[0] for tag, body in messages(received) if tag == b"D"]
            assert sizes == [ROW] * (first + LAST) + [1] * MANY


def drained_while_it_stands(daemon: Daemon, client: socket.socket, admin: headrace.Connection[Any]) -> bytes:
    """What has come for the client, which takes it, and the server ends, while the daemon does not run. The daemon's
    thread has been woken for something else, the first byte of the next query: after that it sees both at once."""
    pid, received = daemon.process.pid, b""
    os.kill(pid, signal.SIGSTOP)
    try:
        until(lambda: Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "T")
        client.sendall(b"Q")
        client.setblocking(False)
        with contextlib.suppress(BlockingIOError):
            while block := client.recv(1 << 20):
                received += block
        client.settimeout(SECONDS)
        # Between two of the queries it is idle for a moment, too.
        until(lambda: admin.fetchval(SESSION.format("state = 'idle' and clock_timestamp() - state_change > '50 ms'")))
    finally:
        os.kill(pid, signal.SIGCONT)
    return received
