"""The ways in which Arrow data comes into a table and out of one, one class each."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar

import pyarrow as pa

import headrace
from adbc_driver_headrace import dbapi
from servers import Database, MySQL, PostgreSQL


class ArrowWay(ABC):
    """A way to store the rows of a table in the columns ``k`` and ``v``."""

    name: ClassVar[str]
    """As the table of differences has it."""
    databases: ClassVar[tuple[type[Database], ...]] = (Database,)
    """Where there is such a way."""
    group: ClassVar[str] = "by column"
    """Where there is a choice: the value is sent as its column's type, or as the type that is the value's own."""
    errors: ClassVar[tuple[type[Exception], ...]] = (headrace.Error, TypeError)
    """What comes of a value that is refused."""
    takes_rows: ClassVar[bool] = False
    """It is given the rows that the table is sent as, in place of the table."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.open()

    def open(self) -> None:
        """Connects."""
        self.conn: Any = self.db.connect(autocommit=True, **self.db.loading)

    @abstractmethod
    def store(self, table: str, data: Any) -> None:
        """Stores the rows."""

    def insert(self, table: str, marks: str) -> str:
        """The statement that inserts a row."""
        return f"insert into {table} (k, v) values ({marks})"

    @property
    def is_closed(self) -> bool:
        """The connection is of no use any more."""
        return bool(self.conn.closed)

    def close(self) -> None:
        """Disconnects."""
        self.conn.close()


class Native(ArrowWay):
    name = "executemany, native"

    def store(self, table: str, data: Any) -> None:
        self.conn.executemany(self.insert(table, ", ".join(self.db.native_marks(2))), data)


class Percent(ArrowWay):
    name = "executemany, %s"
    group = "by value"
    databases = (PostgreSQL, MySQL)

    def store(self, table: str, data: Any) -> None:
        self.conn.executemany(self.insert(table, "%s, %s"), data)


class Sliced(Native):
    """The same rows out of the middle of others, in several batches."""

    name = "executemany, sliced"

    def store(self, table: str, data: Any) -> None:
        longer = pa.concat_tables([data] * 3)
        count = data.num_rows
        first = longer.combine_chunks().slice(count, 1)
        rest = longer.combine_chunks().slice(count + 1, count - 1)
        super().store(table, pa.concat_tables([first, rest]).to_reader())


class Updated(ArrowWay):
    """In place of a NULL."""

    name = "UPDATE"

    def store(self, table: str, data: Any) -> None:
        marks = self.db.native_marks(2)
        self.conn.executemany(self.insert(table, f"{marks[0]}, null"), data.select(["k"]))
        try:
            self.conn.executemany(f"update {table} set v = {marks[0]} where k = {marks[1]}", data.select(["v", "k"]))
        except self.errors:
            self.conn.execute(f"delete from {table} where k = {marks[0]}", (data["k"][0].as_py(),))
            raise


class Again(ArrowWay):
    """A batch that is no COPY, and no bulk."""

    name = "ON CONFLICT"
    group = "by value"
    databases = (PostgreSQL, MySQL)

    def store(self, table: str, data: Any) -> None:
        clause = "on conflict do nothing" if isinstance(self.db, PostgreSQL) else "on duplicate key update v = v"
        self.conn.executemany(f"{self.insert(table, '%s, %s')} {clause}", data)


class Copied(ArrowWay):
    name = "copy_in"
    databases = (PostgreSQL,)

    def store(self, table: str, data: Any) -> None:
        self.conn.copy_in(table, data)


class CopiedText(ArrowWay):
    name = "copy_in, text"
    databases = (PostgreSQL,)

    def store(self, table: str, data: Any) -> None:
        self.conn.copy_in(table, data, format="text")


class Loaded(ArrowWay):
    name = "load_rows"
    databases = (MySQL,)

    def store(self, table: str, data: Any) -> None:
        self.conn.load_rows(table, data)


class Adbc(ArrowWay):
    name = "ADBC ingest"
    errors = (dbapi.Error, TypeError)

    def open(self) -> None:
        self.conn = dbapi.connect(self.db.url, autocommit=True)
        self.cursor = self.conn.cursor()

    def store(self, table: str, data: Any) -> None:
        self.cursor.adbc_ingest(table, data, mode="append")

    @property
    def is_closed(self) -> bool:
        try:
            self.cursor.execute(self.db.one)
            self.cursor.fetchall()
        except dbapi.Error:
            return True
        return False

    def close(self) -> None:
        self.cursor.close()
        self.conn.close()


class AdbcMany(Adbc):
    name = "ADBC executemany"

    def store(self, table: str, data: Any) -> None:
        self.cursor.executemany(self.insert(table, ", ".join(self.db.native_marks(2))), data)


class Rows(Native):
    """The rows that the table is sent as."""

    name = "rows"
    takes_rows = True


class RowsPercent(Percent):
    """The same."""

    name = "rows, %s"
    takes_rows = True


WAYS: list[type[ArrowWay]] = [
    Native, Percent, Sliced, Updated, Again, Copied, CopiedText, Loaded, Adbc, AdbcMany, Rows, RowsPercent
]  # fmt: skip


def ways(kind: type[Database]) -> list[type[ArrowWay]]:
    """Those of a database."""
    return [way for way in WAYS if issubclass(kind, way.databases)]
