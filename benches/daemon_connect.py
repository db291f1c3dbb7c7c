"""Connecting, one query and closing: on PostgreSQL itself, through PgBouncer and through headraced, side by side.

    python benches/daemon_connect.py

In each round every client does it once on every way, in turn; the median of the rounds is shown, with the ratio to the
floor: connecting to a Unix socket on which something answers 100 bytes, and one round trip. `socket` is a client of the
standard library's socket only. PgBouncer is Debian's newest, in transaction mode, as headraced is; both have one server
connection more than they need, which is open already.
"""

from __future__ import annotations

import asyncio
import contextlib
import os
import socket
import statistics
import struct
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import asyncpg
import psycopg

import headrace
from headrace.testing import PostgresServer, postgres

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "tests"))

from company.pooler import OWN, newest_pgbouncer, pgbouncer  # noqa: E402

ROUNDS = 300
USER, DATABASE = "postgres", "postgres"


@contextlib.contextmanager
def headraced(server: PostgresServer) -> Iterator[str]:
    """The daemon, optimised; the folder of its socket."""
    subprocess.run(["cargo", "build", "--release", "--quiet", "--package", "headrace-daemon"], cwd=ROOT, check=True)
    program = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "release" / "headraced"
    with tempfile.TemporaryDirectory(prefix="headraced-") as made:
        config = Path(made, "headraced.toml")
        config.write_text(f'[databases.{DATABASE}]\nhost = "{server.host}"\nport = {server.port}\nuser = "{USER}"\n')
        command = [program, "--config", config, "--folder", Path(made, "run")]
        process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        try:
            assert process.stdout is not None
            assert process.stdout.readline(), "headraced did not start"
            yield str(Path(made, "run"))
        finally:
            process.terminate()
            process.wait()


@contextlib.contextmanager
def echo() -> Iterator[str]:
    """The socket of a process that answers 100 bytes to everything."""
    with tempfile.TemporaryDirectory() as folder:
        path = f"{folder}/echo"
        code = (
            "import socket\n"
            "s = socket.socket(socket.AF_UNIX)\n"
            f"s.bind({path!r})\n"
            "s.listen(64)\n"
            "print('ready', flush=True)\n"
            "while True:\n"
            "    c, _ = s.accept()\n"
            "    while c.recv(65536):\n"
            "        c.sendall(bytes(100))\n"
            "    c.close()\n"
        )
        process = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE)
        try:
            assert process.stdout is not None
            assert process.stdout.readline(), "the floor's process did not start"
            yield path
        finally:
            process.kill()
            process.wait()


def by_echo(path: str) -> None:
    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(path)
        raw.sendall(bytes(100))
        raw.recv(65536)


def by_socket(host: str, port: int) -> None:
    """A page of code: no package."""
    unix = host.startswith("/")
    with socket.socket(socket.AF_UNIX if unix else socket.AF_INET) as raw:
        raw.connect(f"{host}/.s.PGSQL.{port}" if unix else (host, port))
        body = struct.pack("!i", 196608) + f"user\0{USER}\0database\0{DATABASE}\0\0".encode()
        raw.sendall(struct.pack("!i", len(body) + 4) + body)
        received = b""
        while not received.endswith(b"Z\0\0\0\x05I"):
            received += raw.recv(65536)
        query = b"select 42\0"
        raw.sendall(b"Q" + struct.pack("!i", len(query) + 4) + query)
        received = b""
        while not received.endswith(b"Z\0\0\0\x05I"):
            received += raw.recv(65536)
        assert b"42" in received
        raw.sendall(b"X\0\0\0\x04")


def by_headrace(host: str, port: int) -> None:
    with headrace.connect(host=host, port=port, user=USER, dbname=DATABASE, sslmode="disable", autocommit=True) as conn:
        assert conn.fetchval("select 42") == 42


def by_psycopg(host: str, port: int) -> None:
    where = {"host": host, "port": port, "user": USER, "dbname": DATABASE, "sslmode": "disable"}
    with psycopg.connect(**where, autocommit=True) as conn:  # type: ignore[arg-type]
        assert conn.execute("select 42").fetchone() == (42,)


LOOP = asyncio.new_event_loop()


def by_asyncpg(host: str, port: int) -> None:
    async def once() -> None:
        conn: Any = await asyncpg.connect(host=host, port=port, user=USER, database=DATABASE, ssl=False)
        assert await conn.fetchval("select 42") == 42
        await conn.close()

    LOOP.run_until_complete(once())


CLIENTS = {"socket": by_socket, "headrace": by_headrace, "psycopg": by_psycopg, "asyncpg": by_asyncpg}


def main() -> None:
    """Measures, and prints a table."""
    with contextlib.ExitStack() as stack:
        server = stack.enter_context(postgres())
        bouncer = stack.enter_context(pgbouncer(newest_pgbouncer(), server))
        ways = {
            "direct": (server.host, server.port),
            "PgBouncer": (bouncer.partition("host=")[2].partition("&")[0], OWN),
            "headraced": (stack.enter_context(headraced(server)), 5432),
        }
        path = stack.enter_context(echo())
        runs: dict[tuple[str, str], Callable[[], None]] = {("floor", ""): lambda: by_echo(path)}
        for client, call in CLIENTS.items():
            for way, (host, port) in ways.items():
                runs[client, way] = lambda call=call, host=host, port=port: call(host, port)  # type: ignore[misc]
        spent: dict[tuple[str, str], list[float]] = {key: [] for key in runs}
        for number in range(ROUNDS + 10):
            for key, run in runs.items():
                started = time.perf_counter()
                run()
                if number >= 10:
                    spent[key].append(time.perf_counter() - started)
        floor = statistics.median(spent["floor", ""])
        print(f"{ROUNDS} rounds; the floor takes {floor * 1e6:.0f} µs")
        print(f"{'client':10} {'way':10} {'median':>9} {'to floor':>9}")
        for (client, way), times in spent.items():
            median = statistics.median(times)
            print(f"{client:10} {way:10} {median * 1e6:6.0f} µs {median / floor:9.2f}")


if __name__ == "__main__":
    main()
