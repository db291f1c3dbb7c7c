"""The steps of programs on Informix, and how headrace and informix-driver play them, each on a server of its own."""

from __future__ import annotations

import contextlib
import datetime
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

import informix_db

import headrace
import headrace.aio.informix
import headrace.informix
from headrace import errors, types

from .program import Failed, Loop, Looped, Mismatch, Options, Unplayable, check


@dataclass(frozen=True)
class Do:
    """A statement whose result does not matter."""

    sql: str
    way: str = "execute"


@dataclass(frozen=True)
class Other:
    """A statement of another session."""

    sql: str


@dataclass(frozen=True)
class Read:
    """A query. ``{p}`` in it is a condition that holds, with a parameter where the way has one."""

    sql: str
    way: str = "execute"
    size: int = 2
    name: str = "report"


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
class Interleave:
    """A stream with a step after each row, until ``stop`` rows were read."""

    sql: str
    steps: tuple[Any, ...] = ()
    size: int = 20
    stop: int = 3
    ending: str = "close"


def with_condition(sql: str, way: str) -> tuple[str, Any]:
    """A query's text and parameters for a way."""
    style = way.rpartition(":")[2]
    if "{p}" in sql and style in ("mark", "number"):
        return sql.replace("{p}", "1 = ?" if style == "mark" else "1 = :1"), (1,)
    return sql.replace("{p}", "1 = 1"), None


def _pipeline(conn: Any, sql: str, params: Any) -> Any:
    with conn.pipeline():
        before = conn.execute("select 1 from systables where tabid = 1")
        cursor = conn.execute(sql, params)
        rows = cursor.fetchall()
    assert before.fetchall() == [(1,)]
    return rows


def _blocks(conn: Any, sql: str, params: Any, size: int) -> list[Any]:
    out: list[Any] = []
    with conn.cursor() as cursor:
        cursor.execute(sql, params)
        while block := cursor.fetchmany(size):
            out += block
    return out


def _server_cursor(conn: Any, sql: str, params: Any, step: Read, **keywords: Any) -> list[Any]:
    out: list[Any] = []
    with conn.cursor(step.name, **keywords) as cursor:
        cursor.execute(sql, params)
        if step.size == 1:
            while (row := cursor.fetchone()) is not None:
                out.append(row)
        elif step.size == 2:
            while block := cursor.fetchmany(2):
                out += block
        else:
            out = cursor.fetchall()
    return out


def _flat(blocks: Iterable[Any]) -> list[Any]:
    return [row for block in blocks for row in block]


READS: dict[str, Callable[[Any, str, Any, Read], Any]] = {
    "execute": lambda c, sql, p, s: c.execute(sql, p).fetchall(),
    "iterate": lambda c, sql, p, s: list(c.execute(sql, p)),
    "blocks": lambda c, sql, p, s: _blocks(c, sql, p, s.size),
    "fetch": lambda c, sql, p, s: c.fetch(sql, *(p or ())),
    "pipeline": lambda c, sql, p, s: _pipeline(c, sql, p),
    "fetchmany": lambda c, sql, p, s: c.fetchmany(sql, [p or ()]),
    "stream": lambda c, sql, p, s: list(c.stream(sql, p, fetch_bytes=s.size * 20)),
    "stream_blocks": lambda c, sql, p, s: _flat(c.stream_blocks(sql, p, fetch_bytes=s.size * 20)),
    "cursor": lambda c, sql, p, s: _server_cursor(c, sql, p, s),
    "scroll": lambda c, sql, p, s: _server_cursor(c, sql, p, s, scrollable=True),
    "hold": lambda c, sql, p, s: _server_cursor(c, sql, p, s, withhold=True),
}


def insert(step: Write, style: str) -> str:
    """The INSERT of one row."""
    places = ["?" if style == "?" else f":{i + 1}" for i in range(len(step.columns))]
    return f"INSERT INTO {step.table} ({', '.join(step.columns)}) VALUES ({', '.join(places)})"


def _each(run: Callable[[Any], Any], rows: Iterable[Any]) -> None:
    for row in rows:
        run(row)


def _piped(conn: Any, sql: str, rows: Iterable[Any]) -> None:
    with conn.pipeline():
        for row in rows:
            conn.execute(sql, row)


WRITES: dict[str, Callable[[Any, Write], Any]] = {
    "execute": lambda c, s: _each(lambda row: c.execute(insert(s, "?"), row), s.rows),
    "execute:number": lambda c, s: _each(lambda row: c.execute(insert(s, ":"), row), s.rows),
    "many": lambda c, s: c.executemany(insert(s, "?"), s.rows),
    "many:generator": lambda c, s: c.executemany(insert(s, "?"), (row for row in s.rows)),
    "many:select": lambda c, s: c.executemany(insert(s, "?") + " ", list(s.rows)),
    "pipeline": lambda c, s: _piped(c, insert(s, "?"), s.rows),
}


