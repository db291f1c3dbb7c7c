"""PgBouncer in transaction mode, in front of a PostgreSQL server."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol

from headrace.testing import ServerUnavailable

from .debian import debian_package

CONFIG: Final = """
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
OWN: Final = 6432
"""Names its socket."""
START_TIMEOUT_S: Final = 30.0
"""Seconds that it may take until its socket exists."""
RESTART_S: Final = 0.1
"""Seconds between two looks whether one that is to run on has ended."""


class Server(Protocol):
    """What is behind it, such as a :class:`headrace.testing.PostgresServer`."""

    @property
    def host(self) -> str: ...
    @property
    def port(self) -> int: ...
    @property
    def user(self) -> str: ...
    @property
    def database(self) -> str: ...


@dataclass(frozen=True)
class PgBouncer:
    """One that runs."""

    url: str
    folder: Path
    pid: int


@contextlib.contextmanager
def pgbouncer(
    program: str | Path,
    server: Server,
    more: str = "",
    size: int = 3,
    host: str | None = None,
    *,
    starts_again: bool = False,
) -> Iterator[PgBouncer]:
    """Runs one as long as the block does.

    Args:
        program: the program.
        server: the server behind it.
        more: further lines of its configuration.
        size: the largest number of server connections.
        host: where the server is reached, if not by TCP: the folder of its Unix socket.
        starts_again: whether it is started again when it ends by itself, as an init system does. 1.18 does that among
            many cancel requests (``bad client state: 0``, ``server in bad state: 11``; pgbouncer's issues 801 and 822).

    Raises:
        ServerUnavailable: it does not start; the message has what it logged.

    It listens on a Unix socket in a folder of its own: no port that another program could take in the meantime.
    """
    with tempfile.TemporaryDirectory(prefix="pgbouncer-") as made:
        folder = Path(made)
        folder.chmod(0o777)
        (folder / "users.txt").write_text(f'"{server.user}" "unused"\n')
        text = CONFIG.format(host=host or server.host, port=server.port, own=OWN, folder=folder, size=size, more=more)
        (folder / "ini").write_text(text)
        # Root it refuses to be; the server's own user is there where we are root.
        user = ["-u", "postgres"] if os.getuid() == 0 else []
        process = _Process([str(program), *user, str(folder / "ini")], starts_again=starts_again)
        try:
            deadline = time.monotonic() + START_TIMEOUT_S
            while not (folder / f".s.PGSQL.{OWN}").is_socket():
                if process.has_ended() or time.monotonic() > deadline:
                    log = folder / "log"
                    raise ServerUnavailable(
                        f"{program} does not start: {log.read_text() if log.exists() else 'it logged nothing'}"
                    )
                time.sleep(0.05)
            url = f"postgresql://{server.user}@/{server.database}?host={folder}&port={OWN}&sslmode=disable"
            yield PgBouncer(url, folder, process.pid)
        finally:
            process.end()


class _Process:
    """A process, which is started again when it ends if that is wanted."""

    def __init__(self, command: list[str], *, starts_again: bool) -> None:
        self._command = command
        self._stopped = threading.Event()
        self._process = self._start()
        self.pid = self._process.pid
        self._watch = threading.Thread(target=self._run, daemon=True) if starts_again else None
        if self._watch is not None:
            self._watch.start()

    def has_ended(self) -> bool:
        """Returns true if it runs no more, and is not started again."""
        return self._watch is None and self._process.poll() is not None

    def end(self) -> None:
        """Ends it, and waits for its end."""
        self._stopped.set()
        if self._watch is not None:
            self._watch.join()
        self._process.terminate()
        self._process.wait()

    def _start(self) -> subprocess.Popen[bytes]:
        return subprocess.Popen(self._command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)

    def _run(self) -> None:
        while not self._stopped.wait(RESTART_S):
            if self._process.poll() is not None:
                self._process = self._start()


def system_pgbouncer() -> str:
    """The system's own: Debian 12 has 1.18, which does not support named statements.

    Raises:
        ServerUnavailable: there is none.
    """
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    if program is None:
        raise ServerUnavailable("pgbouncer is not installed: `apt-get install pgbouncer`")
    return program


def newest_pgbouncer() -> Path:
    """The newest of Debian, which prepares statements by itself, fetched once.

    Raises:
        ServerUnavailable: it cannot be fetched; the message contains what to do.
    """
    return debian_package("sid", "pgbouncer").program("pgbouncer")


def version(program: str | Path) -> str:
    """Returns its version, such as ``1.26.1``."""
    done = subprocess.run([str(program), "--version"], capture_output=True, text=True, check=True)
    return done.stdout.split("\n")[0].split()[-1]
