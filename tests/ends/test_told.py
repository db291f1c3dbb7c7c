"""What an end says, once, and what it has no reason to say."""

# Made by tools/async_to_sync.py of test_told_async.py: edit that file, and run the tool.

from __future__ import annotations

import logging
from functools import partial
from typing import Any

import pytest

import headrace
from cutting import BEFORE
from headrace import errors
from headrace.types import Notice
from servers import MySQL, names
from waiting import sleep, until

from .runs import Place

SHORT = 0.05
"""Seconds for which a server lets a transaction be idle."""
only_postgres = pytest.mark.parametrize("place", ["postgresql"], indirect=True)

losing_idle_sessions = pytest.mark.parametrize("place", names(loses_idle_sessions=True), indirect=True)


def cut(place: Place, conn: Any) -> None:
    """The session ends, and the connection has seen that where it can."""
    place.way.cut()


def connected(place: Place, **keywords: Any) -> Any:
    """A connection by the way."""
    return headrace.connect(place.url, **keywords)


def test_an_end_that_was_told_by_commit_is_not_told_again(place: Place) -> None:
    with connected(place, autocommit=False) as conn:
        conn.execute("insert into ends values (-1)")
        cut(place, conn)
        with pytest.raises(errors.OperationalError):
            conn.commit()
        assert not conn.lost


@losing_idle_sessions
def test_a_session_that_ends_with_nothing_open_is_no_error_of_a_block(place: Place) -> None:
    with connected(place, autocommit=False) as conn:
        conn.execute("insert into ends values (-2)")
        conn.rollback()
        cut(place, conn)
    with headrace.ConnectionPool(place.url, min_size=1, max_size=1) as pool, pool.connection() as lent:
        lent.execute("insert into ends values (-2)")
        lent.rollback()
        cut(place, lent)


def test_a_connection_that_the_program_closes_is_no_error_of_a_block(place: Place) -> None:
    with connected(place, autocommit=False) as conn:
        conn.execute("insert into ends values (-3)")
        conn.close()
    with headrace.ConnectionPool(place.url, min_size=1, max_size=1) as pool, pool.connection() as lent:
        lent.execute("insert into ends values (-3)")
        lent.close()


def test_an_exception_in_a_block_is_not_replaced(place: Place) -> None:
    with pytest.raises(KeyError), connected(place, autocommit=False) as conn:
        # Answered, so that a transaction is open: CUBRID's driver resumes a session that is cut before that.
        conn.execute("insert into ends values (-4)")
        with conn.pipeline():
            conn.execute("insert into ends values (-4)")
            cut(place, conn)
            raise KeyError
    with (
        pytest.raises(KeyError),
        headrace.ConnectionPool(place.url, min_size=1, max_size=1) as pool,
        pool.connection() as lent,
    ):
        lent.execute("insert into ends values (-4)")
        cut(place, lent)
        raise KeyError


def test_a_pool_that_takes_a_connection_away_in_a_transaction_is_an_error_of_its_block(place: Place) -> None:
    with (
        headrace.ConnectionPool(place.url, min_size=1, max_size=1) as pool,
        pytest.raises(errors.PoolClosed, match="not committed"),
        pool.connection() as conn,
    ):
        conn.execute("insert into ends values (-5)")
        pool.close(timeout=0)


def test_a_pool_that_takes_an_idle_connection_away_is_none(place: Place) -> None:
    with headrace.ConnectionPool(place.url, min_size=1, max_size=1) as pool, pool.connection() as conn:
        conn.execute("insert into ends values (-6)")
        conn.rollback()
        pool.close(timeout=0)


@losing_idle_sessions
def test_a_cursor_on_a_lost_session_says_how_it_was_lost(place: Place) -> None:
    conn = connected(place, autocommit=True)
    conn.execute("insert into ends values (-8)")
    cut(place, conn)
    with pytest.raises(errors.OperationalError):
        conn.execute("insert into ends values (-8)")
    with pytest.raises(errors.ConnectionClosed, match=r"lost|unexpectedly"):
        conn.cursor()
    conn.close()


def test_the_error_of_a_cursor_that_is_used_again_is_one_of_its_pipeline(place: Place) -> None:
    conn = connected(place, autocommit=True)
    cursor = conn.cursor()
    with pytest.raises(errors.DatabaseError), conn.pipeline():
        cursor.execute("insert into ends values (nonsense)")
        cursor.execute("insert into ends values (-7)")
    assert cursor.rowcount == 1
    conn.close()


def test_a_cursor_whose_error_the_end_of_its_pipeline_has_raised_has_it_still(place: Place) -> None:
    conn = connected(place, autocommit=True)
    with pytest.raises(errors.DatabaseError) as first, conn.pipeline():
        bad = conn.execute("select nonsense from ends")
        good = conn.execute("select id from ends where id = 0")
    for _ in range(2):
        with pytest.raises(type(first.value)):
            bad.fetchall()
    assert good.fetchall() == []
    conn.close()


@only_postgres
def test_the_reason_of_the_server_is_in_every_error(place: Place) -> None:
    """The first request has the server's own error; what comes later has its text."""
    conn = connected(place, autocommit=False)
    conn.execute("insert into ends values (-8)")
    place.kill()
    with pytest.raises(errors.AdminShutdown, match="terminating connection"):
        conn.commit()
    for again in (conn.commit, conn.rollback):
        with pytest.raises(errors.ConnectionClosed, match="terminating connection") as caught:
            again()
        assert caught.value.sqlstate == "57P01"
    conn.close()


