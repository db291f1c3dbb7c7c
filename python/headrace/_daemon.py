"""The command ``headrace daemon``: starts and stops headraced, shows what it does, passes on what operators order."""

from __future__ import annotations

import argparse
import contextlib
import http.client
import json
import os
import re
import signal
import socket
import sys
import time
from collections.abc import Callable, Sequence
from typing import Any
from urllib.parse import quote

from .defaults import PORT
from .errors import Error
from .postgres import headraced

_PLAIN = re.compile(r"[\x00-\x1f\x7f-\x9f]")
STOP_SECONDS = 60
LOOK_SECONDS = 0.05
"""Between two looks at what is waited for."""

COLUMNS = {
    "pools": ("pool", "driver", "mode", "open", "idle", "size", "waiting", "paused"),
    "clients": (
        "id", "pid", "address", "name", "database", "user", "application", "state", "state_seconds", "pinned_by",
    ),
    "servers": ("id", "pool", "address", "pid", "state", "state_seconds", "open_seconds", "client", "closing"),
    "statements": ("pool", "name", "holders", "sql"),
    "databases": (
        "name", "driver", "host", "port", "dbname", "user", "mode", "size", "most", "open", "clients", "waiting",
        "paused",
    ),
    "config": ("section", "name", "value", "default"),
}  # fmt: skip
"""What there is to show, and the columns of each table; ``--json`` has more."""


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
        path: such as ``/status``, ``/metrics`` or ``/reload``.

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
    folder = options.folder or headraced.folder()
    try:
        if options.command == "start":
            return _start(folder, options)
        return COMMANDS[options.command](folder, options)
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
        "show": "show one table of what it has",
        "top": "show its pools, clients or server connections, again and again",
        "stop": "end it; transactions may end first",
        "restart": "start another one that takes over; its clients leave one by one, and new ones always find a daemon",
        "reload": "have it read its configuration again",
        "pause": "lend no server connection of a database, or of all, and wait until all are closed",
        "resume": "lend them again",
        "reconnect": "close the server connections of a database, or of all, each as soon as no client has it",
        "kill": "pause a database, or all, and end the connections of its clients; or end that of one client",
    }
    for name, text in texts.items():
        command = commands.add_parser(name, help=text, description=text)
        command.add_argument("--folder", help="the folder of its sockets (default: HEADRACE_DAEMON_FOLDER, or its own)")
        if name == "start":
            command.add_argument("--config", help="its configuration; without one it ends when nobody needs it")
        if name == "restart":
            command.add_argument("--config", help="its configuration (default: that of the one that serves)")
        if name == "show":
            command.add_argument("table", choices=COLUMNS)
        if name == "top":
            command.add_argument("--every", type=float, default=2.0, help="seconds between two looks (default: 2)")
        if name in ("status", "show"):
            command.add_argument("--json", action="store_true", help="print JSON")
        if name in ORDERS:
            command.add_argument("database", nargs="?", help="its name in the configuration (default: all databases)")
        if name == "kill":
            command.add_argument("--client", type=int, help="the number of a client")
        if name == "pause":
            command.add_argument("--no-wait", action="store_true", help="do not wait for transactions to end")
        if name == "reconnect":
            command.add_argument("--wait", action="store_true", help="wait until the old ones are closed")
        if name in ("pause", "reconnect"):
            command.add_argument("--timeout", type=float, help="seconds to wait (default: any number)")
    return parser


def _start(folder: str, options: argparse.Namespace) -> int:
    config = options.config and os.path.abspath(options.config)
    if headraced.start(folder, config):
        print(f"headraced serves {folder}")
        return 0
    print(f"headraced was serving already: {folder}")
    running, installed = json.loads(ask(folder, "GET", "/status")[1])["version"], headraced.program_version()
    if running == installed:
        return 0
    print(f"its version is {running}, and {installed} is installed")
    return _restart(folder, options)


def _restart(folder: str, options: argparse.Namespace) -> int:
    config = options.config and os.path.abspath(options.config)
    before: dict[str, Any] = {}
    with contextlib.suppress(OSError):
        before = json.loads(ask(folder, "GET", "/status")[1])
    named = config or before.get("config")
    own = ["--config", named] if named else []
    # One that a client has started goes on ending by itself, unless it is given a configuration.
    if before.get("on_demand", True) and not config:
        own.append("--on-demand")
    headraced.restart(folder, own)
    now = json.loads(ask(folder, "GET", "/status")[1])
    print(f"headraced {now['version']}, process {now['pid']}, serves {folder}")
    if before:
        print(f"process {before['pid']} ends when its {len(before['clients'])} clients have left")
    return 0


