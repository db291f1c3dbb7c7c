"""A server that turns hostile after an honest handshake: what it answers instead, and what a program must see of it."""

from __future__ import annotations

import contextlib
import random
import re
import socket
import struct
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from accepting import Accepting
from headrace import errors

LINGER = 0.25
"""Seconds that a hostile server stays after its last lie."""
MEMORY = 96 * 1024
"""KiB that one case may take at its peak."""
SECONDS = 8.0
"""What one case may take: the limit of the calls' timeout, and CANCEL_TIMEOUT after it."""

Answer = Callable[[bytes], list[bytes]]
"""Replaces a message of the server by bytes for the client, after which the connection is expected to end."""


class HostileProxy(Accepting):
    """Passes everything on until it is armed: the server's next block is replaced, and the connection ends soon."""

    def __init__(self, port: int) -> None:
        super().__init__()
        self.target = port
        self.answer: Answer | None = None
        self.listen()

    def serve(self, client: socket.socket) -> None:
        server = self.connected(self.target)
        self.start(self._forth, client, server)
        with contextlib.suppress(OSError):
            self._back(client, server)
        for one in (client, server):
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def _forth(self, client: socket.socket, server: socket.socket) -> None:
        while block := client.recv(65536):
            server.sendall(block)

    def _back(self, client: socket.socket, server: socket.socket) -> None:
        while block := server.recv(65536):
            if self.answer is None:
                client.sendall(block)
                continue
            for piece in self.answer(block):
                client.sendall(piece)
            self.ended.wait(LINGER)
            return


# What is answered

NUMBERS = (0, 1, 0x7FFF, 0x8000, 0xFFFF, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 0x01000000)


