"""A primary of PostgreSQL and standbys that stream from it. The programs of the wheel have no pg_basebackup."""

from __future__ import annotations

import contextlib
import os
import shutil
import signal
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import headrace
from headrace.testing import PostgresServer
from headrace.testing._binaries import Binaries, find_binaries
from headrace.testing._postgres import DEFAULT_SETTINGS, SUPERUSER, launch
from headrace.testing._supervised import unprivileged_account

START_SECONDS = 60
SETTINGS = {"wal_level": "replica", "max_wal_senders": 8, "hot_standby": "on", "wal_keep_size": "64MB"}


@dataclass
class Replica:
    """A server that was made of a copy of the primary."""

    port: int
    process: subprocess.Popen[bytes]
    data: Path

    @property
    def url(self) -> str:
        """Its connection URL."""
        return f"postgresql://{SUPERUSER}@127.0.0.1:{self.port}/postgres"

    def run(self, sql: str) -> None:
        """Runs a statement."""
        with headrace.connect(self.url, autocommit=True) as conn:
            conn.execute(sql)

    def promote(self) -> None:
        """Makes it a primary, and waits until it is."""
        self.run("select pg_promote()")

    def follow(self, port: int | None) -> None:
        """Has it stream from another server, or from none."""
        source = f"host=127.0.0.1 port={port} user={SUPERUSER}" if port else ""
        self.run(f"alter system set primary_conninfo = '{source}'")
        self.run("select pg_reload_conf()")

    def position(self, function: str) -> int:
        """How far it is in the log, in bytes, by one of the server's functions."""
        with headrace.connect(self.url, autocommit=True) as conn:
            return int(conn.fetchval(f"select pg_wal_lsn_diff({function}(), '0/0')"))

    def end(self) -> None:
        """Ends it at once."""
        self.process.send_signal(signal.SIGQUIT)
        self.process.wait(START_SECONDS)


@dataclass
class Cluster:
    """A primary, and its standbys."""

    primary: PostgresServer
    standbys: list[Replica]

    @property
    def ports(self) -> list[int]:
        """The primary's port, and those of the standbys."""
        return [self.primary.port, *(standby.port for standby in self.standbys)]

    def wait_until_replayed(self) -> None:
        """Returns when the standbys have everything that the primary has now."""
        with headrace.connect(self.primary.url, autocommit=True) as conn:
            position = conn.fetchval("select pg_current_wal_lsn()::text")
        for standby in self.standbys:
            with headrace.connect(standby.url, autocommit=True) as conn:
                deadline = time.monotonic() + START_SECONDS
                while not conn.fetchval("select pg_last_wal_replay_lsn() >= %s::text::pg_lsn", position):
                    assert time.monotonic() < deadline
                    time.sleep(0.01)


def system_binaries() -> Binaries:
    """Programs with pg_basebackup beside them. Not those of a wheel, which may be a copy in the primary's directory:
    that is gone when the primary has ended, and standbys that lose their files end, too."""
    return next(found for found in find_binaries(tls=True) if (found.directory / "pg_basebackup").exists())


@contextlib.contextmanager
def cluster(standbys: int) -> Iterator[Cluster]:
    """A primary with so many standbys, as long as the block runs."""
    hba = ["host replication all 127.0.0.1/32 trust"]
    primary = launch(system_binaries(), tls=False, settings={**DEFAULT_SETTINGS, **SETTINGS}, hba=hba)
    with contextlib.ExitStack() as closing:
        closing.callback(primary.stop)
        yield Cluster(primary, [closing.enter_context(standby(primary)) for _ in range(standbys)])


@contextlib.contextmanager
def standby(primary: PostgresServer) -> Iterator[Replica]:
    """A standby that streams from the primary."""
    account = unprivileged_account(SUPERUSER)
    as_server = {"user": account.pw_uid, "group": account.pw_gid} if account else {}
    root = Path(tempfile.mkdtemp(prefix="headrace-standby-"))
    if account:
        os.chown(root, account.pw_uid, account.pw_gid)
    data = root / "data"
    process = None
    try:
        source = ["-h", "127.0.0.1", "-p", str(primary.port), "-U", primary.user]
        copy = [primary.bin_dir / "pg_basebackup", *source, "-D", data, "-R", "-X", "stream", "-c", "fast"]
        subprocess.run(copy, check=True, capture_output=True, cwd=root, **as_server)  # type: ignore[call-overload]
        with socket.create_server(("127.0.0.1", 0)) as found:
            port = found.getsockname()[1]
        command = [primary.bin_dir / "postgres", "-D", data, "-p", str(port), "-k", root]
        with (root / "log").open("wb") as log:
            process = subprocess.Popen(command, stdout=log, stderr=log, cwd=root, **as_server)  # type: ignore[call-overload]
        made = Replica(port, process, data)
        wait_until_it_answers(made)
        yield made
    finally:
        if process is not None and process.poll() is None:
            process.send_signal(signal.SIGQUIT)
            process.wait(START_SECONDS)
        shutil.rmtree(root, ignore_errors=True)


def wait_until_it_answers(replica: Replica) -> None:
    """Returns when it accepts connections."""
    deadline = time.monotonic() + START_SECONDS
    while True:
        try:
            replica.run("select 1")
            return
        except headrace.OperationalError:
            assert replica.process.poll() is None, (replica.data.parent / "log").read_text()
            assert time.monotonic() < deadline
            time.sleep(0.02)
