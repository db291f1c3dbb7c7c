"""The project's Informix test server for the length of a block: it speaks SQLI to any client and runs SQL on SQLite.

It accepts what IBM's JDBC driver sends; it is not a proof that a genuine server does the same.
"""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Final, Literal, TypedDict
from urllib.parse import quote

from ._programs import started

Mode = Literal["logged", "ansi", "unlogged"]
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
    own = {
        "--user": user,
        "--password": password,
        "--server": server,
        "--database": database,
        "--mode": mode,
        "--locale": locale,
        "--release": release,
        "--after-error": after_error,
    }
    options = [word for name, value in own.items() for word in (name, value)]
    for fault in faults:
        options += ["--fault", fault]
    for question, answer in (pam or {}).items():
        options += ["--pam", f"{question}={answer}"]
    for redirect in redirects:
        options += ["--redirect", redirect]
    with started("informix", options, tls=tls, optimized=optimized) as (pid, said):
        yield InformixServer(
            host="127.0.0.1",
            port=int(said["port"]),
            user=user,
            password=password,
            database=database,
            server=server,
            pid=pid,
            tls_port=int(said["tls-port"]) if tls else None,
            authority=Path(said["authority"]) if tls else None,
            locale=locale,
        )
