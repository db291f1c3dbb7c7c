"""pg8000, pure Python: its native API with prepared statements."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlsplit

import pg8000.native

from .. import workloads as w
from .base import Rows, Sync


class Contestant(Sync):
    package = "pg8000"
    alchemy = "pg8000"
    options = "native API, prepared statements"
    batches = "one by one"
    mark = ":id"
    skips = {
        "pool": "it has no pool",
        "concurrent": "it has no pool",
        "pipeline": "it has no pipelining",
        "bulk_in": "its COPY takes text, no rows",
        "bulk_out": "its COPY gives text, no rows",
        "stream": "it reads whole results only",
        "arrow_stream": "it reads whole results only",
    }

    def connected(self) -> Any:
        parts = urlsplit(self.url)
        return pg8000.native.Connection(
            parts.username or "postgres", host=parts.hostname, port=parts.port or 5432,
            database=parts.path[1:], password=parts.password,
        )  # fmt: skip

    def ask(self, conn: Any, statement: str, value: int) -> Rows:
        return conn.run(statement, id=value)  # type: ignore[no-any-return]

    def select_one(self, size: int, inner: int, data: Any) -> Rows:
        statement = self.conn.prepare(self.sql.select_one(":id"))
        return self.timed(inner, lambda: statement.run(id=w.KEY))

    def select_ten(self, size: int, inner: int, data: Any) -> Rows:
        statement = self.conn.prepare(self.sql.select_ten(":id"))
        return self.timed(inner, lambda: statement.run(id=10))

    def fetch(self, size: int, inner: int, data: Any) -> Rows:
        # Kept until the clock has stopped: letting go of a result is not fetching one.
        self.kept = [self.conn.run(data) for _ in range(inner)]
        return self.kept[-1]

    def executemany(self, size: int, inner: int, data: Any) -> int:
        for _ in range(inner):
            self.conn.run("BEGIN")
            self.executemany_autocommit(size, 1, data)
            self.conn.run("COMMIT")
        return size

    def executemany_autocommit(self, size: int, inner: int, data: Any) -> int:
        for _ in range(inner):
            statement = self.conn.prepare(self.sql.insert(":a", ":b", ":c", ":d", ":e"))
            for a, b, c, d, e in data:
                statement.run(a=a, b=b, c=c, d=d, e=e)
        return size

    def pipeline_execute(self, size: int, inner: int, data: Any) -> Rows:
        # It can only ask and wait, one after the other.
        statement, rows = self.conn.prepare(self.sql.select_one(":id")), Rows()
        for n in data:
            rows += statement.run(id=n)
        return rows
