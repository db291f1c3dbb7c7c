"""The floor of CUBRID: a null client that sends bytes prepared in advance and decodes nothing.

It uses the fastest strategy of the protocol: statements that are prepared once, pages of a result that are all
requested with the query, and INSERTs of many rows by EXECUTE_ARRAY.
"""

from __future__ import annotations

import struct
from typing import Any, Final

from ..link_cubrid import (
    COMMIT,
    DATE,
    DOUBLE,
    INT,
    VARCHAR,
    Link,
    bound,
    execute,
    execute_array,
    fetch,
    rows_of,
    total_of,
)
from .prepared_floor import PreparedFloor

JOINED: Final = 100
"""Rows of one INSERT."""
ARRAY_BYTES: Final = 256 * 1024
"""Bytes of the parameters of one EXECUTE_ARRAY."""


def parameters(row: tuple[Any, ...]) -> bytes:
    """A row of the insert workloads."""
    i, name, n, f, d = row
    made = bound(INT, struct.pack(">i", i)) + bound(VARCHAR, name.encode() + b"\0")
    made += bound(INT, struct.pack(">i", n)) + bound(DOUBLE, struct.pack(">d", f))
    return made + bound(DATE, struct.pack(">7h", d.year, d.month, d.day, 0, 0, 0, 0))


class Contestant(PreparedFloor):
    options = (
        "bytes prepared in advance, replies counted, nothing decoded; all pages requested at once, EXECUTE_ARRAY of "
        "INSERTs with many rows"
    )
    batches = "EXECUTE_ARRAY, many rows each"

    def connected(self) -> Link:
        return Link(self.url)

    def query(self, number: int, values: list[int]) -> bytes:
        return execute(number, values)

    def fetch_request(self, data: Any) -> tuple[bytes, int]:
        if data not in self.requests:
            number = self.number(data)
            self.link.socket.sendall(execute(number, []))
            reply = self.link.read_replies(1)[1]
            total, read = total_of(reply), rows_of(reply, True)
            pages: list[bytes] = []
            while read < total:
                pages.append(fetch(number, read + 1))
                self.link.socket.sendall(pages[-1])
                read += rows_of(self.link.read_replies(1)[1], False)
            self.requests[data] = (execute(number, []) + b"".join(pages), 1 + len(pages))
        return self.requests[data]

    def _batch(self, size: int, inner: int, data: Any) -> int:
        if size not in self.requests:
            rows = [parameters(row) for row in data]
            joined = size // JOINED * JOINED
            requests = list[bytes]()
            if joined:
                one = self.sql.insert("?")
                values = one[one.index("VALUES ") + len("VALUES ") :]
                number = self.number(one + f", {values}" * (JOINED - 1))
                at_once = max(1, ARRAY_BYTES // (max(map(len, rows)) * JOINED)) * JOINED
                parts = [rows[at : min(at + at_once, joined)] for at in range(0, joined, at_once)]
                requests += [execute_array(number, b"".join(part)) for part in parts]
            if joined < size:
                requests.append(execute_array(self.number(self.sql.insert("?")), b"".join(rows[joined:])))
            requests.append(COMMIT)
            self.requests[size] = (b"".join(requests), len(requests))
        for _ in range(inner):
            self.link.exchange(("insert", size), *self.requests[size])
        return 0

    # In autocommit a batch is a transaction of its own.
    executemany = executemany_autocommit = _batch

    def pipelined(self, sql: str, data: Any) -> tuple[bytes, int]:
        number = self.number(sql)
        each = [execute(number, [n], autocommit=False) for n in data]
        return b"".join(each) + COMMIT, len(each) + 1
