"""The Informix test server: it speaks SQLI to any client and runs SQL on SQLite.

    with headrace.testing.informix() as server:
        connection = headrace.informix.connect(**server.parameters())

What it accepts is what IBM's JDBC driver sends; it is no proof that a genuine server does the same.
"""

from __future__ import annotations

import contextlib
import functools
import os
import shutil
import subprocess
import sysconfig
import tempfile
import threading
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypedDict

from ..defaults import SIMULATOR_START_TIMEOUT

__all__ = ["InformixServer", "Parameters", "find_binary", "informix"]

Mode = Literal["logged", "ansi", "unlogged"]
BINARY = "headrace-simulate-informix"
PACKAGE = "headrace-simulator-informix"


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
    pid: int = 0
    """Its process."""
    tls_port: int | None = None
    """The port that speaks TLS from the first byte, if there is one."""
    authority: Path | None = None
    """The certificate, PEM, of the authority that vouches for the server's, if the server made its own."""

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
    """The server's program: named by ``HEADRACE_SIMULATE_INFORMIX``, built from the checkout, or installed.

    Args:
        release: from a checkout, build it with optimisation.

    Raises:
        FileNotFoundError: none is installed and this is no checkout with cargo.
        subprocess.CalledProcessError: it could not be built.
    """
    named = os.environ.get("HEADRACE_SIMULATE_INFORMIX")
    if named:
        return Path(named)
    root = Path(__file__).resolve().parents[3]
    if (root / "simulators" / "informix" / "Cargo.toml").is_file() and shutil.which("cargo"):
        return _build(root, release)
    found = shutil.which(BINARY) or shutil.which(BINARY, path=sysconfig.get_path("scripts"))
    if found:
        return Path(found)
    raise FileNotFoundError(
        f"{BINARY} is not on the path, and this is no checkout with cargo to build it from:"
        f" pip install {PACKAGE}, or set HEADRACE_SIMULATE_INFORMIX to the program"
    )


@functools.cache
def _build(root: Path, release: bool) -> Path:
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
    tls: bool = False,
    pam: Mapping[str, str] | None = None,
    redirects: Sequence[str] = (),
    optimized: bool = False,
) -> Generator[InformixServer, None, None]:
    """Runs a test server as long as the block does.

    Args:
        user: who may log in.
        password: the password.
        server: the name clients give as INFORMIXSERVER.
        database: the database that is there from the start.
        mode: whether it has transactions: on request, always, or none.
        locale: of the databases, such as ``en_US.819``, ``en_US.utf8``, ``ja_JP.sjis``.
        release: the release whose capabilities are offered.
        faults: what goes wrong on purpose: ``latency=MS``, ``cut=N``, ``silence=N``, ``garbage=N``, ``split=N``.
        after_error: what becomes of the messages behind an error in the same group.
        tls: open a second port that speaks TLS, with a certificate made for this run.
        pam: questions to ask at login, as PAM does, and the answers wanted; the password does not count then.
        redirects: other server names that clients may ask for: ``NAME`` is sent back here under the server's own name,
            ``NAME=SERVER@HOST:PORT`` there.
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
    for fault in faults:
        command += ["--fault", fault]
    for question, answer in (pam or {}).items():
        command += ["--pam", f"{question}={answer}"]
    for redirect in redirects:
        command += ["--redirect", redirect]
    if tls:
        command += ["--tls-port", "0"]
    with tempfile.TemporaryDirectory(prefix="headrace-informix-") as folder:
        process = subprocess.Popen(
            [*command, "--data", folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        try:
            said = _said(process, ["port", "authority", "tls-port"] if tls else ["port"])
            yield InformixServer(
                host="127.0.0.1",
                port=int(said["port"]),
                user=user,
                password=password,
                database=database,
                server=server,
                pid=process.pid,
                tls_port=int(said["tls-port"]) if tls else None,
                authority=Path(said["authority"]) if tls else None,
            )
        finally:
            process.kill()
            process.communicate()


def _said(process: subprocess.Popen[bytes], names: Sequence[str]) -> dict[str, str]:
    """Waits for the lines that name what a client needs, in their order."""
    assert process.stdout is not None
    assert process.stderr is not None
    watchdog = threading.Timer(SIMULATOR_START_TIMEOUT, process.kill)
    watchdog.start()
    said: dict[str, str] = {}
    try:
        for name in names:
            found, _, value = process.stdout.readline().decode().strip().partition(" ")
            if found != name:
                process.kill()
                problem = process.stderr.read().decode(errors="replace").strip()
                raise RuntimeError(f"the Informix test server did not start: {problem or 'it said nothing'}")
            said[name] = value
    finally:
        watchdog.cancel()
    # Nobody reads what it says later; a full pipe would stop it.
    threading.Thread(target=process.stderr.read, daemon=True).start()
    return said
