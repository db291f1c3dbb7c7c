"""MySQL for the length of a block, in a temporary directory."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import subprocess
from collections.abc import Generator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ._mysqld import DATABASE, SHARED_SETTINGS, MysqldServer, Root, as_options, prepared_root, running
from ._supervised import ServerUnavailable

DEFAULT_SETTINGS: Mapping[str, str] = {
    **SHARED_SETTINGS,
    "innodb_flush_log_at_trx_commit": "0",  # the directory is thrown away
    "disable_log_bin": "1",
    "loose_mysqlx": "0",
    "secure_file_priv": "",
}
"""What a started server has unless ``settings`` has other values."""
INSTALL_HINT = (
    "install MySQL's server, so that `mysqld` is in the PATH (Ubuntu: `apt-get install mysql-server-core-8.0`, Fedora: "
    "`dnf install community-mysql-server`, macOS: `brew install mysql`)"
)


class MySQLServer(MysqldServer):
    """A running MySQL server."""

    scheme = "mysql"


@dataclass(frozen=True)
class MySQLInstallation:
    """MySQL's server program, for :func:`mysql`."""

    server: str
    """The program."""
    home: Path | None = None
    """The folder with its messages and plugins, if it is not where the program looks for it by itself."""
    data: Path | None = None
    """A data folder to begin with, if the program is of a version that cannot make one (before 5.7)."""
    libraries: Path | None = None
    """A folder of libraries that the system does not have."""

    @classmethod
    def found(cls) -> MySQLInstallation:
        """Finds the ``mysqld`` in the PATH or in a ``sbin`` folder, if that is not MariaDB's.

        Returns:
            The installation of MySQL.

        Raises:
            ServerUnavailable: there is none; the message names the command that installs one.
        """
        path = os.pathsep.join([os.environ.get("PATH", ""), "/usr/sbin", "/usr/local/sbin", "/usr/libexec"])
        program = shutil.which("mysqld", path=path)
        if program and "MariaDB" not in version_line(program):
            return cls(program)
        other = f" ({program} is MariaDB's)" if program else ""
        raise ServerUnavailable(f"MySQL's server program mysqld is missing{other}; {INSTALL_HINT}")

    @property
    def based(self) -> list[str]:
        """The option for ``home``."""
        return [] if self.home is None else [f"--basedir={self.home}"]


@contextlib.contextmanager
def mysql(
    *, settings: Mapping[str, str] | None = None, tls: bool = False, installation: MySQLInstallation | None = None
) -> Generator[MySQLServer, None, None]:
    """Runs a MySQL server as long as the block does, with an empty database ``test``.

    The program is the ``mysqld`` in the PATH or in a ``sbin`` folder. The server listens on 127.0.0.1, on a port that
    was free, and on a Unix socket; its user ``root`` has no password. It stops at the end of the block, and also when
    this process is killed. Safe to use from several threads and processes: each server has a folder of its own.

    Args:
        settings: options of the server, such as ``{"max_connections": "500"}``.
        tls: with TLS and a certificate that the server makes for itself; most clients use TLS where it is offered.
        installation: another program than the one that :meth:`MySQLInstallation.found` returns.

    Returns:
        A context manager; its value is the running server.

    Raises:
        ServerUnavailable: the program is missing or does not start; the message has what to do.
    """
    program = MySQLInstallation.found() if installation is None else installation
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
            yield MySQLServer(**started, version=_version(version_line(program.server, environment)))


def _initialize(program: MySQLInstallation, root: Root, certificates: str) -> None:
    """Makes the data folder, with a database and the user root@127.0.0.1, as MariaDB's installer does: where names are
    not resolved, that is another user than root@localhost."""
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
    """The output of ``mysqld --version``."""
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
