"""A small client that sends given bytes and returns the replies, message by message."""

from __future__ import annotations

import socket
import struct
from dataclasses import dataclass, field
from typing import NamedTuple

from headrace.testing import InformixServer

# Seconds. A server that sends nothing for so long sends nothing more.
TIMEOUT = 20.0


def chars(text: str | bytes) -> bytes:
    data = text.encode() if isinstance(text, str) else text
    return struct.pack(">H", len(data)) + data + b"\0" * (len(data) % 2)


def long_text(text: str) -> bytes:
    data = text.encode()
    return struct.pack(">i", len(data)) + data + b"\0" * (len(data) % 2)


def login_string(text: str) -> bytes:
    return struct.pack(">H", len(text) + 1) + text.encode() + b"\0"


def prepare(sql: str) -> bytes:
    return struct.pack(">HH", 2, sql.count("?")) + long_text(sql) + b"\0\x16\0\x31\0\x0c"


def command(sql: str) -> bytes:
    return b"\0\x01\0\0" + long_text(sql) + b"\0\x16\0\x07\0\x0b\0\x0c"


def bind_ints(*values: int | None) -> bytes:
    message = struct.pack(">HH", 5, len(values))
    for value in values:
        message += b"\0\x02\xff\xff\0\0" if value is None else b"\0\x02\0\0\x0a\0" + struct.pack(">i", value)
    return message


class Column(NamedTuple):
    """A column as DESCRIBE has it."""

    start: int
    code: int
    type_name: str
    by_reference: int
    alignment: int
    length: int


@dataclass
class Reply:
    """One group of the server."""

    messages: list[tuple[str, tuple[int, ...]]] = field(default_factory=list)
    columns: list[Column] = field(default_factory=list)
    rows: list[bytes] = field(default_factory=list)
    statement: int | None = None

    def names(self) -> list[str]:
        return [name for name, _ in self.messages]

    def error(self) -> tuple[int, ...] | None:
        return next((values for name, values in self.messages if name == "ERR"), None)


class Client:
    """A session, its capabilities those of the 8-byte mask."""

    def __init__(
        self, server: InformixServer, *, password: str | None = None, name: str | None = None, database: str | None = ""
    ) -> None:
        self.socket = socket.create_connection((server.host, server.port), timeout=TIMEOUT)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        body = b"\0\x64\0\x65" + struct.pack(">i", 61) + login_string("IEEEM") + b"\0\x6csqlexec\0\0\0\0\0"
        body += b"".join(login_string(text) for text in ("9.280", "RDS#R000000", "sqli"))
        body += struct.pack(">iiiH", 316, 0, 0, 1)
        body += login_string(server.user) + login_string(server.password if password is None else password)
        body += b"ol".ljust(8, b"\0") + struct.pack(">i", 61) + b"tlitcp".ljust(8, b"\0") + struct.pack(">i", 1)
        body += b"\0\x68\0\x0b\0\0\0\x03" + login_string(name or server.server) + bytes(10)
        body += b"\0\x6a\0\0\0\x6b" + struct.pack(">iii", 0, 1, 0) + login_string("test") + b"\0\0"
        body += login_string("/") + b"\0\x7f"
        self.socket.sendall(struct.pack(">HBBH", len(body) + 6, 1, 60, 0) + body)
        length, self.login, _, _ = struct.unpack(">HBBH", self.read(6))
        self.accepted = self.read(length - 6)
        if self.login == 2 and database is not None:
            assert self.ask(b"\0\x7e\0\x08\xff\xfc\x7f\xfc\x3c\x8c\xaa\x97\0\x0c").names() == ["PROTOCOLS"]
            assert self.ask(b"\0\x24" + chars(database or server.database) + b"\0\0\0\x0c").names() == ["DONE", "COST"]

    def close(self) -> None:
        self.socket.close()

    def __enter__(self) -> Client:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def send(self, data: bytes) -> None:
        self.socket.sendall(data)

    def ask(self, data: bytes) -> Reply:
        self.send(data)
        return self.reply()

    def read(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            part = self.socket.recv(count - len(data))
            if not part:
                raise EOFError(f"the server closed the connection with {data!r} of {count} bytes sent")
            data += part
        return data

    def _fields(self, form: str) -> tuple[int, ...]:
        return struct.unpack(">" + form, self.read(struct.calcsize(">" + form)))

    def _chars(self) -> bytes:
        (length,) = self._fields("H")
        return self.read(length + length % 2)[:length]

    def reply(self) -> Reply:
        """Reads a group."""
        reply = Reply()
        while True:
            (tag,) = self._fields("H")
            match tag:
                case 12:
                    return reply
                case 8:
                    kind, reply.statement, _, _, fields, names = self._fields("hhihhi")
                    for _ in range(fields):
                        _, start, code, _ = self._fields("iihi")
                        self._chars()
                        name = self._chars().decode()
                        by_reference, alignment, _, length = self._fields("hhii")
                        reply.columns.append(Column(start, code & 0xFF, name, by_reference, alignment, length))
                    self.read(names + names % 2)
                    reply.messages.append(("DESCRIBE", (kind, reply.statement, fields)))
                case 13:
                    code, isam, offset = self._fields("hhi")
                    self._chars()
                    reply.messages.append(("ERR", (code, isam, offset)))
                case 14:
                    _, size = self._fields("hi")
                    reply.rows.append(self.read(size + size % 2)[:size])
                case 15:
                    reply.messages.append(("DONE", self._fields("hiii")))
                case 18:
                    rows, code, isam, _ = self._fields("ihhi")
                    self._chars()
                    reply.messages.append(("PUTERR", (rows, code, isam)))
                case 25:
                    reply.messages.append(("TUPID", self._fields("i")))
                case 53:
                    self._chars()
                    reply.messages.append(("VERSION", ()))
                case 55:
                    reply.messages.append(("COST", self._fields("ii")))
                case 94:
                    self.read(18)
                    reply.messages.append(("INSERTDONE", ()))
                case 99:
                    reply.messages.append(("XACTSTAT", self._fields("hhh")))
                case 126:
                    self._chars()
                    reply.messages.append(("PROTOCOLS", ()))
                case _:
                    raise AssertionError(f"message {tag} after {reply.messages}")
