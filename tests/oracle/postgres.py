"""A step on PostgreSQL, through headrace and through psycopg, each in a database of its own."""

from __future__ import annotations

import contextlib
import gc
from collections.abc import Callable, Iterator
from typing import Any

import psycopg
from psycopg.pq import TransactionStatus
from psycopg.types import TypeInfo
from psycopg.types.hstore import register_hstore

import headrace
from headrace import errors

from .pg_steps import (
    BATCHES,
    EXPRESSES,
    READS,
    WRITES,
    Do,
    Express,
    Fetch,
    Interleave,
    Open,
    Other,
    Read,
    Reset,
    Shut,
    Tx,
    Write,
    do,
    with_condition,
)
from .pg_values import EXTENSIONS, Decoder, canonical
from .program import Failed, Loop, Looped, Mismatch, Options, Unplayable, check

SCHEMAS = ("public", "r1", "r2")
"""Where tables are. Two are named as roles, so that a search path with ``$user`` depends on the role."""
SQLSTATE_LENGTH = 5
FRESH = """
drop schema if exists public, r1, r2, ty cascade;
create schema public; create schema r1; create schema r2; create schema ty;
create type ty.mood as enum ('sad', 'ok', 'happy');
create domain ty.posint as int4 check (value > 0);
create domain ty.label as text;
create type ty.pair as (x int4, y text);
create type ty.nested as (n int4, p ty.pair);
create table public.ex (n numeric, at timestamptz, d date, s text, i interval, j jsonb, f float8);
"""
TABLES = """
select format('%%I.%%I', n.nspname, c.relname), pg_table_is_visible(c.oid), c.relname,
    array_agg(array[a.attname::text, t.typname::text, concat(a.attgenerated, a.attidentity)] order by a.attnum)
from pg_class c join pg_namespace n on n.oid = c.relnamespace join pg_attribute a on a.attrelid = c.oid
    join pg_type t on t.oid = a.atttypid
where c.relkind = 'r' and n.nspname = any(%s) and a.attnum > 0 and not a.attisdropped and c.relname <> 'ex'
group by 1, 2, 3 order by 1
"""
STORED = """
select attname from pg_attribute
where attrelid = to_regclass(%s) and attnum > 0 and not attisdropped and attgenerated = '' order by attnum
"""


class Databases:
    """A server's two databases, which programs use one after the other."""

    def __init__(self, url: str, name: str) -> None:
        self.base = url.rpartition("/")[0]
        self.names = (f"{name}_headrace", f"{name}_oracle")
        with psycopg.connect(url, autocommit=True) as admin:
            for role in ("r1", "r2"):
                found = admin.execute("select 1 from pg_roles where rolname = %s", (role,)).fetchone()
                if found is None:
                    admin.execute(f"create role {role} superuser")  # type: ignore[arg-type]
            for database in self.names:
                admin.execute(f"create database {database}")  # type: ignore[arg-type]
                path = '"$user", public, ty, ext'
                admin.execute(f"alter database {database} set search_path = {path}")  # type: ignore[arg-type]
                admin.execute(f"alter database {database} set lock_timeout = '2s'")  # type: ignore[arg-type]
        self.dbas = [psycopg.connect(self.url(i), autocommit=True, prepare_threshold=None) for i in range(2)]
        self.extensions: set[str] = set()
        for dba in self.dbas:
            dba.execute("create schema ext")
            for extension in EXTENSIONS:
                with contextlib.suppress(psycopg.Error):
                    dba.execute(f"create extension {extension} schema ext")  # type: ignore[arg-type]
                    self.extensions.add(extension)

    def url(self, which: int) -> str:
        """Of headrace's database (0) or the oracle's (1)."""
        return f"{self.base}/{self.names[which]}"

    def close(self) -> None:
        """Closes what compares them."""
        for dba in self.dbas:
            dba.close()

    def twin(self, options: Options) -> PostgresTwin:
        """A new pair of sessions, on empty databases."""
        for dba in self.dbas:
            dba.execute(FRESH)  # type: ignore[arg-type]
        return PostgresTwin(self, options)