class Databases:
    """Two servers: headrace's and the oracle's."""

    def __init__(self, servers: tuple[Any, Any]) -> None:
        self.servers = servers
        self.dbas = [informix_db.connect(**server.parameters(), autocommit=True) for server in servers]

    def close(self) -> None:
        """Closes the sessions that compare."""
        for dba in self.dbas:
            dba.close()

    def twin(self, options: Options) -> InformixTwin:
        """A new pair of sessions, on empty databases."""
        for dba in self.dbas:
            for (name,) in run(dba, "select tabname from systables where tabid >= 100 and tabtype = 'T'"):
                run(dba, f"drop table {name}")
        return InformixTwin(self, options)


class InformixTwin:
    """The two sessions of a program."""

    def __init__(self, databases: Databases, options: Options) -> None:
        self.databases = databases
        self.options = options
        self.loop = Loop() if options.aio else None
        self.conn: Any = self._connect()
        self.oracle: Any = informix_db.connect(**databases.servers[1].parameters(), autocommit=True)
        self.blocks: list[tuple[Any, str | None]] = []
        self.begun = False
        self.streaming = 0
        self.altered = False
        """Whether another session has defined something that a pipeline may still meet."""
        self._plays: dict[type, Callable[[Any], None]] = {
            Do: self._do,
            Other: self._other,
            Read: self._read,
            Write: self._write,
            Tx: self._tx,
            Interleave: self._interleave,
        }

    def _connect(self) -> Any:
        keywords: dict[str, Any] = {**self.databases.servers[0].parameters(), "autocommit": self.options.autocommit}
        if self.loop is None:
            return headrace.informix.connect(**keywords)
        return Looped(self.loop.run(lambda: headrace.aio.informix.connect(**keywords)), self.loop)

    def tables(self) -> dict[str, list[tuple[str, int]]]:
        """The oracle's tables, with names and types of their columns."""
        found = run(
            self.oracle,
            "select t.tabname, c.colname, c.coltype from systables t, syscolumns c where t.tabid = c.tabid "
            "and t.tabid >= 100 and t.tabtype = 'T' order by t.tabname, c.colno",
        )
        out: dict[str, list[tuple[str, int]]] = {}
        for table, column, kind in found:
            out.setdefault(table, []).append((column, kind % 256))
        return out

    # playing

    def step(self, step: Any) -> None:
        """Plays a step on both, and compares."""
        self._plays[type(step)](step)
        if self.conn.closed:
            raise Mismatch(f"the connection is closed: after {step!r}")
        if not self.streaming:
            check("status", self.conn.transaction_status.name, "INTRANS" if self.begun else "IDLE", step)
            if not self.begun:
                self._compare(step)

    def _compare(self, step: Any) -> None:
        tested, oracle = (contents(dba) for dba in self.databases.dbas)
        check("tables", tested, oracle, step)

    def _both(self, step: Any, tested: Callable[[], Any], oracle: Callable[[], Any], kind: str = "result") -> None:
        before = self.begun
        expected = attempt(oracle)
        found = attempt(tested)
        if isinstance(expected, Failed) and not before and self.conn.transaction_status.name == "IDLE":
            # The first statement could not be prepared: it began nothing.
            self._end("rollback")
        if isinstance(expected, Failed) and isinstance(found, Failed) and not found.code.startswith("-"):
            raise Unplayable
        check(kind, found, expected, step)

    def _run(self, sql: str) -> list[Any]:
        if not self.begun and not self.options.autocommit:
            run(self.oracle, "BEGIN WORK")
            self.begun = True
        return run(self.oracle, sql)

    def _rows(self, sql: str) -> list[Any]:
        return [tuple(map(canonical, row)) for row in self._run(sql)]

    def _do(self, step: Do) -> None:
        def tested() -> None:
            if step.way == "pipeline":
                _piped(self.conn, step.sql, [None])
            else:
                self.conn.execute(step.sql)

        self._both(step, tested, lambda: nothing(self._run(step.sql)), "statement")

    def _other(self, step: Other) -> None:
        found = [attempt(lambda d=dba: nothing(run(d, step.sql))) for dba in self.databases.dbas]  # type: ignore[misc]
        self.altered = True
        check("other session", found[0], found[1], step)

    def _read(self, step: Read) -> None:
        sql, params = with_condition(step.sql, step.way)
        way = step.way.partition(":")[0]
        self._both(
            step,
            lambda: ordered(tuple(map(canonical, row)) for row in READS[way](self.conn, sql, params, step)),
            lambda: ordered(self._rows(step.sql.replace("{p}", "1 = 1"))),
            "rows",
        )

    def _write(self, step: Write) -> None:
        columns = ", ".join(step.columns)

        def oracle() -> None:
            whole = step.way.startswith("many")
            alone = whole and not self.begun and self.options.autocommit
            if alone:
                run(self.oracle, "BEGIN WORK")
            elif whole:
                self._run("SAVEPOINT whole")
            try:
                for row in step.literals:
                    self._run(f"INSERT INTO {step.table} ({columns}) VALUES ({', '.join(row)})")
            except informix_db.Error:
                if whole:
                    run(self.oracle, "ROLLBACK WORK" if alone else "ROLLBACK TO SAVEPOINT whole")
                raise
            if alone:
                run(self.oracle, "COMMIT WORK")

        def tested() -> None:
            try:
                nothing(WRITES[step.way](self.conn, step))
            except errors.OperationalError as error:
                # A pipeline says once that another session has altered the table: later statements were sent already.
                if step.way == "pipeline" and self.altered and error.sqlcode == -710:
                    raise Unplayable from None
                raise

        self._both(step, tested, oracle, "write")

    def _tx(self, step: Tx) -> None:
        if step.what in ("commit", "rollback"):
            if not self.blocks:
                self._both(step, lambda: nothing(getattr(self.conn, step.what)()), lambda: self._end(step.what))
        elif step.what == "enter":
            name = f"b{len(self.blocks)}" if self.begun else None
            context = self.conn.transaction()

            def oracle() -> None:
                run(self.oracle, "BEGIN WORK" if name is None else f"SAVEPOINT {name}")
                self.begun = True

            self._both(step, lambda: nothing(context.__enter__()), oracle, "block")
            self.blocks.append((context, name))
        elif self.blocks:
            self._leave(step, step.what == "undo")

    def _end(self, word: str) -> None:
        if self.begun:
            run(self.oracle, f"{word} work")
        self.begun = False

    def _leave(self, step: Any, undo: bool) -> None:
        context, name = self.blocks.pop()

        def tested() -> None:
            if undo:
                context.__exit__(headrace.Rollback, headrace.Rollback(), None)
            else:
                context.__exit__(None, None, None)

        def oracle() -> None:
            if name is None:
                self._end("rollback" if undo else "commit")
            else:
                if undo:
                    run(self.oracle, f"ROLLBACK TO SAVEPOINT {name}")
                run(self.oracle, f"RELEASE SAVEPOINT {name}")

        self._both(step, tested, oracle, "block")

    def _interleave(self, step: Interleave) -> None:
        expected = attempt(lambda: self._rows(step.sql))
        inner = list(step.steps)
        got: list[Any] = []
        self.streaming += 1

        def tested() -> None:
            stream = self.conn.stream(step.sql, fetch_bytes=step.size)
            try:
                for row in stream:
                    got.append(tuple(map(canonical, row)))
                    if inner:
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


