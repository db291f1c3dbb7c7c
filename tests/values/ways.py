"""The ways in which a value comes into a column, one class each: the usual drivers' and headrace's."""

from __future__ import annotations

import asyncio
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar
from urllib.parse import unquote, urlsplit

import informix_db
import MySQLdb
import psycopg
import pycubrid
import pymysql
import sqlalchemy as sa

import headrace.compat.mysqldb
from headrace.types import Range
from servers import Cubrid, Database, Informix, MySQL, PostgreSQL

from .columns import Column


class Shape:
    """A place for a value in a column."""

    def __init__(
        self, type_of: Callable[[Column], str], holding: Callable[[Any], Any], value_in: str, definition: str = ""
    ) -> None:
        self.type_of = type_of
        self.holding = holding
        self.value_in = value_in
        self.definition = definition

    def holds(self, column: Column) -> bool:
        """There is such a place for this type of column."""
        return bool(self.type_of(column)) and not (self is not PLAIN and column.name.endswith("]"))


PLAIN = Shape(lambda column: column.type, lambda value: value, "v")
ITEM = Shape(lambda column: f"{column.type}[]", lambda value: [None, value], "v[2]")
ATTRIBUTE = Shape(
    lambda column: "matrix_row_{number}",
    lambda value: (1, value),
    "(v).x",
    "create type matrix_row_{number} as (n int, x {type})",
)
DOMAIN = Shape(
    lambda column: "matrix_domain_{number}", lambda value: value, "v", "create domain matrix_domain_{number} as {type}"
)
BOUND = Shape(lambda column: column.bounds, lambda value: Range(value, None), "lower(v)")
SHAPES = {"plain": PLAIN, "item": ITEM, "attribute": ATTRIBUTE, "domain": DOMAIN, "bound": BOUND}


class Way(ABC):
    """A way to store a value."""

    name: ClassVar[str] = ""
    """As the table of differences has it."""
    databases: ClassVar[tuple[type[Database], ...]] = (Database,)
    """Where there is such a way."""
    shape: ClassVar[Shape] = PLAIN
    """The place of the value."""
    usual: ClassVar[str] = ""
    """The way of another driver that this one is compared with in any case; by default the first of the database's that
    stores the value, if it has values of the kind."""
    group: ClassVar[str] = "by column"
    """Where there is a choice: the value is sent as its column's type, or as the type that is the value's own."""
    rows: ClassVar[int] = 1
    """How many rows have the value afterwards."""
    keywords: ClassVar[dict[str, Any]] = {}
    """Of ``connect()``."""
    errors: ClassVar[tuple[type[Exception], ...]] = (headrace.Error, TypeError)
    """What comes of a value that is refused."""

    def __init__(self, db: Database) -> None:
        self.db = db
        self.open()

    def open(self) -> None:
        """Connects."""
        self.conn: Any = self.db.connect(autocommit=True, **self.keywords)

    @property
    def driver(self) -> Any:
        """The connection of the driver itself."""
        return self.conn

    @abstractmethod
    def store(self, table: str, key: int, value: Any) -> None:
        """Stores a value in the column ``v``, with a key in ``k``."""

    def close(self) -> None:
        """Disconnects."""
        self.conn.close()


class Usual(Way):
    """The way of another driver."""

    errors = (Exception,)
    """Of many drivers anything."""
    insert = "insert into {} (k, v) values (%s, %s)"

    def store(self, table: str, key: int, value: Any) -> None:
        cursor = self.conn.cursor()
        try:
            cursor.execute(self.insert.format(table), (key, value))
        finally:
            cursor.close()
            # Not every driver has done so in autocommit.
            self.conn.commit()


class Psycopg(Usual):
    name = "psycopg"
    databases = (PostgreSQL,)

    def open(self) -> None:
        self.conn = psycopg.connect(self.db.url, autocommit=True)


class PyMySQL(Usual):
    name = "PyMySQL"
    databases = (MySQL,)

    def open(self) -> None:
        self.conn = pymysql.connect(**where(self.db), autocommit=True)


