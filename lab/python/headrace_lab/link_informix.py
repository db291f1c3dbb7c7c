"""The floor's connection to Informix: it sends what SQLI requires, and counts replies.

Messages have no length of their own, so each has to be known to find the next; a reply ends with SQ_EOT.
"""

from __future__ import annotations

import os
import struct
from typing import Any, Final

from .counted import Counted
from .urls import address

EOT: Final = b"\0\x0c"
BEGIN: Final = b"\0\x23" + EOT
COMMIT: Final = b"\0\x13" + EOT
MASK: Final = bytes.fromhex("fffc7ffc3c8caa97")
"""The capabilities offered: those of a client that reads 32 bit counters."""
FIXED: Final = {15: 14, 25: 4, 55: 8, 94: 18, 99: 6}
"""Bytes after the tag of SQ_DONE, SQ_TUPID, SQ_COST, SQ_INSERTDONE and SQ_XACTSTAT."""
TUPLE, DESCRIBE, ERR, VERSION, EXIT, PROTOCOLS, END = 14, 8, 13, 53, 56, 126, 12


def given(url: str) -> dict[str, Any]:
    """host, port, user, password, database, server and environment of ``informix://user:pw@host:port/db?server=…``."""
    parts = address(url)
    return {
        "host": parts.host or "localhost",
        "port": parts.port or 9088,
        "user": parts.user,
        "password": parts.password,
        "database": parts.database,
        "server": parts.options.pop("server", "informix"),
        "environment": parts.options,
    }


def chars(text: bytes) -> bytes:
    """CHAR: a length, the bytes, padding."""
    return struct.pack(">H", len(text)) + text + bytes(len(text) % 2)


def ident(number: int) -> bytes:
    """SQ_ID: the statement that what follows is for."""
    return b"\0\x04" + struct.pack(">H", number)


def open_fetch(number: int, bound: bytes, size: int) -> bytes:
    """SQ_OPEN with parameters, and SQ_NFETCH of the first rows."""
    cursor = b"\0\x03" + chars(b"_floor%010d" % number)
    return ident(number) + cursor + bound + b"\0\x06" + fetch(number, size)


def fetch(number: int, size: int) -> bytes:
    """SQ_NFETCH."""
    return ident(number) + b"\0\x09" + struct.pack(">iH", size, 0) + EOT


def close(number: int) -> bytes:
    """SQ_CLOSE."""
    return ident(number) + b"\0\x0a" + EOT


def _login(text: str) -> bytes:
    return struct.pack(">H", len(text) + 1) + text.encode() + b"\0"


def _conreq(to: dict[str, Any]) -> bytes:
    """The login packet."""
    body = b"\0\x64\0\x65\0\0\0\x3d" + _login("IEEEM") + b"\0\x6csqlexec".ljust(14, b"\0")
    body += _login("9.280") + _login("RDS#R000000") + _login("sqli") + struct.pack(">iiiH", 316, 0, 0, 1)
    body += _login(to["user"]) + _login(to["password"])
    body += b"ol".ljust(8, b"\0") + struct.pack(">i", 61) + b"tlitcp".ljust(8, b"\0") + struct.pack(">i", 1)
    body += b"\0\x68\0\x0b\0\0\0\x03" + _login(to["server"]) + bytes(10)
    environment = {"DBDATE": "Y4MD-", "NODEFDAC": "no", **to["environment"]}
    body += b"\0\x6a" + struct.pack(">H", len(environment))
    body += b"".join(_login(name) + _login(value) for name, value in environment.items())
    body += b"\0\x6b" + struct.pack(">iii", 0, os.getpid(), 0) + _login("floor") + b"\0\0" + _login("/")
    body += b"\0\x74" + struct.pack(">Hii", 16, 0, 0) + _login("floor") + b"\0\x7f"
    return struct.pack(">HBBH", len(body) + 6, 1, 60, 0) + body


class Link(Counted):
    """One connection."""

    def __init__(self, url: str) -> None:
        to = given(url)
        super().__init__(to["host"], to["port"])
        self.socket.sendall(_conreq(to))
        answer = bytearray()
        while len(answer) < 6 or len(answer) < int.from_bytes(answer[:2], "big"):
            answer += self.view[: self.receive()]
        if answer[2] != 2:
            raise RuntimeError(f"the server refused the login: {bytes(answer)!r}")
        database = b"\0\x24" + chars(to["database"].encode()) + b"\0\0" + EOT
        session = b"\0\x51\0\x06\0\x06\0\0\0\0\0\0\0\0" + EOT
        self.socket.sendall(b"\0\x7e" + chars(MASK) + EOT + session + database)
        self.read_replies(3)

    def close(self) -> None:
        """SQ_EXIT."""
        self.socket.sendall(b"\0\x38")
        self.socket.close()

    def prepare(self, sql: str) -> int:
        """SQ_PREPARE; returns the statement's number."""
        text = sql.encode()
        body = struct.pack(">HHi", 2, sql.count("?"), len(text)) + text + bytes(len(text) % 2)
        self.socket.sendall(body + b"\0\x16\0\x31" + EOT)
        _, reply = self.read_replies(1)
        return int.from_bytes(reply[4:6], "big")

    def reply_end(self, data: bytearray) -> int | None:
        """Where the reply at the front ends: at its SQ_EOT."""
        at = 0
        while True:
            end = message_end(data, at)
            if end is None or end > len(data):
                return None
            if data[at + 1] == END:
                return end
            at = end

    def has_done(self, reply: bytes) -> bool:
        """Whether a block of rows is the last one: SQ_DONE follows its rows."""
        data, at = bytearray(reply), 0
        while data[at + 1] == TUPLE:
            at = message_end(data, at) or len(data)
        return data[at + 1] != END


def message_end(data: bytearray, at: int) -> int | None:
    """Where the message at ``at`` ends; None while that is not known."""
    if len(data) < at + 2:
        return None
    tag, body = data[at + 1], at + 2
    if tag == TUPLE:
        if len(data) < body + 6:
            return None
        size = int.from_bytes(data[body + 2 : body + 6], "big")
        return body + 6 + size + size % 2
    if tag in (END, EXIT):
        return body
    if tag in FIXED:
        return body + FIXED[tag]
    if tag in (PROTOCOLS, VERSION):
        size = int.from_bytes(data[body : body + 2], "big")
        return body + 2 + size + size % 2 if len(data) >= body + 2 else None
    if tag == DESCRIBE:
        return _description_end(data, body)
    if tag == ERR and len(data) >= body + 10:
        code, isam, offset = struct.unpack_from(">hhi", data, body)
        raise RuntimeError(f"the server answered {code}, {isam} at {offset}: {bytes(data[body + 10 :])!r}")
    if tag == ERR:
        return None
    raise RuntimeError(f"the floor does not know the message {tag}")


def _description_end(data: bytearray, body: int) -> int | None:
    if len(data) < body + 16:
        return None
    fields: int
    names: int
    fields, names = struct.unpack_from(">Hi", data, body + 10)
    at = body + 16
    for _ in range(fields):
        at += 14
        for _ in range(2):
            if len(data) < at + 2:
                return None
            size = int.from_bytes(data[at : at + 2], "big")
            at += 2 + size + size % 2
        at += 12
    return at + names + names % 2
