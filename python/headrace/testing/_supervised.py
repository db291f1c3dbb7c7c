"""A server's process under a supervisor, which ends it when this process ends, however that happens."""

from __future__ import annotations

import contextlib
import json
import os
import socket
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING

from . import _supervisor

if TYPE_CHECKING:
    import pwd

START_TIMEOUT_S = 120.0
"""Seconds that a server may take until it accepts connections."""
PORT_ATTEMPTS = 4
"""Number of ports that are tried where another program takes the one that was free."""
STOP_TIMEOUT_S = 25.0
"""Seconds that the supervisor may take to stop a server."""


class ServerUnavailable(RuntimeError):
    """A server's programs were not found, or could not be started. The message names the command that installs them."""


def supervise(
    command: Sequence[str],
    *,
    root: Path,
    log: Path,
    environment: dict[str, str],
    account: pwd.struct_passwd | None,
    stop_signal: str,
) -> tuple[subprocess.Popen[str], int]:
    """Starts a server as ``account``; gives its supervisor and its own process id.

    Closing the supervisor's standard input stops the server and removes ``root``. The server is asked to stop by
    ``stop_signal``. Raises ServerUnavailable where the program cannot be executed.
    """
    what = {
        "command": list(command),
        "uid": account.pw_uid if account else None,
        "gid": account.pw_gid if account else None,
        "log": str(log),
        "root": str(root),
        "env": environment,
        "stop_signal": stop_signal,
    }
    process = subprocess.Popen(
        [sys.executable, "-I", "-S", str(Path(_supervisor.__file__))],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        start_new_session=True,  # Ctrl-C in a terminal must reach us, who then stop the server in order
    )
    # Not as an argument, which every user of the machine can read: an environment may have passwords.
    with contextlib.suppress(BrokenPipeError):
        print(json.dumps(what), file=pipe_of(process.stdin), flush=True)
    line = pipe_of(process.stdout).readline()
    if not line.strip():
        end(process)
        raise ServerUnavailable(f"{command[0]} could not be executed")
    return process, int(line)


def end(process: subprocess.Popen[str]) -> None:
    """Stops the server and removes its directory; does nothing the second time."""
    if not pipe_of(process.stdin).closed:
        with contextlib.suppress(OSError):
            pipe_of(process.stdin).close()
    try:
        process.wait(STOP_TIMEOUT_S)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    pipe_of(process.stdout).close()


def unprivileged_account(*names: str) -> pwd.struct_passwd | None:
    """The account to run a server as: none of its own unless we are root, then the first of these that there is."""
    if os.name != "posix":
        raise ServerUnavailable("headrace.testing starts servers on Linux and macOS only")
    import pwd

    if os.geteuid() != 0:
        return None
    for name in (*names, "nobody", "daemon"):
        with contextlib.suppress(KeyError):
            return pwd.getpwnam(name)
    raise ServerUnavailable(f"the server does not run as root, and there is no account '{names[0]}' or 'nobody'")


def is_running(pid: int) -> bool:
    """Whether a process is there; the supervisor reaps a dead server within a moment."""
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        return True
    return True


def free_port() -> int:
    """A port on 127.0.0.1 on which nothing listens at this moment."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


def pipe_of(stream: IO[str] | None) -> IO[str]:
    """A stream of a process that was started with pipes."""
    assert stream is not None
    return stream
