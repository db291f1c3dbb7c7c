"""What the launchers of MySQL and MariaDB share: a folder for one run, options, a process that is always stopped."""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, ClassVar
from urllib.parse import quote

from ._supervised import (
    PORT_ATTEMPTS,
    START_TIMEOUT_S,
    ServerUnavailable,
    end,
    free_port,
    is_running,
    supervise,
    unprivileged_account,
)

if TYPE_CHECKING:
    import pwd

DATABASE = "test"
"""A database that is there from the beginning."""
SHARED_SETTINGS: Mapping[str, str] = {
    "bind_address": "127.0.0.1",
    "character_set_server": "utf8mb4",
    "innodb_buffer_pool_size": "256M",
    "local_infile": "1",
    "max_allowed_packet": "64M",
    "skip_name_resolve": "1",
}
"""What every started server has unless its launcher has another value."""


@dataclass(frozen=True)
class MysqldServer:
    """A running MySQL or MariaDB server."""

    scheme: ClassVar[str]
    """Of its URLs."""

    host: str
    port: int
    socket: Path
    user: str
    database: str
    pid: int
    data_dir: Path
    log_file: Path
    version: str

    @property
    def url(self) -> str:
        """Connection URL over TCP."""
        return f"{self.scheme}://{self.user}@{self.host}:{self.port}/{self.database}"

    @property
    def socket_url(self) -> str:
        """Connection URL over the Unix socket."""
        return f"{self.scheme}://{self.user}@localhost/{self.database}?unix_socket={quote(str(self.socket), safe='')}"


@dataclass(frozen=True)
class Root:
    """The folder of one run, and the account that the server runs as."""

    path: Path
    account: pwd.struct_passwd | None

    @property
    def data(self) -> Path:
        """The data folder, which the server's own installer makes."""
        return self.path / "data"

    @property
    def as_user(self) -> list[str]:
        """The option that makes a program change to the account."""
        return [f"--user={self.account.pw_name}"] if self.account else []

    @property
    def own_tmpdir(self) -> str:
        """The option for a folder of temporary tables. In one that servers share, one that starts removes the others':
        that of an installer too, which then aborts."""
        return f"--tmpdir={self.path / 'tmp'}"

    def give(self, path: Path) -> None:
        """Makes the account the owner of what we have made."""
        if self.account:
            os.chown(path, self.account.pw_uid, self.account.pw_gid)


def as_options(settings: Mapping[str, str]) -> list[str]:
    """Settings as a command line has them."""
    return [f"--{name.replace('_', '-')}={value}" for name, value in settings.items()]


@contextlib.contextmanager
def prepared_root() -> Generator[Root, None, None]:
    """The folder of a run. Who starts a server in it hands it over to :func:`running`, which removes it."""
    root = Root(Path(tempfile.mkdtemp(prefix="headrace-my-")), unprivileged_account("mysql"))
    try:
        root.path.chmod(0o755)
        root.give(root.path)
        (root.path / "tmp").mkdir()
        root.give(root.path / "tmp")
        yield root
    finally:
        shutil.rmtree(root.path, ignore_errors=True)


@contextlib.contextmanager
def running(
    root: Root,
    server: str,
    options: Sequence[str],
    hints: Mapping[str, str],
    environment: Mapping[str, str] | None = None,
) -> Generator[dict[str, Any], None, None]:
    """Starts a server, waits until it answers, and stops it at the end of the block. Yields the fields of
    :class:`MysqldServer` but the version. ``hints`` say what to do, by what the server's log then has.

    Raises ServerUnavailable where it does not start.
    """
    log, path = root.path / "log", root.path / "s"
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MYSQL")}
    for _ in range(PORT_ATTEMPTS):
        port = free_port()
        command = [
            server, "--no-defaults", f"--datadir={root.data}", f"--socket={path}", f"--port={port}",
            f"--pid-file={root.path / 'pid'}", root.own_tmpdir, *options,
        ]  # fmt: skip
        process, pid = supervise(
            command,
            root=root.path,
            log=log,
            environment=inherited | {"HOME": str(root.path)} | dict(environment or {}),
            account=root.account,
            stop_signal="SIGKILL",  # its directory is thrown away: no page of it needs to be written
        )
        try:
            if wait_until_ready(path, pid):
                yield {
                    "host": "127.0.0.1", "port": port, "socket": path, "user": "root", "database": DATABASE,
                    "pid": pid, "data_dir": root.data, "log_file": log,
                }  # fmt: skip
                return
            said = log.read_text(errors="replace") if log.exists() else ""
            if "Address already in use" not in said:
                told = [hint for what, hint in hints.items() if what in said]
                raise ServerUnavailable(
                    "; ".join([f"the server did not start: {said.strip()[-2000:] or 'it logged nothing'}", *told])
                )
            _keep_folder(process)
        finally:
            end(process)
        log.unlink(missing_ok=True)
    raise ServerUnavailable(f"no free port on 127.0.0.1 after {PORT_ATTEMPTS} attempts")


def _keep_folder(process: subprocess.Popen[str]) -> None:
    """Makes the supervisor leave the folder, in which another attempt is made."""
    with contextlib.suppress(OSError):
        assert process.stdin is not None
        process.stdin.write("keep\n")


def wait_until_ready(path: Path, pid: int) -> bool:
    """Waits until the server greets on its Unix socket; returns false if it ends before. On the port, another server
    might be the one that greets: the socket is opened after it."""
    until = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.socket(socket.AF_UNIX) as probe:
            probe.settimeout(1.0)
            probe.connect(str(path))
            if probe.recv(1):
                return True
        if not is_running(pid):
            return False
        time.sleep(0.02)
    return False
