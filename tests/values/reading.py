"""The ways in which a value is read, one class each."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from typing import Any, ClassVar

import MySQLdb

import headrace.compat.mysqldb
from servers import Database, MySQL, PostgreSQL

from .ways import where

Rows = list[tuple[int, Any]]
SETTINGS: dict[str, Any] = {"unrepresentable": "text", "autocommit": True}


class Reading(ABC):
    """A way to read a query's rows."""

    name: ClassVar[str] = ""
    """As the table of differences has it."""
    databases: ClassVar[tuple[type[Database], ...]] = (Database,)
    """Where there is such a way."""
    group: ClassVar[str] = "read"
    """All of them."""
    usual: ClassVar[str] = "fetch"
    """The way with which this one is compared."""
    keywords: ClassVar[dict[str, Any]] = {}
    """Of ``connect()``."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.open()

    def open(self) -> None:
        """Connects."""
        self.conn: Any = self.db.connect(**SETTINGS, **self.keywords)

    @abstractmethod
    def read(self, query: str) -> Rows:
        """The rows of a query."""

    def close(self) -> None:
        """Disconnects."""
        self.conn.close()


class Fetch(Reading):
    name = "fetch"

    def read(self, query: str) -> Rows:
        return list(self.conn.fetch(query))


class AgainAsText(Fetch):
    name = "fetch, prepared=False"
    databases = (PostgreSQL, MySQL)
    keywords = {"prepared": False}


class Stream(Reading):
    name = "stream"

    def read(self, query: str) -> Rows:
        return list(self.conn.stream(query, **self.db.differences.streamed(7)))


class Script(Reading):
    name = "executescript"
    databases = (PostgreSQL, MySQL)

    def read(self, query: str) -> Rows:
        return list(self.conn.executescript(query))


class OnServer(Reading):
    name = "stream on the server"
    databases = (MySQL,)

    def read(self, query: str) -> Rows:
        return list(self.conn.stream(query, on_server=True))


class Named(Reading):
    name = "cursor on the server"
    databases = (PostgreSQL,)

    def read(self, query: str) -> Rows:
        with self.conn.transaction(), self.conn.cursor(name="matrix") as cursor:
            cursor.execute(query)
            return list(cursor.fetchall())


class InPipeline(Reading):
    name = "read in a pipeline"

    def read(self, query: str) -> Rows:
        with self.conn.pipeline():
            first = self.conn.execute(query)
            self.conn.execute(query)
        return list(first.fetchall())


class OnLoop(Reading):
    name = "fetch, asyncio"

    def open(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.conn = self.loop.run_until_complete(self.db.aconnect(**SETTINGS))

    def read(self, query: str) -> Rows:
        return list(self.loop.run_until_complete(self.conn.fetch(query)))

    def close(self) -> None:
        self.loop.run_until_complete(self.conn.close())
        self.loop.close()


class Mysqlclient(Reading):
    name = "mysqlclient"
    databases = (MySQL,)
    usual = ""

    def open(self) -> None:
        self.conn = MySQLdb.connect(**where(self.db), autocommit=True, charset="utf8mb4")

    def read(self, query: str) -> Rows:
        cursor = self.conn.cursor()
        cursor.execute(query)
        rows = list(cursor.fetchall())
        cursor.close()
        return rows


class Facade(Mysqlclient):
    name = "read by MySQLdb"
    usual = "mysqlclient"

    def open(self) -> None:
        self.conn = headrace.compat.mysqldb.connect(**where(self.db), autocommit=True, charset="utf8mb4")


READINGS: list[type[Reading]] = [
    Fetch,
    AgainAsText,
    Stream,
    Script,
    OnServer,
    Named,
    InPipeline,
    OnLoop,
    Mysqlclient,
    Facade,
]


def readings(kind: type[Database]) -> list[type[Reading]]:
    """Those of a database."""
    return [reading for reading in READINGS if issubclass(kind, reading.databases)]
