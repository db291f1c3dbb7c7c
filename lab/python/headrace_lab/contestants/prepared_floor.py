"""What the floors share whose connections are :class:`~headrace_lab.counted.Counted`.

That is: statements that are prepared once, and what is measured on several connections.
"""

from __future__ import annotations

from typing import Any

from .. import workloads as w
from ..counted import Counted, share
from .base import Floor


class PreparedFloor(Floor):
    """A floor. Each has its own way to connect, and its own bytes."""

    replies = 1
    """How many replies the request for a query has."""

    def connected(self) -> Counted:
        """A new connection."""
        raise NotImplementedError

    def query(self, number: int, values: list[int]) -> bytes:
        """The request for a prepared query with integers."""
        raise NotImplementedError

    def start(self) -> None:
        self.link: Any = self.connected()
        self.links: list[Any] = [self.link]
        self.numbers: dict[str, int] = {}
        self.requests: dict[Any, tuple[bytes, int]] = {}

    def stop(self) -> None:
        super().stop()
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
        return self.queries(self.sql.select_one("?"), [w.KEY], inner)

    def select_ten(self, size: int, inner: int, data: Any) -> int:
        return self.queries(self.sql.select_ten("?"), [10], inner)

    pool = select_one

    def arrow_stream(self, size: int, inner: int, data: Any) -> Any:
        # Its bytes are those of a fetch, and none of them are kept.
        return self.fetch(size, inner, self.sql.stream(size))

    def connect(self, size: int, inner: int, data: Any) -> int:
        self.timed(inner, lambda: self.connected().close())
        return 0

    def concurrent(self, size: int, inner: int, data: Any) -> int:
        sql = self.sql.select_one("?")
        while len(self.links) < w.POOL_SIZE:
            self.links.append(self.connected())
        requests = [self.query(link.prepare(sql), [w.KEY]) for link in self.links]
        self.link.ask("one", requests[0], self.replies)
        share(self.links, requests, self.link.known["one"], inner)
        return 0
