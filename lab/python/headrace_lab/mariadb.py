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
import subprocess
from collections.abc import Iterator, Mapping
from pathlib import Path

from .binaries import ServerUnavailable
from .mysqld import SHARED_SETTINGS, Mysqld, as_options, prepared_root, running

DEFAULT_SETTINGS: Mapping[str, str] = {
    **SHARED_SETTINGS,
    "innodb_flush_log_at_trx_commit": "0",  # the directory is thrown away
}
"""What a started server has unless ``settings`` says otherwise."""
INSTALL_HINT = "install your system's package (Debian: `apt-get install mariadb-server`)"
ROCKSDB_HINT = "install your system's package (Debian: `apt-get install mariadb-plugin-rocksdb`)"


class MariaDB(Mysqld):
    """A running MariaDB."""

    scheme = "mariadb"


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
        if rocksdb:
            options.append("--plugin-load-add=ha_rocksdb")
        hints = {"ha_rocksdb": ROCKSDB_HINT}
        with running(where, server, options, hints) as started:
            yield MariaDB(**started, version=version_of(started["log_file"].read_text(errors="replace")))


def version_of(log: str) -> str:
    """The version, as the server logs it when it starts."""
    found = re.search(r"(\d+\.\d+\.\d+)-MariaDB", log)
    return found[1] if found else ""