def spoilt(rng: random.Random, invented: list[bytes]) -> Answer:
    """One of the ways to lie."""

    def bits(block: bytes) -> list[bytes]:
        out = bytearray(block)
        for _ in range(rng.choice((1, 1, 2, 8))):
            out[rng.randrange(len(out))] ^= 1 << rng.randrange(8)
        return [bytes(out)]

    def lengths(block: bytes) -> list[bytes]:
        number = struct.pack(">I", rng.choice(NUMBERS))
        number = rng.choice((number, number[2:], number[::-1]))
        at = rng.randrange(max(1, len(block) - len(number)))
        return [block[:at] + number + block[at + len(number) :]]

    def cut(block: bytes) -> list[bytes]:
        return [block[: rng.randrange(len(block))]]

    def without(block: bytes) -> list[bytes]:
        at = rng.randrange(len(block))
        return [block[:at] + block[at + rng.randrange(1, 9) :]]

    def doubled(block: bytes) -> list[bytes]:
        at = rng.randrange(len(block))
        return [block[:at], block[at // 2 :]]

    def garbage(block: bytes) -> list[bytes]:
        return [rng.randbytes(rng.choice((1, 7, 100, 5000)))]

    def message(block: bytes) -> list[bytes]:
        return [*rng.choice(([], [block])), rng.choice(invented)]

    def inside(block: bytes) -> list[bytes]:
        at = rng.randrange(len(block))
        return [block[:at] + rng.choice(invented) + block[at:]]

    return rng.choice((bits, bits, lengths, lengths, cut, without, doubled, garbage, message, message, inside))


def u16(n: int) -> bytes:
    return struct.pack(">H", n & 0xFFFF)


def u32(n: int) -> bytes:
    return struct.pack(">I", n & 0xFFFFFFFF)


def _postgres(tag: str, body: bytes, length: int | None = None) -> bytes:
    return tag.encode() + u32(len(body) + 4 if length is None else length) + body


def postgres_messages() -> list[bytes]:
    """Messages of PostgreSQL that are wrong by themselves, or at any time but one."""
    column = b"c\0" + u32(0) + u16(0) + u32(114) + u16(-1) + u32(-1) + u16(0)
    row = _postgres("T", u16(1) + column)
    ready = _postgres("Z", b"I")
    out = [_postgres(tag, b"", length) for tag in "TDCZSEG" for length in (0, 3, 0x7FFFFFFF, 0xFFFFFFFF)]
    out += [_postgres("T", u16(n) + column) for n in (0, 2, 0x7FFF, 0xFFFF)]
    out += [
        row + _postgres("D", u16(n) + u32(size) + b"[" * 4) for n in (0, 1, 2, 0xFFFF) for size in (4, 5, 0x7FFFFFFF)
    ]
    out += [row + _postgres("D", u16(1) + u32(len(v)) + v) + _postgres("C", b"SELECT 1\0") + ready for v in JSON]
    out += [_postgres("R", u32(kind) + b"SCRAM-SHA-256\0\0") for kind in (0, 3, 5, 10, 11, 12, 99)]
    out += [_postgres(tag, b"\0" + u16(1) + u16(1)) for tag in "GHW"] + [_postgres("d", b"x" * 50), _postgres("c", b"")]
    out += [_postgres("E", b), _postgres("N", b)] if (b := b"SFATAL") else []
    out += [_postgres("A", u32(1) + b"channel\0" + b"x" * 70_000), _postgres("S", b"TimeZone\0\xff\xfe\0")]
    out += [
        _postgres("t", u16(0x7FFF) + u32(23)),
        _postgres("1", b""),
        _postgres("s", b""),
        ready * 3,
        _postgres("V", u32(9)),
    ]
    return out


def _mysql(body: bytes, number: int = 1, length: int | None = None) -> bytes:
    return struct.pack("<I", len(body) if length is None else length)[:3] + bytes([number & 0xFF]) + body


def mysql_messages() -> list[bytes]:
    """Packets of MySQL that are wrong by themselves, or at any time but one."""
    out = [_mysql(b"\x00" * 5, n, length) for n in (0, 1, 2, 200) for length in (5, 0, 0xFFFFFF)]
    # Counts of columns, rows and generated keys that no server has.
    huge = [b"\xfe" + b"\xff" * 8, b"\xfd\xff\xff\xff", b"\xfc\xff\xff", b"\xff" * 9]
    out += [_mysql(count) for count in huge] + [_mysql(b"\0" + count + count + b"\2\0\0\0") for count in huge]
    out += [_mysql(b"\xfb" + name) for name in (b"/etc/passwd", b"", b"\xff" * 300)]
    names = [
        b"\x03def" + b"\0" * 5 + b"\x0c" + struct.pack("<HIBHB", 33, n, kind, 0, 0)
        for n, kind in ((0xFFFFFFFF, 245), (1, 0))
    ]
    end = b"\xfe\0\0\2\0"
    for column in names:
        for value in (*JSON, b""):
            packets = [b"\x01", column, end, b"\xfc" + struct.pack("<H", len(value)) + value, end]
            out.append(b"".join(_mysql(body, n) for n, body in enumerate(packets, 1)))
    out += [_mysql(b"\xff\x10\x04#HY000" + b"x" * size) for size in (0, 60_000)] + [_mysql(b"\xff")]
    out += [_mysql(b"\xfe" + b"mysql_clear_password\0"), _mysql(b"\x01\x04"), _mysql(b"\x01\x03"), _mysql(b"")]
    out += [_mysql(b"\0" + struct.pack("<IHHBH", 1, 0xFFFF, 0xFFFF, 0, 0))]
    return out


def _chars(data: bytes) -> bytes:
    return u16(len(data)) + data + b"\0" * (len(data) % 2)


def description(columns: int, type_name: bytes = b"", *, kind: int = 2, code: int = 2) -> bytes:
    """SQ_DESCRIBE of so many columns of one name."""
    field = u32(0) * 2 + u16(code) + u32(0) + _chars(b"") + _chars(type_name) + u32(0) * 2 + u32(4)
    return u16(8) + u16(kind) + u16(0) + u32(0) + u16(4) + u16(columns) + u32(2) + field * columns + b"c\0"


def informix_messages() -> list[bytes]:
    """Messages of SQLI that are wrong by themselves, or at any time but one."""
    end = u16(12)
    out = [
        u16(tag) + end for tag in (0, 1, 8, 13, 14, 15, 18, 25, 38, 39, 55, 56, 94, 97, 98, 99, 101, 103, 125, 126, 141)
    ]
    out += [
        u16(tag) + u16(3) + u32(n) + end for tag in (8, 13, 14, 15, 39, 97, 98, 101, 103) for n in (0x7FFFFFFF, -1, 1)
    ]
    out += [description(n) + end for n in (0, 1, 2000, 0x7FFF)] + [description(3, b"x" * 60_000) + end]
    out += [description(1, code=code) + end for code in (5, 10, 11, 13, 19, 22, 40, 41, 43, 45, 99)]
    out += [u16(14) + u16(0) + u32(n) + b"\xff" * 8 + end for n in (0, 1, 4, 8, 0x7FFFFFFF)]
    out += [
        u16(103) + u16(n) + (u16(2) + u16(0) + u16(10) + u32(0x7FFFFFFF)) * k + end
        for n, k in ((1, 1), (2, 1), (2, 2), (0, 0))
    ]
    out += [u16(98) + u16(0) + _chars(b"/etc/passwd") + u32(0) * 3 + end, u16(98) + u16(2) + u16(100) + u32(-1) + end]
    out += [u16(97) + u16(0) + u32(n) + u16(4) + b"abcd" + end for n in (4, 5, 0x7FFFFFFF)]
    out += [u16(13) + u16(-n) + u16(0) + u32(n) + _chars(b"x" * 60_000) + end for n in (201, 368, 710)]
    return out


def _cubrid(body: bytes, length: int | None = None, info: bytes = b"\1\xff\xff\xfb") -> bytes:
    return u32(len(body) if length is None else length) + info + body


def _named(text: bytes) -> bytes:
    return u32(len(text) + 1) + text + b"\0"


def cubrid_messages() -> list[bytes]:
    """Replies of a CAS that are wrong by themselves, or at any time but one."""
    numbers = (0, 1, -1, 0x7FFFFFFF, -0x80000000)
    out = [_cubrid(u32(n) * 4, length) for n in numbers for length in (16, 0, 3, 0x7FFFFFFF, -1)]
    out += [_cubrid(u32(n)) for n in (*numbers, -10004, -10006)] + [_cubrid(b""), _cubrid(b"\0")]
    out += [_cubrid(u32(which) + u32(code) + b"x" * size) for which in (-1, -2, -3) for code, size in ERRORS]

    def prepared(kind: int, columns: int, types: bytes, marks: int = 0) -> bytes:
        column = types + u16(0) + u32(10) + _named(b"c") + _named(b"") * 2 + b"\0" + _named(b"") + bytes(7)
        return u32(1) + u32(-1) + bytes([kind]) + u32(marks) + b"\0" + u32(columns) + column

    kinds = [bytes([0x80, n]) for n in (0, 1, 7, 8, 12, 16, 20, 22, 23, 29, 31, 34, 60, 255)] + [b"\xa0\x08", b"\xe5\2"]
    out += [_cubrid(prepared(21, n, b"\x80\x08")) for n in (0, 1, 2, 0x7FFFFFFF, -1)]
    out += [_cubrid(prepared(kind, 1, b"\x80\x08", marks)) for kind in (0, 20, 127, 255) for marks in (0, 1, -1)]
    for types in kinds:
        for cell in (u32(4) + b"\xff" * 4, u32(0x7FFFFFFF), u32(-2), u32(0), u32(30) + b"\x7f" * 30):
            executed = u32(1) + b"\0" + u32(1) + b"\x15" + u32(1) + bytes(16) + b"\0" + u32(-2)
            page = u32(0) + u32(1) + u32(1) + bytes(8) + cell + b"\1"
            out.append(_cubrid(prepared(21, 1, types)) + _cubrid(executed + page))
    out += [_cubrid(u32(1) + b"\0" + u32(n) + bytes(40)) for n in numbers]
    out += [_cubrid(bytes(8), info=info) for info in (bytes(4), b"\xff" * 4, b"\0\xff\xff\xfb")]
    return out


ERRORS = [(-493, 0), (-493, 60_000), (-10003, 1), (-10024, 1), (0, 0), (1, 4), (-72, 3)]
"""Numbers of errors, and the length of their texts."""
JSON = (b"[" * 3000 + b"]" * 3000, b"1" + b"0" * 5000, b"{bad", b"\xff\xfe", b"", b'"\\ud800"')
MESSAGES = {
    "postgresql": postgres_messages,
    "mysql": mysql_messages,
    "informix": informix_messages,
    "cubrid": cubrid_messages,
}


# What a program sees


@dataclass
class Seen:
    """How a case ended."""

    what: str
    error: BaseException | None
    seconds: float
    kib: int

    @property
    def fault(self) -> str | None:
        """What is wrong with it."""
        if self.error is not None and not isinstance(self.error, errors.Error | TimeoutError):
            return f"{self.what} raised {self.error!r}"
        if (
            self.error is not None
            and len(str(self.error)) > 10_000
            and not isinstance(self.error, errors.DatabaseError)
        ):
            return f"{self.what} raised an error of {len(str(self.error))} characters"
        if self.seconds > SECONDS:
            return f"{self.what} took {self.seconds:.1f} s"
        return f"{self.what} took {self.kib} KiB" if self.kib > MEMORY else None


def peak_kib(*, reset: bool = False) -> int:
    """The most memory that the process had since the last reset."""
    if reset:
        with contextlib.suppress(OSError):
            Path("/proc/self/clear_refs").write_text("5")
    found = re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text())
    return int(found[1]) if found else 0


def watched(what: str, run: Callable[[], Any]) -> Seen:
    """Runs a case, whatever it raises."""
    before = peak_kib(reset=True)
    began = time.monotonic()
    error = None
    try:
        run()
    except BaseException as raised:
        if isinstance(raised, KeyboardInterrupt):
            raise
        error = raised
    return Seen(what, error, time.monotonic() - began, peak_kib() - before)
