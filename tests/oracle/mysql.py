"""The steps of programs on MySQL and MariaDB, and how headrace and PyMySQL play them.

Both use one server. A schema is written ``~a``; for headrace that is ``h_a``, for the oracle ``o_a``.
"""

from __future__ import annotations

import contextlib
import datetime
import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import pymysql
import pymysql.cursors

import headrace
import headrace.aio
from headrace import errors

from .program import Failed, Loop, Looped, Mismatch, Options, Unplayable, check

SCHEMAS = ("a", "b")
IN_TRANSACTION = 1
"""SERVER_STATUS_IN_TRANS."""


@dataclass(frozen=True)
class Do:
    """A statement whose result does not matter."""

    sql: str
    way: str = "execute"


@dataclass(frozen=True)
class Use:
    """Changes the current schema."""

    schema: str
    way: str = "execute"


@dataclass(frozen=True)
class Other:
    """A statement of another session."""

    sql: str


@dataclass(frozen=True)
class Read:
    """A query. ``{p}`` in it is a condition that holds."""

    sql: str
    way: str = "execute"
    params: tuple[Any, ...] = ()
    size: int = 2


@dataclass(frozen=True)
class Write:
    """Rows into a table: what Python sends, and the same as literals for the oracle."""

    table: str
    columns: tuple[str, ...]
    rows: tuple[tuple[Any, ...], ...]
    literals: tuple[tuple[str, ...], ...]
    way: str = "execute"


@dataclass(frozen=True)
class Tx:
    """``commit``, ``rollback``, or a ``transaction()`` block: ``enter``, ``leave``, ``undo``."""

    what: str


@dataclass(frozen=True)
class Reset:
    """``Connection.reset``; the schema of the address is current then."""

    mode: str


@dataclass(frozen=True)
class Interleave:
    """A stream from a cursor on the server, with a step after each row, until ``stop`` rows were read."""

    sql: str
    steps: tuple[Any, ...] = ()
    size: int = 2
    stop: int = 3
    ending: str = "close"
    on_server: bool = True


def with_condition(sql: str, way: str) -> tuple[str, Any]:
    """A query's text and parameters for a way."""
    styles: dict[str, tuple[str, Any]] = {
        "mark": ("? = 1", (1,)),
        "percent": ("%s = 1", (1,)),
        "named": ("%(a)s = 1", {"a": 1}),
    }
    style = way.rpartition(":")[2]
    if "{p}" in sql and style in styles:
        condition, params = styles[style]
        return sql.replace("{p}", condition), params
    return sql.replace("{p}", "1 = 1"), None


def _pipeline(conn: Any, sql: str, params: Any) -> Any:
    with conn.pipeline():
        before = conn.execute("select 1")
        cursor = conn.execute(sql, params)
        after = conn.execute("select 'x'")
        rows = cursor.fetchall()
    assert (before.fetchall(), after.fetchall()) == ([(1,)], [("x",)])
    return rows


def _blocks(conn: Any, sql: str, params: Any, size: int) -> list[Any]:
    out: list[Any] = []
    with conn.cursor() as cursor:
        cursor.execute(sql, params)
        while block := cursor.fetchmany(size):
            out += block
    return out


def _flat(blocks: Iterable[Any]) -> list[Any]:
    return [row for block in blocks for row in block]


READS: dict[str, Callable[[Any, str, Any, Read], Any]] = {
    "execute": lambda c, sql, p, s: c.execute(sql, p).fetchall(),
    "iterate": lambda c, sql, p, s: list(c.execute(sql, p)),
    "blocks": lambda c, sql, p, s: _blocks(c, sql, p, s.size),
    "fetch": lambda c, sql, p, s: c.fetch(sql, *(p or ())),
    "pipeline": lambda c, sql, p, s: _pipeline(c, sql, p),
    "many": lambda c, sql, p, s: c.executemany(sql, [p or ()], returning=True).fetchall(),
    "fetchmany": lambda c, sql, p, s: c.fetchmany(sql, [p or ()]),
    "script": lambda c, sql, p, s: c.executescript(sql).fetchall(),
    "stream": lambda c, sql, p, s: list(c.stream(sql, p, fetch_size=s.size)),
    "stream_blocks": lambda c, sql, p, s: _flat(c.stream_blocks(sql, p, fetch_size=s.size)),
    "on_server": lambda c, sql, p, s: list(c.stream(sql, p, fetch_size=s.size, on_server=True)),
}
PARAMETERS = ("execute", "fetch", "pipeline", "many", "fetchmany", "stream", "stream_blocks", "on_server")


