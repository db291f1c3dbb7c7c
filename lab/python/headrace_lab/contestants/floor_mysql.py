"""The floor of MySQL and MariaDB: a null client that sends bytes prepared in advance and decodes nothing.

It uses the fastest strategy of the protocol: prepared statements with binary results; for many rows bulk execution
on MariaDB, and INSERTs of many rows on MySQL, which has no bulk execution.
"""

from __future__ import annotations

import struct
from typing import Any, Final

from ..link_mysql import Link, packet, query
from .prepared_floor import PreparedFloor

LONG: Final = 3
DOUBLE: Final = 5
DATE: Final = 10
STRING: Final = 253
LOAD_BYTES: Final = 256 * 1024
"""Bytes of one packet of LOAD DATA."""
ROWS_AT_ONCE: Final = 16_384
"""Rows of one bulk execution."""
INSERT_BYTES: Final = 256 * 1024
"""Bytes of the rows of one INSERT."""


def execute(number: int, values: list[int]) -> bytes:
    """COM_STMT_EXECUTE with integers."""
    body = struct.pack("<BIBI", 0x17, number, 0, 1)
    if values:
        body += bytes((len(values) + 7) // 8) + b"\x01" + bytes([LONG, 0]) * len(values)
        body += b"".join(struct.pack("<i", value) for value in values)
    return packet(body)


def bulk_row(row: tuple[Any, ...]) -> bytes:
    """A row of the insert workloads: an indicator before each value."""
    i, name, n, f, d = row
    text = name.encode()
    date = struct.pack("<BHBB", 4, d.year, d.month, d.day)
    head = struct.pack("<bi", 0, i) + bytes([0, len(text)]) + text
    return head + struct.pack("<bi", 0, n) + struct.pack("<bd", 0, f) + b"\0" + date


def text_row(row: tuple[Any, ...]) -> str:
    """One as literals. No value that is raced has a quote or a backslash."""
    i, name, n, f, d = row
    return f"({i},'{name}',{n},{f!r},'{d}')"


class Contestant(PreparedFloor):
    options = (
        "bytes prepared in advance, replies counted, nothing decoded; bulk execution or INSERTs of many rows, LOAD DATA"
    )

    def start(self) -> None:
        super().start()
        self.batches = "bulk execution" if self.link.bulk else "INSERTs of many rows"

    def connected(self) -> Link:
        return Link(self.url)

    def query(self, number: int, values: list[int]) -> bytes:
        return execute(number, values)

    def fetch_request(self, data: Any) -> tuple[bytes, int]:
        return execute(self.number(data), []), 1

    def _bulk(self, size: int, inner: int, data: Any, around: bool) -> int:
        key = ("insert", size, around)
        if key not in self.requests:
            commands = self._bulk_commands(size, data) if self.link.bulk else self._inserts(data)
            if around:
                commands = [query("START TRANSACTION"), *commands, query("COMMIT")]
            self.requests[key] = (b"".join(commands), len(commands))
        for _ in range(inner):
            self.link.exchange(key, *self.requests[key])
        return 0

    def _bulk_commands(self, size: int, data: Any) -> list[bytes]:
        number = self.number(self.sql.insert("?"))
        types = b"".join(bytes([kind, 0]) for kind in (LONG, STRING, LONG, DOUBLE, DATE))
        head = struct.pack("<BIH", 0xFA, number, 128) + types
        blocks = [data[at : at + ROWS_AT_ONCE] for at in range(0, size, ROWS_AT_ONCE)]
        return [packet(head + b"".join(map(bulk_row, block))) for block in blocks]

    def _inserts(self, data: Any) -> list[bytes]:
        head = self.sql.insert("?").partition(" VALUES ")[0] + " VALUES "
        commands, rows, length = [], list[str](), 0
        for row in data:
            rows.append(text_row(row))
            length += len(rows[-1])
            if length > INSERT_BYTES:
                commands.append(query(head + ",".join(rows)))
                rows, length = [], 0
        return commands + [query(head + ",".join(rows))] * bool(rows)

    def executemany(self, size: int, inner: int, data: Any) -> int:
        return self._bulk(size, inner, data, True)

    def executemany_autocommit(self, size: int, inner: int, data: Any) -> int:
        return self._bulk(size, inner, data, False)

    def bulk_in(self, size: int, inner: int, data: Any) -> int:
        key = ("load", size)
        if key not in self.requests:
            text = "".join(f"{i}\t{name}\t{n}\t{f!r}\t{d}\n" for i, name, n, f, d in data).encode()
            parts = [text[at : at + LOAD_BYTES] for at in range(0, len(text), LOAD_BYTES)]
            body = b"".join(packet(part, (i + 2) % 256) for i, part in enumerate([*parts, b""]))
            self.requests[key] = (body, len(parts))
        for _ in range(inner):
            self.link.load(self.sql.target, self.requests[key][0])
        return 0

    def pipelined(self, sql: str, data: Any) -> tuple[bytes, int]:
        number = self.number(sql)
        return b"".join(execute(number, [n]) for n in data), len(data)
