"""The daemon's log: who is refused and why, who comes and leaves, as text and as JSON. Nothing that a client names
reaches a terminal as it is."""

from __future__ import annotations

import json
import os
import re
import signal
import socket
from collections.abc import Callable
from pathlib import Path
from typing import IO

import psycopg
import pytest

import headrace
from headrace import _daemon
from headrace.testing import PostgresServer

from .conftest import Daemon, config, started
from .raw import startup
from .test_status import ask

ESCAPE = "\x1b]0;owned\x07\x1b[31m"
"""What a terminal would take for a title and a colour."""


def lines_until(log: IO[str], is_last: Callable[[str], bool]) -> list[str]:
    """The lines of the log up to the first one that is meant."""
    found: list[str] = []
    while not found or not is_last(found[-1]):
        found.append(log.readline())
        assert found[-1], f"the daemon has ended: {found}"
    return found


def refused(daemon: Daemon, **named: str) -> None:
    """A client that is told no."""
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(30)
        raw.connect(str(daemon.socket))
        raw.sendall(startup(user="jo", **named))
        assert raw.recv(65536)[:1] == b"E"


def test_refusals_and_servers_that_are_not_there_are_said_with_their_reason(
    program: Path, folder: Path, server: PostgresServer
) -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        nowhere = f'[databases.away]\nhost = "127.0.0.1"\nport = {taken.getsockname()[1]}\nuser = "jo"\n'
        with started(program, folder, config(server, app="") + nowhere, server) as daemon:
            log = daemon.process.stderr
            assert log is not None
            refused(daemon, database=f"none{ESCAPE}\n2026 forged")
            line = log.readline()
            assert re.match(r"\d{4}-\d\d-\d\dT[\d:.]+Z  WARN headraced: a client was refused ", line)
            assert f"process {os.getpid()} of user {os.geteuid()}" in line
            assert 'sqlstate="3D000"' in line
            assert "is not configured" in line
            assert not any(ord(each) < 32 for each in line.rstrip("\n"))
            with pytest.raises(headrace.OperationalError):
                daemon.connect("away")
            line = log.readline()
            assert "the connection of a client was ended" in line
            assert 'sqlstate="08001"' in line
            assert 'database="away"' in line


def test_clients_that_come_and_leave_are_said_where_it_is_asked_for(
    program: Path, folder: Path, server: PostgresServer
) -> None:
    text = '[daemon]\nlog_format = "json"\nlog_connections = true\n' + config(server, app="")
    with started(program, folder, text, server) as daemon:
        where = daemon.where("app", application_name=ESCAPE)
        with psycopg.connect(**where) as conn:
            assert conn.execute("select 1").fetchone() == (1,)
            shown = _daemon.shown(json.loads(_daemon.ask(str(daemon.folder), "GET", "/status")[1]))
        assert "owned" in shown
        assert "\x1b" not in shown
        assert "\x07" not in shown
        assert daemon.process.stderr is not None
        came, left = map(json.loads, lines_until(daemon.process.stderr, lambda line: "has left" in line))
    assert came["message"] == "a client has connected"
    assert came["level"] == "INFO"
    assert came["database"] == "postgres"
    assert came["client"] == left["client"]
    assert came["application"] == ESCAPE, "JSON escapes it by itself"
    assert left["seconds"] > 0


def test_level_follows_a_configuration_that_is_read_again(program: Path, folder: Path, server: PostgresServer) -> None:
    quiet = '[daemon]\nlog_level = "error"\n' + config(server, app="")
    with started(program, folder, quiet, server) as daemon:
        assert daemon.process.stderr is not None
        refused(daemon, database="unsaid")
        (folder / "headraced.toml").write_text(config(server, app=""))
        os.kill(daemon.process.pid, signal.SIGHUP)
        said = lines_until(daemon.process.stderr, lambda line: "read again" in line)
        assert len(said) == 1
        refused(daemon, database="said")
        assert "said" in daemon.process.stderr.readline()


def test_orders_are_said_with_who_has_given_them(program: Path, folder: Path, server: PostgresServer) -> None:
    with started(program, folder, config(server, app=""), server) as daemon:
        for path in ("/pause?database=app", "/resume", "/reconnect?database=app", "/kill?client=99", "/reload"):
            ask(daemon, "POST", path)
        with psycopg.connect(**daemon.where("pgbouncer", user="pgbouncer"), autocommit=True) as console:
            number = console.info.backend_pid - (1 << 22)
            for command in (b"PAUSE app", b"RESUME app", b"RELOAD"):
                console.execute(command)
        os.kill(daemon.process.pid, signal.SIGHUP)
        assert daemon.process.stderr is not None
        said = lines_until(daemon.process.stderr, lambda line: "SIGHUP" in line)
    process = f"process {os.getpid()}"
    control = f"by={process} of user {os.geteuid()}"
    by_console = f'by="pgbouncer" on the console, client {number} from {process}'
    expected = [
        ("paused", control), ("resumed", control), ("server connections are replaced", control),
        ("the configuration was read again", control), ("paused", by_console), ("resumed", by_console),
        ("the configuration was read again", by_console), ("the configuration was read again", "by=SIGHUP"),
    ]  # fmt: skip
    assert len(said) == len(expected)
    for line, (what, by) in zip(said, expected, strict=True):
        assert f"headraced: {what} {by}" in line


def test_a_pipe_that_nobody_reads_holds_nobody_up(program: Path, folder: Path, server: PostgresServer) -> None:
    text = "[daemon]\nlog_connections = true\n" + config(server, app="")
    with started(program, folder, text, server) as daemon:
        assert daemon.process.stderr is not None
        # The pipe is full before the first line.
        writing = os.open(f"/proc/{daemon.process.pid}/fd/2", os.O_WRONLY | os.O_NONBLOCK)
        with pytest.raises(BlockingIOError):
            while True:
                os.write(writing, b"x" * 65536)
        with pytest.raises(BlockingIOError):
            while True:
                os.write(writing, b"x")
        os.close(writing)
        for _ in range(50):
            refused(daemon, database="none")
            with daemon.connect("app") as conn:
                assert conn.fetchval("select 1") == 1