def insert(step: Write, style: str) -> str:
    """The INSERT of one row."""
    count = len(step.columns)
    places = {"%": ["%s"] * count, "?": ["?"] * count, "n": [f"%(c{i})s" for i in range(count)]}[style]
    return f"INSERT INTO {step.table} ({', '.join(step.columns)}) VALUES ({', '.join(places)})"


def _each(run: Callable[[Any], Any], rows: Iterable[Any]) -> None:
    for row in rows:
        run(row)


def _piped(conn: Any, sql: str, rows: Iterable[Any]) -> None:
    with conn.pipeline():
        for row in rows:
            conn.execute(sql, row)


def _named(step: Write) -> list[dict[str, Any]]:
    return [{f"c{i}": value for i, value in enumerate(row)} for row in step.rows]


WRITES: dict[str, Callable[[Any, Write], Any]] = {
    "execute": lambda c, s: _each(lambda row: c.execute(insert(s, "%"), row), s.rows),
    "execute:mark": lambda c, s: _each(lambda row: c.execute(insert(s, "?"), row), s.rows),
    "execute:named": lambda c, s: _each(lambda row: c.execute(insert(s, "n"), row), _named(s)),
    "many": lambda c, s: c.executemany(insert(s, "%"), s.rows),
    "many:mark": lambda c, s: c.executemany(insert(s, "?"), s.rows),
    "many:named": lambda c, s: c.executemany(insert(s, "n"), _named(s)),
    "pipeline": lambda c, s: _piped(c, insert(s, "%"), s.rows),
    "load": lambda c, s: c.load_rows(s.table, s.rows, columns=s.columns),
    "script": lambda c, s: _each(
        lambda row: c.executescript(f"INSERT INTO {s.table} ({', '.join(s.columns)}) VALUES ({', '.join(row)})"),
        s.literals,
    ),
}


class Databases:
    """A server, whose schemas programs use one after the other."""

    def __init__(self, url: str, where: dict[str, Any], is_mariadb: bool) -> None:
        self.url = url
        self.where = where
        self.is_mariadb = is_mariadb
        self.dba = pymysql.connect(**where, autocommit=True)
        self.run("set lock_wait_timeout = 3")

    def run(self, sql: str) -> list[Any]:
        """A statement of another session."""
        with self.dba.cursor() as cursor:
            cursor.execute(sql)
            return list(cursor.fetchall())

    def close(self) -> None:
        """Closes the session that compares."""
        self.dba.close()

    def twin(self, options: Options) -> MySqlTwin:
        """A new pair of sessions, on empty schemas."""
        for which in "ho":
            for schema in SCHEMAS:
                self.run(f"drop database if exists {which}_{schema}")
                self.run(f"create database {which}_{schema}")
        return MySqlTwin(self, options)


