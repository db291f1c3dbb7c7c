"""Informix: decoding and encoding beside informix-driver's own codec, type by type, on the same bytes.

The test server is asked once for each type, and what it said is kept. Then each side works from memory: headrace's
whole engine, from the bytes that a transport would hand over to the list of rows and from the rows of a batch to the
bytes that a transport would be given, which includes the framing of every message. informix-driver's
``parse_tuple_payload`` with the row decoder that it compiles for the columns frames as well (``framed``); that decoder
alone (``row``), its ``decode`` of one value (``value``) and its ``encode_param`` do less than that. Only BOOLEAN comes
as other bytes, as headrace asks for its short form.

What is shown is nanoseconds of this process's CPU per row, the median of the rounds, and how many times as long as
headrace informix-driver takes.
"""

from __future__ import annotations

import asyncio
import datetime as dt
import gc
import io
import socket
import statistics
import time
from collections.abc import Callable
from decimal import Decimal
from typing import Any

from informix_db import IntervalYM, converters
from informix_db._protocol import IfxStreamReader
from informix_db._resultset import (
    compile_column_readers,
    compile_row_decoder,
    parse_describe,
    parse_tuple_payload,
)

import headrace.informix
from headrace._native import InformixWire
from headrace.aio._shared.transport import LoopProtocol
from headrace.informix.attempts import attempts
from headrace.informix.settings import connect_options
from headrace.types import Interval
from headrace_lab import data
from headrace_lab.databases import informix
from headrace_lab.link_informix import DESCRIBE, TUPLE, Link, message_end, open_fetch

ROWS = 10_000
ROUNDS = 15
ENCODING = "utf-8"
START = dt.datetime(2020, 1, 1)


def plain(i: int) -> tuple[Any, ...]:
    return data.plain_row(i)


TYPES: dict[str, tuple[str, Callable[[int], Any]]] = {
    "SMALLINT": ("smallint", lambda i: i % 30_000),
    "INTEGER": ("int", lambda i: i * 1000),
    "INT8": ("int8", lambda i: i * 10**12),
    "BIGINT": ("bigint", lambda i: i * 10**12),
    "SMALLFLOAT": ("smallfloat", lambda i: i / 8),
    "FLOAT": ("float", lambda i: i / 7),
    "DECIMAL(10,2)": ("decimal(10,2)", lambda i: Decimal(i).scaleb(-2)),
    "DECIMAL(32,10)": ("decimal(32,10)", lambda i: Decimal(i * 10**15 + i).scaleb(-10)),
    "CHAR(20)": ("char(20)", lambda i: f"name of row {i}"),
    "VARCHAR(64)": ("varchar(64)", lambda i: f"name of row {i}"),
    "LVARCHAR(500)": ("lvarchar(500)", lambda i: f"name of row {i}"),
    "BOOLEAN": ("boolean", lambda i: i % 2 == 0),
    "DATE": ("date", lambda i: dt.date(2000, 1, 1) + dt.timedelta(days=i)),
    "DATETIME Y TO S": ("datetime year to second", lambda i: START + dt.timedelta(seconds=i)),
    "DATETIME Y TO F(5)": ("datetime year to fraction(5)", lambda i: START + dt.timedelta(microseconds=i * 12340)),
    "INTERVAL D TO S": ("interval day(4) to second", lambda i: dt.timedelta(seconds=i)),
    "INTERVAL Y TO M": ("interval year to month", lambda i: Interval(months=1 + i % 999)),
    "five columns": (informix.Statements.types["plain"].replace(", ", "\0"), plain),
}


class Memory:
    """A transport that keeps nothing of what it is given; or hands it to a server, while there is one."""

    def __init__(self, server: socket.socket) -> None:
        self.server: socket.socket | None = server
        self.protocol: LoopProtocol | None = None
        self.chunks: list[bytes] = []
        self.at = 0

    def write(self, sent: bytes) -> None:
        if self.server is not None:
            self.server.sendall(sent)

    def get_protocol(self) -> LoopProtocol | None:
        return self.protocol

    def get_extra_info(self, _: str, default: Any = None) -> Any:
        return default

    def close(self) -> None:
        """Nothing is to be closed."""

    abort = close

    def chunk(self) -> bytes:
        """What comes next: from the server, and then from memory as the server said it."""
        if self.server is not None:
            self.chunks.append(self.server.recv(1 << 18))
        self.at += 1
        return self.chunks[self.at - 1]


