"""What earlier daemons and poolers got wrong, as far as no other file of this folder has it: answers larger than all
buffers, values that change on the way, more clients than the server takes, and a batch with a bad row."""

from __future__ import annotations

import os
import socket
import threading
from pathlib import Path

import psycopg
import pytest

import headrace
from headrace.testing import PostgresServer

from .conftest import Daemon, config, started
from .raw import message, startup

ANSWERS, ROWS = 400, 1000
CLIENTS = 1500
MEMORY_KB = 200_000
VALUES = ["nan", "NaN", "Infinity", "-0", "01234", "t", "1e3", "null", "", "{1,2}", "\\x41", "\u00e4\u4e2d\U0001f600"]


def resident_kb(process: int) -> int:
    """The memory that a process occupies."""
    lines = Path(f"/proc/{process}/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("VmRSS"))


def test_answers_larger_than_all_buffers_do_not_block_what_is_still_sent(daemon: Daemon) -> None:
    text = f"select repeat('x', 500) from generate_series(1, {ROWS})\0".encode()
    one = message(b"B", b"\0s\0" + bytes(6)) + message(b"E", b"\0" + bytes(4))
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(str(daemon.socket))
        raw.sendall(startup(user="me", database="one") + message(b"P", b"s\0" + text + bytes(2)))
        sender = threading.Thread(
            target=lambda: raw.sendall(one * ANSWERS + message(b"S", b"") + message(b"X", b"")), daemon=True
        )
        sender.start()
        received, most = 0, 0
        while piece := raw.recv(1 << 20):
            received += len(piece)
            most = max(most, resident_kb(daemon.process.pid))
        sender.join()
    assert received > ANSWERS * ROWS * 500
    assert most < MEMORY_KB


@pytest.mark.parametrize("binary", [False, True])
def test_values_are_those_of_the_server(daemon: Daemon, binary: bool) -> None:
    query = "select t, b, n, i::text from unnest(%s::text[], %s::bytea[], %s::numeric[]) with ordinality u(t, b, n, i)"
    parameters = (
        [*VALUES, None],
        [bytes(range(256)), None, b""],
        ["12345678901234567890.123", "NaN", "Infinity", "1e-20", None],
    )
    found = []
    for where in (daemon.server.url, psycopg.conninfo.make_conninfo(**daemon.where("one"))):
        with psycopg.connect(where, autocommit=True) as client:
            found.append(client.cursor(binary=binary).execute(query, parameters).fetchall())
    assert repr(found[0]) == repr(found[1])
    assert [row[0] for row in found[1]] == [*VALUES, None]


def test_more_clients_than_the_server_takes_share_ten_sessions(
    program: Path, folder: Path, server: PostgresServer
) -> None:
    text = config(server, app=f"pool_size = 10\nqueue_length = {CLIENTS}")
    sent = startup(user="me", database="app", application_name="through headraced")
    with started(program, folder, text, server) as daemon:
        clients = [socket.socket(socket.AF_UNIX) for _ in range(CLIENTS)]
        try:
            for number, client in enumerate(clients):
                client.connect(str(daemon.socket))
                client.sendall(sent + message(b"Q", b"select %d\0" % (10_000 + number)))
            for number, client in enumerate(clients):
                expected, received = b"%d" % (10_000 + number), b""
                while not received.endswith(b"Z\0\0\0\x05I") or expected not in received:
                    piece = client.recv(65536)
                    assert piece, received[-300:]
                    received += piece
                if number == 0:
                    # Before the first answer no connection may be open yet.
                    assert 1 <= daemon.backends() <= 10
            assert 1 <= daemon.backends() <= 10
        finally:
            for client in clients:
                client.close()


def test_batch_with_a_bad_row_fails_as_it_does_without_the_daemon(daemon: Daemon) -> None:
    rows = [(n, f"row {n}") for n in range(1000)]
    rows[500], rows[800] = (499, "again"), (7, "again")
    said = []
    for connected in (headrace.connect(daemon.server.url), daemon.connect("one")):
        with connected as conn:
            conn.autocommit = True
            conn.executescript("drop table if exists bad_row; create table bad_row (n int primary key, t text)")
            with pytest.raises(headrace.errors.UniqueViolation) as caught:
                conn.executemany("insert into bad_row values (%s, %s)", rows)
            said.append((str(caught.value), caught.value.detail, caught.value.sqlstate))
            assert conn.fetchval("select count(*) from bad_row") == 0
    assert said[0] == said[1]
    assert "(499)" in str(said[1][1])


def test_socket_is_for_this_user_only_whatever_the_umask(program: Path, folder: Path, server: PostgresServer) -> None:
    before = os.umask(0)
    try:
        with started(program, folder, config(server, app=""), server) as daemon:
            assert daemon.folder.stat().st_mode & 0o777 == 0o700
            for path in daemon.folder.iterdir():
                assert path.stat().st_mode & 0o077 == 0, path
    finally:
        os.umask(before)
