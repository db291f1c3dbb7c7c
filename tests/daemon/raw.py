"""Clients that are a socket and a few messages: they can be cut at any byte, and 5,000 of them fit into a test."""

from __future__ import annotations

import asyncio
import contextlib
import socket
import struct
from pathlib import Path
from typing import Self

SECONDS = 30
READY = b"Z\0\0\0\5"


def startup(**parameters: str) -> bytes:
    """A StartupMessage."""
    body = struct.pack("!i", 196608) + b"".join(f"{k}\0{v}\0".encode() for k, v in parameters.items()) + b"\0"
    return struct.pack("!i", len(body) + 4) + body


def message(tag: bytes, body: bytes) -> bytes:
    """A message of a client."""
    return tag + struct.pack("!i", len(body) + 4) + body


def query(sql: str) -> bytes:
    """A Query."""
    return message(b"Q", sql.encode() + b"\0")


def parse(name: str, sql: str) -> bytes:
    """A Parse without types of parameters."""
    return message(b"P", f"{name}\0{sql}\0".encode() + b"\0\0")


def bind(statement: str, *values: str) -> bytes:
    """A Bind of the unnamed portal, everything as text."""
    given = b"".join(struct.pack("!i", len(value.encode())) + value.encode() for value in values)
    return message(b"B", f"\0{statement}\0".encode() + struct.pack("!hh", 0, len(values)) + given + b"\0\0")


def describe(statement: str) -> bytes:
    """A Describe of a statement."""
    return message(b"D", f"S{statement}\0".encode())


def describe_portal() -> bytes:
    """A Describe of the unnamed portal."""
    return message(b"D", b"P\0")


def close(statement: str) -> bytes:
    """A Close of a statement."""
    return message(b"C", f"S{statement}\0".encode())


EXECUTE = message(b"E", b"\0" + struct.pack("!i", 0))
SYNC = message(b"S", b"")
FLUSH = message(b"H", b"")
TERMINATE = message(b"X", b"")


def messages(received: bytes) -> list[tuple[bytes, bytes]]:
    """The messages of a server: each its tag and its body. What is not complete is left out."""
    found, at = [], 0
    while at + 5 <= len(received):
        (length,) = struct.unpack_from("!i", received, at + 1)
        if at + 1 + length > len(received):
            break
        found.append((received[at : at + 1], received[at + 5 : at + 1 + length]))
        at += 1 + length
    return found


def values(received: bytes) -> list[str]:
    """The first value of each row."""
    rows = (body for tag, body in messages(received) if tag == b"D")
    return [body[6 : 6 + struct.unpack_from("!i", body, 2)[0]].decode() for body in rows]


def sqlstates(received: bytes) -> list[str]:
    """Those of the errors."""
    fields = (body.split(b"\0") for tag, body in messages(received) if tag == b"E")
    return [field[1:].decode() for error in fields for field in error if field.startswith(b"C")]


def answers(path: Path, sent: bytes) -> bytes:
    """All that a client receives that sends this, whose end is Terminate."""
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(SECONDS)
        raw.connect(str(path))
        raw.sendall(sent)
        received = b""
        while block := raw.recv(65536):
            received += block
        return received


class Client:
    """A client that sends what it is given, and waits for so many ReadyForQuery."""

    def __init__(self, connected: socket.socket, **parameters: str) -> None:
        self.socket = connected
        self.socket.settimeout(SECONDS)
        self._received = b""
        self.welcome = self.ask(startup(**parameters))

    @classmethod
    def local(cls, path: Path, **parameters: str) -> Client:
        """Through a Unix socket."""
        connected = socket.socket(socket.AF_UNIX)
        connected.connect(str(path))
        return cls(connected, **parameters)

    def ask(self, request: bytes, answers: int = 1) -> bytes:
        """Sends requests, and returns all of their answers."""
        # A peer that has ended meanwhile has said why: that is among the answers.
        with contextlib.suppress(BrokenPipeError, ConnectionResetError):
            self.send(request)
        return self.receive(answers)

    def send(self, request: bytes) -> None:
        """Sends requests."""
        self.socket.sendall(request)

    def receive(self, answers: int = 1) -> bytes:
        """So many answers."""
        while (end := self._end(answers)) is None:
            try:
                block = self.socket.recv(65536)
            except ConnectionResetError:
                # The end of a peer that had not read everything; what it has sent comes before.
                block = b""
            if not block:
                raise ConnectionError(f"the connection has ended: {self._received!r}")
            self._received += block
        found, self._received = self._received[:end], self._received[end:]
        return found

    def _end(self, answers: int) -> int | None:
        at = 0
        for tag, body in messages(self._received):
            at += 5 + len(body)
            answers -= tag == b"Z"
            if answers == 0:
                return at
        return None

    def close(self) -> None:
        """Says goodbye, if it has not."""
        if self.socket.fileno() >= 0:
            self.socket.sendall(TERMINATE)
            self.socket.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class AsyncClient(asyncio.Protocol):
    """A client on asyncio that sends one request after the other."""

    def __init__(self) -> None:
        self.received = bytearray()
        self.key = (0, 0)
        self.closed = asyncio.Event()
        self._answers = 1
        self._ready: asyncio.Future[None] | None = None
        self._transport: asyncio.Transport | None = None

    @classmethod
    async def connect(cls, path: Path, **parameters: str) -> AsyncClient:
        """Connects and is welcomed."""
        _, client = await asyncio.get_running_loop().create_unix_connection(cls, str(path))
        welcome = messages(await client.ask(startup(**parameters)))
        client.key = struct.unpack("!ii", dict(welcome)[b"K"])
        return client

    @property
    def transport(self) -> asyncio.Transport:
        """What it sends by."""
        assert self._transport is not None
        return self._transport

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """It is connected."""
        assert isinstance(transport, asyncio.Transport)
        self._transport = transport

    def data_received(self, data: bytes) -> None:
        """Collects an answer, whose end is ReadyForQuery."""
        self.received += data
        if self._ready is None or self._ready.done() or self.received[-6:-1] != READY:
            return
        if self._answers == 1 or sum(tag == b"Z" for tag, _ in messages(bytes(self.received))) == self._answers:
            self._ready.set_result(None)

    def connection_lost(self, exc: Exception | None) -> None:
        """Nobody waits for ever."""
        self.closed.set()
        if self._ready is not None and not self._ready.done():
            self._ready.set_exception(ConnectionError(f"the connection has ended: {bytes(self.received)!r}"))

    async def ask(self, request: bytes, answers: int = 1) -> bytes:
        """Sends requests, and returns all of their answers."""
        self.received.clear()
        self._answers = answers
        self._ready = asyncio.get_running_loop().create_future()
        self.transport.write(request)
        await self._ready
        return bytes(self.received)

    def close(self) -> None:
        """Says goodbye."""
        self.transport.write(TERMINATE)
        self.transport.close()

    def abort(self) -> None:
        """Is gone, without a word."""
        self.transport.abort()
