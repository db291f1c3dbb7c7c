"""The Informix test server: it speaks SQLI to any client and runs SQL on SQLite.

    with headrace.testing.informix() as server:
        connection = headrace.informix.connect(**server.parameters())

What it accepts is what IBM's JDBC driver sends; it is no proof that a genuine server does the same.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import subprocess
import tempfile
import threading
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypedDict

__all__ = ["InformixServer", "Parameters", "informix"]

Mode = Literal["logged", "ansi", "unlogged"]
BINARY = "headrace-simulate-informix"
PACKAGE = "headrace-simulator-informix"
# Seconds. The first start makes two small databases; a machine that takes longer is stuck.
START_TIMEOUT = 30.0


class Parameters(TypedDict):
    """What a client needs to connect."""

    host: str
    port: int
    user: str
    password: str
    database: str
    server: str


@dataclass(frozen=True)
class InformixServer:
    """A running test server."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str
    server: str

    def parameters(self) -> Parameters:
        """The keyword arguments of ``connect``."""
        return {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password,
            "database": self.database,
            "server": self.server,
        }

    def jdbc_url(self, **properties: str) -> str:
        """The URL for IBM's JDBC driver, with further properties of a connection."""
        given = {"INFORMIXSERVER": self.server, "user": self.user, "password": self.password, **properties}
        tail = ";".join(f"{name}={value}" for name, value in given.items())
        return f"jdbc:informix-sqli://{self.host}:{self.port}/{self.database}:{tail}"


def find_binary(*, release: bool = False) -> Path:
    """The server's program: named by ``HEADRACE_SIMULATE_INFORMIX``, on the path, or built from the checkout.

    Raises:
        FileNotFoundError: none is installed and this is no checkout with cargo.
    """
    named = os.environ.get("HEADRACE_SIMULATE_INFORMIX")
    if named:
        return Path(named)
    root = Path(__file__).resolve().parents[3]
    if not (root / "simulators" / "informix" / "Cargo.toml").is_file() or shutil.which("cargo") is None:
        found = shutil.which(BINARY)
        if found:
            return Path(found)
        raise FileNotFoundError(
            f"{BINARY} is not on the path, and this is no checkout with cargo to build it from;"
            " set HEADRACE_SIMULATE_INFORMIX to the program"
        )
    command = ["cargo", "build", "--quiet", "--package", PACKAGE, *(["--release"] if release else [])]
    subprocess.run(command, cwd=root, check=True)
    target = Path(os.environ.get("CARGO_TARGET_DIR", root / "target"))
    return target / ("release" if release else "debug") / BINARY


@contextlib.contextmanager
def informix(
    *,
    user: str = "informix",
    password: str = "in4mix",
    server: str = "informix",
    database: str = "testdb",
    mode: Mode = "logged",
    locale: str = "en_US.819",
    release: Literal["12.10", "14.10", "15"] = "14.10",
    faults: Sequence[str] = (),
    after_error: Literal["abort", "continue"] = "abort",
    redirect: str | None = None,
    optimized: bool = False,
) -> Generator[InformixServer, None, None]:
    """Runs a test server as long as the block does.

    Args:
        user: who may log in.
        password: the password.
        server: the name clients give as INFORMIXSERVER.
        database: the database that is there from the start.
        mode: whether it has transactions: on request, always, or none.
        locale: of the databases; code sets 819 and utf8.
        release: the release whose capabilities are offered.
        faults: what goes wrong on purpose: ``latency=MS``, ``cut=N``, ``silence=N``, ``garbage=N``, ``split=N``.
        after_error: what becomes of the messages behind an error in the same group.
        redirect: ``name:host:port`` of another server, to which every client is sent on.
        optimized: build with optimisation, for races.

    Raises:
        FileNotFoundError: there is no program to start.
        RuntimeError: it did not start; the message has what it said.
    """
    command = [str(find_binary(release=optimized)), "--port", "0", "--until-stdin-ends"]
    options = {
        "--user": user,
        "--password": password,
        "--server": server,
        "--database": database,
        "--mode": mode,
        "--locale": locale,
        "--release": release,
        "--after-error": after_error,
    }
    for name, value in options.items():
        command += [name, value]
    if redirect is not None:
        command += ["--redirect", redirect]
    for fault in faults:
        command += ["--fault", fault]
    with tempfile.TemporaryDirectory(prefix="headrace-informix-") as folder:
        process = subprocess.Popen(
            [*command, "--data", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            port = _port(process)
            yield InformixServer("127.0.0.1", port, user, password, database, server)
        finally:
            process.kill()
            process.communicate()


def _port(process: subprocess.Popen[bytes]) -> int:
    """Waits for the line that names the port."""
    assert process.stdout is not None
    assert process.stderr is not None
    watchdog = threading.Timer(START_TIMEOUT, process.kill)
    watchdog.start()
    try:
        line = process.stdout.readline().split()
    finally:
        watchdog.cancel()
    if len(line) != 2 or line[0] != b"port":
        process.kill()
        said = process.stderr.read().decode(errors="replace").strip()
        raise RuntimeError(f"the Informix test server did not start: {said or 'it said nothing'}")
    # Nobody reads what it says later; a full pipe would stop it.
    threading.Thread(target=process.stderr.read, daemon=True).start()
    return int(line[1])