class Engine:
    """The engine without a network."""

    def __init__(self, url: str) -> None:
        self.loop = asyncio.new_event_loop()
        plan = attempts(connect_options(url, {}))
        where: Any = next(plan)
        step: Any = plan.send([(where.host, where.port)])
        self.wire = InformixWire(step.options, self.loop)
        self.memory = Memory(socket.create_connection((where.host, where.port)))
        self.memory.protocol = self.protocol = LoopProtocol(self.wire)
        ready = self.wire.ready()
        self.wire.connection_made(self.memory)
        self.until(ready)

    def until(self, done: Any) -> Any:
        """Hands over what comes until a future is done, and gives its result."""
        self.wire.flush()
        while not done.done():
            block = self.memory.chunk()
            while block:
                room: Any = memoryview(self.protocol.get_buffer(len(block)))
                taken = min(len(room), len(block))
                room[:taken] = block[:taken]
                room.release()
                block = block[taken:]
                self.wire.buffer_updated(taken)
        return done.result()

    def fetch(self, sql: str) -> Any:
        """The rows of a query."""
        return self.until(self.wire.execute(sql)).rows

    def settle(self) -> None:
        """Until everything is answered: an answer may come behind the rows."""
        self.until(self.wire.verb("ping")[0])
        self.loop.call_soon(self.loop.stop)
        self.loop.run_forever()

    def replay(self, start: int) -> None:
        """From here on what came since ``start`` comes again."""
        self.memory.server, self.memory.at = None, start

    def go_live(self, server: socket.socket) -> None:
        """Back to the server."""
        self.memory.server, self.memory.at = server, len(self.memory.chunks)


def per_row(prepare: Callable[[], Any], work: Callable[[Any], Any], clean: Callable[[], Any] = lambda: None) -> float:
    """Nanoseconds of CPU per row of ``work``, median."""
    taken: list[float] = []
    for _ in range(ROUNDS):
        given = prepare()
        gc.collect()
        started = time.process_time()
        kept = work(given)
        taken.append(time.process_time() - started)
        del kept
        clean()
    return statistics.median(taken) / ROWS * 1e9


def our_decode(engine: Engine, table: str) -> float:
    """headrace: bytes into a list of rows."""
    sql = f"select * from {table}"
    server = engine.memory.server
    assert server is not None
    engine.fetch(sql)
    engine.settle()
    start = len(engine.memory.chunks)
    assert len(engine.fetch(sql)) == ROWS
    engine.settle()
    found = per_row(lambda: engine.replay(start), lambda _: engine.fetch(sql), engine.settle)
    engine.go_live(server)
    return found


def our_encode(engine: Engine, table: str, rows: list[tuple[Any, ...]]) -> float:
    """headrace: rows into bytes, until the last has been handed to the transport."""
    sql = f"insert into {table} values ({', '.join('?' * len(rows[0]))})"
    server = engine.memory.server
    assert server is not None

    def encode(_: Any) -> Any:
        batch = engine.wire.execute_batch(sql, rows)
        engine.wire.flush()
        return batch

    pending: list[Any] = []

    def work(given: Any) -> None:
        pending.append(encode(given))

    def clean() -> None:
        engine.until(pending.pop())
        engine.settle()

    for _ in range(2):
        start = len(engine.memory.chunks)
        work(None)
        clean()
    found = per_row(lambda: engine.replay(start), work, clean)
    engine.go_live(server)
    return found


