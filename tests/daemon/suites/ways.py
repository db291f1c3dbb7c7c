"""The ways to the server that a suite is run on: direct, and through headraced in a mode of its pool."""

from __future__ import annotations

import contextlib
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from headrace.testing import PostgresServer, postgres

from ..conftest import started

DIRECT = "direct"
ONE = "one"
"""A pool of one server connection, in transaction mode: nobody waits long for what needs two of them."""
WAYS = (DIRECT, "session", "transaction", ONE)
DATABASE = "suite"
RAILS_DATABASES = ("activerecord_unittest", "activerecord_unittest2")
MADE = ("template1", "asyncpg_intro_test", "testdb", "test_2", "django_1", "django_2", *RAILS_DATABASES)
"""Databases that tests make themselves, or that are there."""
POOL = {"session": 100, "transaction": 10, ONE: 1}
QUEUE_WAIT_OF_ONE = 0.3
"""Seconds."""
SETTINGS = {
    "max_connections": 300,
    # For tests of two-phase commit, and of logical replication.
    "max_prepared_transactions": 20,
    "wal_level": "logical",
}
PASSWORD_OF_TEST = "test"
"""That of the user test of pgjdbc's suite, who owns the database."""
PASSWORD_FOR_TCP = ["host all postgres,test 127.0.0.1/32 scram-sha-256"]


@dataclass
class Way:
    """Where a suite connects to."""

    server: PostgresServer
    folder: Path
    """The folder of the Unix socket, where nobody is asked for a password."""
    socket_port: int
    port: int
    """On 127.0.0.1, where the user postgres logs in by SCRAM with the server's password."""

    def psql(self, *commands: str) -> None:
        """Runs SQL on the server itself."""
        where = f"host={self.server.socket_dir} port={self.server.port} user=postgres dbname={DATABASE}"
        arguments = [word for command in commands for word in ("-c", command)]
        subprocess.run(["psql", "-qX", "-v", "ON_ERROR_STOP=1", where, *arguments], check=True)


def configuration(server: PostgresServer, way: str) -> str:
    """The daemon's: the databases of the server by their own names, each client under its own name."""
    common = (
        f'host = "{server.socket_dir}"\nport = {server.port}\npool_mode = "{"transaction" if way == ONE else way}"\n'
        f"pool_size = {POOL[way]}\nmax_connections = 250\n"
        + (f"queue_wait = {QUEUE_WAIT_OF_ONE}\n" if way == ONE else "")
    )
    named = (DATABASE, "postgres", *MADE)
    databases = "".join(f'[databases.{name}]\ndbname = "{name}"\n{common}' for name in named)
    passwords = {"postgres": server.password, "test": PASSWORD_OF_TEST}
    clients = "".join(f'[clients.{user}]\npassword = "{password}"\n' for user, password in passwords.items())
    return f'[daemon]\nlisten = ["127.0.0.1:0"]\n{clients}{databases}'


@contextlib.contextmanager
def opened(way: str, program: Path) -> Iterator[Way]:
    """A server of its own, with an empty database, and what is in front of it."""
    with postgres(settings=SETTINGS, hba=PASSWORD_FOR_TCP) as server:
        direct = Way(server, server.socket_dir, server.port, server.port)
        where = f"host={server.socket_dir} port={server.port} user=postgres dbname=postgres"
        subprocess.run(["psql", "-qX", where, "-c", f"create database {DATABASE}"], check=True)
        if way == DIRECT:
            yield direct
            return
        with tempfile.TemporaryDirectory(prefix="headraced-") as made:
            folder = Path(made)
            with started(program, folder, configuration(server, way), server) as daemon:
                assert daemon.process.stdout is not None
                port = int(daemon.process.stdout.readline().rpartition(":")[2])
                yield Way(server, daemon.folder, 5432, port)
