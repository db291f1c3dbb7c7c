"""The daemon is started by who needs it, and ends when nobody does."""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import headrace
import headrace.aio
from headrace import _command
from headrace._daemon import ask
from headrace.defaults import DAEMON_STARTS
from headrace.postgres import headraced as on_demand
from headrace.postgres.headraced import find_program
from headrace.testing import PostgresServer, postgres
from long import times
from waiting import until

from .conftest import START_SECONDS, Daemon, config

PROCESSES = 30


def running(folder: Path) -> int | None:
    """The process of the daemon of a folder; None if there is none."""
    try:
        return int(json.loads(ask(str(folder), "GET", "/status")[1])["pid"])
    except OSError:
        return None


@pytest.fixture
def place(program: Path, folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder for a daemon of this test; what runs there is killed."""
    monkeypatch.setenv("HEADRACE_DAEMON_PROGRAM", str(program))
    monkeypatch.setenv("HEADRACE_DAEMON_FOLDER", str(folder / "run"))
    monkeypatch.setenv("XDG_CONFIG_HOME", str(folder))
    yield folder / "run"
    with contextlib.suppress(ProcessLookupError):
        if (pid := running(folder / "run")) is not None:
            os.kill(pid, signal.SIGKILL)


def test_connecting_starts_the_daemon(place: Path, server: PostgresServer) -> None:
    with headrace.connect(server.url, daemon=True, autocommit=True) as conn:
        backend = conn.fetchval("select pg_backend_pid()")
        first = running(place)
        assert first is not None
    with headrace.connect(server.url, daemon=True, autocommit=True) as conn:
        assert conn.fetchval("select pg_backend_pid()") == backend
    assert running(place) == first


async def test_asyncio_starts_it_and_the_environment_asks_for_it(
    place: Path, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HEADRACE_DAEMON", "1")
    async with await headrace.aio.connect(server.url, autocommit=True) as conn:
        backend = await conn.fetchval("select pg_backend_pid()")
    with headrace.connect(server.url, autocommit=True) as other:
        assert other.fetchval("select pg_backend_pid()") == backend
    assert running(place) is not None


AT_ONCE = """
import os, socket, struct, sys
import headrace
from headrace.postgres import headraced, through

ready, go = os.pipe(), os.pipe()
processes = []
for _ in range({processes}):
    if process := os.fork():
        processes.append(process)
        continue
    os.close(go[1])
    os.write(ready[1], b".")
    os.read(go[0], 1)  # which ends for all of them when the parent closes the other end
    status = 1
    try:
        with headrace.connect({url!r}, daemon=True, autocommit=True) as conn:
            assert conn.fetchval("select 42") == 42
            with socket.fromfd(conn._core.wire.fileno(), socket.AF_UNIX, socket.SOCK_STREAM) as peer:
                found = peer.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
        os.write(1, b"%d\\n" % struct.unpack("3i", found)[0])
        status = 0
    except BaseException as error:
        os.write(2, f"{{error!r}}\\n".encode())
    finally:
        os._exit(status)
for _ in processes:
    os.read(ready[0], 1)
os.close(go[0])
os.close(go[1])
sys.exit(any(os.waitpid(process, 0)[1] for process in processes))
"""
"""Processes that have imported everything, and connect at the same moment: each writes the daemon's process."""
SLOW_PROGRAM = """#!/bin/sh
echo "$$" >>"{starts}"
sleep 0.5
exec "{program}" "$@"
"""
"""The daemon as on a busy machine: between its start and the time when it can be reached others come."""


@pytest.mark.slow
def test_processes_that_come_at_once_get_one_daemon(
    place: Path, folder: Path, program: Path, server: PostgresServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    starts, slow = folder / "starts", folder / "slow"
    slow.write_text(SLOW_PROGRAM.format(starts=starts, program=program))
    slow.chmod(0o755)
    monkeypatch.setenv("HEADRACE_DAEMON_PROGRAM", str(slow))
    code = AT_ONCE.format(processes=PROCESSES, url=server.url)
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=10 * START_SECONDS, check=False
    )
    assert done.returncode == 0, done.stderr + (place / "headraced.log").read_text()
    pid = str(running(place))
    assert done.stdout.split() == [pid] * PROCESSES
    assert starts.read_text().split() == [pid], "nobody has begun to start another one"


ENDED_PROGRAM = """#!/bin/sh
echo "$$" >>"{starts}"
test "$(wc -l <"{starts}")" -gt {ended} || {{ echo "headraced: serving"; exit; }}
exec "{program}" "$@"
"""
"""The daemon on a machine so busy that it has ended again, as nobody has needed it, before it is reached."""


@pytest.mark.parametrize("ended", [DAEMON_STARTS - 1, DAEMON_STARTS])
@pytest.mark.parametrize("shell", ["blocking", "asyncio"])
async def test_daemon_that_has_ended_again_before_it_was_reached_is_started_again(
    place: Path,
    folder: Path,
    program: Path,
    server: PostgresServer,
    monkeypatch: pytest.MonkeyPatch,
    ended: int,
    shell: str,
) -> None:
    starts, wrapped = folder / "starts", folder / "wrapped"
    wrapped.write_text(ENDED_PROGRAM.format(starts=starts, program=program, ended=ended))
    wrapped.chmod(0o755)
    monkeypatch.setenv("HEADRACE_DAEMON_PROGRAM", str(wrapped))

    async def connect() -> None:
        if shell == "blocking":
            headrace.connect(server.url, daemon=True).close()
        else:
            await (await headrace.aio.connect(server.url, daemon=True)).close()

    if ended < DAEMON_STARTS:
        await connect()
    else:
        with pytest.raises(headrace.OperationalError, match="No such file"):
            await connect()
    assert len(starts.read_text().split()) == DAEMON_STARTS


def test_daemon_that_was_killed_is_started_again(place: Path, server: PostgresServer) -> None:
    with headrace.connect(server.url, daemon=True, autocommit=True) as conn:
        assert conn.fetchval("select 1") == 1
        killed = running(place)
        assert killed is not None
        os.kill(killed, signal.SIGKILL)
        with pytest.raises(headrace.OperationalError):
            conn.fetchval("select 2")
    with headrace.connect(server.url, daemon=True, autocommit=True) as conn:
        assert conn.fetchval("select 3") == 3
    assert running(place) not in (None, killed)


def test_daemon_that_is_not_needed_ends(place: Path, server: PostgresServer, folder: Path) -> None:
    (folder / "headrace").mkdir()
    (folder / "headrace" / "headraced.toml").write_text("databases = {}\n[daemon]\nidle_exit = 0.2\n")
    for _ in range(3):
        with headrace.connect(server.url, daemon=True, autocommit=True) as conn:
            pid = running(place)
            assert pid is not None
            deadline = time.monotonic() + 0.5
            while time.monotonic() < deadline:
                assert conn.fetchval("select 1") == 1
            assert running(place) == pid
        deadline = time.monotonic() + START_SECONDS
        while running(place) is not None:
            assert time.monotonic() < deadline
            time.sleep(0.01)
        assert not (place / ".s.PGSQL.5432").exists()


def test_clients_that_come_while_it_ends_are_served(place: Path, server: PostgresServer, folder: Path) -> None:
    (folder / "headrace").mkdir()
    (folder / "headrace" / "headraced.toml").write_text("databases = {}\n[daemon]\nidle_exit = 0.02\n")
    seen = set()
    deadline = time.monotonic() + times(2)
    while time.monotonic() < deadline:
        with headrace.connect(server.url, daemon=True, autocommit=True) as conn:
            assert conn.fetchval("select 1") == 1
            seen.add(running(place))
        time.sleep(0.02 * (len(seen) % 3))
    assert len(seen) > 1


def opened_by(pid: int) -> Iterator[str]:
    """The files that a process has open at this moment."""
    for each in Path(f"/proc/{pid}/fd").iterdir():
        with contextlib.suppress(FileNotFoundError):
            yield os.readlink(each)


def test_daemon_on_demand_waits_until_another_one_has_ended(daemon: Daemon, program: Path) -> None:
    command = [program, "--config", daemon.folder.parent / "headraced.toml", "--folder", daemon.folder, "--on-demand"]
    second = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        assert second.stdout is not None
        until(lambda: any(name.endswith(".lock") for name in opened_by(second.pid)))
        # Nothing shows that it waits; one that did not would serve by then.
        assert select.select([second.stdout], [], [], 0.3)[0] == []
        assert running(daemon.folder) == daemon.process.pid
        daemon.process.terminate()
        assert second.stdout.readline().startswith("headraced: serving")
        with daemon.connect(autocommit=True) as conn:
            assert conn.fetchval("select 1") == 1
        assert running(daemon.folder) == second.pid
    finally:
        second.kill()
        second.communicate()


def test_password_is_sent_by_the_client_when_asked_and_separates_pools(place: Path) -> None:
    with postgres(hba=["host all guarded 127.0.0.1/32 scram-sha-256"]) as guarded:
        with headrace.connect(guarded.url, autocommit=True) as admin:
            admin.execute("create role guarded login password 'correct horse'")
        where = {"host": guarded.host, "port": guarded.port, "dbname": "postgres", "user": "guarded", "daemon": True}
        with headrace.connect(**where, password="correct horse", autocommit=True) as conn:
            assert conn.fetchval("select 1") == 1
        with pytest.raises(headrace.OperationalError) as caught:
            headrace.connect(**where, password="battery staple")
        assert caught.value.sqlstate == "28P01"
        pid = running(place)
        command = Path(f"/proc/{pid}/cmdline").read_bytes()
        assert b"horse" not in command
        assert "horse" not in (place / "headraced.log").read_text()
        for path in ("/status", "/metrics"):
            said = ask(str(place), "GET", path)[1]
            assert "horse" not in said
            assert "staple" not in said


def test_server_that_refuses_is_quoted_with_all_fields(place: Path, server: PostgresServer) -> None:
    with pytest.raises(headrace.OperationalError) as direct:
        headrace.connect(server.url, dbname="not_there")
    with pytest.raises(headrace.OperationalError) as through:
        headrace.connect(server.url, dbname="not_there", daemon=True)
    assert through.value.sqlstate == direct.value.sqlstate == "3D000"
    assert through.value.source_function == direct.value.source_function is not None


def test_folder_that_others_may_write_to_is_refused(place: Path, server: PostgresServer) -> None:
    place.mkdir(mode=0o777)
    place.chmod(0o777)
    with pytest.raises(headrace.OperationalError, match="must belong to this user"):
        headrace.connect(server.url, daemon=True)


def test_socket_of_another_user_is_refused(place: Path, server: PostgresServer) -> None:
    place.mkdir(mode=0o700)
    code = (
        "import os, socket, sys\n"
        f"s = socket.socket(socket.AF_UNIX); s.bind({str(place / '.s.PGSQL.5432')!r}); os.setuid(65534); s.listen()\n"
        "print('ready', flush=True); c, _ = s.accept(); sys.stdin.read()\n"
    )
    with subprocess.Popen([sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as squatter:
        assert squatter.stdout is not None
        assert squatter.stdout.readline() == b"ready\n"
        with pytest.raises(headrace.OperationalError, match="another user"):
            on_demand.answers(str(place))
        squatter.kill()


def test_setting_that_only_a_direct_connection_keeps_is_refused(place: Path, server: PostgresServer) -> None:
    with pytest.raises(headrace.NotSupportedError, match="require_auth"):
        headrace.connect(server.url, daemon=True, require_auth="scram-sha-256")


def test_command_starts_shows_reloads_and_stops(
    place: Path, folder: Path, server: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    file = folder / "c.toml"
    file.write_text(config(server, app=""))
    assert _command.main(["daemon", "status"]) == 3
    assert _command.main(["daemon", "start", "--config", str(file)]) == 0
    assert _command.main(["daemon", "start"]) == 0
    assert "was serving already" in capsys.readouterr().out
    with headrace.connect(host=str(place), dbname="app", user="me", application_name="shown", autocommit=True) as conn:
        conn.execute("listen a")
        assert _command.main(["daemon", "status"]) == 0
        table = capsys.readouterr().out
        assert "postgres@app" in table
        assert "shown" in table
        assert "LISTEN" in table
        assert _command.main(["daemon", "status", "--json"]) == 0
        found: dict[str, Any] = json.loads(capsys.readouterr().out)
        assert found["clients"][0]["pinned_by"] == "LISTEN"
    file.write_text("[databases")
    assert _command.main(["daemon", "reload"]) == 1
    assert "line 1" in capsys.readouterr().err
    file.write_text(config(server, other=""))
    assert _command.main(["daemon", "reload"]) == 0
    assert _command.main(["daemon", "stop"]) == 0
    assert running(place) is None


def test_command_restarts_a_daemon_as_it_was_started(
    place: Path, folder: Path, server: PostgresServer, capsys: pytest.CaptureFixture[str]
) -> None:
    with headrace.connect(server.url, daemon=True, autocommit=True) as conn:
        first = running(place)
        assert conn.fetchval("select 1") == 1
        assert _command.main(["daemon", "restart"]) == 0
        second = running(place)
        assert f"process {first} ends when its 1 clients have left" in capsys.readouterr().out
        assert conn.fetchval("select 2") == 2, "it stays, as it is not idle"
        with headrace.connect(server.url, daemon=True, autocommit=True) as other:
            assert other.fetchval("select 3") == 3
        assert _command.main(["daemon", "status"]) == 0
        assert f"process {first} has clients from before" in capsys.readouterr().out
    assert second not in (None, first)
    # A program that says another version takes over, by `start`.
    newer = folder / "newer"
    newer.write_text(f'#!/bin/sh\ntest "$1" = --version && echo headraced 99.0 || exec {find_program()} "$@"\n')
    newer.chmod(0o755)
    with pytest.MonkeyPatch.context() as patched:
        patched.setenv("HEADRACE_DAEMON_PROGRAM", str(newer))
        assert _command.main(["daemon", "start"]) == 0
    assert "99.0 is installed" in capsys.readouterr().out
    assert running(place) not in (None, second)
    found: dict[str, Any] = json.loads(ask(str(place), "GET", "/status")[1])
    assert found["on_demand"], "it ends when nobody needs it, as before"
    assert _command.main(["daemon", "stop"]) == 0
    assert _command.main(["daemon", "restart"]) == 0, "without one it starts"


def test_socket_that_systemd_has_opened_is_used(program: Path, folder: Path, server: PostgresServer) -> None:
    (folder / "c.toml").write_text(config(server, app=""))
    path = folder / "given.5432"
    listener = socket.socket(socket.AF_UNIX)
    listener.bind(str(path))
    listener.listen()
    # As systemd does: the socket is descriptor 3, and the variables name the process that reads them.
    script = 'exec 3<&$FD; LISTEN_FDS=1 LISTEN_PID=$$ exec "$@"'
    command = ["/bin/bash", "-c", script, "bash", program, "--config", folder / "c.toml", "--folder", folder / "run"]
    process = subprocess.Popen(
        command,
        stdout=subprocess.PIPE,
        text=True,
        pass_fds=[listener.fileno()],
        env={**os.environ, "FD": str(listener.fileno())},
    )
    try:
        assert process.stdout is not None
        assert "passed on" in process.stdout.readline()
        with socket.socket(socket.AF_UNIX) as raw:
            raw.connect(str(path))
            raw.sendall(b"\0\0\0\x1e\0\x03\0\0user\0me\0database\0app\0\0Q\0\0\0\x0eselect 42\0X\0\0\0\4")
            received = b""
            while piece := raw.recv(65536):
                received += piece
        assert b"\0\0\0\x0242" in received
        process.terminate()
        assert process.wait(START_SECONDS) == 0
        assert path.exists(), "the socket is systemd's"
    finally:
        process.kill()
        process.communicate()
        listener.close()