class PostgresTwin:
    """The two sessions of a program."""

    def __init__(self, databases: Databases, options: Options) -> None:
        self.databases = databases
        self.dbas = databases.dbas
        self.options = options
        self.loop = Loop() if options.aio else None
        self.conn: Any = self._connect()
        self.oracle = psycopg.connect(databases.url(1), autocommit=True, prepare_threshold=None)
        if (hstore := TypeInfo.fetch(self.oracle, "hstore")) is not None:
            register_hstore(hstore, self.oracle)
        self.blocks: list[tuple[Any, str | None]] = []
        self.cursors: dict[str, Any] = {}
        self.streaming = 0
        self.own = False
        """Whether a stream has the connection for itself: other statements may then be refused."""
        self.altered = False
        """Whether another session has defined something that a pipeline may still meet."""
        self._plays: dict[type, Callable[[Any], None]] = {
            Do: self._do,
            Other: self._other,
            Read: self._read,
            Write: self._write,
            Express: self._express,
            Tx: self._tx,
            Reset: self._reset,
            Open: self._open,
            Fetch: self._fetch,
            Shut: self._shut,
            Interleave: self._interleave,
        }

    def _connect(self) -> Any:
        keywords = {"autocommit": self.options.autocommit, "prepared": self.options.prepared}
        url = self.databases.url(0)
        if self.loop is None:
            return headrace.connect(url, **keywords)  # type: ignore[call-overload]
        return Looped(self.loop.run(lambda: headrace.aio.connect(url, **keywords)), self.loop)  # type: ignore[call-overload]

    # what the ones who make steps look at

    @property
    def status(self) -> TransactionStatus:
        """Where the oracle's session stands."""
        return self.oracle.info.transaction_status

    @property
    def idle(self) -> bool:
        """Outside of a transaction."""
        return self.status == TransactionStatus.IDLE

    @property
    def failed(self) -> bool:
        """In a transaction that failed."""
        return self.status == TransactionStatus.INERROR

    def tables(self) -> list[Any]:
        """The tables that the session sees: name, whether the search path finds it, plain name, columns."""
        return self.oracle.execute(TABLES, (list(SCHEMAS),)).fetchall()

    def names(self, view: str) -> list[str]:
        """Names of cursors or prepared statements of the session."""
        return [row[0] for row in self.oracle.execute(f"select name from {view} order by name").fetchall()]  # type: ignore[arg-type]

    # playing

    def step(self, step: Any) -> None:
        """Plays a step on both, and compares."""
        self._plays[type(step)](step)
        if self.conn.closed:
            raise Mismatch(f"the connection is closed: after {step!r}")
        if not self.streaming:
            check("status", self.conn.transaction_status.name, self.status.name, step)
            if self.idle:
                self._compare(step)

    def _compare(self, step: Any) -> None:
        tested, oracle = (contents(dba) for dba in self.dbas)
        check("tables", tested, oracle, step)

    def _both(self, step: Any, tested: Callable[[], Any], oracle: Callable[[], Any], kind: str = "result") -> None:
        if self.own:
            found = attempt(tested)
            if found == Failed("InterfaceError"):
                return
            expected = attempt(oracle)
        else:
            expected = attempt(oracle)
            found = attempt(tested)
        if isinstance(expected, Failed) and isinstance(found, Failed) and len(found.code) != SQLSTATE_LENGTH:
            raise Unplayable
        check(kind, found, expected, step)

    def _begun(self) -> None:
        if not self.options.autocommit and self.idle:
            self.oracle.execute("BEGIN")

    def _do(self, step: Do) -> None:
        def oracle() -> None:
            self._begun()
            self.oracle.execute(step.sql)  # type: ignore[arg-type]

        self._both(step, lambda: do(self.conn, step), oracle, "statement")

    def _other(self, step: Other) -> None:
        found = [attempt(lambda dba=dba: nothing(dba.execute(step.sql))) for dba in self.dbas]  # type: ignore[misc]
        self.altered = True
        check("other session", found[0], found[1], step)

    def _rows(self, sql: str, params: Any = None) -> list[Any]:
        self._begun()
        cursor = self.oracle.execute(sql, params)  # type: ignore[arg-type]
        result = cursor.pgresult
        assert result is not None
        decoder = Decoder(self.oracle)
        oids = [result.ftype(i) for i in range(result.nfields)]
        return [
            tuple(decoder.value(oid, result.get_value(row, i)) for i, oid in enumerate(oids))
            for row in range(result.ntuples)
        ]

    def _read(self, step: Read) -> None:
        sql, params = with_condition(step.sql, step.way)
        way = step.way.partition(":")[0]

        def read() -> Any:
            return ordered(map(canonical, READS[way](self.conn, sql, step.params or params, step)))

        def tested() -> Any:
            try:
                return read()
            except errors.FeatureNotSupported:
                # A pipeline says once that another session has altered what it reads, and is right the next time.
                if way != "pipeline" or not self.altered:
                    raise
                if self.conn.transaction_status.name != "IDLE":
                    raise Unplayable from None
                self.altered = False
                return read()

        def oracle() -> Any:
            if way == "copy_table":
                # COPY of a table leaves generated columns out.
                columns = self.oracle.execute(STORED, (step.sql,)).fetchall() if not self.failed else []
                return ordered(self._rows(f"SELECT {', '.join(name for (name,) in columns)} FROM {step.sql}"))
            return ordered(self._rows(step.sql.replace("{p}", "true"), step.params or None))

        self._both(step, tested, oracle, "rows")

    def _write(self, step: Write) -> None:
        columns = ", ".join(step.columns)

        def oracle() -> None:
            with self._whole(step.way.startswith(BATCHES)):
                for row in step.literals:
                    self.oracle.execute(f"INSERT INTO {step.table} ({columns}) VALUES ({', '.join(row)})")  # type: ignore[arg-type]

        self._both(step, lambda: nothing(WRITES[step.way](self.conn, step)), oracle, "write")

    def _express(self, step: Express) -> None:
        def oracle() -> None:
            with self._whole(step.way in ("many", "returning")):
                for row in step.rows:
                    self.oracle.execute(step.sql, row)  # type: ignore[arg-type]

        self._both(step, lambda: nothing(EXPRESSES[step.way](self.conn, step)), oracle, "write")

    @contextlib.contextmanager
    def _whole(self, batch: bool) -> Iterator[None]:
        """All or none in autocommit, for a batch."""
        self._begun()
        if not batch or not self.idle:
            yield
            return
        self.oracle.execute("BEGIN")
        try:
            yield
        except psycopg.Error:
            self.oracle.execute("ROLLBACK")
            raise
        self.oracle.execute("COMMIT")

    # transactions

    def _tx(self, step: Tx) -> None:
        if step.what in ("commit", "rollback"):
            if self.blocks:
                return
            end = getattr(self.conn, step.what)
            self._both(step, lambda: nothing(end()), lambda: self._end(step.what))
        elif step.what == "enter":
            name = None if self.idle and not self.blocks else f"b{len(self.blocks)}"
            context = self.conn.transaction()

            def oracle() -> None:
                self.oracle.execute("BEGIN" if name is None else f"SAVEPOINT {name}")  # type: ignore[arg-type]

            expected = attempt(oracle)
            check("block", attempt(lambda: nothing(context.__enter__())), expected, step)
            if expected is None:
                self.blocks.append((context, name))
        elif self.blocks:
            # An error that leaves an inner block undoes it; only the outermost can be left otherwise.
            undo = step.what == "undo" or (self.failed and self.blocks[-1][1] is not None)
            self._leave(step, undo)

    def _end(self, word: str) -> None:
        """Ends the transaction. A failed one cannot be committed, which is an error."""
        failed = self.failed
        self.oracle.execute(word)  # type: ignore[arg-type]
        if failed and word == "commit":
            raise psycopg.errors.InFailedSqlTransaction

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
                words = f"ROLLBACK TO {name}; RELEASE {name}" if undo else f"RELEASE {name}"
                self.oracle.execute(words)  # type: ignore[arg-type]

        self._both(step, tested, oracle, "block")

    def _reset(self, step: Reset) -> None:
        def oracle() -> None:
            if step.mode != "none":
                self.oracle.execute("ROLLBACK")
            if step.mode == "discard":
                self.oracle.execute("DISCARD ALL")

        if not self.blocks:
            self._both(step, lambda: nothing(self.conn.reset(step.mode)), oracle)

    # cursors and streams

    def _open(self, step: Open) -> None:
        hold = "WITH HOLD " if step.hold else ""

        def tested() -> None:
            cursor = self.conn.cursor(step.name, withhold=step.hold)
            cursor.execute(step.sql)
            self.cursors[step.name] = cursor

        def oracle() -> None:
            self._begun()
            self.oracle.execute(f"DECLARE {step.name} CURSOR {hold}FOR {step.sql}")  # type: ignore[arg-type]

        self._both(step, tested, oracle)

    def _fetch(self, step: Fetch) -> None:
        cursor = self.cursors.get(step.name)
        if cursor is not None:
            sql = f"FETCH FORWARD {step.count} FROM {step.name}"
            self._both(
                step, lambda: list(map(canonical, cursor.fetchmany(step.count))), lambda: self._rows(sql), "cursor"
            )

    def _shut(self, step: Shut) -> None:
        cursor = self.cursors.pop(step.name, None)
        if cursor is not None:
            # Closing one that ended with its transaction is not an error in headrace.
            there = not self.failed and step.name in self.names("pg_cursors")
            sql = f"CLOSE {step.name}" if there else ""
            self._both(step, lambda: nothing(cursor.close()), lambda: nothing(self.oracle.execute(sql)))  # type: ignore[arg-type]

    def _interleave(self, step: Interleave) -> None:
        own = self.options.autocommit and self.idle
        expected = attempt(lambda: self._rows(step.sql))
        inner = list(step.steps)
        got: list[Any] = []
        self.streaming += 1
        self.own = self.own or own

        def tested() -> None:
            if step.blocks:
                stream = self.conn.stream_blocks(step.sql, fetch_size=step.size)
            else:
                stream = self.conn.stream(step.sql, fetch_size=step.size)
            try:
                for taken in stream:
                    got.extend(map(canonical, taken if step.blocks else [taken]))
                    if inner:
                        self.step(inner.pop(0))
                    if len(got) >= step.stop and step.ending != "exhaust":
                        break
            finally:
                if step.ending != "drop":
                    stream.close()
            del stream

        try:
            found = attempt(tested)
        finally:
            self.streaming -= 1
            self.own = self.own and not own
        if step.ending == "drop":
            self._settle()
        if isinstance(expected, Failed):
            check("stream", found, expected, step)
        else:
            check("stream", found if found is not None else got, expected[: len(got)], step)
            if step.ending == "exhaust" or len(expected) < step.stop:
                check("stream", len(got), len(expected), step)

    def _settle(self) -> None:
        """Collects what was dropped; on a loop it then ends in a task of its own."""
        gc.collect()
        if self.loop is not None:
            self.loop.settle(lambda: self.conn.transaction_status.name == "ACTIVE")

    # ending

    def finish(self) -> None:
        """Ends blocks and the transaction, and compares a last time."""
        while self.blocks:
            self._leave("the end", True)
        if not self.idle:
            self.step(Tx("rollback" if self.failed else "commit"))
        self._compare("the end")

    def close(self) -> None:
        """Closes the sessions."""
        for context, _ in reversed(self.blocks):
            with contextlib.suppress(Exception):
                context.__exit__(headrace.Rollback, headrace.Rollback(), None)
        self.blocks.clear()
        self.cursors.clear()
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
    """Its result, or how it failed."""
    try:
        return run()
    except psycopg.Error as error:
        return Failed(error.sqlstate or type(error).__name__, str(error))
    except errors.Error as error:
        return Failed(error.sqlstate or type(error).__name__, str(error))
    except (Mismatch, Unplayable):
        raise
    except Exception as error:
        return Failed(type(error).__name__, str(error))


def contents(dba: psycopg.Connection[Any]) -> list[Any]:
    """Every row of every table, as another session sees it."""
    found = dba.execute(
        "select format('%I.%I', schemaname, tablename) from pg_tables "
        "where schemaname in ('public', 'r1', 'r2') order by 1"
    ).fetchall()
    if not found:
        return []
    parts = [f"select '{name}', x::text from {name} x" for (name,) in found]
    return [[name for (name,) in found], *sorted(dba.execute(" union all ".join(parts)).fetchall())]  # type: ignore[arg-type]