def run(connection: Any, sql: str) -> list[Any]:
    """A statement by informix-driver."""
    cursor = connection.cursor()
    try:
        cursor.execute(sql)
        return list(cursor.fetchall()) if cursor.description else []
    finally:
        cursor.close()


def contents(dba: Any) -> list[Any]:
    """Every row of every table, as another session sees it."""
    names = [
        name for (name,) in run(dba, "select tabname from systables where tabid >= 100 and tabtype = 'T' order by 1")
    ]
    return [(name, ordered(tuple(map(canonical, row)) for row in run(dba, f"select * from {name}"))) for name in names]


def nothing(value: Any) -> None:
    """The result of a statement that returns none."""


def ordered(rows: Any) -> list[Any]:
    """Rows in an order of their own."""
    return sorted(rows, key=repr)


def attempt(go: Callable[[], Any]) -> Any:
    """Its result, or how it failed: by the server's number, where it is the server's error."""
    try:
        return go()
    except informix_db.Error as error:
        return Failed(str(getattr(error, "sqlcode", None) or type(error).__name__), str(error))
    except errors.Error as error:
        return Failed(str(error.sqlcode or type(error).__name__), str(error))
    except (Mismatch, Unplayable):
        raise
    except Exception as error:
        return Failed(type(error).__name__, str(error))


def canonical(value: Any) -> Any:
    """A value so that two that mean the same are equal, and no others.

    | value | informix-driver | headrace |
    |---|---|---|
    | CHAR, NCHAR | without the blanks at its end | with them |
    | DECIMAL(p,s) | without the zeros at its end | with its scale |
    | INTERVAL YEAR TO MONTH | IntervalYM | Interval |
    """
    if isinstance(value, float):
        return ("float", repr(value))
    if isinstance(value, Decimal):
        return ("decimal", str(value.normalize()))
    if isinstance(value, str):
        return ("str", value.rstrip(" "))
    if isinstance(value, (bytes, bytearray)):
        return ("bytes", bytes(value))
    if isinstance(value, datetime.datetime):
        return ("datetime", value.isoformat())
    if isinstance(value, types.Interval):
        return ("interval", value.months)
    if isinstance(value, informix_db.IntervalYM):
        return ("interval", value.months)
    if value is None:
        return None
    return (type(value).__name__, value)
