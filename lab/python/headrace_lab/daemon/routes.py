"""The routes that a client reaches PostgreSQL by: directly, and through a pooler. All of them are Unix sockets."""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import sysconfig
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from headrace.testing import PostgresServer, ServerUnavailable

from ..pgbouncer import newest_pgbouncer, pgbouncer, system_pgbouncer
from ..pgbouncer import version as pgbouncer_version

BACKENDS: Final = 10
"""Server connections of each pooler."""
MOST_CLIENTS: Final = 1_000
"""Clients that a pooler must accept."""
DIRECT, HEADRACED, BEFORE, PGBOUNCER = "direct", "headraced", "before", "pgbouncer"
TITLES: Final = {DIRECT: "direct", HEADRACED: "headraced", BEFORE: "headraced before", PGBOUNCER: "PgBouncer"}
"""The routes, for people."""
PROGRAM: Final = "headraced"
VARIABLE: Final = "HEADRACE_DAEMON_PROGRAM"
"""Environment variable that names the daemon's program."""
PREDECESSOR: Final = "HEADRACE_DAEMON_BEFORE"
"""Environment variable that names the daemon's program of another build, which is raced as a route of its own: two
states of the code in one run."""
ROUTES: Final = tuple(name for name in TITLES if name != BEFORE or os.environ.get(PREDECESSOR))
PROFILE: Final = "HEADRACE_PROGRAMS"
"""Environment variable that, as ``debug``, replaces the optimised program of a checkout by that of the development
build: tests need no second one."""
ROOT: Final = Path(__file__).resolve().parents[4]
"""The checkout, if this is one."""


@dataclass(frozen=True)
class Route:
    """A way to the server. ``pid`` is the pooler's process; None without one."""

    name: str
    url: str
    version: str
    pid: int | None


@contextlib.contextmanager
def started(names: Sequence[str], server: PostgresServer) -> Iterator[list[Route]]:
    """Runs the poolers of these routes as long as the block does.

    Raises:
        ServerUnavailable: one of them cannot be started.
    """
    starters = {DIRECT: _direct, HEADRACED: _headraced, BEFORE: _before, PGBOUNCER: _pgbouncer}
    with contextlib.ExitStack() as stack:
        yield [stack.enter_context(starters[name](server)) for name in names]


def _url(folder: Path | str, port: int, server: PostgresServer) -> str:
    return f"postgresql://{server.user}@/{server.database}?host={folder}&port={port}&sslmode=disable"


@contextlib.contextmanager
def _direct(server: PostgresServer) -> Iterator[Route]:
    yield Route(DIRECT, _url(server.socket_dir, server.port, server), server.version, None)


@contextlib.contextmanager
def _pgbouncer(server: PostgresServer) -> Iterator[Route]:
    try:
        program: str | Path = newest_pgbouncer()
    except ServerUnavailable:
        program = system_pgbouncer()
    # headraced does not log connections either.
    quiet = "log_connections = 0\nlog_disconnections = 0"
    more = f"max_client_conn = {MOST_CLIENTS}\nmax_prepared_statements = 200\n{quiet}"
    with pgbouncer(program, server, more, BACKENDS, str(server.socket_dir)) as running:
        yield Route(PGBOUNCER, running.url, pgbouncer_version(program), running.pid)


def _headraced(server: PostgresServer) -> contextlib.AbstractContextManager[Route]:
    return _daemon(HEADRACED, find_program(), server)


def _before(server: PostgresServer) -> contextlib.AbstractContextManager[Route]:
    return _daemon(BEFORE, Path(os.environ[PREDECESSOR]), server)


@contextlib.contextmanager
def _daemon(name: str, program: Path, server: PostgresServer) -> Iterator[Route]:
    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.split()[-1]
    with tempfile.TemporaryDirectory(prefix="headraced-") as made:
        config, folder = Path(made, "headraced.toml"), Path(made, "run")
        config.write_text(
            f'[databases.{server.database}]\nhost = "{server.socket_dir}"\nport = {server.port}\n'
            f'user = "{server.user}"\npool_mode = "transaction"\npool_size = {BACKENDS}\n'
        )
        with Path(made, "log").open("w+") as log:
            process = subprocess.Popen(
                [program, "--config", config, "--folder", folder], stdout=subprocess.PIPE, stderr=log, text=True
            )
            try:
                assert process.stdout is not None
                if not process.stdout.readline():
                    log.seek(0)
                    raise ServerUnavailable(f"{program} does not start: {log.read().strip() or 'it printed nothing'}")
                yield Route(name, _url(folder, 5432, server), version, process.pid)
            finally:
                process.terminate()
                process.communicate()


def find_program() -> Path:
    """The daemon's program: named by ``HEADRACE_DAEMON_PROGRAM``, built from the checkout with optimisation (without,
    if ``HEADRACE_PROGRAMS`` is ``debug``), or installed.

    Raises:
        ServerUnavailable: there is none, or it could not be built.
    """
    named = os.environ.get(VARIABLE)
    if named:
        return Path(named)
    if (ROOT / "crates" / "daemon" / "Cargo.toml").is_file() and shutil.which("cargo"):
        profile = ["--release"] if os.environ.get(PROFILE) != "debug" else []
        command = ["cargo", "build", "--quiet", *profile, "--package", "headrace-daemon"]
        if subprocess.run(command, cwd=ROOT, check=False).returncode:
            raise ServerUnavailable(f"headraced could not be built: {' '.join(command)} failed in {ROOT}")
        return Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / ("release" if profile else "debug") / PROGRAM
    found = shutil.which(PROGRAM, path=sysconfig.get_path("scripts")) or shutil.which(PROGRAM)
    if found:
        return Path(found)
    raise ServerUnavailable(f"{PROGRAM} is not installed: `pip install headrace-daemon`, or set {VARIABLE}")
