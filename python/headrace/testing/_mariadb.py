"""MariaDB for the length of a block, in a temporary directory."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Generator, Mapping, Sequence
from pathlib import Path

from ._mysqld import SHARED_SETTINGS, MysqldServer, as_options, prepared_root, running
from ._supervised import ServerUnavailable

DEFAULT_SETTINGS: Mapping[str, str] = {
    **SHARED_SETTINGS,
    "innodb_flush_log_at_trx_commit": "0",  # the directory is thrown away
}
"""What a started server has unless ``settings`` has other values."""
INSTALL_HINT = (
    "install your system's package (Debian and Ubuntu: `apt-get install mariadb-server`, Fedora: `dnf install "
    "mariadb-server`, macOS: `brew install mariadb`)"
)
PLUGIN_HINTS = {
    "ha_rocksdb": "install your system's package (Debian and Ubuntu: `apt-get install mariadb-plugin-rocksdb`)"
}
"""How to install plugins that the package of the server does not have."""


class MariaDBServer(MysqldServer):
    """A running MariaDB server."""

    scheme = "mariadb"


def program(*names: str) -> str:
    """The first of the programs that is installed. Raises ServerUnavailable."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", "/usr/libexec"])
    for name in names:
        found = shutil.which(name, path=path)
        if found:
            return found
    raise ServerUnavailable(f"MariaDB's server program {names[0]} is missing; {INSTALL_HINT}")


@contextlib.contextmanager
def mariadb(
    *, settings: Mapping[str, str] | None = None, plugins: Sequence[str] = (), home: Path | None = None
) -> Generator[MariaDBServer, None, None]:
    """Runs a MariaDB server as long as the block does, with an empty database ``test``.

    The program is the ``mariadbd`` in the PATH or in a ``sbin`` folder. The server listens on 127.0.0.1, on a port that
    was free, and on a Unix socket; its user ``root`` has no password. It stops at the end of the block, and also when
    this process is killed. Safe to use from several threads and processes: each server has a folder of its own.

    Args:
        settings: options of the server, such as ``{"max_connections": "500"}``.
        plugins: plugins to load, such as ``ha_rocksdb``.
        home: the folder of an installation, as MariaDB's own archives unpack, to be used instead of the system's.

    Returns:
        A context manager; its value is the running server.

    Raises:
        ServerUnavailable: the programs are missing or do not start; the message has what to do.
    """
    based = [] if home is None else [f"--basedir={home}"]
    if home is None:
        server, install = program("mariadbd", "mysqld"), program("mariadb-install-db", "mysql_install_db")
    else:
        server = str(home / "bin" / "mariadbd")
        installers = (home / folder / "mariadb-install-db" for folder in ("scripts", "bin"))
        install = str(next(path for path in installers if path.exists()))
    with prepared_root() as where:
        made = subprocess.run(
            [
                install, "--no-defaults", *based, f"--datadir={where.data}", where.own_tmpdir,
                "--auth-root-authentication-method=normal", *where.as_user,
            ],
            capture_output=True,
            text=True,
            check=False,
        )  # fmt: skip
        if made.returncode:
            raise ServerUnavailable(f"{install} failed: {made.stderr.strip() or made.stdout.strip()}")
        options = [*based, *as_options({**DEFAULT_SETTINGS, **(settings or {})})]
        options += [f"--plugin-load-add={plugin}" for plugin in plugins]
        with running(where, server, options, PLUGIN_HINTS) as started:
            yield MariaDBServer(**started, version=version_of(started["log_file"].read_text(errors="replace")))


def version_of(log: str) -> str:
    """The version, which the server logs when it starts."""
    found = re.search(r"(\d+\.\d+\.\d+)-MariaDB", log)
    return found[1] if found else ""