class Mysqlclient(Usual):
    name = "mysqlclient"
    databases = (MySQL,)

    def open(self) -> None:
        self.conn = MySQLdb.connect(**where(self.db), autocommit=True, charset="utf8mb4")


class InformixDriver(Usual):
    name = "informix-driver"
    databases = (Informix,)
    insert = "insert into {} (k, v) values (?, ?)"

    def open(self) -> None:
        parts = urlsplit(self.db.url)
        self.conn = informix_db.connect(
            host=parts.hostname, port=parts.port, user=parts.username, password=unquote(parts.password or ""),
            database=parts.path[1:], server=parts.query.partition("server=")[2].partition("&")[0],
        )  # fmt: skip


class Pycubrid(Usual):
    name = "pycubrid"
    databases = (Cubrid,)
    insert = "insert into {} (k, v) values (?, ?)"

    def open(self) -> None:
        parts = urlsplit(self.db.url)
        self.conn = pycubrid.connect(
            host=parts.hostname, port=parts.port, database=parts.path[1:], user=parts.username or "dba", password=""
        )
        self.conn.autocommit = True


def where(db: Database) -> dict[str, Any]:
    assert isinstance(db, MySQL)
    return {**db.served.where, "database": urlsplit(db.url).path[1:]}


class Execute(Way):
    """A parameter of a statement."""

    mark: ClassVar[str] = "?"

    def insert(self, table: str) -> str:
        """The statement."""
        first = self.mark.format(1)
        return f"insert into {table} (k, v) values ({first}, {self.mark.format(2)})"

    def store(self, table: str, key: int, value: Any) -> None:
        self.conn.execute(self.insert(table), (key, value))


class Question(Execute):
    name = "execute"
    databases = (MySQL, Informix, Cubrid)


class QuestionAsText(Question):
    name = "execute, prepared=False"
    databases = (MySQL,)
    keywords = {"prepared": False}


class Percent(Execute):
    name = "%s"
    group = "by value"
    databases = (PostgreSQL,)
    mark = "%s"


class Dollar(Execute):
    name = "$1"
    databases = (PostgreSQL,)
    mark = "${}"


class PercentUnprepared(Percent):
    name = "%s, prepared=False"
    group = "by value"
    keywords = {"prepared": False}


class DollarUnprepared(Dollar):
    name = "$1, prepared=False"
    keywords = {"prepared": False}


class InPipeline(Execute):
    """One of three statements of a pipeline."""

    def store(self, table: str, key: int, value: Any) -> None:
        with self.conn.pipeline():
            self.conn.execute(self.insert(table), (-1, None))
            self.conn.execute(self.insert(table), (key, value))
            self.conn.execute(self.insert(table), (-1, None))


class QuestionInPipeline(InPipeline):
    name = "pipeline"
    databases = (MySQL, Informix, Cubrid)


class PercentInPipeline(InPipeline):
    name = "pipeline %s"
    group = "by value"
    databases = (PostgreSQL,)
    mark = "%s"


class DollarInPipeline(InPipeline):
    name = "pipeline $1"
    databases = (PostgreSQL,)
    mark = "${}"


class Queried(Execute):
    """A statement whose rows are asked for in one of the other ways. That it has none is said after it was executed."""

    def open(self) -> None:
        super().open()
        self.mark = self.db.native_mark


class FirstRow(Queried):
    """One of whose rows only the first is asked for."""

    name = "fetchval"

    def store(self, table: str, key: int, value: Any) -> None:
        self.conn.fetchval(self.insert(table), key, value)


class AsArrow(Queried):
    """One whose rows become record batches."""

    name = "fetch_arrow"

    def store(self, table: str, key: int, value: Any) -> None:
        self.conn.fetch_arrow(self.insert(table), key, value)


class Streamed(Queried):
    """One whose rows are taken in blocks."""

    name = "stream"
    databases = (PostgreSQL, MySQL)

    def store(self, table: str, key: int, value: Any) -> None:
        list(self.conn.stream(self.insert(table), (key, value)))


