"""What the last user of a pool's connection can leave behind, by the entries of the drivers' tables, and how the next
one sees it."""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import headrace.cubrid.resets
import headrace.informix.resets
import headrace.mysql.resets
import headrace.postgres.resets
from headrace import errors
from headrace.aio import AsyncConnectionPool
from headrace.pool import ConnectionPool
from headrace.rows import dict_row

TABLES: dict[str, Any] = {
    "postgresql": headrace.postgres.resets,
    "mysql": headrace.mysql.resets,
    "informix": headrace.informix.resets,
    "cubrid": headrace.cubrid.resets,
}
"""The modules of the tables, by the kind of the database."""
OTHER_VALUES: dict[str, Any] = {
    "autocommit": True,
    "isolation_level": "repeatable read",
    "read_only": True,
    "deferrable": True,
    "lock_wait": 5,
    "lock_timeout": 1.5,
    "row_factory": dict_row,
}
"""What the attributes of a connection are set to. A connection begins without autocommit."""


class OnLoop:
    """An object of the asyncio shell, used without a loop: what it awaits is waited for."""

    def __init__(self, loop: asyncio.AbstractEventLoop, target: Any) -> None:
        self.__dict__.update(_loop=loop, _target=target)

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._target, name)
        if not callable(value) or name == "row_factory":
            return value

        def call(*args: Any, **keywords: Any) -> Any:
            plain = [arg._target if isinstance(arg, OnLoop) else arg for arg in args]

            async def wait() -> Any:
                made = value(*plain, **keywords)
                return await made if inspect.isawaitable(made) else made

            return self._loop.run_until_complete(wait())

        return call

    def __setattr__(self, name: str, value: Any) -> None:
        change = getattr(self._target, f"set_{name}", None)
        if change is None:
            setattr(self._target, name, value)
        else:
            self._loop.run_until_complete(change(value))


def is_same(one: Any, two: Any) -> bool:
    """It is the same connection of the pool, which lends another object for it each time."""
    return kept(one) is kept(two)


def kept(lent: Any) -> Any:
    """The connection that a pool keeps, of what it has lent."""
    return getattr(lent, "_target", lent)._kept_by_pool


def one_of(conn: Any, rows: Any, *otherwise: Any) -> Any:
    """The next row of a stream; where it has ended, the other value, if one is given."""
    if isinstance(conn, OnLoop):
        return conn._loop.run_until_complete(anext(rows, *otherwise))
    return next(rows, *otherwise)


@dataclass(frozen=True)
class Configure:
    """What a pool's ``configure`` does, in either shell."""

    statements: tuple[str, ...] = ()
    attributes: tuple[tuple[str, Any], ...] = ()

    def blocking(self, conn: Any) -> None:
        """For a blocking pool."""
        for statement in self.statements:
            conn.execute(statement)
        conn.commit()
        for name, value in self.attributes:
            setattr(conn, name, value)

    async def on_loop(self, conn: Any) -> None:
        """For one of a loop."""
        for statement in self.statements:
            await conn.execute(statement)
        await conn.commit()
        for name, value in self.attributes:
            change = getattr(conn, f"set_{name}", None)
            if change is None:
                setattr(conn, name, value)
            else:
                await change(value)


@contextmanager
def pool_of(
    shell: str, url: str, configure: Configure | None = None, **options: Any
) -> Iterator[tuple[Callable[[], Any], Callable[[Any], None]]]:
    """A pool of one connection; yields what lends it and what returns it."""
    options = {"min_size": 1, "max_size": 1, "timeout": 60.0, **options}
    if configure is not None:
        options["configure"] = configure.blocking if shell == "blocking" else configure.on_loop
    if shell == "blocking":
        blocking: ConnectionPool[Any] = ConnectionPool(url, **options)
        try:
            yield blocking.getconn, blocking.putconn
        finally:
            blocking.close(timeout=0)
        return
    loop = asyncio.new_event_loop()
    try:

        async def opened() -> AsyncConnectionPool[Any]:
            pool = AsyncConnectionPool(url, open=False, **options)
            await pool.open()
            return pool

        pool = OnLoop(loop, loop.run_until_complete(opened()))
        try:
            yield lambda: OnLoop(loop, pool.getconn()), pool.putconn
        finally:
            pool.close(timeout=0)
            loop.run_until_complete(asyncio.sleep(0))
    finally:
        loop.close()


@dataclass(frozen=True)
class Leaving:
    """One entry: how it is left behind, and how it is seen."""

    leave: tuple[str, ...]
    """Statements; what they have begun stays open unless they end with a commit."""
    look: str | Callable[[Any], Any]
    """A query of one value, or a function of the connection."""
    prepare: tuple[str, ...] = ()
    """Statements of an administrator, which may fail."""
    commits: bool = True
    """A commit follows the statements."""
    autocommit: bool = False
    """The pool's connections are in autocommit."""


def is_open(conn: Any) -> bool:
    """A transaction is open."""
    return bool(conn.transaction_status.name != "IDLE")


