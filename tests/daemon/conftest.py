"""headraced in front of the embedded PostgreSQL."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import headrace
from headrace.testing import PostgresServer

ROOT = Path(__file__).parents[2]
START_SECONDS = 30


@dataclass
class Daemon:
    """A daemon that runs."""

    process: subprocess.Popen[str]
    folder: Path
    server: PostgresServer

    @property
    def socket(self) -> Path:
        """The socket that it listens on."""
        return self.folder / ".s.PGSQL.5432"

    def where(self, database: str = "app", **more: Any) -> dict[str, Any]:
        """Keywords of libpq."""
        return {"host": str(self.folder), "port": 5432, "dbname": database, "user": "anyone", **more}

    def connect(self, database: str = "app", **more: Any) -> Any:
        """Our own driver through the daemon."""
        return headrace.connect(**self.where(database, **more))

    def backends(self) -> int:
        """The daemon's sessions on the server."""
        with headrace.connect(self.server.url) as admin:
            found = admin.fetchval("select count(*) from pg_stat_activity where application_name = 'through headraced'")
        return int(found)


def built() -> Path:
    """The daemon, which is built."""
    assert shutil.which("cargo"), "the daemon is built by cargo: install Rust by rustup (https://rustup.rs)"
    subprocess.run(["cargo", "build", "--quiet", "--package", "headrace-daemon"], cwd=ROOT, check=True)
    return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / "debug" / "headraced"


@pytest.fixture(scope="session")
def program() -> Path:
    """The built daemon."""
    return built()


@pytest.fixture
def folder() -> Iterator[Path]:
    """A folder whose path is short enough for a socket."""
    with tempfile.TemporaryDirectory(prefix="headraced-") as made:
        yield Path(made)


def config(server: PostgresServer, **databases: str) -> str:
    """A configuration: databases of the server, each with more lines."""
    common = f'host = "127.0.0.1"\nport = {server.port}\ndbname = "postgres"\nuser = "postgres"\n'
    return "".join(f"[databases.{name}]\n{common}{more}\n" for name, more in databases.items())


@contextlib.contextmanager
def started(program: Path, folder: Path, text: str, server: PostgresServer) -> Iterator[Daemon]:
    """A daemon with this configuration, in ``folder``."""
    (folder / "headraced.toml").write_text(text)
    command = [program, "--config", folder / "headraced.toml", "--folder", folder / "run"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        line = process.stdout.readline()
        assert line.startswith("headraced: serving"), process.communicate(timeout=START_SECONDS)
        yield Daemon(process, folder / "run", server)
    finally:
        process.kill()
        process.communicate()


def take_over(program: Path, folder: Path) -> subprocess.Popen[str]:
    """Starts a daemon that takes over from the one of this folder, whose configuration lies beside it."""
    command = [program, "--config", folder.parent / "headraced.toml", "--folder", folder, "--takeover"]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    assert process.stdout is not None
    line = process.stdout.readline()
    assert line.startswith("headraced: serving"), process.communicate(timeout=START_SECONDS)
    return process


@pytest.fixture
def daemon(program: Path, folder: Path, server: PostgresServer) -> Iterator[Daemon]:
    """Pools of one, of two and of ten server connections, and one whose connections stay with their clients."""
    databases = {
        "app": "",
        "one": "pool_size = 1",
        "two": "pool_size = 2",
        "impatient": "pool_size = 1\nqueue_wait = 0.2",
        "narrow": "pool_size = 1\nqueue_length = 1",
        "session": 'pool_mode = "session"\npool_size = 2',
    }
    with started(program, folder, config(server, **databases), server) as running:
        yield running