class OnLoop(Execute):
    """The asyncio shell."""

    name = "asyncio"

    def open(self) -> None:
        self.loop = asyncio.new_event_loop()
        self.conn = self.loop.run_until_complete(self.db.aconnect(autocommit=True))
        self.mark = self.db.native_mark

    def store(self, table: str, key: int, value: Any) -> None:
        self.loop.run_until_complete(self.conn.execute(self.insert(table), (key, value)))

    def close(self) -> None:
        self.loop.run_until_complete(self.conn.close())
        self.loop.close()


class Batch(Execute):
    """Two rows of a batch whose first has a NULL."""

    rows = 2

    def batch(self, key: int, value: Any) -> list[tuple[int, Any]]:
        """The rows."""
        return [(-1, None), (key, value), (key, value)]

    def store(self, table: str, key: int, value: Any) -> None:
        self.conn.executemany(self.insert(table), self.batch(key, value))


class PercentBatch(Batch):
    name = "executemany %s"
    group = "by value"
    databases = (PostgreSQL,)
    mark = "%s"


class DollarBatch(Batch):
    name = "executemany $1"
    databases = (PostgreSQL,)
    mark = "${}"


class PercentPipelined(PercentBatch):
    name = "executemany %s, pipelined"
    keywords = {"batch_strategy": "pipelined"}


class DollarPipelined(DollarBatch):
    name = "executemany $1, pipelined"
    keywords = {"batch_strategy": "pipelined"}


class PercentCopied(PercentBatch):
    name = "executemany %s, copy"
    keywords = {"batch_strategy": "copy"}


class DollarCopied(DollarBatch):
    name = "executemany $1, copy"
    keywords = {"batch_strategy": "copy"}


class PercentJoined(PercentBatch):
    name = "executemany %s, joined"
    keywords = {"batch_strategy": "joined"}


class DollarJoined(DollarBatch):
    name = "executemany $1, joined"
    keywords = {"batch_strategy": "joined"}


class BatchInPipeline(Batch):
    """Between two statements of a pipeline."""

    name = "executemany in a pipeline"

    def open(self) -> None:
        super().open()
        self.mark = self.db.native_mark

    def store(self, table: str, key: int, value: Any) -> None:
        with self.conn.pipeline():
            self.conn.execute(self.insert(table), (-1, None))
            super().store(table, key, value)
            self.conn.execute(self.insert(table), (-1, None))


class Flat(BatchInPipeline):
    """A batch whose rows are asked for. That it has none is said after it was executed."""

    name = "fetchmany"

    def store(self, table: str, key: int, value: Any) -> None:
        self.conn.fetchmany(self.insert(table), self.batch(key, value))


class Chosen(Batch):
    """A batch by a strategy that users do not choose."""

    strategy: ClassVar[str | None]

    def store(self, table: str, key: int, value: Any) -> None:
        wire = self.conn._core.wire
        self.conn._wait(wire.execute_batch(self.insert(table), self.batch(key, value), strategy=self.strategy), None)


class Auto(Batch):
    name = "executemany"
    databases = (MySQL, Informix, Cubrid)


class Bulk(Chosen):
    name = "executemany, bulk"
    databases = (MySQL,)
    strategy = "bulk"


class Joined(Chosen):
    name = "executemany, joined"
    databases = (MySQL, Cubrid)
    strategy = "joined"


class Pipelined(Chosen):
    name = "executemany, pipelined"
    databases = (MySQL,)
    strategy = "pipelined"


class BatchAsText(Batch):
    name = "executemany, prepared=False"
    databases = (MySQL,)
    keywords = {"prepared": False}


class Put(Chosen):
    name = "executemany, put"
    databases = (Informix,)
    strategy = "put"


class Groups(Chosen):
    name = "executemany, groups"
    databases = (Informix,)
    strategy = "groups"


class Rows(Chosen):
    name = "executemany, rows"
    databases = (Informix,)
    strategy = "rows"


class Array(Chosen):
    name = "executemany, array"
    databases = (Cubrid,)
    strategy = "array"


