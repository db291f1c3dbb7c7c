"""A client's settings are given to a server connection before its query. A CancelRequest that comes at that moment is
for the query."""

from __future__ import annotations

import socket
import struct
import threading
from pathlib import Path

from headrace.testing import PostgresServer

from .conftest import config, started
from .raw import READY, message, messages, query, sqlstates, startup
from .test_hostile_servers import KEY, OK, Hostile

CANCEL = struct.pack("!ii", 16, 80877102)
CANCELLED = message(b"E", b"SERROR\0VERROR\0C57014\0Mcanceling statement due to user request\0\0")
SECONDS = 30


def zone(name: str) -> bytes:
    """A ParameterStatus."""
    return message(b"S", f"TimeZone\0{name}\0".encode())


class Slow(Hostile):
    """A server that takes its time to set the time zone to UTC, and whose queries run until they are cancelled."""

    def __init__(self) -> None:
        self.asked, self.answers, self.cancelled = (threading.Event() for _ in range(3))
        super().__init__(lambda server, client: None)

    def serve(self, client: socket.socket) -> None:
        head = self.exactly(client, 8)
        length, kind = struct.unpack("!ii", head)
        self.exactly(client, length - 8)
        if kind == 80877102:
            self.cancelled.set()
            # The daemon waits for that, as the manual has it.
            client.shutdown(socket.SHUT_RDWR)
            return
        client.sendall(OK + zone("UTC") + KEY + READY + b"I")
        while head := self.exactly(client, 5):
            body = self.exactly(client, struct.unpack("!i", head[1:])[0] - 4)
            if head[:1] != b"Q":
                continue
            if b"Asia/Tokyo" in body:
                client.sendall(zone("Asia/Tokyo") + message(b"C", b"SET\0") + READY + b"I")
            elif b"UTC" in body:
                self.asked.set()
                self.answers.wait(SECONDS)
                client.sendall(zone("UTC") + message(b"C", b"SET\0") + READY + b"I")
            else:
                self.cancelled.wait(SECONDS)
                client.sendall(CANCELLED + READY + b"I")


def until_ready(client: socket.socket) -> bytes:
    """What comes up to ReadyForQuery."""
    received = b""
    while not received.endswith(READY + b"I"):
        block = client.recv(65536)
        assert block, received
        received += block
    return received


def connected(path: Path, **parameters: str) -> tuple[socket.socket, bytes]:
    """A client, and the key that it may cancel by."""
    client = socket.socket(socket.AF_UNIX)
    client.settimeout(SECONDS)
    client.connect(str(path))
    client.sendall(startup(user="me", database="app", **parameters))
    return client, next(body for tag, body in messages(until_ready(client)) if tag == b"K")


def test_cancel_is_for_the_query_behind_the_settings(program: Path, folder: Path, server: PostgresServer) -> None:
    with Slow() as slow:
        text = config(server, app='pool_size = 1\nsslmode = "disable"').replace(
            f"port = {server.port}", f"port = {slow.port}"
        )
        with started(program, folder, text, server) as daemon:
            client, key = connected(daemon.socket)
            other, _ = connected(daemon.socket, TimeZone="Asia/Tokyo")
            with other, client:
                client.sendall(query("select 1"))
                assert slow.asked.wait(SECONDS)
                with socket.socket(socket.AF_UNIX) as canceller:
                    canceller.settimeout(SECONDS)
                    canceller.connect(str(daemon.socket))
                    canceller.sendall(CANCEL + key)
                    assert canceller.recv(1) == b""
                assert not slow.cancelled.is_set(), "it would have ended the SET"
                slow.answers.set()
                assert sqlstates(until_ready(client)) == ["57014"]
                assert slow.cancelled.is_set()
