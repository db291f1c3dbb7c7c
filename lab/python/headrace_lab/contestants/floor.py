"""The floor: a null client that sends the same bytes, prepared in advance, and decodes nothing of the replies.

A first, untimed run shows how many bytes will come back; after it they are only counted. What it takes is what the
server and the socket take; no driver can be faster.
"""

from __future__ import annotations

import struct
from typing import Any

from ..link import SYNC, Link, bind_execute, message, query
from .prepared_floor import PreparedFloor

DATE_EPOCH = 730_120  # date(2000, 1, 1).toordinal()


def row_values(row: tuple[Any, ...]) -> list[bytes]:
    """The binary form of a row of the insert workloads."""
    i, name, n, f, d = row
    date = struct.pack("!i", d.toordinal() - DATE_EPOCH)
    return [struct.pack("!i", i), name.encode(), struct.pack("!i", n), struct.pack("!d", f), date]


class Contestant(PreparedFloor):
    options = "bytes prepared in advance, replies counted, nothing decoded"
    batches = "pipelined"
    mark = "$1"
    skips: dict[str, str] = {}

    def connected(self) -> Link:
        return Link(self.url)

    def query(self, number: int, values: list[int]) -> bytes:
        return bind_execute(number, [struct.pack("!i", value) for value in values]) + SYNC

    def fetch_request(self, data: Any) -> tuple[bytes, int]:
        return self.query(self.number(data), []), 1

    def _batch(self, size: int, inner: int, data: Any, begin: bytes, end: bytes, ready: int) -> int:
        number = self.number(self.sql.insert("$1", "$2", "$3", "$4", "$5"))
        key = ("insert", size, begin)
        if key not in self.requests:
            rows = b"".join(bind_execute(number, row_values(row)) for row in data)
            self.requests[key] = (begin + rows + SYNC + end, ready)
        for _ in range(inner):
            self.link.exchange(key, *self.requests[key])
        return 0

    def executemany(self, size: int, inner: int, data: Any) -> int:
        return self._batch(size, inner, data, query("BEGIN"), query("COMMIT"), 3)

    def executemany_autocommit(self, size: int, inner: int, data: Any) -> int:
        return self._batch(size, inner, data, b"", b"", 1)

    def pipeline(self, size: int, inner: int, data: Any) -> int:
        number = self.number(self.sql.pipeline("$1"))
        if "limit" not in self.requests:
            each = [bind_execute(number, [struct.pack("!q", n)]) for n in data]
            self.requests["limit"] = (b"".join(each) + SYNC, 1)
        self.link.exchange("limit", *self.requests["limit"])
        return 0

    def pipelined(self, sql: str, data: Any) -> tuple[bytes, int]:
        # Each stands for itself, so each has a Sync.
        return b"".join(self.query(self.number(sql), [n]) for n in data), len(data)

    def bulk_in(self, size: int, inner: int, data: Any) -> int:
        if "copy" not in self.requests:
            rows = b"PGCOPY\n\xff\r\n\0" + bytes(8)
            rows += b"".join(b"\0\5" + b"".join(struct.pack("!i", len(v)) + v for v in row_values(row)) for row in data)
            block = 1 << 16
            blocks = [message(b"d", rows[i : i + block]) for i in range(0, len(rows), block)]
            statement = query(self.sql.copy_in("(FORMAT BINARY)"))
            copy = statement + b"".join(blocks) + message(b"d", b"\xff\xff") + message(b"c", b"")
            self.requests["copy"] = (copy, 1)
        self.link.exchange("copy", *self.requests["copy"])
        return 0

    def bulk_out(self, size: int, inner: int, data: Any) -> int:
        self.link.ask("out", query(self.sql.copy_out(size, "(FORMAT BINARY)")))
        return 0

    def stream(self, size: int, inner: int, data: Any) -> int:
        return self.fetch(size, 1, self.sql.stream(size))
