"""The floor: a null client that sends the same bytes, prepared in advance, and decodes nothing of the replies.

A first, untimed run shows how many bytes will come back; after it they are only counted. What it takes is what the
server and the socket take; no driver can be faster.
"""

from __future__ import annotations

import struct
from typing import Any

from .. import workloads as w
from ..counted import Question, beside, share
from ..link import SYNC, Link, bind_execute, message, parse, query
from .base import Floor

DATE_EPOCH = 730_120  # date(2000, 1, 1).toordinal()


def row_values(row: tuple[Any, ...]) -> list[bytes]:
    """The binary form of a row of the insert workloads."""
    i, name, n, f, d = row
    date = struct.pack("!i", d.toordinal() - DATE_EPOCH)
    return [struct.pack("!i", i), name.encode(), struct.pack("!i", n), struct.pack("!d", f), date]


class Contestant(Floor):
    package = ""
    options = "bytes prepared in advance, replies counted, nothing decoded"
    batches = "pipelined"

    def start(self) -> None:
        self.link = Link(self.url)
        self.links = [self.link]
        self.prepared: set[str] = set()
        self.requests: dict[Any, bytes] = {}

    def stop(self) -> None:
        super().stop()
        for link in self.links:
            link.close()

    def prepare(self, name: str, sql: str) -> None:
        """Once per statement."""
        if name not in self.prepared:
            for link in self.links:
                link.socket.sendall(parse(name, sql) + SYNC)
                link.until_ready()
            self.prepared.add(name)

    def _queries(self, name: str, sql: str, value: int, inner: int) -> int:
        self.prepare(name, sql)
        request = bind_execute(name, [struct.pack("!i", value)]) + SYNC
        ask = self.link.ask
        ask(name, request)
        self.timed(inner, lambda: ask(name, request))
        return 0

    def select_one(self, size: int, inner: int, data: Any) -> int:
        return self._queries("one", self.sql.select_one("$1"), w.KEY, inner)

    def select_ten(self, size: int, inner: int, data: Any) -> int:
        return self._queries("ten", self.sql.select_ten("$1"), 10, inner)

    pool = select_one

    def fetch(self, size: int, inner: int, data: Any) -> int:
        self.prepare(data, data)
        request = bind_execute(data, []) + SYNC
        for _ in range(inner):
            self.link.ask(data, request)
        return 0

    fetch_types = fetch_wide = arrow = fetch

    def beside_bulk(self, size: int, inner: int, data: Any) -> int:
        self.fetch(size, 1, data)
        bulk = Question(self.link, bind_execute(data, []) + SYNC, self.link.known[data])
        self.latencies = beside(bulk, self._one_row(2)[1], inner, w.PAUSE_S)
        return 0

    def _batch(self, size: int, inner: int, data: Any, begin: bytes, end: bytes, ready: int) -> int:
        self.prepare("insert", self.sql.insert("$1", "$2", "$3", "$4", "$5"))
        key = ("insert", size, begin)
        if key not in self.requests:
            self.requests[key] = begin + b"".join(bind_execute("insert", row_values(r)) for r in data) + SYNC + end
        for _ in range(inner):
            self.link.exchange(key, self.requests[key], ready)
        return 0

    def executemany(self, size: int, inner: int, data: Any) -> int:
        return self._batch(size, inner, data, query("BEGIN"), query("COMMIT"), 3)

    def executemany_autocommit(self, size: int, inner: int, data: Any) -> int:
        return self._batch(size, inner, data, b"", b"", 1)

    def pipeline(self, size: int, inner: int, data: Any) -> int:
        self.prepare("limit", self.sql.pipeline("$1"))
        if "limit" not in self.requests:
            self.requests["limit"] = b"".join(bind_execute("limit", [struct.pack("!q", n)]) for n in data) + SYNC
        self.link.exchange("limit", self.requests["limit"])
        return 0

    def pipeline_execute(self, size: int, inner: int, data: Any) -> int:
        self.prepare("one", self.sql.select_one("$1"))
        if "each" not in self.requests:
            # Each stands for itself, so each has a Sync.
            self.requests["each"] = b"".join(bind_execute("one", [struct.pack("!i", n)]) + SYNC for n in data)
        self.link.exchange("each", self.requests["each"], len(data), gathers=True)
        return 0

    def bulk_in(self, size: int, inner: int, data: Any) -> int:
        if "copy" not in self.requests:
            rows = b"PGCOPY\n\xff\r\n\0" + bytes(8)
            rows += b"".join(b"\0\5" + b"".join(struct.pack("!i", len(v)) + v for v in row_values(row)) for row in data)
            block = 1 << 16
            blocks = [message(b"d", rows[i : i + block]) for i in range(0, len(rows), block)]
            statement = query(self.sql.copy_in("(FORMAT BINARY)"))
            self.requests["copy"] = statement + b"".join(blocks) + message(b"d", b"\xff\xff") + message(b"c", b"")
        self.link.exchange("copy", self.requests["copy"])
        return 0

    def bulk_out(self, size: int, inner: int, data: Any) -> int:
        self.link.ask("out", query(self.sql.copy_out(size, "(FORMAT BINARY)")))
        return 0

    def connect(self, size: int, inner: int, data: Any) -> int:
        self.timed(inner, lambda: Link(self.url).close())
        return 0

    def _one_row(self, connections: int) -> list[Question]:
        """The select of a row by key, on so many connections."""
        while len(self.links) < connections:
            self.links.append(Link(self.url))
        request = bind_execute("one", [struct.pack("!i", w.KEY)]) + SYNC
        for link in self.links:
            if "one" not in link.known:
                if link is not self.link or "one" not in self.prepared:
                    link.socket.sendall(parse("one", self.sql.select_one("$1")) + SYNC)
                    link.until_ready()
                link.ask("one", request)
        self.prepared.add("one")
        return [Question(link, request, link.known["one"]) for link in self.links[:connections]]

    def _share(self, connections: int, tasks: int, inner: int) -> int:
        asked = self._one_row(connections)
        links, requests = [each.link for each in asked], [each.request for each in asked]
        self.latencies = share(links, requests, asked[0].expected, inner, tasks)
        return 0

    def concurrent(self, size: int, inner: int, data: Any) -> int:
        return self._share(w.POOL_SIZE, size, inner)

    pool_threads = concurrent

    def pool_load(self, size: int, inner: int, data: Any) -> int:
        return self._share(w.LOAD_POOL, size, inner)

    def stream(self, size: int, inner: int, data: Any) -> int:
        self.prepare("stream", self.sql.stream(size))
        self.link.ask("stream", bind_execute("stream", []) + SYNC)
        return 0
