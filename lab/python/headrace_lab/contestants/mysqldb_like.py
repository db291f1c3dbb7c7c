"""What the blocking drivers that follow MySQLdb share: cursors, and one statement at a time."""

from __future__ import annotations

import os
import tempfile
from collections.abc import Iterable
from typing import Any

from .. import workloads as w
from ..urls import address
from .base import Rows, Sync


def parameters(url: str) -> dict[str, Any]:
    """host, port, user, password and database of a URL."""
    parts = address(url)
    return {
        "host": parts.host or "127.0.0.1",
        "port": parts.port or 3306,
        "user": parts.user or "root",
        "password": parts.password,
        "database": parts.database,
    }


def load_from_file(table: str, rows: Iterable[Any]) -> tuple[str, str]:
    """Writes rows into a new file, and returns the LOAD DATA that takes it, and its name. No value that is raced has a
    character that would have to be escaped."""
    handle, path = tempfile.mkstemp(suffix=".tsv")
    with os.fdopen(handle, "w", encoding="utf-8") as file:
        file.writelines(f"{i}\t{name}\t{n}\t{f!r}\t{d}\n" for i, name, n, f, d in rows)
    return f"LOAD DATA LOCAL INFILE '{path}' INTO TABLE {table} CHARACTER SET utf8mb4", path


class MySqlDbLike(Sync):
    """A blocking driver. Each connects, and makes a cursor that streams, in its own way."""

    skips = {
        "pool": "it has no pool",
        "concurrent": "it has no pool",
    }
    mark = "%s"
    batches = "INSERTs of many rows"

    def streaming(self) -> Any:
        """A cursor that does not receive its result whole."""
        return self.cursor()

    def begin(self, cursor: Any) -> None:
        """Begins a transaction."""
        cursor.execute("START TRANSACTION")

    def commit(self, cursor: Any) -> None:
        """Ends it."""
        cursor.execute("COMMIT")

    def cursor(self) -> Any:
        """A cursor."""
        return self.conn.cursor()

    def repeating(self) -> Any:
        """A cursor for one statement that is executed again and again: one that prepares it once, where there is one
        and it is the quicker."""
        return self.cursor()

    def _one(self, inner: int, statement: str, *values: int) -> Rows:
        cursor = self.repeating()

        def once() -> Rows:
            cursor.execute(statement, values)
            return cursor.fetchall()

        return list(self.timed(inner, once))

    def select_one(self, size: int, inner: int, data: Any) -> Rows:
        return self._one(inner, self.sql.select_one(self.mark), w.KEY)

    def select_ten(self, size: int, inner: int, data: Any) -> Rows:
        return self._one(inner, self.sql.select_ten(self.mark), 10)

    def select_one_row(self, size: int, inner: int, data: Any) -> Rows:
        return self._one(inner, data)

    select_systables_first_10 = select_one_row

    def fetch(self, size: int, inner: int, data: Any) -> Rows:
        self.kept = []
        for _ in range(inner):
            cursor = self.cursor()
            cursor.execute(data)
            self.kept.append(cursor.fetchall())
        return list(self.kept[-1])

    def executemany(self, size: int, inner: int, data: Any) -> int:
        statement = self.sql.insert(self.mark)
        for _ in range(inner):
            cursor = self.conn.cursor()
            self.begin(cursor)
            cursor.executemany(statement, data)
            self.commit(cursor)
        return size

    def executemany_autocommit(self, size: int, inner: int, data: Any) -> int:
        statement = self.sql.insert(self.mark)
        for _ in range(inner):
            self.conn.cursor().executemany(statement, data)
        return size

    def bulk_in(self, size: int, inner: int, data: Any) -> int:
        # They take a file only.
        for _ in range(inner):
            statement, path = load_from_file(self.sql.target, data)
            try:
                self.conn.cursor().execute(statement)
            finally:
                os.unlink(path)
        return size

    def _one_by_one(self, statement: str, data: Any) -> Rows:
        # It can only ask and wait, one after the other.
        cursor, rows = self.repeating(), Rows()
        for n in data:
            cursor.execute(statement, (n,))
            rows += cursor.fetchall()
        return rows

    def pipeline(self, size: int, inner: int, data: Any) -> Rows:
        return self._one_by_one(self.sql.pipeline(self.mark), data)

    def pipeline_execute(self, size: int, inner: int, data: Any) -> Rows:
        return self._one_by_one(self.sql.select_one(self.mark), data)

    def stream(self, size: int, inner: int, data: Any) -> int:
        cursor = self.streaming()
        cursor.execute(self.sql.stream(size))
        while rows := cursor.fetchmany(w.STREAM_BLOCK):
            self.take(rows)
        cursor.close()
        return size
