"""The project's CUBRID test server for the length of a block: the broker's protocol, and SQL on SQLite."""

from __future__ import annotations

import contextlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypedDict
from urllib.parse import quote

from ._programs import started


class CubridParameters(TypedDict):
    """The keyword arguments of :func:`headrace.cubrid.connect` and of ``pycubrid.connect``."""

    host: str
    port: int
    user: str
    password: str
    database: str


@dataclass(frozen=True)
class CubridServer:
    """A running test server."""

    host: str
    port: int
    user: str
    password: str = field(repr=False)
    database: str
    pid: int = 0
    """Its process."""
    tls_port: int | None = None
    """The port of a second broker that serves TLS only, if there is one."""
    authority: Path | None = None
    """The certificate, PEM, of the authority that signed the server's."""

    @property
    def url(self) -> str:
        """Connection URL, without TLS."""
        password = f":{quote(self.password, safe='')}" if self.password else ""
        return f"cubrid://{quote(self.user, safe='')}{password}@{self.host}:{self.port}/{self.database}"

    def parameters(self) -> CubridParameters:
        """Returns the keyword arguments of ``connect``.

        Returns:
            Host, port, user, password and database.
        """
        return {
            "host": self.host,
            "port": self.port,
            "user": self.user,
            "password": self.password,
            "database": self.database,
        }


@contextlib.contextmanager
def cubrid(
    *,
    user: str = "dba",
    password: str = "",
    database: str = "testdb",
    charset: Literal["utf8", "euckr", "iso88591"] = "utf8",
    cas: int = 40,
    time_zone: str = "Etc/UTC",
    port_answer: bool = False,
    protocol: int = 12,
    faults: Sequence[str] = (),
    tls: bool = False,
    optimized: bool = False,
) -> Generator[CubridServer, None, None]:
    """Runs the CUBRID test server as long as the block does, with an empty database.

    Its program comes with ``pip install headrace-simulator-cubrid``; in a checkout with cargo it is built. It listens
    on 127.0.0.1, on a port that the system chose. It stops at the end of the block, and also when this process is
    killed. Safe to use from several threads and processes.

    Args:
        user: the user that may log in.
        password: the user's password.
        database: the database.
        charset: the code set of its texts.
        cas: the number of workers; with fewer workers than connections, those outside of a transaction lose theirs.
        time_zone: of sessions, such as ``Asia/Seoul``.
        port_answer: answer the hello with another port, as a broker on Windows does.
        protocol: the version of the protocol, from 8 (CUBRID 10.2) to 12.
        faults: what goes wrong on purpose: ``latency=MS``, ``cut=N``, ``silence=N``, ``garbage=N``, ``split=N``.
        tls: open a second port that serves TLS, with a certificate made for this run.
        optimized: build with optimisation, for races.

    Returns:
        A context manager; its value is the running server.

    Raises:
        ServerUnavailable: there is no program to start, or it did not start; the message has its output.
    """
    options = ["--user", user, "--password", password, "--database", database, "--charset", charset]
    options += ["--cas", str(cas), "--time-zone", time_zone, "--protocol", str(protocol)]
    if port_answer:
        options.append("--port-answer")
    for fault in faults:
        options += ["--fault", fault]
    with started("cubrid", options, tls=tls, optimized=optimized) as (pid, said):
        yield CubridServer(
            host="127.0.0.1",
            port=int(said["port"]),
            user=user,
            password=password,
            database=database,
            pid=pid,
            tls_port=int(said["tls-port"]) if tls else None,
            authority=Path(said["authority"]) if tls else None,
        )
