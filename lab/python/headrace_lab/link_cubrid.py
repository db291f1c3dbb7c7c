"""The floor's connection to CUBRID: it sends what the broker's protocol requires, and counts replies."""

from __future__ import annotations

import struct
from typing import Any, Final

from .counted import Counted
from .urls import address

HEADER: Final = 8
"""Bytes before the payload of a message: its length, and the state of the process that serves the connection."""
INFO: Final = b"\0\xff\xff\xff"
"""That state, as a client may send it always."""
HELLO: Final = b"CUBRK\x03\x4c\xc0\0\0"
"""Of a client that is announced as JDBC, with version 12 of the protocol, renewed error codes and holdable results."""
END_TRAN, PREPARE, EXECUTE, FETCH, EXECUTE_ARRAY, CON_CLOSE = 1, 2, 3, 8, 21, 31
"""Function codes."""
FETCH_ROWS: Final = 100
"""Rows asked for at a time, which servers ignore."""
INT, VARCHAR, DOUBLE, DATE = 8, 2, 12, 13
"""Types of parameters."""


def given(url: str) -> dict[str, Any]:
    """host, port, user, password and database of ``cubrid://user:pw@host:port/db``."""
    parts = address(url)
    return {
        "host": parts.host or "localhost",
        "port": parts.port or 33000,
        "user": parts.user or "dba",
        "password": parts.password,
        "database": parts.database,
    }


def argument(value: bytes) -> bytes:
    """A length and its bytes."""
    return struct.pack(">i", len(value)) + value


def number(value: int) -> bytes:
    """A number of 32 bits as an argument."""
    return struct.pack(">ii", 4, value)


def flag(value: int) -> bytes:
    """A byte as an argument."""
    return struct.pack(">iB", 1, value)


def request(function: int, arguments: bytes = b"") -> bytes:
    """One request."""
    return struct.pack(">i", 1 + len(arguments)) + INFO + bytes([function]) + arguments


def bound(kind: int, value: bytes) -> bytes:
    """A parameter: its type and its value."""
    return flag(kind) + argument(value)


def execute(handle: int, values: list[int], autocommit: bool = True) -> bytes:
    """EXECUTE of a query with integers, with the first page of its rows."""
    flags, size, rows, no_modes, first_page, forward_only, cached, timeout = 0, 0, 0, b"", 1, 1, bytes(8), 0
    fixed = number(handle) + flag(flags) + number(size) + number(rows) + argument(no_modes) + flag(first_page)
    fixed += flag(autocommit) + flag(forward_only) + argument(cached) + number(timeout)
    return request(EXECUTE, fixed + b"".join(bound(INT, struct.pack(">i", value)) for value in values))


def fetch(handle: int, position: int) -> bytes:
    """FETCH of the page that begins with a row, counted from 1."""
    is_sensitive, result = 0, 0
    return request(FETCH, number(handle) + number(position) + number(FETCH_ROWS) + flag(is_sensitive) + number(result))


def execute_array(handle: int, parameters: bytes) -> bytes:
    """EXECUTE_ARRAY, which does not commit."""
    timeout, autocommit = 0, 0
    return request(EXECUTE_ARRAY, number(handle) + number(timeout) + flag(autocommit) + parameters)


COMMIT: Final = request(END_TRAN, flag(1))


class Link(Counted):
    """One connection."""

    def __init__(self, url: str) -> None:
        to = given(url)
        super().__init__(to["host"], to["port"])
        names = (to["database"], to["user"], to["password"])
        # A URL for the logs of the server and the session to resume follow, and may be empty.
        info = b"".join(name.encode().ljust(32, b"\0") for name in names) + bytes(512 + 20)
        self.socket.sendall(HELLO + info)
        answer = bytearray()
        while len(answer) < 4 or (not any(answer[:4]) and self.reply_end(answer[4:]) is None):
            answer += self.view[: self.receive()]
        if any(answer[:4]):
            raise RuntimeError(f"the broker refused the connection: {int.from_bytes(answer[:4], 'big', signed=True)}")

    def close(self) -> None:
        """CON_CLOSE."""
        self.socket.sendall(request(CON_CLOSE))
        self.socket.close()

    def prepare(self, sql: str) -> int:
        """PREPARE; returns the statement's number."""
        text, flags, autocommit = sql.encode() + b"\0", 0, 0
        self.socket.sendall(request(PREPARE, argument(text) + flag(flags) + flag(autocommit)))
        _, reply = self.read_replies(1)
        self.ask("prepared", COMMIT)
        return int.from_bytes(reply[HEADER : HEADER + 4], "big")

    def reply_end(self, data: bytearray) -> int | None:
        """Where the reply at the front ends."""
        if len(data) < HEADER:
            return None
        end = HEADER + int.from_bytes(data[:4], "big")
        if end > len(data):
            return None
        if end >= HEADER + 4 and data[HEADER] & 0x80:
            raise RuntimeError(bytes(data[HEADER + 8 : end]).decode(errors="replace").rstrip("\0"))
        return end


def rows_of(reply: bytes, is_first: bool) -> int:
    """The rows in the reply to EXECUTE (the first page) or FETCH."""
    at = HEADER
    if is_first:
        results = int.from_bytes(reply[at + 5 : at + 9], "big")
        # The results of the statements, no description, the shard.
        at += 9 + 21 * results + 1 + 4
    return int.from_bytes(reply[at + 4 : at + 8], "big")


def total_of(reply: bytes) -> int:
    """The rows of the whole result, in the reply to EXECUTE."""
    return int.from_bytes(reply[HEADER : HEADER + 4], "big")
