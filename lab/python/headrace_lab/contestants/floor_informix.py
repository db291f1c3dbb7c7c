"""The floor of Informix: a null client that sends bytes prepared in advance and decodes nothing.

It uses the fastest strategy of the protocol: a query's messages are sent in one group, and what is known to follow
directly after it; many rows are inserted by an insert cursor.
"""

from __future__ import annotations

import datetime as dt
import struct
from typing import Any, Final

from ..link_informix import BEGIN, COMMIT, EOT, Link, close, fetch, ident, open_fetch
from .prepared_floor import PreparedFloor

DATE_EPOCH: Final = dt.date(1899, 12, 31).toordinal()
FIRST_FETCH: Final = 64 * 1024
NEXT_FETCH: Final = 256 * 1024
"""Bytes of rows asked for."""
PUT_BYTES: Final = 32 * 1024
"""Bytes of rows in one group."""


def bind(values: list[int]) -> bytes:
    """SQ_BIND with integers."""
    return b"\0\x05" + struct.pack(">H", len(values)) + b"".join(struct.pack(">HHHi", 2, 0, 0x0A00, v) for v in values)


def tuple_row(row: tuple[Any, ...]) -> bytes:
    """A row of the insert workloads as a tuple."""
    i, name, n, f, d = row
    text = name.encode()
    return struct.pack(">iB", i, len(text)) + text + struct.pack(">idi", n, f, d.toordinal() - DATE_EPOCH)


def put(row: bytes) -> bytes:
    """SQ_PUT of a row. The message has room for more, but no client is known that sends more."""
    return b"\0\x11" + struct.pack(">iH", len(row), 1) + row + bytes(len(row) % 2)


class Contestant(PreparedFloor):
    options = "bytes prepared in advance, replies counted, nothing decoded; insert cursor"
    batches = "insert cursor"
    replies = 2

    def connected(self) -> Link:
        return Link(self.url)

    def query(self, number: int, values: list[int]) -> bytes:
        # The cursor is closed by what comes next, at no cost of its own.
        return close(number) + open_fetch(number, bind(values) if values else b"", FIRST_FETCH)

    def select_one_row(self, size: int, inner: int, data: Any) -> int:
        return self.queries(data, [], inner)

    select_systables_first_10 = select_one_row

    def fetch_request(self, data: Any) -> tuple[bytes, int]:
        if data not in self.requests:
            number = self.number(data)
            self.link.socket.sendall(open_fetch(number, b"", FIRST_FETCH))
            blocks = 1
            while not self.link.has_done(self.link.read_replies(1)[1]):
                self.link.socket.sendall(fetch(number, NEXT_FETCH))
                blocks += 1
            self.link.socket.sendall(close(number))
            self.link.read_replies(1)
            request = open_fetch(number, b"", FIRST_FETCH) + fetch(number, NEXT_FETCH) * (blocks - 1) + close(number)
            self.requests[data] = (request, blocks + 1)
        return self.requests[data]

    def _batch(self, size: int, inner: int, data: Any) -> int:
        if size not in self.requests:
            number = self.number(self.sql.insert("?"))
            rows = [put(tuple_row(row)) for row in data]
            at_once = max(1, PUT_BYTES // max(map(len, rows)))
            puts = [b"".join(rows[at : at + at_once]) for at in range(0, size, at_once)]
            opening = ident(number) + b"\0\x03\0\x06insert\0\x06" + EOT
            groups = [BEGIN, opening, *(ident(number) + one + EOT for one in puts), close(number), COMMIT]
            self.requests[size] = (b"".join(groups), len(groups))
        for _ in range(inner):
            self.link.exchange(("insert", size), *self.requests[size])
        return 0

    # In autocommit a batch is a transaction of its own.
    executemany = executemany_autocommit = _batch

    def pipelined(self, sql: str, data: Any) -> tuple[bytes, int]:
        number = self.number(sql)
        one = [open_fetch(number, bind([n]), FIRST_FETCH) + close(number) for n in data]
        return b"".join(one), 2 * len(one)
