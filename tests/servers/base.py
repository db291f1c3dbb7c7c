"""What a test may ask of any database: how to reach it, and each fact in which databases differ."""

from __future__ import annotations

import contextlib
import time
from abc import ABC, abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar, Self
from urllib.parse import urlsplit, urlunsplit

import headrace
import headrace.aio
from headrace_lab.differences import Differences

KILL_SECONDS = 30.0
"""How long sessions may live that were ended from outside."""


class Database(ABC):
    """A database that a test connects to. A subclass for each says what differs, and why; the tests that hold for all
    have no branches, but use these attributes."""

    differences: ClassVar[Differences]
    """The fields that the lab shares."""
    module: ClassVar[Any]
    """The driver's module."""
    resets: ClassVar[Any]
    """The driver's module with the table of what a reset of a pool sets back."""
    answers_early: ClassVar[bool] = True
    """The first rows of a join are sent before the last ones are found."""
    large_batch: ClassVar[int] = 20_000
    """Rows of a batch that is not over after some dozen steps of the event loop."""
    cursors_that_fetch_later: ClassVar[tuple[Mapping[str, Any], ...]] = ({"name": "later"},)
    """Keywords of ``cursor()`` for cursors that leave rows on the server."""
    slow_needs: ClassVar[tuple[str, ...]] = ("drop table if exists pipelined", "create table pipelined (n int)")
    """Statements that make the table of ``after_slow``."""
    after_slow: ClassVar[str] = "select max(n) from pipelined"
    """A query that takes no time unless what is before it in a pipeline does."""
    fixture: ClassVar[str]
    """The fixture of the running server. A folder whose tests need another one overrides it."""

    # Transactions and locks
    error_fails_transaction: ClassVar[bool] = False
    """Every error of a statement fails the transaction, and savepoints survive it."""
    abort_hook: ClassVar[str | None] = None
    """A statement after which the project's test server ends the transaction with the next change. None where two
    connections in a deadlock come to the same."""
    commit_refusal: ClassVar[tuple[str, ...]] = ()
    """Statements after which the project's test server refuses the commit, and rolls back: with the name of a table."""
    begin_work: ClassVar[str | None] = "begin work"
    """The statement that begins a transaction on a connection in autocommit, if there is one."""
    waits_for_locks: ClassVar[bool] = True
    """A change waits until a lock of another connection is released, and does not fail at once."""
    commits_ddl: ClassVar[bool] = False
    """CREATE TABLE ends the transaction, and is not undone with it."""
    writes_beside: ClassVar[bool] = True
    """Two transactions that change different tables do not wait for each other."""
    supports_isolation_query: ClassVar[bool] = True
    """A session can be asked for its isolation level and its wait for locks: what a program sets can be set back."""
    supports_settings_query: ClassVar[bool] = True
    """A session can be asked for all its settings, on the test server too."""
    supports_set_autocommit: ClassVar[bool] = False
    """Autocommit is a variable of the session, which statements and procedures set as well as the driver."""
    unasked: ClassVar[Mapping[str, Any]] = {}
    """Keywords of ``connect()`` that name what the database cannot be asked for, so that it can be set back."""
    kept_session: ClassVar[Mapping[str, Any]] = {}
    """Keywords of ``connect()`` with which a session stays with its connection in autocommit."""

    # SQL
    question_mark: ClassVar[str] = "?"
    """A parameter in the style of the protocol where the driver takes ``?``, else ``%s``."""
    native_mark: ClassVar[str] = "?"
    """A parameter in the protocol's own style, which ``str.format`` fills with its number from 1 on."""
    quote: ClassVar[str | None] = "`"
    """Around a name. None where there are no quoted names without another setting of the server."""
    transactional: ClassVar[str] = ""
    """The end of a CREATE TABLE whose rows take part in transactions, whatever the server's default is."""
    timestamp: ClassVar[str] = "datetime"
    """A type of date and time of the highest precision."""
    untested_types: ClassVar[frozenset[str]] = frozenset()
    """Types of columns that the project's test server does not have, and a genuine server does."""
    json: ClassVar[str] = "json"
    """The type of a column for JSON."""
    as_json: ClassVar[str] = ""
    """What makes JSON of a literal that is inserted into one, where that is more than its text."""
    before_temporary: ClassVar[str] = ""
    """What has to come before the statement that creates the table ``r``, which is temporary where such tables are."""
    supports_zero_dates: ClassVar[bool] = False
    """A column may hold dates that the calendar does not have."""
    allow_zero_dates: ClassVar[str | None] = None
    """The statement after which a session may write them, where it may not from the beginning."""
    one: ClassVar[str] = "select 1"
    """A query for 1."""
    long_recursion: ClassVar[str | None] = None
    """The statement that allows ``count_from_zero()`` more than 1,000 rows, where that is a recursive query."""
    row_address: ClassVar[str | None] = None
    """The column by which a table is partitioned rather than by its key. Where there is one, partitions share a
    snapshot too."""

    supports_question_mark_names: ClassVar[bool] = True
    """A question mark in a name in quotes is no parameter."""
    supports_temporary_virtual_columns: ClassVar[bool] = True
    """Columns of temporary tables may be computed when they are read."""
    adbc_schema: ClassVar[str | None] = None
    """The option of an ingestion by ADBC that names another schema, where a test may create one."""
    understands_double_quotes: ClassVar[bool] = True
    """Names may stand in double quotes, as in the standard, without another setting of the session."""
    supports_temporary_tables: ClassVar[bool] = True
    """Tables may be a session's own."""
    hides_tables: ClassVar[bool] = False
    """A temporary table may have the name of another one, which it hides."""
    names_hidden_tables: ClassVar[bool] = False
    """The hidden one has another name, with its schema."""
    longest_name: ClassVar[str]
    """The longest name, of two bytes a character where bytes are counted."""
    longest_table: ClassVar[str | None] = None
    """The longest name of a table, where other names may be longer."""
    analyze: ClassVar[str | None] = None
    """The statement that counts the rows and values of the table ``t`` for the planner, whose figures can be read."""
    describes_constraints: ClassVar[bool] = False
    """The keys of tables are among what ADBC tells of them."""
    describes_parameters: ClassVar[bool] = True
    """A prepared statement tells what parameters it has."""
    supports_partitions: ClassVar[bool] = True
    """ADBC divides a query into partitions."""
    supports_serializable: ClassVar[bool] = True
    """The isolation level of a session can be read, and set back."""
    block_modes: ClassVar[tuple[str, ...]] = ("isolation", "read_only")
    """What ``transaction()`` takes of isolation, read_only and deferrable."""
    block_levels: ClassVar[tuple[str, ...]] = ("read uncommitted", "read committed", "repeatable read", "serializable")
    """The isolation levels that one transaction may have."""
    own_isolation: ClassVar[str | None] = None
    """A query for the isolation level of the transaction that it is in, if there is one."""
    supports_read_only: ClassVar[bool] = True
    """A transaction can be one that only reads."""

    # Batches and statements
    batch_strategies: ClassVar[Mapping[str, tuple[str, Mapping[str, Any]]]]
    """By name: a parameter, with its number as in ``native_mark``, and the keywords of ``executemany()``."""
    loading: ClassVar[Mapping[str, Any]] = {}
    """Keywords of ``connect()`` for connections that copy rows into tables."""
    copies_by: ClassVar[str | None] = None
    """The method of connections that copies rows into a table."""
    copies_by_exact_names: ClassVar[bool] = False
    """The names of the columns that it is given are not folded."""
    supports_sqlalchemy: ClassVar[bool] = False
    """headrace has a dialect of its own for it."""
    supports_staging_tables: ClassVar[bool] = True
    """Partitioned writes can be idempotent: they write to staging tables first."""
    supports_default_expressions: ClassVar[bool] = False
    """A default may be an expression, which the staging table does not have."""
    loses_early_cancels: ClassVar[float] = 0.0
    """Seconds that a statement has run for before a request to cancel it is not lost."""
    slow_raises: ClassVar[bool] = True
    """The slow statement fails when it is cancelled, and does not return early."""
    notices_altered_tables: ClassVar[bool] = True
    """The test server, too, goes on with the table as it is now."""
    stale_code: ClassVar[int | None] = None
    """The code of the error for a prepared statement whose table was altered, where the driver can prepare it again
    only for the next execution."""
    supports_lastrowid: ClassVar[bool] = True
    """The value that the server has made comes with the reply."""
    codes: ClassVar[Mapping[type[Exception], int]] = {}
    """The server's own codes, where errors have them beside SQLSTATE."""
    colon_parameters: ClassVar[bool] = True
    """Parameters may be ``:1``, as Informix's other drivers have them, instead of ``%s`` and ``%(name)s``."""

    # The wire
    garbage: ClassVar[bytes] = b"HTTP/1.1 400 Bad Request\r\n\r\n" * 8
    """What another service says to somebody who has connected, and that is not the protocol's."""
    without_tls: ClassVar[Mapping[str, str]] = {}
    """Options of a URL without which TLS is asked for: what stands between the two ends would see nothing."""
    plain: ClassVar[str] = ""
    """The end of a URL without a query by which TLS is not asked for first."""
    loses_idle_sessions: ClassVar[bool] = True
    """A session that had no transaction is lost with its connection, too."""
    supports_killing: ClassVar[bool] = True
    """Sessions can be ended from outside."""
    executing: ClassVar[str | None] = None
    """A query for the number of other sessions that execute a statement like the parameter, where they are listed."""
    cancelling: ClassVar[str | None] = None
    """The statement that ends what another session executes, ``{}``, where there is one."""
    supports_unprepared: ClassVar[bool] = False
    """``connect(prepared=False)`` sends statements that are not prepared."""

    def __init__(self, url: str, refused_url: str) -> None:
        self.url = url
        self.refused_url = refused_url
        """The URL with something that the server refuses: a wrong password, or a user who is not there."""

    @classmethod
    @abstractmethod
    def at(cls, server: Any) -> Self:
        """The database of a running server: of the value of its fixture."""

    def __init_subclass__(cls) -> None:
        differences: Differences | None = getattr(cls, "differences", None)
        cls.name = differences.name if differences else ""

    name: ClassVar[str]
    """As it stands in the names of tests."""

    @property
    def kind(self) -> str:
        """Which driver: the key of tables of cases."""
        return self.differences.driver

    @property
    def slow(self) -> str:
        """A statement that runs for many seconds."""
        return self.differences.slow

    @property
    def mark(self) -> str:
        """A parameter."""
        return self.differences.mark

    @property
    def temporary(self) -> str:
        """Creates an empty table ``r`` of one key, temporary where the database has such tables."""
        return f"{self.before_temporary}{self.differences.temporary} r (n int primary key)"

    @property
    def number(self) -> str:
        """A query for its parameter, a whole number."""
        return f"select {self.differences.integer}{self.differences.from_nothing}"

    @property
    def answer(self) -> str:
        """A query for 42."""
        return f"select 42{self.differences.from_nothing}"

    def marks(self, count: int) -> str:
        """Parameters, separated by commas."""
        return ", ".join([self.mark] * count)

    def native_marks(self, count: int) -> list[str]:
        """Parameters in the protocol's own style."""
        return [self.native_mark.format(number) for number in range(1, count + 1)]

    def quoted(self, name: str) -> str:
        """A name in quotes."""
        assert self.quote is not None, f"{self.name} has no quoted names"
        return f"{self.quote}{name}{self.quote}"

    def change_type(self, table: str, column: str, kind: str) -> str:
        """The ALTER TABLE that changes a column's type."""
        return f"alter table {table} modify {column} {kind}"

    @abstractmethod
    def count_from_zero(self, count: int) -> str:
        """A query for the whole numbers ``n`` from 0 on, at most 100,000."""

    @property
    def port(self) -> int:
        """Of the server."""
        port = urlsplit(self.url).port
        assert port is not None, self.url
        return port

    def url_at(self, port: int, **options: str) -> str:
        """The URL of what listens on another port of this machine, without TLS, with more options."""
        parts = urlsplit(self.url)
        login = parts.netloc.rpartition("@")[0]
        given = dict(each.split("=", 1) for each in parts.query.split("&") if each)
        query = "&".join(f"{name}={value}" for name, value in {**given, **self.without_tls, **options}.items())
        return urlunsplit(parts._replace(netloc=f"{login}@127.0.0.1:{port}", query=query))

    @abstractmethod
    def series(self, count: int) -> str:
        """A query for the whole numbers ``n`` from 1 on, which are made on the way."""

    @property
    def scripting_url(self) -> str:
        """The URL of connections that execute several statements in one text."""
        return self.url

    def url_with(self, **options: str) -> str:
        """The URL with more options."""
        more = "&".join(f"{name}={value}" for name, value in options.items())
        return f"{self.url}{'&' if '?' in self.url else '?'}{more}"

    def connect(self, port: int | None = None, **keywords: Any) -> Any:
        """A blocking connection, to the server or to somebody in between, who listens on a port."""
        return headrace.connect(self.url if port is None else self.url_at(port), **keywords)

    async def aconnect(self, port: int | None = None, **keywords: Any) -> Any:
        """One on the running loop."""
        return await headrace.aio.connect(self.url if port is None else self.url_at(port), **keywords)

    def sessions(self, admin: Any, own: list[Any]) -> list[int]:
        """The numbers of sessions that can be ended from outside: of all others of the database where the server lists
        them, else of the given connections, as far as they are open."""
        return []

    def described_sessions(self, admin: Any) -> str:
        """What each of them does, where the server lists them."""
        return ""

    def end(self, admin: Any, number: int, port: int) -> None:
        """Has the server on this port end a session, which may have ended already."""
        raise NotImplementedError

    @abstractmethod
    def kill(self, admin: Any, sessions: list[Any], port: int) -> None:
        """Has the server end sessions, and returns when it has.

        Args:
            admin: a blocking connection in autocommit, which is spared.
            sessions: connections whose sessions end. A server that can list sessions ends all others of the database.
            port: of the server.
        """


