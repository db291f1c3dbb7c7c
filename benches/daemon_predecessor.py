"""The predecessor's claim beside headraced, side by side in one run: batches of 9,999 prepared statements on one
connection, ``LIMIT`` 10, 5 and 1 in turn.

The predecessor is qail's daemon (github.com/qail-io/qail, the commit before ee82a8eb, v0.17.1, ``cargo build --release
-p qail-daemon``), which was removed there later. Its fastest path takes a JSON frame with the parameters of a batch,
and answers with a number: no row reaches the program. So headraced is measured counting only, too, and with all rows as
Python objects; and without a daemon.

Clients are on one half of the cores, daemon and server on the other, as in the race of batches.

    python benches/daemon_predecessor.py .../target/release/qail-daemon
"""

from __future__ import annotations

import contextlib
import json
import os
import socket
import struct
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import headrace
from headrace.testing import PostgresServer, postgres
from headrace_lab.cores import halves, pin
from headrace_lab.daemon.routes import DIRECT, HEADRACED, started
from headrace_lab.daemon.workloads import BULK_BATCH, SELECT, SETUP, limits, right_rows
from headrace_lab.processes import awake
from headrace_lab.stats import median, ratio_interval

ROUNDS = 15
BATCHES = 10
"""Batches of a round."""
SOCKET = Path("/tmp/qail.sock")
"""The only path that the predecessor listens on."""
START_SECONDS = 10
LIMITS = limits(BULK_BATCH)
RIGHT = len(right_rows(BULK_BATCH))
Batch = Callable[[], int]


class Predecessor:
    """A connection to the predecessor, with the statement prepared."""

    def __init__(self, server: PostgresServer) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.connect(str(SOCKET))
        where = {"host": "127.0.0.1", "port": server.port, "user": server.user, "database": server.database}
        self.ask({"type": "Connect", "password": None, **where})
        self.handle = self.ask({"type": "Prepare", "sql": f"{SELECT}$1"})["handle"]

    def ask(self, request: dict[str, Any]) -> dict[str, Any]:
        """Sends a frame, and returns the answer's."""
        text = json.dumps(request).encode()
        self.socket.sendall(struct.pack(">I", len(text)) + text)
        (length,) = struct.unpack(">I", self.socket.recv(4, socket.MSG_WAITALL))
        answer: dict[str, Any] = json.loads(self.socket.recv(length, socket.MSG_WAITALL))
        if answer["type"] == "Error":
            raise RuntimeError(answer["message"])
        return answer

    def count(self) -> int:
        """A batch; the number that it answers with is that of the statements."""
        batch = [[str(limit)] for limit in LIMITS]
        count: int = self.ask({"type": "PreparedPipeline", "handle": self.handle, "params_batch": batch})["count"]
        return count


@contextlib.contextmanager
def predecessor(program: str) -> Iterator[subprocess.Popen[bytes]]:
    """Runs the predecessor as long as the block does."""
    SOCKET.unlink(missing_ok=True)
    process = subprocess.Popen([program], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        until = time.monotonic() + START_SECONDS
        while not SOCKET.exists():
            if process.poll() is not None or time.monotonic() > until:
                raise SystemExit(f"error: {program} does not start")
            time.sleep(0.01)
        yield process
    finally:
        process.kill()
        process.wait()
        SOCKET.unlink(missing_ok=True)


def counted(conn: Any) -> Batch:
    """Counts the rows, of which none reaches the program."""
    rows = [(limit,) for limit in LIMITS]
    return lambda: conn.executemany(f"{SELECT}%s", rows).rowcount


def fetched(conn: Any) -> Batch:
    """Returns all rows as objects."""
    rows = [(limit,) for limit in LIMITS]
    return lambda: len(conn.fetchmany(f"{SELECT}%s", rows))


def main() -> None:
    """Measures, and prints a table."""
    if len(sys.argv) != 2:
        raise SystemExit(f"usage: {sys.argv[0]} PROGRAM\n\nPROGRAM is qail-daemon: see the top of this file.")
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(postgres())
        with headrace.connect(server.url, autocommit=True) as admin:
            for statement in SETUP:
                admin.execute(statement)
        old = stack.enter_context(predecessor(sys.argv[1]))
        routes = {route.name: route for route in stack.enter_context(started([DIRECT, HEADRACED], server))}
        cores = halves()
        if cores is not None:
            os.sched_setaffinity(0, cores.clients)
            for pid in (server.pid, old.pid, routes[HEADRACED].pid):
                if pid is not None:
                    pin(pid, cores.server)
        conns = {
            name: stack.enter_context(headrace.connect(route.url, autocommit=True)) for name, route in routes.items()
        }
        paths: dict[str, tuple[Batch, int]] = {
            "qail's daemon, count only": (Predecessor(server).count, BULK_BATCH),
            "headrace through headraced, count only": (counted(conns[HEADRACED]), RIGHT),
            "headrace through headraced, rows": (fetched(conns[HEADRACED]), RIGHT),
            "headrace directly, count only": (counted(conns[DIRECT]), RIGHT),
            "headrace directly, rows": (fetched(conns[DIRECT]), RIGHT),
        }
        times: dict[str, list[float]] = {name: [] for name in paths}
        stack.enter_context(awake(os.cpu_count() or 1))
        for number in range(ROUNDS + 1):
            for name, (batch, right) in paths.items():
                began = time.perf_counter()
                found = {batch() for _ in range(BATCHES)}
                taken = time.perf_counter() - began
                if found != {right}:
                    raise SystemExit(f"error: {name}: {found} instead of {right}")
                if number:
                    times[name].append(taken / BATCHES / BULK_BATCH)
        print(f"PostgreSQL {server.version}; batches of {BULK_BATCH:,}, {BATCHES} a round, {ROUNDS} rounds; medians.\n")
        print("| path | queries a second | the rate, of the predecessor's |\n|---|---:|---:|")
        first = next(iter(times.values()))
        for name, taken_s in times.items():
            ratio, low, high = ratio_interval(first, taken_s)
            compared = "" if taken_s is first else f"{ratio:.2f} ({low:.2f} to {high:.2f})"
            print(f"| {name} | {1 / median(taken_s):,.0f} | {compared} |")


if __name__ == "__main__":
    main()
