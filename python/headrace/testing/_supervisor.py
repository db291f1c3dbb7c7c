"""The parent of one server process; ends it when the process that started it ends, in whatever way.

Runs as a script in an isolated interpreter (``python -I -S``), so it imports only the standard library. Its
standard input is a pipe that the starter holds open. The first line describes the server. End-of-file, the one
signal that also a killed process gives, means "stop the server and remove its directory" (after a line ``keep``:
do not remove). The starter cannot set ``PR_SET_PDEATHSIG`` on the server itself because that fires when the
starting *thread* ends.
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import select
import shutil
import signal
import subprocess
import sys
from typing import Any

FAST_SHUTDOWN_S = 10.0
"""Seconds that a server may take for a fast shutdown before it is made to quit at once."""
POLL_MS = 200
"""Milliseconds between two looks at whether the server still runs."""
PR_SET_PDEATHSIG = 1
"""From ``linux/prctl.h``."""


def stop(server: subprocess.Popen[Any], request: signal.Signals) -> int:
    """End the server: by ``request``, then immediate shutdown, then kill."""
    for each, patience in ((request, FAST_SHUTDOWN_S), (signal.SIGQUIT, 5.0), (signal.SIGKILL, 5.0)):
        if server.poll() is not None:
            break
        with contextlib.suppress(ProcessLookupError):
            server.send_signal(each)
        with contextlib.suppress(subprocess.TimeoutExpired):
            server.wait(patience)
    return server.returncode if server.returncode is not None else 1


def main() -> int:
    """Start the server that the first line of the standard input (JSON) describes and stay until it is to end."""
    description = first_line()
    if description is None:
        return 1
    what: dict[str, Any] = json.loads(description)
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(ignored, signal.SIG_IGN)
    request = signal.Signals[what["stop_signal"]]
    identity: dict[str, Any] = {}
    if what["uid"] is not None:
        identity = {"user": what["uid"], "group": what["gid"], "extra_groups": []}
    with open(what["log"], "ab") as log:
        server = subprocess.Popen(
            what["command"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            cwd=what["root"],
            env=what["env"],
            preexec_fn=lambda: prepare_server(request),
            **identity,
        )
    print(server.pid, flush=True)
    watch = select.poll()
    watch.register(sys.stdin.fileno(), select.POLLIN | select.POLLHUP)
    keep = False
    while True:
        server.poll()  # reaps it, should it have died by itself; the starter then finds the log and reports it
        if watch.poll(POLL_MS):
            said = os.read(sys.stdin.fileno(), 4096)
            keep = keep or said.startswith(b"keep")
            if not said:
                break
    code = stop(server, request)
    if not keep:
        shutil.rmtree(what["root"], ignore_errors=True)
    return 0 if code == 0 else 1


def first_line() -> bytes | None:
    """Read what the starter writes before it waits for an answer; None if it went away before."""
    line = b""
    while not line.endswith(b"\n"):
        block = os.read(sys.stdin.fileno(), 65536)
        if not block:
            return None
        line += block
    return line


def prepare_server(request: signal.Signals) -> None:
    """In the new process: give back the signals, and let it end should even the supervisor be killed.

    The death signal is safe here, as the supervisor has a single thread.
    """
    for ignored in (signal.SIGINT, signal.SIGHUP, signal.SIGTERM):
        signal.signal(ignored, signal.SIG_DFL)
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, request)


if __name__ == "__main__":
    sys.exit(main())
