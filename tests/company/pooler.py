"""PgBouncer in transaction mode, for a server."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from headrace.testing import PostgresServer
from headrace_lab.debian import debian_package

CONFIG = """
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr =
listen_port = {own}
auth_type = trust
auth_file = {folder}/users.txt
pool_mode = transaction
default_pool_size = {size}
unix_socket_dir = {folder}
logfile = {folder}/log
pidfile = {folder}/pid
{more}
"""
OWN = 6432
"""Names its socket."""


@contextlib.contextmanager
def pgbouncer(program: str | Path, server: PostgresServer, more: str = "", size: int = 3) -> Iterator[str]:
    """Starts one with at most ``size`` server connections; returns its URL. ``more`` is further configuration.

    It listens on a Unix socket in a folder of its own: no port that another program could take in the meantime.
    """
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        Path(folder, "users.txt").write_text(f'"{server.user}" "unused"\n')
        Path(folder, "ini").write_text(
            CONFIG.format(host=server.host, port=server.port, own=OWN, folder=folder, size=size, more=more)
        )
        # Root it refuses to be; the server's own user is there where we are root.
        user = ["-u", "postgres"] if os.getuid() == 0 else []
        process = subprocess.Popen(
            [str(program), *user, f"{folder}/ini"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            while not Path(folder, f".s.PGSQL.{OWN}").is_socket():
                assert process.poll() is None, Path(folder, "log").read_text()
                time.sleep(0.05)
            yield f"postgresql://{server.user}@/{server.database}?host={folder}&port={OWN}&sslmode=disable"
        finally:
            process.terminate()
            process.wait()


def system_pgbouncer() -> str:
    """Debian's own, 1.18 for one: it knows no named statements."""
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    assert program, "pgbouncer is missing: `make server` installs it"
    return program


def newest_pgbouncer() -> Path:
    """The newest, which prepares statements by itself, fetched once. If it is not available, the error says what to
    do."""
    return debian_package("sid", "pgbouncer").program("pgbouncer")
