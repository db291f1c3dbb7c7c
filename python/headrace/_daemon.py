"""The command ``headrace daemon``: starts and stops headraced, and shows what it does."""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Sequence
from typing import Any

from ._shared import daemon
from .defaults import PORT
from .errors import Error

_PLAIN = re.compile(r"[\x00-\x1f\x7f-\x9f]")
STOP_SECONDS = 60


class _Control(http.client.HTTPConnection):
    """HTTP on the daemon's second socket."""

    def __init__(self, folder: str) -> None:
        super().__init__("localhost", timeout=10)
        self._path = os.path.join(folder, f".s.PGSQL.{PORT}.http")

    def connect(self) -> None:
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


def ask(folder: str, method: str, path: str) -> tuple[int, str]:
    """Asks the daemon of a folder.

    Args:
        folder: the folder of its sockets.
        method: ``GET`` or ``POST``.
        path: ``/status``, ``/metrics`` or ``/reload``.

    Returns:
        The status of HTTP, and the body.

    Raises:
        OSError: no daemon serves the folder.
    """
    control = _Control(folder)
    try:
        control.request(method, path)
        answer = control.getresponse()
        return answer.status, answer.read().decode()
    finally:
        control.close()


def main(arguments: Sequence[str]) -> int:
    """The command; returns its exit code: 3 if no daemon runs, as init scripts have it."""
    options = _parser().parse_args(arguments)
    folder = options.folder or daemon.folder()
    try:
        if options.command == "start":
            started = daemon.start(folder, options.config and os.path.abspath(options.config))
            print(f"headraced {'serves' if started else 'was serving already:'} {folder}")
            return 0
        return {"status": _status, "stop": _stop, "reload": _reload}[options.command](folder, options)
    except Error as error:
        print(f"headrace daemon: {error}", file=sys.stderr)
        return 1
    except OSError:
        print(f"no daemon serves {folder}", file=sys.stderr)
        return 3


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="headrace daemon", description="The daemon headraced of this user.")
    commands = parser.add_subparsers(dest="command", required=True)
    texts = {
        "start": "start it, unless it runs",
        "status": "show its clients, pools and pins",
        "stop": "end it; transactions may end first",
        "reload": "have it read its configuration again",
    }
    for name, text in texts.items():
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--folder", help="the folder of its sockets (default: HEADRACE_DAEMON_FOLDER, or its own)")
        if name == "start":
            command.add_argument("--config", help="its configuration; without one it ends when nobody needs it")
        if name == "status":
            command.add_argument("--json", action="store_true", help="print JSON")
    return parser


def _status(folder: str, options: argparse.Namespace) -> int:
    _, text = ask(folder, "GET", "/status")
    print(json.dumps(json.loads(text), indent=2) if options.json else shown(json.loads(text)))
    return 0


def _stop(folder: str, options: argparse.Namespace) -> int:
    pid = json.loads(ask(folder, "GET", "/status")[1])["pid"]
    os.kill(pid, signal.SIGTERM)
    deadline = time.monotonic() + STOP_SECONDS
    while time.monotonic() < deadline:
        try:
            os.kill(pid, 0)
        except ProcessLookupError:
            print("headraced has ended")
            return 0
        time.sleep(0.02)
    print(f"headraced (process {pid}) still waits for transactions to end", file=sys.stderr)
    return 1


def _reload(folder: str, options: argparse.Namespace) -> int:
    code, said = ask(folder, "POST", "/reload")
    print(said or "headraced has read its configuration", file=sys.stdout if code == 200 else sys.stderr)
    return 0 if code == 200 else 1


def shown(status: dict[str, Any]) -> str:
    """The daemon's state as tables."""
    clients, pools = status["clients"], status["pools"]
    states = [client["state"] for client in clients]
    counted = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    lines = [
        f"headraced {status['version']}, process {status['pid']}, up {_ago(status['uptime_seconds'])}"
        + (", ending" if status["draining"] else ""),
        f"{len(clients)} clients" + (f": {counted}" if counted else ""),
        "",
        *_table(
            ("pool", "mode", "open", "idle", "most", "waiting", "shared", "pins"),
            [
                (
                    pool["pool"],
                    pool["mode"],
                    pool["open"],
                    pool["idle"],
                    pool["size"],
                    pool["waiting"],
                    "-" if pool["hit_rate"] is None else f"{pool['hit_rate']:.0%}",
                    sum(pool["pins_total"].values()),
                )
                for pool in pools
            ],
        ),
        "",
        *_table(
            ("client", "process", "database", "user", "application", "state", "for", "pinned by"),
            [
                (
                    client["id"],
                    client["pid"] or client["address"] or "-",
                    client["database"],
                    client["user"],
                    client["application"] or "-",
                    client["state"],
                    _ago(client["state_seconds"]),
                    client["pinned_by"] or "",
                )
                for client in clients
            ],
        ),
    ]
    return "\n".join(lines).rstrip()


def _table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    # A client names itself as it likes, and a terminal does what control characters say.
    cells = [heads, *([_PLAIN.sub("?", str(cell)) for cell in row] for row in rows)] if rows else []
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def _ago(seconds: float) -> str:
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.1f} s"
