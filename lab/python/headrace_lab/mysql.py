"""Start a genuine MySQL in a temporary directory, and always stop it.

>>> with start_mysql(settings={"innodb_buffer_pool_size": "1G"}) as server:  # doctest: +SKIP
...     connect(server.url)

It listens on 127.0.0.1 and on a Unix socket, and its user ``root`` has no password. When we are root it runs as an
unprivileged user. The program is the system's ``mysqld``, where that is no MariaDB, else the one of Debian's suite sid:
see :mod:`.debian`.
"""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from .binaries import ServerUnavailable
from .debian import debian_package
from .mysqld import DATABASE, SHARED_SETTINGS, Mysqld, Root, as_options, prepared_root, running

SUITE = "sid"
"""Debian's suite that has MySQL; its stable ones have MariaDB only."""
PACKAGE = "mysql-server-core"
NOT_NEEDED = ("perl*", "libperl*")
"""What the package depends on for a script that we do not use."""
DEFAULT_SETTINGS: Mapping[str, str] = {
    **SHARED_SETTINGS,
    "innodb_flush_log_at_trx_commit": "0",  # the directory is thrown away
    "disable_log_bin": "1",
    "loose_mysqlx": "0",
    "secure_file_priv": "",
}
"""What a started server has unless ``settings`` says otherwise."""
INSTALL_HINT = "install MySQL's server, so that `mysqld` is in the PATH"


class MySQL(Mysqld):
    """A running MySQL."""

    scheme = "mysql"


@dataclass(frozen=True)
class Installation:
    """MySQL's server program."""

    server: str
    home: Path | None = None
    """The folder that it finds its messages and plugins in, where it does not know that itself."""
    data: Path | None = None
    """A data folder to begin with, where the program is of a version that cannot make one."""
    libraries: Path | None = None
    """A folder of libraries that the system lacks."""

    @property
    def based(self) -> list[str]:
        """The option for ``home``."""
        return [] if self.home is None else [f"--basedir={self.home}"]


def installation() -> Installation:
    """The system's MySQL, or Debian's. Raises ServerUnavailable."""
    path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", "/usr/libexec"])
    found = shutil.which("mysqld", path=path)
    if found and "MariaDB" not in version_line(found):
        return Installation(found)
    try:
        unpacked = debian_package(SUITE, PACKAGE, without=NOT_NEEDED)
    except ServerUnavailable as error:
        raise ServerUnavailable(f"MySQL's server program mysqld is missing; {INSTALL_HINT}. {error}") from None
    return Installation(str(unpacked.program("mysqld")), unpacked.home)


@contextlib.contextmanager
def start_mysql(
    *, settings: Mapping[str, str] | None = None, tls: bool = False, program: Installation | None = None
) -> Iterator[MySQL]:
    """Start MySQL for the length of a ``with`` block.

    Args:
        settings: options of the server, over :data:`DEFAULT_SETTINGS`.
        tls: let it make itself a certificate, as it does by default; most clients then use TLS unasked.
        program: another program than :func:`installation` finds.

    Raises:
        ServerUnavailable: the program is missing or does not start; the message says what to do.
    """
    program = installation() if program is None else program
    environment = {"LD_LIBRARY_PATH": str(program.libraries)} if program.libraries else {}
    options = [*program.based, *as_options({**DEFAULT_SETTINGS, **(settings or {})})]
    with prepared_root() as root:
        if program.data is None:
            options.append(f"--auto-generate-certs={int(tls)}")
            _initialize(program, root, options[-1])
        else:
            _copy(program.data, root)
            options.append(f"--init-file={_statements(root, f'CREATE DATABASE IF NOT EXISTS {DATABASE};')}")
        with running(root, program.server, options, {}, environment) as started:
            yield MySQL(**started, version=_version(version_line(program.server, environment)))


def _initialize(program: Installation, root: Root, certificates: str) -> None:
    """Makes the data folder, with what MariaDB's installer makes by itself: a database, and root from 127.0.0.1, which
    is not localhost where names are not resolved."""
    first = _statements(
        root,
        f"CREATE DATABASE {DATABASE};",
        "CREATE USER root@'127.0.0.1';",
        "GRANT ALL ON *.* TO root@'127.0.0.1' WITH GRANT OPTION;",
        "GRANT PROXY ON ''@'' TO root@'127.0.0.1' WITH GRANT OPTION;",
    )
    made = subprocess.run(
        [
            program.server, "--no-defaults", "--initialize-insecure", *program.based, *root.as_user, certificates,
            f"--datadir={root.data}", f"--init-file={first}", root.own_tmpdir,
        ],
        capture_output=True,
        text=True,
        check=False,
    )  # fmt: skip
    if made.returncode:
        raise ServerUnavailable(f"{program.server} --initialize-insecure failed: {made.stderr.strip()[-2000:]}")


def _statements(root: Root, *statements: str) -> Path:
    """A file of statements, each in a line of its own."""
    path = root.path / "first.sql"
    path.write_text("".join(f"{statement}\n" for statement in statements))
    return path


def _copy(data: Path, root: Root) -> None:
    shutil.copytree(data, root.data)
    for path in (root.data, *root.data.rglob("*")):
        path.chmod(0o700 if path.is_dir() else 0o600)
        root.give(path)


def version_line(server: str, environment: Mapping[str, str] | None = None) -> str:
    """What ``mysqld --version`` says."""
    said = subprocess.run(
        [server, "--no-defaults", "--version"],
        env={**os.environ, **(environment or {})},
        capture_output=True,
        text=True,
        check=False,
    )
    return said.stdout


def _version(line: str) -> str:
    found = re.search(r"Ver (\d+\.\d+\.\d+)", line)
    return found[1] if found else ""
