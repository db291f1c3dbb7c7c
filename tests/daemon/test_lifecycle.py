"""How the daemon starts and ends, and who may reach it."""

from __future__ import annotations

import socket
import stat
import subprocess
from pathlib import Path

import pytest

import headrace
from headrace.testing import PostgresServer

from .conftest import START_SECONDS, Daemon, config, started

END_SECONDS = 60


def refusal(program: Path, *arguments: str | Path) -> str:
    """What a daemon says that does not start."""
    done = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=START_SECONDS, check=False)
    assert done.returncode != 0
    return done.stderr


def test_socket_is_for_this_user_only(daemon: Daemon) -> None:
    assert stat.S_IMODE(daemon.folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(daemon.socket.stat().st_mode) == 0o600


def test_second_daemon_is_refused_and_the_first_goes_on(daemon: Daemon, program: Path) -> None:
    said = refusal(program, "--config", daemon.folder.parent / "headraced.toml", "--folder", daemon.folder)
    assert "another headraced serves" in said
    with daemon.connect(autocommit=True) as conn:
        assert conn.fetchval("select 1") == 1


def test_socket_that_a_killed_daemon_has_left_is_replaced(program: Path, folder: Path, server: PostgresServer) -> None:
    text = config(server, app="")
    with started(program, folder, text, server) as first:
        first.process.kill()
        first.process.wait()
        assert first.socket.exists()
    with started(program, folder, text, server) as second, second.connect(autocommit=True) as conn:
        assert conn.fetchval("select 1") == 1


def test_folder_of_others_is_refused(program: Path, folder: Path, server: PostgresServer) -> None:
    (folder / "c.toml").write_text(config(server, app=""))
    (folder / "run").mkdir(mode=0o755)
    (folder / "run").chmod(0o755)
    assert "chmod 700" in refusal(program, "--config", folder / "c.toml", "--folder", folder / "run")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "missing field `databases`"),
        ("[databases.a]\nport = 1\n", "missing field `host`"),
        ('[databases.a]\nhost = "h"\npol_size = 1\n', "line 3: unknown field `pol_size`"),
        ('[databases.a]\nhost = "h"\npool_size = 0\n', "pool_size must be at least 1"),
        ('[databases.a]\nhost = "h"\nqueue_wait = -1\n', "queue_wait must be"),
        ('[databases.a]\nhost = "h"\nserver_idle = nan\n', "server_idle must be"),
        ('[databases.a]\nhost = "h"\ncheck_after = 1e10\n', "check_after must be"),
        ("[daemon]\nidle_exit = 1e20\n[databases]\n", "idle_exit must be a number of seconds between 0 and 1000000000"),
        ("[daemon]\nidle_exit = nan\n[databases]\n", "idle_exit must be"),
        ("[daemon]\ndrain_timeout = 1e300\n[databases]\n", "drain_timeout must be"),
        ("[daemon]\ndrain_timeout = -1\n[databases]\n", "drain_timeout must be"),
        (
            '[databases.a]\nhost = "h"\npassword = "a"\npassword_file = "b"\n',
            "password, password_file are given, but only one",
        ),
        ('[databases.a]\nhost = "h:x"\n', "host: the port is not a number"),
        ('[databases.a]\nhost = "h"\npassword = 4711\n', "line 3: invalid type: integer, expected a string"),
        (
            '[databases]\na = "postgresql://u:4711@h/d"\n',
            "line 2: invalid type: string, expected the settings of a database",
        ),
        ('[databases.a]\nurl = "postgresql://u:p@h:4711x/d"\n', "url: the port in the URL is not a number"),
        ('[local_users."no such user"]\n[databases]\n', "no such user"),
    ],
)
def test_mistakes_in_the_configuration_are_named(program: Path, folder: Path, text: str, message: str) -> None:
    (folder / "c.toml").write_text(text)
    said = refusal(program, "--config", folder / "c.toml", "--folder", folder / "run")
    assert message in said
    assert "4711" not in said


def test_termination_lets_transactions_end(daemon: Daemon) -> None:
    with daemon.connect("one") as busy, daemon.connect("two", autocommit=True) as idle:
        assert idle.fetchval("select 1") == 1
        with busy.transaction():
            assert busy.fetchval("select 1") == 1
            daemon.process.terminate()
            with pytest.raises(headrace.OperationalError, match="the daemon is shutting down") as caught:
                while True:
                    idle.fetchval("select 1")
            assert caught.value.sqlstate == "HR004"
            assert busy.fetchval("select 2") == 2
        daemon.process.wait(END_SECONDS)
    assert not daemon.socket.exists()


@pytest.mark.parametrize("first", [b"GET / HTTP/1.1\r\n\r\n", b"\0\0\0\x07\0\0\0", b"\0\0\0\x08\0\x02\0\0"])
def test_what_is_not_the_protocol_is_refused(daemon: Daemon, first: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(str(daemon.socket))
        raw.sendall(first)
        received = b""
        while piece := raw.recv(4096):
            received += piece
    assert received.startswith(b"E")
    assert b"08P01" in received


def test_server_that_refuses_is_quoted(program: Path, folder: Path, server: PostgresServer) -> None:
    text = config(server, app="").replace('dbname = "postgres"', 'dbname = "not_there"')
    with (
        started(program, folder, text, server) as running,
        pytest.raises(headrace.OperationalError, match="not_there") as caught,
    ):
        running.connect()
    assert caught.value.sqlstate == "3D000"
