"""The floor's connection to MySQL and MariaDB: it sends what the protocol requires, and counts replies."""

from __future__ import annotations

import hashlib
import struct
from typing import Any, Final

from .contestants.mysqldb_like import parameters
from .counted import Counted

# CONNECT_WITH_DB, LOCAL_FILES, PROTOCOL_41, TRANSACTIONS, SECURE_CONNECTION, MULTI_RESULTS, PS_MULTI_RESULTS,
# PLUGIN_AUTH, DEPRECATE_EOF
FLAGS: Final = 0x8 | 0x80 | 0x200 | 0x2000 | 0x8000 | 0x20000 | 0x40000 | 0x80000 | 0x1000000
BULK: Final = 1 << 2
"""MARIADB_CLIENT_STMT_BULK_OPERATIONS"""
FAST: Final = b"\x01\x03"
FULL: Final = b"\x01\x04"
"""caching_sha2_password: the server has the password's hash, or needs the password."""
UTF8MB4: Final = 45
LARGEST: Final = 0xFFFFFF


def packet(body: bytes, sequence: int = 0) -> bytes:
    """One packet; the body is shorter than 16 MiB."""
    return struct.pack("<I", len(body))[:3] + bytes([sequence]) + body


def query(sql: str) -> bytes:
    """COM_QUERY."""
    return packet(b"\x03" + sql.encode())


class Link(Counted):
    """One connection."""

    def __init__(self, url: str) -> None:
        given = parameters(url)
        super().__init__(given["host"], given["port"])
        self.pending = b""
        self.bulk = False
        """Whether the server takes COM_STMT_BULK_EXECUTE."""
        self._log_in(given)

    def close(self) -> None:
        """Sends COM_QUIT."""
        self.socket.sendall(packet(b"\x01"))
        self.socket.close()

    def _log_in(self, given: dict[str, Any]) -> None:
        _, greeting = self.read()
        version, _, rest = greeting[1:].partition(b"\0")
        scramble = rest[4:12] + rest[31:43]
        mariadb = self.bulk = b"MariaDB" in version
        # Where it names none, it is old.
        plugin = rest[44:].partition(b"\0")[0] or b"mysql_native_password"
        password = given["password"].encode()
        proof = _proof(plugin, password, scramble)
        body = struct.pack("<IIB", FLAGS | (0 if mariadb else 1), LARGEST, UTF8MB4) + bytes(19)
        body += struct.pack("<I", BULK if mariadb else 0)
        body += given["user"].encode() + b"\0" + bytes([len(proof)]) + proof + given["database"].encode() + b"\0"
        self.socket.sendall(packet(body + plugin + b"\0", 1))
        sequence = 3
        _, answer = self.read()
        if answer[0] == 0xFE:
            plugin, _, scramble = answer[1:].partition(b"\0")
            self.socket.sendall(packet(_proof(plugin, password, scramble), sequence))
            sequence += 2
            _, answer = self.read()
        if answer == FULL:
            raise RuntimeError(
                "the floor logs in where the server has the password already: log in with another client"
            )
        if answer == FAST:
            _, answer = self.read()
        _check(answer)

    def _fill(self, size: int) -> None:
        while len(self.pending) < size:
            got = self.receive()
            self.pending += bytes(self.view[:got])

    def read(self) -> tuple[int, bytes]:
        """One packet: its whole length and its body."""
        self._fill(4)
        size = int.from_bytes(self.pending[:3], "little") + 4
        self._fill(size)
        body, self.pending = self.pending[4:size], self.pending[size:]
        return size, body

    def prepare(self, sql: str) -> int:
        """COM_STMT_PREPARE; returns the statement's number."""
        self.socket.sendall(packet(b"\x16" + sql.encode()))
        _, body = self.read()
        _check(body)
        number, columns, params = struct.unpack("<IHH", body[1:9])
        for _ in range(columns + params):
            self.read()
        return int(number)

    def reply_end(self, data: bytearray) -> int | None:
        """Where the reply at the front ends."""
        return _reply_end(data, 0)

    def load(self, table: str, packets: bytes) -> None:
        """LOAD DATA LOCAL with the file's packets."""
        self.socket.sendall(query(f"LOAD DATA LOCAL INFILE 'it' INTO TABLE {table} CHARACTER SET utf8mb4"))
        _, wish = self.read()
        _check(wish)
        self.socket.sendall(packets)
        _, answer = self.read()
        _check(answer)


def _packet_end(data: bytearray, at: int) -> int | None:
    if len(data) < at + 5:
        return None
    end = at + 4 + int.from_bytes(data[at : at + 3], "little")
    return end if end <= len(data) else None


def _reply_end(data: bytearray, at: int) -> int | None:
    """Where the reply that begins at ``at`` ends; None when that has not come."""
    end = _packet_end(data, at)
    if end is None:
        return None
    first = data[at + 4]
    _check(bytes(data[at + 4 : end]))
    if first in (0x00, 0xFE):
        return end
    for _ in range(first):
        end = _packet_end(data, end)
        if end is None:
            return None
    while True:
        begin = end
        end = _packet_end(data, begin)
        if end is None:
            return None
        if data[begin + 4] == 0xFE:
            return end


def _check(answer: bytes) -> None:
    if answer[0] == 0xFF:
        raise RuntimeError(answer[3:].decode(errors="replace"))


def _proof(plugin: bytes, password: bytes, scramble: bytes) -> bytes:
    known = {b"mysql_native_password": _native_password, b"caching_sha2_password": _caching_sha2_password}
    if plugin not in known:
        raise RuntimeError(f"the floor does not know {plugin.decode()}")
    return known[plugin](password, scramble)


def _caching_sha2_password(password: bytes, scramble: bytes) -> bytes:
    if not password:
        return b""
    once = hashlib.sha256(password).digest()
    other = hashlib.sha256(hashlib.sha256(once).digest() + scramble[:20]).digest()
    return bytes(a ^ b for a, b in zip(once, other, strict=True))


def _native_password(password: bytes, scramble: bytes) -> bytes:
    if not password:
        return b""
    once = hashlib.sha1(password).digest()
    other = hashlib.sha1(scramble[:20] + hashlib.sha1(once).digest()).digest()
    return bytes(a ^ b for a, b in zip(once, other, strict=True))