class MySqlTwin:
    """The two sessions of a program."""

    def __init__(self, databases: Databases, options: Options) -> None:
        self.databases = databases
        self.options = options
        self.loop = Loop() if options.aio else None
        self.conn: Any = self._connect()
        self.oracle = pymysql.connect(**databases.where, database="o_a", autocommit=options.autocommit)
        self.blocks: list[tuple[Any, str | None]] = []
        self.used = False
        """Whether something was done since the last transaction ended."""
        self.unsure = False
        """Whether the last statement failed: the server's errors say nothing of the transaction."""
        self.streaming = 0
        self._plays: dict[type, Callable[[Any], None]] = {
            Do: self._do,
            Use: self._use,
            Other: self._other,
            Read: self._read,
            Write: self._write,
            Tx: self._tx,
            Reset: self._reset,
            Interleave: self._interleave,
        }

    def _connect(self) -> Any:
        keywords: dict[str, Any] = {
            "autocommit": self.options.autocommit,
            "prepared": self.options.prepared,
            "local_infile": True,
            "json_text": True,
        }
        url = self.databases.url.rpartition("/")[0] + "/h_a"
        if self.loop is None:
            return headrace.connect(url, **keywords)
        return Looped(self.loop.run(lambda: headrace.aio.connect(url, **keywords)), self.loop)

    @property
    def free(self) -> bool:
        """No transaction is open that could hold locks."""
        return not self.blocks and (self.options.autocommit or not self.used)

    @property
    def begun(self) -> bool:
        """A transaction is open. PyMySQL learns it from replies without rows only."""
        self.oracle.query("DO 0")
        return bool(self.oracle.server_status & IN_TRANSACTION) or bool(self.blocks)

    def columns(self) -> dict[tuple[str, str], list[tuple[str, str]]]:
        """The tables of the oracle's schemas, with names and types of their columns."""
        found = self.databases.run(
            "select table_schema, table_name, column_name, column_type from information_schema.columns "
            "where table_schema in ('o_a', 'o_b') order by table_schema, table_name, ordinal_position"
        )
        out: dict[tuple[str, str], list[tuple[str, str]]] = {}
        for schema, table, column, kind in found:
            out.setdefault((schema[2:], table), []).append((column, kind))
        return out

    def schema(self) -> str:
        """The oracle's current one."""
        return str(self._rows("select database()")[0][0][1])[2:]

    # playing

    def step(self, step: Any) -> None:
        """Plays a step on both, and compares."""
        self._plays[type(step)](step)
        if self.conn.closed:
            raise Mismatch(f"the connection is closed: after {step!r}")
        if not self.streaming:
            if not self.unsure:
                check("status", self.conn.transaction_status.name, "INTRANS" if self.begun else "IDLE", step)
            self._compare(step)

    def _compare(self, step: Any) -> None:
        tested, oracle = (self._contents(which) for which in "ho")
        check("tables", tested, oracle, step)

    def _contents(self, which: str) -> list[Any]:
        run = self.databases.run
        names = run(
            "select table_schema, table_name from information_schema.tables "
            f"where table_schema in ('{which}_a', '{which}_b') order by 1, 2"
        )
        return [
            (schema[2:], table, sorted(run(f"select * from {schema}.{table}"), key=repr)) for schema, table in names
        ]

    def _both(self, step: Any, tested: Callable[[], Any], oracle: Callable[[], Any], kind: str = "result") -> None:
        expected = attempt(oracle)
        found = attempt(tested)
        if isinstance(expected, Failed) and isinstance(found, Failed) and not found.code.isdigit():
            raise Unplayable
        self.unsure = isinstance(expected, Failed)
        check(kind, found, expected, step)

    def _run(self, sql: str) -> Any:
        cursor = self.oracle.cursor()
        cursor.execute(sql.replace("~", "o_"))
        self.used = True
        return cursor

    def _rows(self, sql: str, params: Any = None) -> list[Any]:
        with self.oracle.cursor() as cursor:
            cursor.execute(sql.replace("~", "o_"), params)
            self.used = True
            return [tuple(map(canonical, row)) for row in cursor.fetchall()]

    def _do(self, step: Do) -> None:
        sql = step.sql.replace("~", "h_")

        def tested() -> None:
            if step.way == "script":
                self.conn.executescript(sql)
            elif step.way == "pipeline":
                _piped(self.conn, sql, [None])
            else:
                self.conn.execute(sql)

        self._both(step, tested, lambda: nothing(self._run(step.sql)), "statement")

    def _use(self, step: Use) -> None:
        if step.way == "select_db":
            self.conn.select_db("h_" + step.schema)
            self.oracle.select_db("o_" + step.schema)
        else:
            self._do(Do(f"USE ~{step.schema}", step.way))

    def _other(self, step: Other) -> None:
        found = [attempt(lambda w=which: nothing(self.databases.run(step.sql.replace("~", w + "_")))) for which in "ho"]  # type: ignore[misc]
        check("other session", found[0], found[1], step)

    def _read(self, step: Read) -> None:
        sql, params = with_condition(step.sql.replace("~", "h_"), step.way)
        way = step.way.partition(":")[0]
        self._both(
            step,
            lambda: ordered(
                tuple(map(canonical, row)) for row in READS[way](self.conn, sql, step.params or params, step)
            ),
            lambda: ordered(self._rows(step.sql.replace("{p}", "1 = 1"), step.params or None)),
            "rows",
        )

    def _write(self, step: Write) -> None:
        tested = Write(step.table.replace("~", "h_"), step.columns, step.rows, step.literals, step.way)
        columns = ", ".join(step.columns)
        whole = step.way.startswith(("many", "load"))

        def oracle() -> None:
            if whole and self.oracle.get_autocommit() and not self.blocks:
                self._run("BEGIN")
            elif whole:
                self._run("SAVEPOINT whole")
            try:
                for row in step.literals:
                    self._run(f"INSERT INTO {step.table} ({columns}) VALUES ({', '.join(row)})")
            except pymysql.Error:
                if whole:
                    self._run("ROLLBACK" if self.oracle.get_autocommit() and not self.blocks else "ROLLBACK TO whole")
                raise
            if whole and self.oracle.get_autocommit() and not self.blocks:
                self._run("COMMIT")

        self._both(step, lambda: nothing(WRITES[step.way](self.conn, tested)), oracle, "write")

    def _tx(self, step: Tx) -> None:
        if step.what in ("commit", "rollback"):
            if self.blocks:
                return
            end = getattr(self.conn, step.what)
            self._both(step, lambda: nothing(end()), lambda: nothing(self._run(step.what)))
            self.used = False
        elif step.what == "enter":
            name = f"b{len(self.blocks)}" if self.begun else None
            context = self.conn.transaction()
            self._both(
                step,
                lambda: nothing(context.__enter__()),
                lambda: nothing(self._run("BEGIN" if name is None else f"SAVEPOINT {name}")),
                "block",
            )
            self.blocks.append((context, name))
        elif self.blocks:
            self._leave(step, step.what == "undo")

    def _leave(self, step: Any, undo: bool) -> None:
        context, name = self.blocks.pop()

        def tested() -> None:
            if undo:
                context.__exit__(headrace.Rollback, headrace.Rollback(), None)
            else:
                context.__exit__(None, None, None)

        def oracle() -> None:
            if name is None:
                self._run("ROLLBACK" if undo else "COMMIT")
                self.used = False
            else:
                if undo:
                    self._run(f"ROLLBACK TO SAVEPOINT {name}")
                self._run(f"RELEASE SAVEPOINT {name}")

        self._both(step, tested, oracle, "block")

    def _reset(self, step: Reset) -> None:
        def oracle() -> None:
            self._run("ROLLBACK")
            if step.mode == "discard":
                self.oracle.close()
                where = self.databases.where
                self.oracle = pymysql.connect(**where, database="o_a", autocommit=self.options.autocommit)
            self.used = False

        if not self.blocks:
            self._both(step, lambda: nothing(self.conn.reset(step.mode)), oracle)

    def _interleave(self, step: Interleave) -> None:
        expected = attempt(lambda: self._rows(step.sql))
        inner = list(step.steps)
        got: list[Any] = []
        self.streaming += 1

        def tested() -> None:
            sql = step.sql.replace("~", "h_")
            stream = self.conn.stream(sql, fetch_size=step.size, on_server=step.on_server)
            try:
                for row in stream:
                    got.append(tuple(map(canonical, row)))
                    if inner and step.on_server:
                        self.step(inner.pop(0))
                    if len(got) >= step.stop and step.ending != "exhaust":
                        break
            finally:
                stream.close()

        try:
            found = attempt(tested)
        finally:
            self.streaming -= 1
        if isinstance(expected, Failed):
            check("stream", found, expected, step)
        else:
            count = len(expected) if step.ending == "exhaust" else min(step.stop, len(expected))
            check("stream", (found, got), (None, expected[:count]), step)

    # ending

    def finish(self) -> None:
        """Ends blocks and the transaction, and compares a last time."""
        while self.blocks:
            self._leave("the end", True)
        self.step(Tx("commit"))

    def close(self) -> None:
        """Closes the sessions."""
        for context, _ in reversed(self.blocks):
            with contextlib.suppress(Exception):
                context.__exit__(headrace.Rollback, headrace.Rollback(), None)
        with contextlib.suppress(Exception):
            self.conn.close()
        self.oracle.close()
        if self.loop is not None:
            self.loop.close()


