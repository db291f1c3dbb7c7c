"""PgBouncer in transaction mode, in front of a server."""

from __future__ import annotations

import contextlib
import os
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from headrace.lab.servers import Server

CONFIG = """
[databases]
* = host={host} port={port}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {own}
auth_type = trust
auth_file = {folder}/users.txt
pool_mode = transaction
default_pool_size = {size}
unix_socket_dir =
logfile = {folder}/log
pidfile = {folder}/pid
{more}
"""


@contextlib.contextmanager
def pgbouncer(program: str | Path, server: Server, more: str = "", size: int = 3) -> Iterator[str]:
    """Starts one with at most ``size`` server connections; gives its URL. ``more`` is further configuration."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        own = free.getsockname()[1]
    with tempfile.TemporaryDirectory() as folder:
        os.chmod(folder, 0o777)
        Path(folder, "users.txt").write_text(f'"{server.user}" "unused"\n')
        Path(folder, "ini").write_text(
            CONFIG.format(host=server.host, port=server.port, own=own, folder=folder, size=size, more=more)
        )
        # Root it refuses to be; the server's own user is there where we are root.
        user = ["-u", "postgres"] if os.getuid() == 0 else []
        process = subprocess.Popen(
            [str(program), *user, f"{folder}/ini"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
        )
        try:
            for _ in range(200):
                with socket.socket() as probe:
                    if probe.connect_ex(("127.0.0.1", own)) == 0:
                        break
                assert process.poll() is None, Path(folder, "log").read_text()
                time.sleep(0.05)
            yield f"postgresql://{server.user}@127.0.0.1:{own}/{server.database}?sslmode=disable"
        finally:
            process.terminate()
            process.wait()