def their_bytes(url: str, table: str) -> tuple[list[Any], bytes, list[bytes]]:
    """informix-driver's columns, the bytes of all rows with their framing, and the values of each row."""
    link = Link(url)
    sql = f"select * from {table}".encode()
    link.socket.sendall(b"\0\x02\0\0" + len(sql).to_bytes(4, "big") + sql + bytes(len(sql) % 2) + b"\0\x16\0\x31\0\x0c")
    _, described = link.read_replies(1)
    assert described[1] == DESCRIBE
    columns, _ = parse_describe(IfxStreamReader(io.BytesIO(described[2:])))
    link.socket.sendall(open_fetch(int.from_bytes(described[4:6], "big"), b"", 1 << 30))
    _, reply = link.read_replies(1)
    link.close()
    whole, at, payloads = bytearray(reply), 0, list[bytes]()
    while whole[at + 1] == TUPLE:
        size = int.from_bytes(whole[at + 4 : at + 8], "big")
        payloads.append(bytes(whole[at + 8 : at + 8 + size]))
        at = message_end(whole, at) or len(whole)
    return columns, bytes(whole[:at]), payloads


def their_rows(url: str, table: str) -> tuple[float, float | None, float | None]:
    """informix-driver: framed rows; rows, where it compiles a decoder; single values where ``decode`` takes them."""
    columns, framed, payloads = their_bytes(url, table)
    readers = compile_column_readers(columns)
    decoder = compile_row_decoder(readers, columns)

    def rows(reader: IfxStreamReader) -> list[Any]:
        kept = []
        for _ in range(ROWS):
            reader.read_short()
            kept.append(parse_tuple_payload(reader, columns, ENCODING, readers, decoder))
        return kept

    whole = per_row(lambda: IfxStreamReader(io.BytesIO(framed)), rows)
    row = None
    if decoder is not None:
        row = per_row(lambda: payloads, lambda given: [decoder(raw, 0, ENCODING) for raw in given])
    code = columns[0].type_code
    if len(columns) > 1 or code in (10, 13, 14, 40, 41, 43, 45):
        return whole, row, None
    return (
        whole,
        row,
        per_row(lambda: payloads, lambda given: [converters.decode(code, raw, ENCODING) for raw in given]),
    )


def theirs(value: Any) -> Any:
    """A parameter as informix-driver knows it."""
    return IntervalYM(value.months) if isinstance(value, Interval) else value


def their_encode(rows: list[tuple[Any, ...]]) -> float:
    """informix-driver: parameters into bytes."""
    given = [tuple(map(theirs, row)) for row in rows]
    encode = converters.encode_param
    return per_row(lambda: given, lambda given: [[encode(value, ENCODING) for value in row] for row in given])


def show(name: str, ours: float, *others: float | None) -> None:
    cells = [f"{other:8.0f} {other / ours:6.1f}x" if other is not None else f"{'-':>8} {'':7}" for other in others]
    print(f"{name:20} {ours:8.0f} {'  '.join(cells)}", flush=True)


def main() -> None:
    with informix.start() as (url, _):
        admin = headrace.informix.connect(url, autocommit=True)
        engine = Engine(url)
        tables: dict[str, tuple[str, list[tuple[Any, ...]]]] = {}
        for number, (name, (columns, value)) in enumerate(TYPES.items()):
            table = f"codec_{number}"
            one = columns.replace("\0", ", ") if "\0" in columns else f"v {columns}"
            rows = [value(i) if isinstance(value(i), tuple) else (value(i),) for i in range(1, ROWS + 1)]
            admin.execute(f"create table {table} ({one})")
            admin.executemany(f"insert into {table} values ({', '.join('?' * len(rows[0]))})", rows)
            tables[name] = (table, rows)
        print(f"{'decode, ns a row':20} {'headrace':>8} {'informix-driver: framed':>24} {'row':>16} {'value':>16}")
        for name, (table, _) in tables.items():
            show(name, our_decode(engine, table), *their_rows(url, table))
        print(f"{'encode, ns a row':20} {'headrace':>8} {'informix-driver':>22}")
        for name, (table, rows) in tables.items():
            show(name, our_encode(engine, table, rows), their_encode(rows))
        admin.close()


if __name__ == "__main__":
    main()
