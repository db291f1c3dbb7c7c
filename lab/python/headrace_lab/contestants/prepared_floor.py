"""What the floors of all databases share: bytes prepared in advance, and what is measured on several connections."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

from .. import workloads as w
from ..counted import Question, beside, share
from ..digest import arrow_rows
from ..workloads import Sql
from .base import Rows, Sync


class PreparedFloor(Sync):
    """A null client: what it sends is prepared in advance. Each has its own way to connect, and its own bytes."""

    loads = w.SERVICE
    skips = {"stream": "it would be a fetch"}

    replies = 1
    """How many replies the request for a query has."""

    def query(self, number: int, values: list[int]) -> bytes:
        """The request for a prepared query with integers."""
        raise NotImplementedError

    def __init__(self, url: str, sql: Sql, uvloop: bool = False) -> None:
        super().__init__(url, sql, uvloop)
        self.rows: dict[int, Rows] = {}
        self.readers: list[PreparedFloor] = []
        """Those that have a connection for each part of a table."""

    def rows_in(self, table: Any) -> Any:
        """The rows, which the first round makes into bytes."""
        if len(table) not in self.rows:
            self.rows[len(table)] = arrow_rows(table)
        return self.rows[len(table)]

    def _partitions(self, workload: str, size: int, inner: int) -> int:
        statements = self.sql.ranges(workload, size)
        while len(self.readers) < len(statements):
            self.readers.append(type(self)(self.url, self.sql))
            self.readers[-1].start()
        for _ in range(inner):
            with ThreadPoolExecutor(len(statements)) as threads:
                reading = [
                    threads.submit(reader.fetch, size, 1, statement)
                    for reader, statement in zip(self.readers, statements, strict=False)
                ]
            for each in reading:
                each.result()
        return 0

    def start(self) -> None:
        self.link: Any = self.connected()
        self.links: list[Any] = [self.link]
        self.numbers: dict[str, int] = {}
        self.requests: dict[Any, tuple[bytes, int]] = {}

    def stop(self) -> None:
        for reader in self.readers:
            reader.stop()
        for link in self.links:
            link.close()

    def number(self, sql: str) -> int:
        """The number of a statement, prepared once."""
        if sql not in self.numbers:
            self.numbers[sql] = self.link.prepare(sql)
        return self.numbers[sql]

    def queries(self, sql: str, values: list[int], inner: int) -> int:
        """A query, so many times one after the other."""
        request, replies = self.query(self.number(sql), values), self.replies
        ask = self.link.ask
        ask(sql, request, replies)
        self.timed(inner, lambda: ask(sql, request, replies))
        return 0

    def select_one(self, size: int, inner: int, data: Any) -> int:
        return self.queries(self.sql.select_one(self.mark), [w.KEY], inner)

    def select_ten(self, size: int, inner: int, data: Any) -> int:
        return self.queries(self.sql.select_ten(self.mark), [10], inner)

    pool = select_one

    def arrow_stream(self, size: int, inner: int, data: Any) -> Any:
        # Its bytes are those of a fetch, and none of them are kept.
        return self.fetch(size, inner, self.sql.stream(size))

    def pipelined(self, sql: str, data: Any) -> tuple[bytes, int]:
        """The requests for a query with each of these integers in turn, and the number of their replies."""
        raise NotImplementedError

    def _pipelined(self, sql: str, data: Any, gathers: bool) -> int:
        key = ("pipelined", sql)
        if key not in self.requests:
            self.requests[key] = self.pipelined(sql, data)
        self.link.exchange(key, *self.requests[key], gathers=gathers)
        return 0

    def pipeline(self, size: int, inner: int, data: Any) -> int:
        return self._pipelined(self.sql.pipeline(self.mark), data, False)

    def pipeline_execute(self, size: int, inner: int, data: Any) -> int:
        return self._pipelined(self.sql.select_one(self.mark), data, True)

    def fetch_request(self, data: Any) -> tuple[bytes, int]:
        """The request for all rows of a statement, and the number of its replies."""
        raise NotImplementedError

    def fetch(self, size: int, inner: int, data: Any) -> int:
        request, replies = self.fetch_request(data)
        for _ in range(inner):
            self.link.ask(data, request, replies)
        return 0

    arrow = fetch

    def beside_bulk(self, size: int, inner: int, data: Any) -> int:
        self.fetch(size, 1, data)
        bulk = Question(self.link, self.fetch_request(data)[0], self.link.known[data])
        self.latencies = beside(bulk, self._one_row(2)[1], inner, w.PAUSE_S)
        return 0

    def _one_row(self, connections: int) -> list[Question]:
        """The select of a row by key, on so many connections."""
        sql = self.sql.select_one(self.mark)
        while len(self.links) < connections:
            self.links.append(self.connected())
        asked: list[Question] = []
        for link in self.links[:connections]:
            number = self.number(sql) if link is self.link else link.prepare(sql)
            request = self.query(number, [w.KEY])
            # The first reply may be another than those after it.
            for _ in range(2):
                link.known.pop("one", None)
                link.ask("one", request, self.replies)
            asked.append(Question(link, request, link.known["one"]))
        return asked

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
