"""A server that is no PostgreSQL, or one that somebody else has taken over: its own clients have an error, all others
are served, and the daemon goes on."""

from __future__ import annotations

import contextlib
import re
import socket
import struct
from collections.abc import Callable
from pathlib import Path

import pytest

import headrace
from accepting import Accepting
from headrace.testing import PostgresServer

from .conftest import config, started
from .raw import READY, message

OK = message(b"R", struct.pack("!i", 0))
SASL = message(b"R", struct.pack("!i", 10) + b"SCRAM-SHA-256\0\0")
KEY = message(b"K", struct.pack("!ii", 1, 2))
WELCOME = OK + KEY + READY + b"I"
CANCEL = struct.pack("!i", 80877102)
Play = Callable[["Hostile", socket.socket], None]
SECONDS = 0.5
"""To connect in: some parts are played until that has passed."""


class Hostile(Accepting):
    """A server that plays one of the parts below."""

    def __init__(self, play: Play) -> None:
        super().__init__()
        self.play = play
        self.closes = False
        """It closes what its client has closed, and what has brought a cancel request. The daemon waits 5 s for
        each."""
        self.listen()

    def serve(self, client: socket.socket) -> None:
        length = self.exactly(client, 4)
        if not length:
            return
        asked = self.exactly(client, struct.unpack("!i", length)[0] - 4)
        if not (self.closes and asked.startswith(CANCEL)):
            self.play(self, client)
            with contextlib.suppress(OSError):
                while client.recv(65536):
                    pass
        if self.closes:
            client.shutdown(socket.SHUT_RDWR)

    @staticmethod
    def exactly(client: socket.socket, count: int) -> bytes:
        """So many bytes, or none at the end."""
        found = b""
        while len(found) < count:
            block = client.recv(count - len(found))
            if not block:
                return b""
            found += block
        return found

    def nonce(self, client: socket.socket) -> bytes:
        """Asks for SCRAM, and returns the client's nonce."""
        client.sendall(SASL)
        head = self.exactly(client, 5)
        found = re.search(rb"r=([^,]+)", self.exactly(client, struct.unpack("!i", head[1:])[0] - 4))
        assert found is not None
        return found[1]

    def go_on(self, client: socket.socket, first: bytes) -> None:
        """AuthenticationSASLContinue."""
        client.sendall(message(b"R", struct.pack("!i", 11) + first))


def no_sqlstate(server: Hostile, client: socket.socket) -> None:
    """CVE-2026-6666"""
    client.sendall(message(b"E", b"SFATAL\0Mno\0\0"))


def no_fields(server: Hostile, client: socket.socket) -> None:
    """Of the same kind."""
    client.sendall(message(b"E", b"\0"))


def no_sqlstate_later(server: Hostile, client: socket.socket) -> None:
    """Of the same kind, as an answer to each statement."""
    client.sendall(WELCOME)
    while client.recv(65536):
        client.sendall(message(b"E", b"SERROR\0Mno\0\0") + READY + b"I")


def long_nonce(server: Hostile, client: socket.socket) -> None:
    """CVE-2026-6665"""
    server.go_on(client, b"r=" + server.nonce(client) + b"x" * 1_000_000 + b",s=c2FsdA==,i=4096")


def many_iterations(server: Hostile, client: socket.socket) -> None:
    """CVE-2026-6669"""
    server.go_on(client, b"r=" + server.nonce(client) + b"x,s=c2FsdA==,i=2147483647")


def no_salt(server: Hostile, client: socket.socket) -> None:
    """A part that is not there, and numbers that are none."""
    server.go_on(client, b"r=" + server.nonce(client) + b"x,s=,i=-1")


def false_proof(server: Hostile, client: socket.socket) -> None:
    """It does not know the password."""
    server.go_on(client, b"r=" + server.nonce(client) + b"x,s=c2FsdA==,i=4096")
    if client.recv(65536):
        client.sendall(message(b"R", struct.pack("!i", 12) + b"v=c2FsdA==") + WELCOME)


def no_proof(server: Hostile, client: socket.socket) -> None:
    """Nor does it try to look as if it did."""
    client.sendall(SASL + OK + WELCOME)


def endless(server: Hostile, client: socket.socket) -> None:
    """A message that never ends."""
    client.sendall(b"R\x7f\xff\xff\xff" + b"x" * 1_000_000)


def negative(server: Hostile, client: socket.socket) -> None:
    """A length below that of itself."""
    client.sendall(b"R\xff\xff\xff\xff")


def nothing(server: Hostile, client: socket.socket) -> None:
    """It never answers."""


PLAYS = [
    no_sqlstate, no_fields, no_sqlstate_later, long_nonce, many_iterations, no_salt, false_proof, no_proof, endless,
    negative, nothing,
]  # fmt: skip


@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.__name__)
def test_hostile_server_has_its_own_clients_only(
    program: Path, folder: Path, server: PostgresServer, play: Play
) -> None:
    with Hostile(play) as hostile:
        text = config(server, app="pool_size = 1") + (
            f'[databases.hostile]\nhost = "127.0.0.1"\nport = {hostile.port}\ndbname = "postgres"\nuser = "me"\n'
            f'password = "secret"\nconnect_timeout = {SECONDS}\nsslmode = "disable"\n'
        )
        with started(program, folder, text, server) as daemon, daemon.connect("app", autocommit=True) as client:
            for hostile.closes in (False, True):
                with pytest.raises(headrace.Error) as caught:
                    daemon.connect("hostile", autocommit=True, connect_timeout=30).execute("select 1")
                assert "secret" not in str(caught.value)
                assert client.fetchval("select 42") == 42
            assert daemon.process.poll() is None


def plaintext(server: Hostile, client: socket.socket) -> None:
    """It agrees to TLS, and somebody between the two puts more behind that."""
    client.sendall(b"S" + message(b"E", b"SFATAL\0C28P01\0Mof somebody else\0\0") + WELCOME)


@pytest.mark.parametrize("sslmode", ["prefer", "require", "verify-full"])
def test_what_comes_before_the_handshake_is_not_taken_for_the_servers(
    program: Path, folder: Path, server: PostgresServer, sslmode: str
) -> None:
    """CVE-2021-43767: it is passed to the client as if it had come over TLS."""
    with Hostile(plaintext) as hostile:
        text = config(server, app="") + (
            f'[databases.hostile]\nhost = "localhost"\nport = {hostile.port}\ndbname = "postgres"\nuser = "me"\n'
            f'password = "secret"\nconnect_timeout = 2\nsslmode = "{sslmode}"\n'
        )
        with started(program, folder, text, server) as daemon:
            with pytest.raises(headrace.Error) as caught:
                daemon.connect("hostile", autocommit=True, connect_timeout=30).execute("select 1")
            assert "of somebody else" not in str(caught.value)
            with daemon.connect("app") as client:
                assert client.fetchval("select 42") == 42


@pytest.mark.parametrize("play", PLAYS, ids=lambda play: play.__name__)
def test_driver_has_an_error(play: Play) -> None:
    with Hostile(play) as hostile, pytest.raises(headrace.Error) as caught:
        url = f"postgresql://me:secret@127.0.0.1:{hostile.port}/postgres?sslmode=disable&connect_timeout={SECONDS}"
        headrace.connect(url, autocommit=True).execute("select 1")
    assert "secret" not in str(caught.value)
