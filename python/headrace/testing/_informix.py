"""The project's Informix test server for the length of a block: it speaks SQLI to any client and runs SQL on SQLite.

It accepts what IBM's JDBC driver sends; it is not a proof that a genuine server does the same.
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
from typing import Final, Literal, TypedDict
from urllib.parse import quote

from ..defaults import SIMULATOR_START_TIMEOUT
from ._supervised import ServerUnavailable

Mode = Literal["logged", "ansi", "unlogged"]
BINARY = "headrace-simulate-informix"
PACKAGE = "headrace-simulator-informix"
LOCALE: Final = "en_US.819"
"""The locale that clients take for granted."""


class Parameters(TypedDict):
    """The keyword arguments of :func:`headrace.informix.connect`."""

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
    """The certificate, PEM, of the authority that signed the server's, if the server made its own."""
    locale: str = LOCALE
    """The locale of its databases."""

    @property
    def url(self) -> str:
        """Connection URL, without TLS."""
        login = f"{quote(self.user, safe='')}:{quote(self.password, safe='')}"
        locales = "" if self.locale == LOCALE else f"&DB_LOCALE={self.locale}&CLIENT_LOCALE={self.locale}"
        return f"informix://{login}@{self.host}:{self.port}/{self.database}?server={self.server}{locales}"

    def parameters(self) -> Parameters:
        """Returns the keyword arguments of ``connect``.

        Returns:
            Host, port, user, password, database and server.
        """
        return {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password,
            "database": self.database,
            "server": self.server,
        }

    def jdbc_url(self, **properties: str) -> str:
        """Returns the URL for IBM's JDBC driver.

        Args:
            properties: further properties of a connection.

        Returns:
            The URL, with the user and the password.
        """
        given = {"INFORMIXSERVER": self.server, "user": self.user, "password": self.password, **properties}
        tail = ";".join(f"{name}={value}" for name, value in given.items())
        return f"jdbc:informix-sqli://{self.host}:{self.port}/{self.database}:{tail}"


def find_binary(*, release: bool = False) -> Path:
    """The server's program: named by ``HEADRACE_SIMULATE_INFORMIX``, built from the checkout, or installed.

    Args:
        release: from a checkout, build it with optimisation.

    Raises:
        ServerUnavailable: none is installed and this is not a checkout with cargo, or it could not be built.
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
    raise ServerUnavailable(
        f"{BINARY} is not in the PATH, and this is not a checkout with cargo to build it from; install it with "
        f"`pip install {PACKAGE}`, or set HEADRACE_SIMULATE_INFORMIX to the program"
    )


@functools.cache
def _build(root: Path, release: bool) -> Path:
    command = ["cargo", "build", "--quiet", "--package", PACKAGE, *(["--release"] if release else [])]
    if subprocess.run(command, cwd=root, check=False).returncode:
        raise ServerUnavailable(f"the Informix test server could not be built: {' '.join(command)} failed in {root}")
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
    locale: str = LOCALE,
    release: Literal["12.10", "14.10", "15"] = "14.10",
    faults: Sequence[str] = (),
    after_error: Literal["abort", "continue"] = "abort",
    tls: bool = False,
    pam: Mapping[str, str] | None = None,
    redirects: Sequence[str] = (),
    optimized: bool = False,
) -> Generator[InformixServer, None, None]:
    """Runs the Informix test server as long as the block does, with an empty database.

    Its program comes with ``pip install headrace-simulator-informix``; in a checkout with cargo it is built. It listens
    on 127.0.0.1, on a port that the system chose. It stops at the end of the block, and also when this process is
    killed. Safe to use from several threads and processes.

    Args:
        user: the user that may log in.
        password: the user's password.
        server: the name that clients give as INFORMIXSERVER.
        database: the database that exists from the start.
        mode: whether it has transactions: on request, always, or none.
        locale: of the databases, such as ``en_US.819``, ``en_US.utf8``, ``ja_JP.sjis``.
        release: the release whose capabilities are offered.
        faults: what goes wrong on purpose: ``latency=MS``, ``cut=N``, ``silence=N``, ``garbage=N``, ``split=N``.
        after_error: what becomes of the messages after an error in the same group.
        tls: open a second port that speaks TLS, with a certificate made for this run.
        pam: questions to ask at login, as PAM does, and the answers wanted; the password does not count then.
        redirects: other server names that clients may ask for: ``NAME`` is sent back here under the server's own name,
            ``NAME=SERVER@HOST:PORT`` there.
        optimized: build with optimisation, for races.

    Returns:
        A context manager; its value is the running server.

    Raises:
        ServerUnavailable: there is no program to start, or it did not start; the message has its output.
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
                locale=locale,
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
                raise ServerUnavailable(f"the Informix test server did not start: {problem or 'it printed nothing'}")
            said[name] = value
    finally:
        watchdog.cancel()
    # What it prints later is not read otherwise, and a full pipe would stop it.
    threading.Thread(target=process.stderr.read, daemon=True).start()
    return said