class Listing(Database):
    """A database whose sessions can be listed and ended by statements."""

    others: ClassVar[str]
    """A query for the other sessions of the database."""
    doing: ClassVar[str]
    """A query for what each of these does."""
    counts: ClassVar[str]
    """A query for the number of these, and of those among them that are in a transaction."""
    ending: ClassVar[str]
    """The statement that ends one, ``{}``."""
    pause: ClassVar[str]
    """A statement that takes ``{}`` seconds."""

    def sessions(self, admin: Any, own: list[Any]) -> list[int]:
        """The numbers of all others."""
        return sorted(number for (number,) in admin.fetch(self.others))

    def described_sessions(self, admin: Any) -> str:
        """What each of the others does."""
        return "\n".join(map(str, admin.fetch(self.doing)))

    def end(self, admin: Any, number: int, port: int) -> None:
        """Ends it by a statement."""
        with contextlib.suppress(headrace.Error):
            admin.executescript(self.ending.format(number))

    def kill(self, admin: Any, sessions: list[Any], port: int) -> None:
        """Ends all other sessions of the database."""
        deadline = time.monotonic() + KILL_SECONDS
        while numbers := self.sessions(admin, sessions):
            assert time.monotonic() < deadline, "sessions go on that were killed"
            for number in numbers:
                self.end(admin, number, port)