def nothing(value: Any) -> None:
    """The result of a statement that returns none."""


def ordered(rows: Any) -> list[Any]:
    """Rows in an order of their own."""
    return sorted(rows, key=repr)


def attempt(run: Callable[[], Any]) -> Any:
    """Its result, or how it failed: by the server's number, where it is the server's error."""
    try:
        return run()
    except pymysql.Error as error:
        return Failed(str(error.args[0]), str(error))
    except errors.Error as error:
        return Failed(str(error.sqlcode or type(error).__name__), str(error))
    except (Mismatch, Unplayable):
        raise
    except Exception as error:
        return Failed(type(error).__name__, str(error))


def canonical(value: Any) -> Any:
    """A value so that two that mean the same are equal, and no others.

    PyMySQL and headrace return the same Python values, but for JSON (text here, by ``json_text``) and BIT (not used).
    """
    if isinstance(value, float):
        return ("float", "nan" if math.isnan(value) else repr(value))
    if isinstance(value, Decimal):
        return ("decimal", str(value))
    if isinstance(value, str):
        return ("str", str(value))
    if isinstance(value, (bytes, bytearray)):
        return ("bytes", bytes(value))
    if isinstance(value, datetime.datetime):
        return ("datetime", value.isoformat())
    if value is None:
        return None
    return (type(value).__name__, value)
