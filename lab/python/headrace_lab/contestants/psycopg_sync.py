"""psycopg 3 with its C implementation: binary cursors, prepared statements, pipeline mode."""

from __future__ import annotations

from typing import Any

import psycopg

from .. import workloads as w
from .base import Rows, Sync


class Contestant(Sync):
    package = "psycopg"
    alchemy = "psycopg"
    options = f"implementation {psycopg.pq.__impl__}, binary=True, prepare=True, pipeline mode for pipelines"
    batches = "pipelined"
    mark = "%s"

    def start(self) -> None:
        self.conn = psycopg.connect(self.url, autocommit=True)
        self.conn.prepare_threshold = 0

    def ask(self, conn: Any, statement: str, value: int) -> Rows:
        return conn.execute(statement, (value,), prepare=True, binary=True).fetchall()  # type: ignore[no-any-return]

    def make_pool(self, size: int) -> Any:
        from psycopg_pool import ConnectionPool

        pool = ConnectionPool(self.url, min_size=size, max_size=size, kwargs={"autocommit": True}, open=True)
        pool.wait()
        return pool

    def close_pool(self, pool: Any) -> None:
        pool.close()

    def lent(self, pool: Any) -> Any:
        return pool.connection()

    def select_one(self, size: int, inner: int, data: Any) -> Rows:
        cursor, statement = self.conn.cursor(binary=True), self.sql.select_one("%s")
        return self.timed(inner, lambda: cursor.execute(statement, (w.KEY,), prepare=True).fetchall())

    def select_ten(self, size: int, inner: int, data: Any) -> Rows:
        cursor, statement = self.conn.cursor(binary=True), self.sql.select_ten("%s")
        return self.timed(inner, lambda: cursor.execute(statement, (10,), prepare=True).fetchall())

    def fetch(self, size: int, inner: int, data: Any) -> Rows:
        # Kept until the clock has stopped: letting go of a result is not fetching one.
        self.kept = [self.conn.cursor(binary=True).execute(data, prepare=True).fetchall() for _ in range(inner)]
        return self.kept[-1]

    def executemany(self, size: int, inner: int, data: Any) -> int:
        statement = self.sql.insert("%b")
        for _ in range(inner):
            with self.conn.transaction():
                self.conn.cursor().executemany(statement, data)
        return size

    executemany_autocommit = executemany

    def pipeline(self, size: int, inner: int, data: Any) -> Rows:
        statement, rows = self.sql.pipeline("%s"), Rows()
        with self.conn.pipeline():
            cursors = [self.conn.cursor(binary=True).execute(statement, (n,), prepare=True) for n in data]
            for cursor in cursors:
                rows += cursor.fetchall()
        return rows

    def pipeline_execute(self, size: int, inner: int, data: Any) -> Rows:
        conn, statement = self.conn, self.sql.select_one("%s")
        with conn.pipeline():
            cursors = [conn.execute(statement, (n,), prepare=True, binary=True) for n in data]
        return [cursor.fetchone() for cursor in cursors]

    def bulk_in(self, size: int, inner: int, data: Any) -> int:
        with self.conn.cursor() as cursor, cursor.copy(self.sql.copy_in("(FORMAT BINARY)")) as copy:
            copy.set_types(["int4", "varchar", "int4", "float8", "date"])
            for row in data:
                copy.write_row(row)
        return size

    def bulk_out(self, size: int, inner: int, data: Any) -> Rows:
        with self.conn.cursor() as cursor, cursor.copy(self.sql.copy_out(size, "(FORMAT BINARY)")) as copy:
            copy.set_types(["int4", "varchar", "int4", "float8", "date"])
            return list(copy.rows())

    def connect(self, size: int, inner: int, data: Any) -> int:
        self.timed(inner, lambda: psycopg.connect(self.url).close())
        return 0

    def stream(self, size: int, inner: int, data: Any) -> int:
        with self.conn.transaction(), self.conn.cursor("race", binary=True) as cursor:  # type: ignore[call-overload]
            cursor.execute(self.sql.stream(size))
            while block := cursor.fetchmany(w.STREAM_BLOCK):
                self.take(block)
        return size