def in_two_phases(conn: Any) -> str:
    """Whether a two-phase transaction is begun."""
    try:
        conn.commit()
    except errors.ProgrammingError:
        return "begun"
    return "none"


def attributes(conn: Any) -> list[Any]:
    """What is set on a connection, and the server's own autocommit."""
    names = [name for name in OTHER_VALUES if hasattr(conn, name)]
    return [(name, getattr(conn, name)) for name in names]


def in_backup(conn: Any) -> bool:
    """Whether a backup has begun in the session, which nothing shows but that no second one can."""
    try:
        conn.execute("select pg_backup_start('look', true)")
    except errors.ObjectNotInPrerequisiteState:
        conn.rollback()
        return True
    conn.execute("select labelfile from pg_backup_stop(false)")
    conn.commit()
    return False


HELD = "declare held cursor with hold for select 1 union all select 2"
LEAVING: dict[str, dict[str, Leaving]] = {
    "postgresql": {
        "transaction": Leaving(("create table if not exists never (n int)",), is_open, commits=False),
        "two_phase": Leaving((), in_two_phases, commits=False),
        "role": Leaving(("set role left_role",), "select current_user", ("create role left_role",)),
        "temporary_tables": Leaving(
            ("create temporary table left_temp (n int)",), "select to_regclass('left_temp')::text"
        ),
        "held_cursors": Leaving((HELD,), "select count(*) from pg_cursors where name = 'held'"),
        "prepared_statements": Leaving(
            ("prepare left_p as select 1",), "select count(*) from pg_prepared_statements where name = 'left_p'"
        ),
        "subscriptions": Leaving(("listen left_c",), "select count(*) from pg_listening_channels()"),
        "session_locks": Leaving(
            ("select pg_advisory_lock(4711)",),
            "select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()",
        ),
        "sequences": Leaving(
            ("select nextval('left_s')",), "select lastval()", ("create sequence if not exists left_s",)
        ),
        "seed": Leaving(
            ("select setseed(0.5)",),
            "select (select random()) in (select n from left_seeded)",
            (
                "select setseed(0.5)",
                "drop table if exists left_seeded",
                "create table left_seeded as select random() as n from generate_series(1, 50)",
            ),
        ),
        "origin": Leaving(
            ("select pg_replication_origin_session_setup('left')",),
            "select pg_replication_origin_session_is_setup()",
            ("select pg_replication_origin_create('left')",),
        ),
        "slots": Leaving(
            ("select slot_name from pg_create_physical_replication_slot('left', true, true)",),
            "select count(*) from pg_replication_slots where temporary and active_pid = pg_backend_pid()",
        ),
        "backup": Leaving(("select pg_backup_start('left', true)",), in_backup),
        "libraries": Leaving(("load 'plpgsql'",), "select count(*) from pg_settings where name like 'plpgsql.%'"),
    },
    "mysql": {
        "autocommit": Leaving(("set autocommit = 1",), "select @@autocommit"),
        "transaction": Leaving(("insert into left_t values (1)",), is_open, commits=False),
        # In a transaction that only reads it is another error than that it returns no rows.
        "next_transaction": Leaving(("set transaction read only",), "insert into left_t values (1)", commits=False),
        "two_phase": Leaving((), in_two_phases, commits=False),
        "xa": Leaving(("xa start 'left'",), is_open, commits=False, autocommit=True),
        "table_locks": Leaving(("lock tables left_t read",), "select count(*) from numbers"),
        "schema": Leaving(("use mysql",), "select database()"),
        "role": Leaving(
            ("set role left_role",),
            "select current_role()",
            ("create role left_role", "grant left_role to tester@'%'"),
        ),
        "user_variables": Leaving(("set @left_behind = 7",), "select @left_behind"),
        "temporary_tables": Leaving(("create temporary table left_temp (n int)",), "select count(*) from left_temp"),
        "prepared_statements": Leaving(("prepare left_p from 'select 1'",), "execute left_p"),
        "handlers": Leaving(("handler left_t open",), "handler left_t read first"),
        "user_locks": Leaving(("select get_lock('left', 5)",), "select is_used_lock('left') = connection_id()"),
        "last_insert_id": Leaving(("select last_insert_id(4711)",), "select last_insert_id()"),
    },
    "informix": {
        "transaction": Leaving(("insert into left_t values (1)",), is_open, commits=False),
        "temporary_tables": Leaving(("create temp table left_temp (n int)",), "select count(*) from left_temp"),
    },
    "cubrid": {
        "transaction": Leaving(("insert into left_t values (1)",), is_open, commits=False),
        "user_variables": Leaving(("set @left_behind = 7",), "select @left_behind"),
    },
}
"""How each entry is left, by the kind of the database; attributes, streams and settings are in the test itself."""
UNSEEN: dict[str, dict[str, str]] = {
    "postgresql": {"dblink": "the server of the tests does not have the extension"},
    "cubrid": {"settings": "the test server ignores them"},
    "informix": {"settings": "no statement returns them", "role": "the test server has no roles"},
}
"""Entries that no test can see here, all of which are left as they are."""
