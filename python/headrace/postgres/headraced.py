"""headraced for connections of this user: where it is, and how it is started where it does not run."""

from __future__ import annotations

import contextlib
import fcntl
import os
import select
import shutil
import socket
import stat
import struct
import subprocess
import sysconfig
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

from ..defaults import DAEMON_START_TIMEOUT, PORT
from ..errors import OperationalError, connect_failed

PROGRAM: Final = "headraced"
_OWN_GROUP: Final = 0o077


def folder() -> str:
    """The folder of the daemon's sockets: ``HEADRACE_DAEMON_FOLDER``, or the program's own default."""
    named = os.environ.get("HEADRACE_DAEMON_FOLDER")
    if named:
        return named
    runtime = os.environ.get("XDG_RUNTIME_DIR")
    return os.path.join(runtime, "headrace") if runtime else f"/tmp/headrace-{os.geteuid()}"


def check_folder(path: str) -> bool:
    """Returns true if the folder is there.

    Raises OperationalError if another user may have made a socket in it, who would receive what a client sends.
    """
    try:
        found = os.lstat(path)
    except FileNotFoundError:
        return False
    foreign = 0o022 if found.st_mode & 0o011 else _OWN_GROUP
    if not stat.S_ISDIR(found.st_mode) or found.st_uid != os.geteuid() or found.st_mode & foreign:
        raise connect_failed(f"the folder of the daemon, {path}, must belong to this user and be nobody else's")
    return True


def check_peer(descriptor: int) -> None:
    """Raises OperationalError if the process at the other end of a Unix socket is another user's."""
    if not hasattr(socket, "SO_PEERCRED"):
        return
    with socket.fromfd(descriptor, socket.AF_UNIX, socket.SOCK_STREAM) as found:
        _, user, _ = struct.unpack("3i", found.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, struct.calcsize("3i")))
    if user != os.geteuid():
        raise connect_failed(f"the daemon's socket belongs to the process of another user (number {user})")


def answers(path: str) -> bool:
    """Returns true if a daemon serves the socket in the folder ``path``."""
    with socket.socket(socket.AF_UNIX) as probe:
        try:
            probe.connect(os.path.join(path, f".s.PGSQL.{PORT}"))
        except OSError:
            return False
        check_peer(probe.fileno())
        return True


def find_program() -> str:
    """The program: named by ``HEADRACE_DAEMON_PROGRAM``, installed, or built in this checkout.

    Raises OperationalError: there is none.
    """
    named = os.environ.get("HEADRACE_DAEMON_PROGRAM")
    if named:
        return named
    found = shutil.which(PROGRAM, path=sysconfig.get_path("scripts")) or shutil.which(PROGRAM)
    if found:
        return found
    target = Path(os.environ.get("CARGO_TARGET_DIR", Path(__file__).resolve().parents[3] / "target"))
    for profile in ("release", "debug"):
        if (target / profile / PROGRAM).is_file():
            return str(target / profile / PROGRAM)
    raise connect_failed(
        f"the daemon's program {PROGRAM} is not installed: pip install headrace-daemon, or set HEADRACE_DAEMON_PROGRAM"
    )


def start(path: str, config: str | None = None) -> bool:
    """Starts the daemon of the folder ``path``, unless it runs. Of many processes that do so at once, one starts it,
    and the others wait.

    Args:
        path: the folder of its sockets.
        config: its configuration; None for its default. A daemon with one that is named does not end by itself.

    Returns:
        True if this call has started it.

    Raises:
        OperationalError: it cannot be started; the error has its output.
    """
    if not check_folder(path):
        # Another process may make it at this moment.
        os.makedirs(path, mode=0o700, exist_ok=True)
        check_folder(path)
    deadline = time.monotonic() + DAEMON_START_TIMEOUT
    with open(os.path.join(path, ".start.lock"), "w") as lock:
        while True:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                break
            except BlockingIOError:
                if time.monotonic() > deadline:
                    raise connect_failed("another process has begun to start the daemon, and does not end") from None
                time.sleep(0.005)
        if answers(path):
            return False
        _start(path, ["--config", config] if config else ["--on-demand"])
        return True


def restart(path: str, options: Sequence[str]) -> None:
    """Starts a daemon that takes over from the one of the folder ``path``, if one serves there. No client finds none.

    Args:
        path: the folder of its sockets.
        options: its options, such as ``("--config", "/etc/headraced.toml")``.

    Raises:
        OperationalError: it cannot be started, and the one that serves goes on; the error has its output.
    """
    check_folder(path)
    _start(path, ["--takeover", *options])


def program_version() -> str:
    """The version of the program that would be started.

    Raises OperationalError: there is none.
    """
    program = find_program()
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, timeout=10, check=True).stdout
    except (OSError, subprocess.SubprocessError) as error:
        raise connect_failed(f"the daemon's program {program} does not say its version: {error}") from None
    return said.split()[-1] if said.split() else ""


def _start(path: str, own: Sequence[str]) -> None:
    program = find_program()
    log = os.path.join(path, "headraced.log")
    options = ["--folder", path, "--port", str(PORT), *own]
    # The shell ends at once: the daemon is then no child of this process.
    command = ["/bin/sh", "-c", '"$@" &', "sh", program, *options]
    with open(log, "ab") as errors:
        length = errors.tell()
        process = subprocess.Popen(
            command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=errors, cwd="/", start_new_session=True
        )
    assert process.stdout is not None
    with process.stdout as said:
        process.wait()
        ready, _, _ = select.select([said], [], [], DAEMON_START_TIMEOUT)
        line = said.readline().decode(errors="replace") if ready else ""
    if not line.startswith("headraced: serving"):
        raise connect_failed(f"the daemon did not start: {_tail(log, length) or 'it said nothing in time'}")


def _tail(log: str, start: int) -> str:
    with contextlib.suppress(OSError), open(log, "rb") as file:
        file.seek(start)
        return file.read(4000).decode(errors="replace").strip()
    return ""


def is_missing(error: BaseException) -> bool:
    """Returns true if a connection failed because no daemon serves the socket, or because it ended just now."""
    return (
        isinstance(error, OperationalError)
        and error.sqlstate is None
        and error.code in ("connect_failed", "connection_lost")
    )
