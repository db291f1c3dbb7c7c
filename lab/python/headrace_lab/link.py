"""The floor's connection: it sends what PostgreSQL's protocol requires, and counts the bytes of the replies."""

from __future__ import annotations

import hashlib
import os
import select
import socket
import ssl
import struct
import threading
from typing import Any, Final

from scramp import ScramClient

from .counted import exchange_gathered, take
from .urls import address

BUFFER: Final = 1 << 20
"""Bytes read at a time."""
SYNC: Final = b"S\0\0\0\4"
SSL_REQUEST: Final = struct.pack("!ii", 8, 80877103)


def message(tag: bytes, body: bytes) -> bytes:
    """One message."""
    return tag + struct.pack("!i", len(body) + 4) + body


def bind_execute(number: int, values: list[bytes]) -> bytes:
    """Bind of a prepared statement with binary parameters and results, and Execute."""
    body = b"\0%d\0" % number + struct.pack("!hhh", 1, 1, len(values))
    for value in values:
        body += struct.pack("!i", len(value)) + value
    return message(b"B", body + struct.pack("!hh", 1, 1)) + message(b"E", b"\0\0\0\0\0")


def query(sql: str) -> bytes:
    """Query."""
    return message(b"Q", sql.encode() + b"\0")


def _connect(host: str, port: int, sslmode: str) -> socket.socket:
    """A socket, with TLS where the server has it, as the contestants' own default is; nothing is verified."""
    if host.startswith("/"):
        local = socket.socket(socket.AF_UNIX)
        local.connect(f"{host}/.s.PGSQL.{port}")
        return local
    plain = socket.create_connection((host, port))
    plain.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    if sslmode in ("disable", "allow"):
        return plain
    plain.sendall(SSL_REQUEST)
    if plain.recv(1) != b"S":
        return plain
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context.wrap_socket(plain)


class Link:
    """A connection that counts bytes."""

    def __init__(self, url: str) -> None:
        parts = address(url)
        self.user = parts.user or "postgres"
        self.password = parts.password or os.environ.get("PGPASSWORD", "")
        host = parts.options.get("host", parts.host or "localhost")
        port = int(parts.options.get("port", parts.port or 5432))
        self.socket = _connect(host, port, parts.options.get("sslmode", "prefer"))
        self.encrypted = isinstance(self.socket, ssl.SSLSocket)
        self.buffer = bytearray(BUFFER)
        self.view = memoryview(self.buffer)
        words = ("user", self.user, "database", parts.database or self.user, "client_encoding", "UTF8")
        startup = b"\0\3\0\0" + b"".join(word.encode() + b"\0" for word in words) + b"\0"
        self.socket.sendall(struct.pack("!i", len(startup) + 4) + startup)
        self._scram: Any = None
        try:
            self.until_ready()
        except BaseException:
            self.socket.close()
            raise
        self.known: dict[Any, int] = {}
        self._prepared = 0

    def _authenticate(self, body: bytes) -> None:
        """Answers AuthenticationCleartextPassword, -MD5Password, -SASL, -SASLContinue and -SASLFinal."""
        method = int.from_bytes(body[:4], "big")
        if method in (3, 5, 10) and not self.password:
            raise RuntimeError("the server asks for a password: put it into the URL or into PGPASSWORD")
        if method == 3:
            self.socket.sendall(message(b"p", self.password.encode() + b"\0"))
        elif method == 5:
            inner = hashlib.md5((self.password + self.user).encode()).hexdigest()
            outer = hashlib.md5(inner.encode() + body[4:8]).hexdigest()
            self.socket.sendall(message(b"p", b"md5" + outer.encode() + b"\0"))
        elif method == 10:
            self._scram = ScramClient(["SCRAM-SHA-256"], self.user, self.password)
            first = self._scram.get_client_first().encode()
            self.socket.sendall(message(b"p", b"SCRAM-SHA-256\0" + struct.pack("!i", len(first)) + first))
        elif method == 11:
            self._scram.set_server_first(body[4:].decode())
            self.socket.sendall(message(b"p", self._scram.get_client_final().encode()))
        elif method == 12:
            self._scram.set_server_final(body[4:].decode())
        elif method != 0:
            raise RuntimeError(f"the floor does not know the server's authentication method {method}")

    def until_ready(self, ready: int = 1) -> int:
        """Reads up to the given ReadyForQuery, looking at the messages, and returns the number of bytes."""
        pending, total = b"", 0
        while True:
            data = self.socket.recv(BUFFER)
            if not data:
                raise ConnectionError("the server closed the connection")
            total += len(data)
            pending += data
            at = 0
            while len(pending) - at >= 5:
                end = at + 1 + int.from_bytes(pending[at + 1 : at + 5], "big")
                if len(pending) < end:
                    break
                if pending[at : at + 1] == b"E":
                    raise RuntimeError(f"the server answered {pending[at + 5 : end]!r}")
                if pending[at : at + 1] == b"R":
                    self._authenticate(pending[at + 5 : end])
                ready -= pending[at : at + 1] == b"Z"
                at = end
            pending = pending[at:]
            if not ready:
                return total

    def prepare(self, sql: str) -> int:
        """Parse of a statement; returns the number that is its name."""
        self._prepared += 1
        self.socket.sendall(message(b"P", b"%d\0" % self._prepared + sql.encode() + b"\0\0\0") + SYNC)
        self.until_ready()
        return self._prepared

    def receive(self) -> int:
        """Reads what is there, into ``view``."""
        got = self.socket.recv_into(self.view)
        if not got:
            raise ConnectionError("the server closed the connection")
        return got

    def ask(self, key: Any, request: bytes, ready: int = 1) -> None:
        """Sends a small request and reads its whole reply."""
        self.socket.sendall(request)
        left = self.known.get(key)
        if left is None:
            self.known[key] = self.until_ready(ready)
            return
        got = self.socket.recv_into(self.view, min(left, BUFFER))
        if got < left:
            take(self.socket, self.view, left - got)

    def exchange(self, key: Any, request: bytes, ready: int = 1, gathers: bool = False) -> None:
        """Sends a large request while reading its reply; many small answers at a time if it ``gathers``."""
        left = self.known.get(key)
        if gathers and left is not None and not self.encrypted:
            exchange_gathered(self.socket, request, left)
            return
        if left is None or self.encrypted:
            # The first time replies are counted, and the kernel's buffers may not hold it all: so a thread sends. A
            # TLS socket has no other way to do both at once.
            sender = threading.Thread(target=self.socket.sendall, args=(request,))
            sender.start()
            if left is None:
                self.known[key] = self.until_ready(ready)
            while left:
                left -= self.socket.recv_into(self.view, min(left, BUFFER))
            sender.join()
            return
        sock, view, out = self.socket, self.view, memoryview(request)
        poll = select.poll()
        poll.register(sock, select.POLLIN | select.POLLOUT)
        while out:
            for _, events in poll.poll():
                if events & select.POLLIN:
                    left -= sock.recv_into(view, BUFFER)
                if events & select.POLLOUT:
                    out = out[sock.send(out, socket.MSG_DONTWAIT) :]
        while left > 0:
            left -= sock.recv_into(view, min(left, BUFFER))

    def close(self) -> None:
        """Terminate."""
        self.socket.sendall(b"X\0\0\0\4")
        self.socket.close()
