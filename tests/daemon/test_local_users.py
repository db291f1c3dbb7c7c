"""Other users of the system on the Unix socket: they are who the system says, and not who they say."""

from __future__ import annotations

import os
import pwd
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace
from headrace.testing import PostgresServer

from .conftest import START_SECONDS, Daemon, config, started
from .raw import messages, query, startup

OTHER = pwd.getpwuid(65534)
"""A user that every system has: ``nobody``."""

CLIENT = """
import contextlib, os, socket, sys
uid, path, *said = sys.argv[1:]
os.setuid(int(uid))
received = b""
with socket.socket(socket.AF_UNIX) as raw:
    raw.settimeout(30)
    raw.connect(path)
    # One that is turned away finds the socket closed at any of these.
    with contextlib.suppress(ConnectionError):
        for each in said:
            raw.sendall(bytes.fromhex(each))
            received = b""
            while not received.endswith(bytes.fromhex("5a0000000549")) and (block := raw.recv(65536)):
                received += block
            if received[:1] == b"E":
                break
print(received.hex())
"""


def answer(daemon: Daemon, sql: str, **parameters: str) -> list[tuple[bytes, bytes]]:
    """What the daemon answers to a client of the other user: to its query, or to a StartupMessage that is refused."""
    said = [startup(**parameters).hex(), query(sql).hex()]
    command = [sys.executable, "-c", CLIENT, str(OTHER.pw_uid), str(daemon.socket), *said]
    run = subprocess.run(command, capture_output=True, text=True, timeout=2 * START_SECONDS, check=True)
    return messages(bytes.fromhex(run.stdout.strip()))


@pytest.fixture(scope="module")
def role(server: PostgresServer) -> Iterator[str]:
    """The other user has a role of its name on the server."""
    if os.geteuid() != 0:
        pytest.fail("only root can connect as another user: run the tests of local users as root, or in a container")
    with headrace.connect(server.url, autocommit=True) as admin:
        admin.execute(f'create role "{OTHER.pw_name}" login')
        yield OTHER.pw_name
        admin.execute(f'drop role "{OTHER.pw_name}"')


@pytest.fixture
def open_folder(folder: Path) -> Path:
    folder.chmod(0o711)
    return folder


def shared(server: PostgresServer, user: str) -> str:
    """``app`` has its own user, ``theirs`` that of the client."""
    theirs = f'[databases.theirs]\nhost = "127.0.0.1"\nport = {server.port}\ndbname = "postgres"\n'
    return config(server, app="", closed="") + theirs + user


@pytest.mark.parametrize(
    ("user", "database", "named", "expected"),
    [
        ("", "theirs", OTHER.pw_name, OTHER.pw_name),
        ("", "theirs", "postgres", "28000"),
        ("", "app", "postgres", "postgres"),
        ("names = ['postgres']\n", "theirs", "postgres", "postgres"),
        ("names = ['postgres']\n", "theirs", OTHER.pw_name, "28000"),
        ("databases = ['app']\n", "app", "whoever", "postgres"),
        ("databases = ['app']\n", "closed", "postgres", "28000"),
        ("databases = ['app']\n", "theirs", OTHER.pw_name, "28000"),
        ("databases = ['app']\n", "unknown", "postgres", "28000"),
    ],
)
def test_another_user_is_only_what_the_configuration_lets_it_be(
    program: Path, open_folder: Path, server: PostgresServer, role: str, user: str, database: str, named: str,
    expected: str,
) -> None:  # fmt: skip
    text = shared(server, f"[local_users.{role}]\n{user}")
    with started(program, open_folder, text, server) as daemon:
        received = answer(daemon, "select current_user", user=named, database=database)
    found = [body for tag, body in received if tag in (b"D", b"E")]
    assert len(found) == 1
    assert expected.encode() in found[0]


@pytest.mark.parametrize(
    ("user", "named", "is_let_in"),
    [
        ("", OTHER.pw_name, True),
        ("", "pgbouncer", False),
        ("", "chief", False),
        ("names = ['chief']\n", "chief", True),
        ("names = ['pgbouncer']\n", "pgbouncer", False),
        ("names = ['chief']\ndatabases = ['app']\n", "chief", False),
    ],
)
def test_another_user_is_on_the_console_who_it_may_be(
    program: Path, open_folder: Path, server: PostgresServer, role: str, user: str, named: str, is_let_in: bool
) -> None:
    users = f"[daemon]\nadmin_users = ['chief', '{role}']\n[local_users.{role}]\n{user}"
    with started(program, open_folder, shared(server, users), server) as daemon:
        received = answer(daemon, "show version", user=named, database="pgbouncer")
    assert (b"D" in [tag for tag, _ in received]) == is_let_in
    assert is_let_in or b"28000" in received[0][1]


def test_another_user_names_no_server(program: Path, open_folder: Path, server: PostgresServer, role: str) -> None:
    target = {"headrace.target": f"host = '127.0.0.1'\nport = {server.port}\n"}
    with started(program, open_folder, shared(server, f"[local_users.{role}]\n"), server) as daemon:
        received = answer(daemon, "select 1", user="postgres", database="app", **target)
    assert [tag for tag, _ in received] == [b"E"]
    assert b"28000" in received[0][1]


def test_a_user_that_is_not_there_is_turned_away(
    program: Path, open_folder: Path, server: PostgresServer, role: str
) -> None:
    with started(program, open_folder, shared(server, "[local_users.root]\n[local_users.4711]\n"), server) as daemon:
        assert answer(daemon, "select 1", user=role, database="app") == []
        with daemon.connect("app") as own:
            assert own.fetchval("select 1") == 1