class Alchemy(Way):
    """A statement in the driver's own SQL through SQLAlchemy's dialect."""

    name = "SQLAlchemy"
    group = "by value"
    databases = (PostgreSQL, MySQL)
    errors = (headrace.Error, TypeError, sa.exc.StatementError)

    def open(self) -> None:
        self.engine = sa.create_engine(self.db.url.replace("://", "+headrace://"), isolation_level="AUTOCOMMIT")
        self.conn = self.engine.connect()

    @property
    def driver(self) -> Any:
        return self.conn.connection.driver_connection

    def store(self, table: str, key: int, value: Any) -> None:
        self.conn.exec_driver_sql(f"insert into {table} (k, v) values (%s, %s)", (key, value))

    def close(self) -> None:
        self.conn.close()
        self.engine.dispose()


class Facade(Way):
    """mysqlclient's interface."""

    name = "MySQLdb"
    usual = "mysqlclient"
    databases = (MySQL,)
    errors = (headrace.compat.mysqldb.Error, TypeError, UnicodeEncodeError)

    def open(self) -> None:
        self.conn = headrace.compat.mysqldb.connect(**where(self.db), autocommit=True, charset="utf8mb4")

    def store(self, table: str, key: int, value: Any) -> None:
        cursor = self.conn.cursor()
        cursor.execute(f"insert into {table} (k, v) values (%s, %s)", (key, value))
        cursor.close()


class FacadeBatch(Facade):
    name = "MySQLdb, executemany"
    rows = 2

    def store(self, table: str, key: int, value: Any) -> None:
        cursor = self.conn.cursor()
        rows = [(-1, None), (key, value), (key, value)]
        cursor.executemany(f"insert into {table} (k, v) values (%s, %s)", rows)
        cursor.close()


class Loaded(Way):
    """LOAD DATA."""

    name = "load_rows"
    databases = (MySQL,)
    keywords = {"local_infile": True}

    def store(self, table: str, key: int, value: Any) -> None:
        self.conn.load_rows(table, [(key, value)], columns=["k", "v"])


class Copied(Way):
    """COPY of a row."""

    name = "copy_in"
    databases = (PostgreSQL,)
    form: ClassVar[str] = "binary"

    def store(self, table: str, key: int, value: Any) -> None:
        self.conn.copy_in(table, [(key, self.shape.holding(value))], columns=["k", "v"], format=self.form)


class CopiedText(Copied):
    name = "copy_in, text"
    form = "text"


class Written(Way):
    """A row that is written into a COPY."""

    name = "write_row"
    group = "by text"
    databases = (PostgreSQL,)

    def store(self, table: str, key: int, value: Any) -> None:
        with self.conn.cursor().copy(f"copy {table} (k, v) from stdin") as copy:
            copy.write_row((key, value))


class Within(Execute):
    """A value inside of another."""

    databases = (PostgreSQL,)

    def store(self, table: str, key: int, value: Any) -> None:
        super().store(table, key, self.shape.holding(value))


INNER: list[type[Way]] = []
"""A value inside of another, by each place and each way in which the outer one is sent."""
for _what, _shape in {"list item": ITEM, "attribute": ATTRIBUTE, "bound": BOUND, "domain": DOMAIN}.items():
    # An attribute of a composite has the type of its own, and not that of the value.
    _grouped = {} if _shape is ATTRIBUTE else {"group": "by value"}
    INNER.append(type("Percent", (Within,), {"name": f"{_what} %s", "shape": _shape, "mark": "%s", **_grouped}))
    INNER.append(type("Dollar", (Within,), {"name": f"{_what} $1", "shape": _shape, "mark": "${}"}))
    INNER.append(type("Binary", (Copied,), {"name": f"{_what}, copy_in", "shape": _shape}))
    if _shape is not DOMAIN:
        INNER.append(type("Text", (CopiedText,), {"name": f"{_what}, copy_in, text", "shape": _shape}))


def _below(base: type[Way]) -> list[type[Way]]:
    return [each for way in base.__subclasses__() for each in (way, *_below(way))]


WAYS: list[type[Way]] = [way for way in _below(Way) if "name" in vars(way)]
"""Each class with a name of its own, the usual drivers first."""


def ways(kind: type[Database]) -> list[type[Way]]:
    """Those of a database: the usual drivers', then headrace's."""
    return [way for way in WAYS if issubclass(kind, way.databases)]
