"""headrace, blocking."""

from __future__ import annotations

import contextlib
from typing import Any

import headrace

from .. import data as d
from .. import workloads as w
from .base import Rows, Sync


class Contestant(Sync):
    package = "headrace"
    alchemy = "headrace"
    options = "prepared statements and binary formats (its defaults)"

    def rows_in(self, table: Any) -> Any:
        """The table."""
        return table

    def start(self) -> None:
        allowed: dict[str, Any] = {"local_infile": True} if self.sql.loads_rows else {}
        self.conn: Any = headrace.connect(self.url, autocommit=True, **allowed)
        self.batches = self.sql.batches
        self.mark = self.sql.own(1)[0]

    def ask(self, conn: Any, statement: str, value: int) -> Rows:
        return conn.execute(statement, (value,)).fetchall()  # type: ignore[no-any-return]

    def make_pool(self, size: int) -> Any:
        from headrace.pool import ConnectionPool

        pool = ConnectionPool(self.url, min_size=size, max_size=size, kwargs={"autocommit": True})
        pool.wait()
        return pool

    def close_pool(self, pool: Any) -> None:
        pool.close()

    def lent(self, pool: Any) -> Any:
        return pool.connection()

    def select_one(self, size: int, inner: int, data: Any) -> Rows:
        cursor, statement = self.conn.cursor(), self.sql.select_one(*self.sql.own(1))
        return self.timed(inner, lambda: cursor.execute(statement, (w.KEY,)).fetchall())

    def select_ten(self, size: int, inner: int, data: Any) -> Rows:
        cursor, statement = self.conn.cursor(), self.sql.select_ten(*self.sql.own(1))
        return self.timed(inner, lambda: cursor.execute(statement, (10,)).fetchall())

    def select_one_row(self, size: int, inner: int, data: Any) -> Rows:
        cursor = self.conn.cursor()
        return self.timed(inner, lambda: cursor.execute(data).fetchall())

    select_systables_first_10 = select_one_row

    def fetch(self, size: int, inner: int, data: Any) -> Rows:
        # Kept until the clock has stopped: letting go of a result is not fetching one.
        self.kept = [self.conn.execute(data).fetchall() for _ in range(inner)]
        return self.kept[-1]

    def arrow(self, size: int, inner: int, data: Any) -> Any:
        self.kept = [self.conn.fetch_arrow(data) for _ in range(inner)]
        return self.kept[-1]

    def arrow_stream(self, size: int, inner: int, data: Any) -> int:
        for batch in self.conn.stream_arrow(self.sql.stream(size), batch_rows=w.ARROW_BATCH):
            self.take_batch(batch)
        return size

    def partitions(self, workload: str, size: int) -> Any:
        import pyarrow

        count, column = w.PARTITIONS[workload]
        by = "auto" if column == "id" else column
        with headrace.partitions(self.url, table=self.sql.table(workload, size), by=by, count=count) as plan:
            return pyarrow.table(plan.read(threads=count))

    def executemany(self, size: int, inner: int, data: Any) -> int:
        statement = self.sql.insert(*self.sql.own(5))
        for _ in range(inner):
            with self.conn.transaction():
                self.conn.executemany(statement, data)
        return size

    def executemany_autocommit(self, size: int, inner: int, data: Any) -> int:
        statement = self.sql.insert(*self.sql.own(5))
        for _ in range(inner):
            self.conn.executemany(statement, data)
        return size

    def _transaction(self) -> Any:
        """What statements are pipelined in."""
        return self.conn.transaction() if self.sql.pipelines_in_transaction else contextlib.nullcontext()

    def pipeline(self, size: int, inner: int, data: Any) -> Rows:
        with self._transaction():
            return self.conn.fetchmany(self.sql.pipeline(*self.sql.own(1)), [(n,) for n in data])  # type: ignore[no-any-return]

    def pipeline_execute(self, size: int, inner: int, data: Any) -> Rows:
        conn, statement = self.conn, self.sql.select_one(*self.sql.own(1))
        with self._transaction(), conn.pipeline():
            cursors = [conn.execute(statement, (n,)) for n in data]
        return [cursor.fetchone() for cursor in cursors]

    def bulk_in(self, size: int, inner: int, data: Any) -> int:
        if self.sql.loads_rows:
            return self.conn.load_rows((self.sql.schema, "target"), data, columns=d.COLUMNS)  # type: ignore[no-any-return]
        return self.conn.copy_in((self.sql.schema, "target"), data, columns=d.COLUMNS)  # type: ignore[no-any-return]

    def bulk_out(self, size: int, inner: int, data: Any) -> Rows:
        return list(self.conn.copy_out((self.sql.schema, f"fetch_{size}")))

    def connect(self, size: int, inner: int, data: Any) -> int:
        self.timed(inner, lambda: headrace.connect(self.url).close())
        return 0

    def stream(self, size: int, inner: int, data: Any) -> int:
        for block in self.conn.stream_blocks(self.sql.stream(size), **self.sql.streamed):
            self.take(block)
        return size
