"""Ctrl-C at any place of the call of a statement: what was queued and not sent is not executed later."""

from __future__ import annotations

import contextlib
import gc
import sys
import threading
import time
from collections.abc import Callable
from typing import Any

import pytest

import headrace.compat.mysqldb as facade
from headrace import errors
from interrupting import Interrupt
from servers import Database, MariaDB, MySQL, database, names

PATIENCE = 20.0
"""Seconds after which a connection counts as occupied."""


@pytest.fixture(autouse=True)
def _interrupted_finalizers(monkeypatch: pytest.MonkeyPatch) -> None:
    """A connection that was dropped before may be finalized at the place that is interrupted: not within a test, and
    what is raised there all the same is nobody's."""
    gc.collect()
    monkeypatch.setattr(sys, "unraisablehook", lambda _: None)


def interrupted(at: int, work: Callable[..., object], *arguments: Any) -> Interrupt | None:
    """Works, and is interrupted at the place of this number; None where there are fewer places."""
    interrupt = Interrupt(at)
    with contextlib.suppress(KeyboardInterrupt), interrupt:
        work(*arguments)
    return interrupt if interrupt.raised else None


def pipelined(conn: Any, sql: str, _: Database) -> None:
    with conn.pipeline() as pipeline:
        conn.execute(sql)
        conn.execute(sql).wait()
        conn.execute(sql)
        pipeline.sync()
        conn.execute(sql)
        conn.execute(sql)


def for_rows(conn: Any, sql: str, _: Database) -> None:
    with contextlib.suppress(errors.ProgrammingError):
        # It has none.
        conn.fetchval(sql)


def for_batches(conn: Any, sql: str, _: Database) -> None:
    with contextlib.suppress(errors.ProgrammingError):
        conn.fetch_arrow(sql)


CALLS: dict[str, Callable[[Any, str, Database], object]] = {
    "execute": lambda conn, sql, db: conn.execute(sql),
    # Without the shortcut of the engine.
    "timed execute": lambda conn, sql, db: conn.execute(sql),
    "fetchval": for_rows,
    "executescript": lambda conn, sql, db: getattr(conn, "executescript", conn.execute)(sql),
    "executemany": lambda conn, sql, db: conn.executemany(f"insert into withdrawn values (7, {db.mark})", [(7,)]),
    "execute_arrow": lambda conn, sql, db: conn.cursor().execute_arrow(sql),
    "fetch_arrow": for_batches,
    "pipeline": pipelined,
}


@pytest.mark.parametrize("call", CALLS)
def test_what_an_interrupt_has_left_unsent_is_not_executed_later(any_db: Database, call: str) -> None:
    named = {"autocommit": True, "command_timeout": PATIENCE, "enable_timing": call.startswith("timed")}
    conn = any_db.connect(**named)
    steps = 0
    with any_db.connect(autocommit=True) as other:
        other.execute("drop table if exists withdrawn")
        other.execute("create table withdrawn (who int, n int)")
        conn.fetchval("select count(*) from withdrawn")
        while interrupt := interrupted(steps, CALLS[call], conn, "insert into withdrawn values (7, 7)", any_db):
            stored = other.fetchval("select count(*) from withdrawn")
            if conn.closed:
                conn = any_db.connect(**named)
            assert conn.fetchval(any_db.answer) == 42, interrupt.where
            assert other.fetchval("select count(*) from withdrawn") == stored, interrupt.where
            steps += 1
    conn.close()
    # A connection's execute has no frame of Python in which it could be interrupted, where its shortcut does it.
    assert steps > 1 or (steps == 0 and call in ("execute", "executescript"))


def test_what_has_waited_for_another_thread_past_its_time_is_not_executed_later(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn, any_db.connect(autocommit=True) as other:
        other.execute("drop table if exists withdrawn")
        other.execute("create table withdrawn (who int, n int)")
        wire = conn._core.wire

        def work() -> None:
            with contextlib.suppress(errors.Error):
                conn.execute(any_db.slow)

        busy = threading.Thread(target=work)
        busy.start()
        while not wire.queued():
            time.sleep(0.001)
        with pytest.raises(TimeoutError, match=r"took longer than 0\.05 s"):
            conn.execute("insert into withdrawn values (7, 7)", timeout=0.05)
        assert wire.unfinished() is None
        conn.cancel()
        busy.join()
        assert conn.fetchval(any_db.answer) == 42
        assert other.fetchval("select count(*) from withdrawn") == 0


def test_only_a_call_of_the_same_thread_outside_of_a_pipeline_is_taken_back(any_db: Database) -> None:
    with any_db.connect(autocommit=True, command_timeout=PATIENCE) as conn:
        core = conn._core
        ticket = core.submit(any_db.answer, None)
        other = threading.Thread(target=core.withdraw)
        other.start()
        other.join()
        assert conn._wait(ticket, None)
        with conn.pipeline():
            cursor = conn.execute(any_db.answer)
            core.withdraw()
        assert cursor.fetchone() == (42,)
        ticket = core.submit(any_db.answer, None)
        core.withdraw()
        with pytest.raises(errors.InterfaceError, match="was not executed"):
            conn._wait(ticket, None)
        assert conn.fetchval(any_db.answer) == 42


@pytest.mark.parametrize("name", names(MySQL, MariaDB))
@pytest.mark.parametrize("through", ["driver", "facade"])
def test_interrupted_change_of_the_database_is_not_made_later(
    request: pytest.FixtureRequest, name: str, through: str
) -> None:
    db: Any = database(request, name)
    steps = 0
    with db.connect(autocommit=True) as other, contextlib.ExitStack() as stack:
        outer: Any = None
        if through == "facade":
            outer = facade.connect(**db.served.where, database="test", autocommit=True)
            stack.callback(outer.close)
        conn = outer._connection if outer else stack.enter_context(db.connect(autocommit=True))
        conn._core.command_timeout = PATIENCE
        asked = f"select db from information_schema.processlist where id = {conn._core.wire.process_id}"
        before = other.fetchval(asked)
        while interrupt := interrupted(steps, (outer or conn).select_db, "mysql"):
            assert not conn.closed, interrupt.where
            now = other.fetchval(asked)
            conn.fetchval("select 1")
            assert other.fetchval(asked) == now, interrupt.where
            conn.select_db(before)
            steps += 1
    assert steps > 4


@pytest.mark.parametrize("name", names(MySQL, MariaDB))
def test_interrupted_statement_of_the_facade_is_not_executed_later(request: pytest.FixtureRequest, name: str) -> None:
    db: Any = database(request, name)

    def execute() -> None:
        with outer.cursor() as cursor:
            cursor.execute("insert into withdrawn values (7, 7)")

    outer: Any = facade.connect(**db.served.where, database="test", autocommit=True)
    steps = 0
    with db.connect(autocommit=True) as other, contextlib.closing(outer):
        other.execute("drop table if exists withdrawn")
        other.execute("create table withdrawn (who int, n int)")
        outer._connection._core.command_timeout = PATIENCE
        while interrupt := interrupted(steps, execute):
            stored = other.fetchval("select count(*) from withdrawn")
            outer.ping()
            assert other.fetchval("select count(*) from withdrawn") == stored, interrupt.where
            steps += 1
    assert steps > 4
