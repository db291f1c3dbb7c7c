"""Start a real MariaDB in a temporary directory, and always stop it.

>>> with start_mariadb(settings={"innodb_buffer_pool_size": "1G"}) as server:  # doctest: +SKIP
...     connect(server.url)

It listens on 127.0.0.1 and on a Unix socket, and its user ``root`` has no password. When we are root it runs as an
unprivileged user.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import socket
import subprocess
import tempfile
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from urllib.parse import quote

from .binaries import ServerUnavailable
from .supervised import end, free_port, is_running, supervise, unprivileged_account

START_TIMEOUT_S = 60.0
"""Seconds that a server may take until it accepts connections."""
PORT_ATTEMPTS = 4
"""How often another port is tried when somebody else took the one that was free."""
DATABASE = "test"
"""A database that is there from the beginning."""
DEFAULT_SETTINGS: Mapping[str, str] = {
    "bind_address": "127.0.0.1",
    "character_set_server": "utf8mb4",
    "innodb_buffer_pool_size": "256M",
    "innodb_flush_log_at_trx_commit": "0",  # the directory is thrown away
    "local_infile": "1",
    "max_allowed_packet": "64M",
    "skip_name_resolve": "1",
}
"""What a started server has unless ``settings`` says otherwise."""
INSTALL_HINT = "install your system's package (Debian: `apt-get install mariadb-server`)"
ROCKSDB_HINT = "install your system's package (Debian: `apt-get install mariadb-plugin-rocksdb`)"


@dataclass(frozen=True)
class MariaDB:
    """A running server and how to reach it."""

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
        return f"mariadb://{self.user}@{self.host}:{self.port}/{self.database}"

    @property
    def socket_url(self) -> str:
        """Connection URL over the Unix socket."""
        return f"mariadb://{self.user}@localhost/{self.database}?unix_socket={quote(str(self.socket), safe='')}"


def program(*names: str) -> str:
    """The first of the programs that is there. Raises ServerUnavailable."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", "/usr/libexec"])
    for name in names:
        found = shutil.which(name, path=path)
        if found:
            return found
    raise ServerUnavailable(f"MariaDB's server program {names[0]} is missing; {INSTALL_HINT}")


@contextlib.contextmanager
def start_mariadb(
    *, settings: Mapping[str, str] | None = None, rocksdb: bool = False, home: Path | None = None
) -> Iterator[MariaDB]:
    """Start MariaDB for the length of a ``with`` block.

    Args:
        settings: options of the server, over :data:`DEFAULT_SETTINGS`.
        rocksdb: load the storage engine RocksDB.
        home: the folder of an installation, as MariaDB's own archives unpack; the system's by default.

    Raises:
        ServerUnavailable: the programs are missing or do not start; the message says what to do.
    """
    if home is None:
        server, install = program("mariadbd", "mysqld"), program("mariadb-install-db", "mysql_install_db")
    else:
        server, install = str(home / "bin" / "mariadbd"), str(home / "scripts" / "mariadb-install-db")
    root = Path(tempfile.mkdtemp(prefix="headrace-my-"))
    account = unprivileged_account("mysql")
    try:
        root.chmod(0o755)
        if account:
            os.chown(root, account.pw_uid, account.pw_gid)
        given = {**DEFAULT_SETTINGS, **(settings or {})}
        options = [f"--{name.replace('_', '-')}={value}" for name, value in given.items()]
        if rocksdb:
            options.append("--plugin-load-add=ha_rocksdb")
        running, process = launch(server, install, root, options, account, home)
    except BaseException:
        shutil.rmtree(root, ignore_errors=True)
        raise
    try:
        yield running
    finally:
        end(process)


def launch(
    server: str, install: str, root: Path, options: list[str], account: object, home: Path | None = None
) -> tuple[MariaDB, subprocess.Popen[str]]:
    """Makes the system's tables, starts the server, and waits until it answers."""
    data, log, path = root / "data", root / "log", root / "s"
    user = getattr(account, "pw_name", None)
    # In a folder that servers share, one that starts removes the temporary tables of the others.
    temporary = root / "tmp"
    temporary.mkdir()
    if account:
        os.chown(temporary, account.pw_uid, account.pw_gid)  # type: ignore[attr-defined]
    as_user = [f"--user={user}"] if user else []
    based = [f"--basedir={home}"] if home else []
    made = subprocess.run(
        [install, "--no-defaults", *based, f"--datadir={data}", "--auth-root-authentication-method=normal", *as_user],
        capture_output=True,
        text=True,
        check=False,
    )
    if made.returncode:
        raise ServerUnavailable(f"{install} failed: {made.stderr.strip() or made.stdout.strip()}")
    for _ in range(PORT_ATTEMPTS):
        port = free_port()
        command = [
            server, "--no-defaults", *based, f"--datadir={data}", f"--socket={path}", f"--port={port}",
            f"--pid-file={root / 'pid'}", f"--tmpdir={temporary}", *options,
        ]  # fmt: skip
        environment = {name: value for name, value in os.environ.items() if not name.startswith("MYSQL")}
        process, pid = supervise(
            command,
            root=root,
            log=log,
            environment=environment | {"HOME": str(root)},
            account=account,  # type: ignore[arg-type]
            stop_signal="SIGTERM",
        )
        if wait_until_ready(port, pid):
            version = version_of(log.read_text(errors="replace"))
            return MariaDB("127.0.0.1", port, path, "root", DATABASE, pid, data, log, version), process
        said = log.read_text(errors="replace") if log.exists() else ""
        if "Address already in use" not in said:
            end(process)
            hint = f"; {ROCKSDB_HINT}" if "ha_rocksdb" in said else ""
            raise ServerUnavailable(f"the server did not start: {said.strip()[-2000:] or 'it logged nothing'}{hint}")
        with contextlib.suppress(OSError):
            assert process.stdin is not None
            process.stdin.write("keep\n")
        end(process)
        log.unlink(missing_ok=True)
    raise ServerUnavailable(f"no free port on 127.0.0.1 after {PORT_ATTEMPTS} attempts")


def wait_until_ready(port: int, pid: int) -> bool:
    """Waits until the server greets; says whether it did."""
    until = time.monotonic() + START_TIMEOUT_S
    while time.monotonic() < until:
        with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1.0) as probe:
            if probe.recv(1):
                return True
        if not is_running(pid):
            return False
        time.sleep(0.02)
    return False


def version_of(log: str) -> str:
    """The version, as the server logs it when it starts."""
    found = re.search(r"(\d+\.\d+\.\d+)-MariaDB", log)
    return found[1] if found else ""
