"""Instructions of user space that headraced executes for a request, counted by valgrind: a figure that neither a busy
machine nor the server changes, for comparing two builds where wall time cannot separate them.

    cargo build --release -p headrace-daemon
    python benches/daemon_instructions.py target/release/headraced
    python benches/daemon_instructions.py target/release/headraced --before /path/to/another/headraced
    python benches/daemon_instructions.py target/release/headraced --bounds      with all timeouts set

Each workload runs against a daemon of its own, once with few and once with many requests of one client. The difference
of the two counts divided by that of the requests leaves out the start and the first requests. The least of ROUNDS such
figures is shown.
"""

from __future__ import annotations

import argparse
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
from pathlib import Path

from headrace.testing import PostgresServer, postgres

ROUNDS = 3
FEW, MANY = 300, 1500
"""Requests of a run."""
PIPELINED = 20
"""Executes of a pipeline."""
SECONDS = 120
BOUNDS = "query_timeout = 600\ntransaction_timeout = 600\nidle_transaction_timeout = 600\nclient_idle_timeout = 600\n"


def message(tag: bytes, body: bytes) -> bytes:
    """A message of a client."""
    return tag + struct.pack("!i", len(body) + 4) + body


QUERY = message(b"Q", b"select 1\0")
BEGIN, COMMIT = message(b"Q", b"begin\0"), message(b"Q", b"commit\0")
PARSE = message(b"P", b"s\0select $1::int4\0" + struct.pack("!h", 0))
BIND = message(b"B", b"\0s\0" + struct.pack("!hhi", 0, 1, 1) + b"7" + struct.pack("!h", 0))
EXECUTE = message(b"E", b"\0" + struct.pack("!i", 0))
SYNC = message(b"S", b"")
NAME = b"n000000"
"""A name that is another one in each request."""
PARSE_AGAIN = message(b"P", NAME + PARSE[6:])
DESCRIBE = message(b"D", b"S" + NAME + b"\0")
BIND_AGAIN = message(b"B", b"\0" + NAME + BIND[7:])

WORKLOADS: dict[str, tuple[list[bytes], int, str]] = {
    "query": ([QUERY], 1, "Query"),
    "bind": ([BIND + EXECUTE + SYNC], 1, "Bind, Execute, Sync of a known statement"),
    "pipeline": ([(BIND + EXECUTE) * PIPELINED + SYNC], PIPELINED, f"Bind, Execute in a pipeline of {PIPELINED}"),
    "syncs": ([(BIND + EXECUTE + SYNC) * PIPELINED], PIPELINED, f"the same with a Sync after each of {PIPELINED}"),
    "prepare": ([PARSE_AGAIN + DESCRIBE + SYNC], 1, "Parse, Describe, Sync of a text that others have"),
    "first": ([PARSE_AGAIN + BIND_AGAIN + EXECUTE + SYNC], 1, "Parse, Bind, Execute, Sync of a text that others have"),
    "block": ([BEGIN, BIND + EXECUTE + SYNC, COMMIT], 3, "request of a block: BEGIN, Bind, COMMIT"),
}
"""Workload: what is sent and answered one after the other, the units of it, and what a unit is."""


class Client:
    """A client that sends, and waits for so many ReadyForQuery."""

    def __init__(self, path: Path) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(SECONDS)
        self.socket.connect(str(path))
        body = struct.pack("!i", 196608) + b"user\0me\0database\0app\0\0"
        self.ask(struct.pack("!i", len(body) + 4) + body, 1)

    def ask(self, request: bytes, answers: int) -> None:
        """Sends a request, and reads its answers."""
        self.socket.sendall(request)
        received = b""
        while answers:
            received += self.socket.recv(1 << 20)
            at = 0
            while len(received) >= at + 5 and len(received) > at + (
                length := int.from_bytes(received[at + 1 : at + 5], "big")
            ):
                if received[at] == ord("E"):
                    sys.exit(f"daemon_instructions.py: the server says {received!r}")
                answers -= received[at] == ord("Z")
                at += 1 + length
            received = received[at:]


def counted(program: Path, server: PostgresServer, workload: str, times: int, more: str) -> int:
    """All instructions of a daemon that serves a client with so many requests."""
    requests = [(request, request.count(SYNC) or 1) for request in WORKLOADS[workload][0]]
    with tempfile.TemporaryDirectory(prefix="headraced-") as made:
        folder = Path(made)
        where = f'host = "127.0.0.1"\nport = {server.port}\nuser = "{server.user}"\ndbname = "postgres"\n'
        text = f"[databases.app]\n{where}{more}"
        (folder / "headraced.toml").write_text(text)
        valgrind = ["valgrind", "--tool=cachegrind", "--cache-sim=no", "--cachegrind-out-file=/dev/null"]
        command = [*valgrind, program, "--config", folder / "headraced.toml", "--folder", folder / "run"]
        daemon = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        try:
            assert daemon.stdout is not None
            daemon.stdout.readline()
            client = Client(folder / "run" / ".s.PGSQL.5432")
            client.ask(PARSE + SYNC, 1)
            for number in range(times):
                for request, answers in requests:
                    client.ask(request.replace(NAME, b"n%06d" % number), answers)
            client.socket.close()
            daemon.send_signal(signal.SIGTERM)
            said = daemon.communicate(timeout=SECONDS)[1]
        finally:
            daemon.kill()
    found = re.search(r"I\s+refs:\s+([\d,]+)", said)
    if found is None:
        sys.exit(f"daemon_instructions.py: {program} failed:\n{said[-2000:]}")
    return int(found[1].replace(",", ""))


def each(program: Path, server: PostgresServer, workload: str, more: str) -> float:
    """Instructions of one unit."""
    units = WORKLOADS[workload][1]
    few, many = (max(1, times // units) for times in (FEW, MANY))
    figures = []
    for _ in range(ROUNDS):
        difference = counted(program, server, workload, many, more) - counted(program, server, workload, few, more)
        figures.append(difference / (many - few) / units)
    return min(figures)


def main() -> None:
    """A line for each workload."""
    parser = argparse.ArgumentParser(description="instructions of headraced, by valgrind")
    parser.add_argument("program", type=Path, help="headraced")
    parser.add_argument("--before", type=Path, help="another build of it")
    parser.add_argument("--workload", default=",".join(WORKLOADS), help="with commas: " + ", ".join(WORKLOADS))
    parser.add_argument("--bounds", action="store_true", help="with all timeouts set")
    given = parser.parse_args()
    more = BOUNDS if given.bounds else ""
    with postgres() as server:
        for workload in given.workload.split(","):
            now = each(given.program, server, workload, more)
            line = f"{WORKLOADS[workload][2]:54} {now:10,.0f}"
            if given.before is not None:
                before = each(given.before, server, workload, more)
                line += f"   before {before:10,.0f}   {now / before:.3f}"
            print(line, flush=True)


if __name__ == "__main__":
    main()