def _show(folder: str, options: argparse.Namespace) -> int:
    found = json.loads(ask(folder, "GET", f"/{options.table}")[1])
    if options.json:
        print(json.dumps(found, indent=2))
        return 0
    columns = COLUMNS[options.table]
    rows = [[_cell(column, each[column]) for column in columns] for each in found]
    print("\n".join(table([column.removesuffix("_seconds") for column in columns], rows) or [f"no {options.table}"]))
    return 0


def _top(folder: str, options: argparse.Namespace) -> int:
    # The library is not there on every system.
    from ._daemon_top import top

    return top(folder, options.every)


def _cell(column: str, value: Any) -> str:
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    return time_text(value) if column.endswith("_seconds") else " ".join(str(value).split())


def _order(folder: str, options: argparse.Namespace) -> int:
    database, client = options.database, getattr(options, "client", None)
    if client is not None and database is not None:
        print("headrace daemon: --client names a client, so a database cannot be named beside it", file=sys.stderr)
        return 2
    query = f"?database={quote(database, safe='')}" if database is not None else ""
    query = f"?client={client}" if client is not None else query
    code, said = ask(folder, "POST", f"/{options.command}{query}")
    if code != 200:
        print(f"headrace daemon: {said}", file=sys.stderr)
        return 1
    waits = (options.command == "pause" and not options.no_wait) or (options.command == "reconnect" and options.wait)
    return _until_closed(folder, query, options.timeout) if waits else 0


def _until_closed(folder: str, query: str, timeout: float | None) -> int:
    """Waits until the server connections of before are closed, in daemons that were taken over from as well; 1 if they
    are not in time."""
    end = None if timeout is None else time.monotonic() + timeout
    while True:
        code, said = ask(folder, "GET", f"/closing{query}")
        if code != 200:
            print(f"headrace daemon: {said}", file=sys.stderr)
            return 1
        left = json.loads(said)
        if not left:
            return 0
        if end is not None and time.monotonic() > end:
            clients = ", ".join(str(each["client"]) for each in left if each["client"])
            print(f"headrace daemon: {len(left)} server connections are in use, by clients {clients}", file=sys.stderr)
            return 1
        time.sleep(LOOK_SECONDS)


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


ORDERS = ("pause", "resume", "reconnect", "kill")
COMMANDS: dict[str, Callable[[str, argparse.Namespace], int]] = {
    "status": _status,
    "show": _show,
    "top": _top,
    "stop": _stop,
    "restart": _restart,
    "reload": _reload,
    **dict.fromkeys(ORDERS, _order),
}


def shown(status: dict[str, Any]) -> str:
    """The daemon's state as tables."""
    clients, pools = status["clients"], status["pools"]
    states = [client["state"] for client in clients]
    counted = ", ".join(f"{states.count(state)} {state}" for state in dict.fromkeys(states))
    lines = [
        f"headraced {status['version']}, process {status['pid']}, up {time_text(status['uptime_seconds'])}"
        + (", ending" if status["draining"] else "")
        + (f"; process {status['predecessor']} has clients from before" if status.get("predecessor") else ""),
        f"{len(clients)} clients" + (f": {counted}" if counted else ""),
        "",
        *table(
            ("pool", "mode", "open", "idle", "most", "waiting", "shared", "pins"),
            [
                (
                    pool["pool"],
                    pool["mode"] + (", paused" if pool["paused"] else ""),
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
        *table(
            ("client", "process", "database", "user", "application", "state", "for", "pinned by"),
            [
                (
                    client["id"],
                    client["pid"] or client["address"] or "-",
                    client["database"],
                    client["user"],
                    client["application"] or "-",
                    client["state"],
                    time_text(client["state_seconds"]),
                    client["pinned_by"] or "",
                )
                for client in clients
            ],
        ),
    ]
    return "\n".join(lines).rstrip()


def table(heads: Sequence[str], rows: Sequence[Sequence[Any]]) -> list[str]:
    """The lines of a table; none without rows."""
    # A client names itself as it likes, and a terminal executes control characters.
    cells = [heads, *([_PLAIN.sub("?", str(cell)) for cell in row] for row in rows)] if rows else []
    widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in cells]


def time_text(seconds: float) -> str:
    """A time in words."""
    for unit, length in (("d", 86400), ("h", 3600), ("min", 60)):
        if seconds >= 2 * length:
            return f"{seconds / length:.0f} {unit}"
    return f"{seconds:.1f} s"
