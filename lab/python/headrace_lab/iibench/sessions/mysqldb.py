"""What drivers of MySQL's family share: how they connect, and LOAD DATA by way of a file."""

from __future__ import annotations

import contextlib
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import IO, Any

from ...urls import address
from ..databases.base import COLUMNS
from .base import RETRIED, Fault, Whole

MEMORY = Path("/dev/shm")
"""Where files are that no disk has to hold."""


def keywords(url: str) -> dict[str, Any]:
    """A ``mariadb://`` or ``mysql://`` URL as the keywords that both drivers know."""
    parts = address(url)
    made: dict[str, Any] = {"database": parts.database}
    if parts.user:
        made["user"] = parts.user
    if parts.password:
        made["password"] = parts.password
    path = parts.options.get("unix_socket") or parts.options.get("socket")
    if path:
        made["unix_socket"] = path
    elif parts.host:
        made["host"] = parts.host
        made["port"] = parts.port or 3306
    return made


def fault(error: BaseException, kind: type[BaseException]) -> Fault | None:
    """An error of a driver whose errors begin with the server's number."""
    if not isinstance(error, kind):
        return None
    number, message = (*error.args, "", "")[:2]
    code = str(number) if isinstance(number, int) and number else type(error).__name__
    return Fault(code, str(message or error), code in RETRIED)


def insert_whole(conn: Any, cursor: Any, statement: str, block: Any) -> int:
    """Inserts the rows of a block in a transaction: what does not fit into one statement of the driver's own making
    goes in several. Returns the number of rows."""
    conn.begin()
    try:
        rows = cursor.executemany(statement, block)
    except BaseException:
        # A lock timeout undoes one statement alone: the others would be there twice when all is tried again. Where the
        # connection cannot roll back any more, the first error is still the one to report.
        with contextlib.suppress(Exception):
            conn.rollback()
        raise
    conn.commit()
    return int(rows)


def load_statement(file: str, table: str) -> str:
    """Loads a block from a file of this name."""
    return f"LOAD DATA LOCAL INFILE '{file}' INTO TABLE {table} ({', '.join(COLUMNS)})"


class LoadFile:
    """A file in memory from which LOAD DATA takes a block: these drivers send files, not bytes."""

    def __init__(self) -> None:
        folder = MEMORY if MEMORY.is_dir() else None
        self.file: IO[bytes] = tempfile.NamedTemporaryFile(dir=folder, prefix="headrace-")  # noqa: SIM115, see close()

    def fill(self, block: bytes, table: str) -> str:
        """Puts a block in, and returns the statement that loads it."""
        self.file.seek(0)
        self.file.write(block)
        self.file.truncate()
        self.file.flush()
        return load_statement(self.file.name, table)

    def close(self) -> None:
        """Removes the file."""
        self.file.close()


class LikeMySQLdb(Whole):
    """A session by a driver with MySQLdb's interface."""

    binary_text = True
    module: Any
    """The driver."""

    async def open(self) -> None:
        given = keywords(self.url)
        self.conn: Any = self.module.connect(**given, autocommit=True, local_infile=True, charset="utf8mb4")
        self.file = LoadFile()

    async def close(self) -> None:
        self.end_calls()
        self.file.close()
        self.conn.close()

    def fault(self, error: BaseException) -> Fault | None:
        return fault(error, self.module.MySQLError)

    async def execute(self, sql: str) -> int:
        with self.conn.cursor() as cursor:
            return int(cursor.execute(sql))

    async def query(self, sql: str, args: Sequence[Any] = (), prepared: bool = False) -> list[Any]:
        with self.conn.cursor() as cursor:
            cursor.execute(sql, tuple(args) or None)
            return list(cursor.fetchall())

    async def begin(self) -> None:
        await self.execute("START TRANSACTION WITH CONSISTENT SNAPSHOT")

    async def commit(self) -> None:
        await self.execute("COMMIT")

    def prepare_insert(self, strategy: str, table: str, rows: int, overlap: bool) -> None:
        super().prepare_insert(strategy, table, rows, overlap)
        self.statement = self.database.insert_one(table)

    def insert(self, block: Any) -> int:
        with self.conn.cursor() as cursor:
            if self.strategy == "copy":
                return int(cursor.execute(self.file.fill(block, self.table)))
            return insert_whole(self.conn, cursor, self.statement, block)