@only_postgres
def test_the_reason_of_the_server_is_in_the_error_of_a_block_and_of_what_was_pending(place: Place) -> None:
    conn = connected(place, autocommit=True)
    with pytest.raises(errors.ConnectionClosed, match="terminating connection") as caught, conn.transaction():
        conn.execute("insert into ends values (-8)")
        place.kill()
        with pytest.raises(errors.AdminShutdown):
            conn.execute("insert into ends values (-8)")
    assert caught.value.sqlstate == "57P01"
    conn = connected(place, autocommit=True)
    with pytest.raises(errors.AdminShutdown), conn.pipeline():
        cursors = [conn.execute("insert into ends values (-8)") for _ in range(2)]
        place.kill()
    with pytest.raises(errors.ConnectionClosed, match="terminating connection") as caught:
        cursors[1].fetchall()
    assert caught.value.sqlstate == "57P01"


@losing_idle_sessions
def test_a_block_whose_only_statement_was_not_executed_says_so(place: Place) -> None:
    """Be it that the session ended before the statement, or with it."""
    with pytest.raises(errors.OperationalError), connected(place, autocommit=False) as conn:
        cut(place, conn)
        with pytest.raises(errors.OperationalError):
            conn.execute("insert into ends values (-11)")


def test_in_autocommit_an_error_that_was_caught_is_not_told_again(place: Place) -> None:
    with connected(place, autocommit=True) as conn:
        conn.execute("insert into ends values (-12)")
        place.way.arm(1, BEFORE)
        with pytest.raises(errors.OperationalError):
            conn.execute("insert into ends values (-12)")


@only_postgres
def test_a_transaction_that_was_idle_for_too_long_is_an_error_of_its_block(place: Place) -> None:
    limit = f"set idle_in_transaction_session_timeout = {int(SHORT * 1000)}"
    pool = headrace.ConnectionPool(place.url, min_size=1, max_size=1)
    with pool:
        for block in (connected(place), pool.connection()):
            with pytest.raises(errors.IdleInTransactionSessionTimeout), block as conn:
                conn.execute(limit)
                conn.execute("insert into ends values (-9)")
                sleep(4 * SHORT)
    assert not place.admin.fetch("select id from ends where id = -9")


@pytest.mark.parametrize(
    ("place", "variable"),
    [("mariadb", "idle_transaction_timeout"), ("mysql", "wait_timeout")],
    indirect=["place"],
)
def test_a_session_that_was_idle_for_too_long_is_an_error_of_every_end(place: Place, variable: str) -> None:
    """For a second, the shortest time that there is."""
    options = {"init_command": f"set session {variable} = 1"}
    # Of a file before this one a session may be left.
    before = set(place.admin.fetch(MySQL.others))
    with headrace.ConnectionPool(place.url, min_size=1, max_size=1, kwargs=options) as pool:
        kept = connected(place, autocommit=False, **options)
        block = connected(place, autocommit=True, **options).transaction()
        blocks = (connected(place, autocommit=False, **options), pool.connection(), block)
        opened = [each.__enter__() for each in blocks]
        for conn in (kept, *opened):
            conn.execute("insert into ends values (-14)")
        until(lambda: set(place.admin.fetch(MySQL.others)) <= before)
        for end in (kept.commit, *(partial(each.__exit__, None, None, None) for each in blocks)):
            with pytest.raises(errors.OperationalError):
                end()
        for conn in (kept, *opened):
            conn.close()
    assert not place.admin.fetch("select id from ends where id = -14")


@only_postgres
def test_a_session_that_ends_after_the_last_reply_of_a_pipeline_is_an_error_of_its_block(place: Place) -> None:
    """The server sends replies that it has kept for the end of the pipeline with its last message."""
    sql = "insert into ends values (-13)"
    locked = "select pid from pg_locks where relation = 'ends'::regclass and mode = 'RowExclusiveLock'"
    with headrace.ConnectionPool(place.url, min_size=1, max_size=1) as pool:
        for block in (connected(place), pool.connection()):
            with pytest.raises(errors.OperationalError), block as conn:
                conn.execute(sql)
                conn.rollback()
                with conn.pipeline():
                    for _ in range(8):  # a blocking connection sends after the last one
                        conn.execute(sql)
                    until(lambda: place.admin.fetch(locked))
                    place.kill()
    assert not place.admin.fetch("select id from ends where id = -13")


@only_postgres
def test_a_notice_handler_that_raises_does_not_undo_what_was_executed(
    place: Place, caplog: pytest.LogCaptureFixture
) -> None:
    seen: list[str] = []

    def bad(notice: Notice) -> None:
        raise ValueError(notice.message)

    conn = connected(place, autocommit=True)
    conn.add_notice_handler(bad)
    conn.add_notice_handler(lambda notice: seen.append(notice.message))
    statement = "do $$ begin raise notice 'mind'; insert into ends values (-10); end $$"
    with caplog.at_level(logging.ERROR, "headrace"):
        conn.execute(statement)
        with conn.transaction(), conn.pipeline():
            conn.execute(statement)
    conn.close()
    assert seen == ["mind", "mind"]
    assert len(place.admin.fetch("select id from ends where id = -10")) == 2
    assert [record.exc_info[0] for record in caplog.records if record.exc_info] == [ValueError, ValueError]
