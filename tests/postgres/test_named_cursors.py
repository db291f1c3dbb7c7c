"""What closing a named cursor does to the transaction that is open by then."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import Any

import pytest

import headrace
import headrace.aio
from headrace import errors

Connect = Callable[..., Any]


def test_closing_a_cursor_of_an_earlier_transaction_harms_no_later_one(connect: Connect) -> None:
    conn = connect()
    cursor = conn.cursor("earlier")
    cursor.execute("SELECT generate_series(1, 10)")
    assert cursor.fetchone() == (1,)
    conn.commit()
    assert conn.fetchval("SELECT 1") == 1
    cursor.close()
    assert conn.fetchval("SELECT 2") == 2
    conn.commit()


def test_closing_a_cursor_closes_it_on_the_server(connect: Connect) -> None:
    conn = connect()
    cursor = conn.cursor("closed")
    cursor.execute("SELECT 1")
    cursor.close()
    assert conn.fetchval("SELECT count(*) FROM pg_cursors WHERE name = 'closed'") == 0


def test_closing_a_held_cursor_begins_no_transaction(connect: Connect) -> None:
    conn = connect()
    cursor = conn.cursor("held", withhold=True)
    cursor.execute("SELECT 1")
    conn.commit()
    cursor.close()
    assert conn.transaction_status.name == "IDLE"
    assert conn.fetchval("SELECT count(*) FROM pg_cursors WHERE name = 'held'") == 0


@pytest.mark.parametrize(("sql", "params"), [("SELECT %s::int", (1,)), ("SELECT $1::int", (1,)), ("SELECT 1", None)])
def test_a_percent_sign_of_a_name_is_no_parameter(connect: Connect, sql: str, params: tuple[int] | None) -> None:
    conn = connect()
    for name in ("100%", "%s", "a%%b", "%(a)s"):
        cursor = conn.cursor(name)
        cursor.execute(sql, params)
        assert conn.fetchval("SELECT count(*) FROM pg_cursors WHERE name = $1", name) == 1
        assert cursor.fetchall() == [(1,)]
        cursor.close()


ROWS = 57


@pytest.mark.parametrize("itersize", [1, 5, ROWS, 1000])
def test_scrolling_counts_from_the_row_that_was_returned_last(connect: Connect, itersize: int) -> None:
    conn = connect()
    cursor = conn.cursor("scrolled", scrollable=True)
    cursor.itersize = itersize
    cursor.execute("SELECT * FROM generate_series(1, %s)", (ROWS,))
    assert cursor.fetchone() == (1,)
    # The block that was fetched ahead may have ended after the last row.
    cursor.scroll(7)
    assert cursor.fetchone() == (9,)
    cursor.scroll(-2)
    assert cursor.fetchmany(2) == [(8,), (9,)]
    assert len(cursor.fetchall()) == ROWS - 9
    # After the last row.
    cursor.scroll(-3)
    assert cursor.fetchmany(1) == [(ROWS - 1,)]
    assert cursor.fetchone() == (ROWS,)
    cursor.scroll(-1)
    assert cursor.fetchone() == (ROWS,)
    assert cursor.fetchone() is None
    cursor.scroll(-2)
    assert cursor.fetchmany(5) == [(ROWS,)]
    cursor.scroll(-2)
    assert cursor.fetchone() == (ROWS,)


def test_a_name_can_be_declared_again_in_the_next_transaction(connect: Connect) -> None:
    conn = connect()
    cursor = conn.cursor("again")
    for value in (1, 2):
        cursor.execute(f"SELECT {value}")
        assert cursor.fetchall() == [(value,)]
        conn.commit()


@pytest.mark.parametrize(
    "script",
    [
        "SELECT CASE WHEN true THEN 1 END; SELECT 'ROLLBACK; END' -- ; COMMIT",
        "DO $$ BEGIN PERFORM 1; END $$; SELECT 'SAVEPOINT; RELEASE'",
        "CREATE OR REPLACE FUNCTION pg_temp.one() RETURNS int BEGIN ATOMIC SELECT 1; END; SELECT 1",
    ],
)
def test_words_that_end_nothing_leave_cursors_open(connect: Connect, script: str) -> None:
    conn = connect()
    cursor = conn.cursor("open")
    cursor.execute("SELECT generate_series(1, 3)")
    conn.executescript(script)
    assert cursor.fetchall() == [(1,), (2,), (3,)]


async def test_cancelled_declaration_leaves_no_cursor(url: str) -> None:
    async with await headrace.aio.connect(url) as conn:
        for number in range(10):
            cursor = conn.cursor(f"held_{number}", withhold=True)
            task = asyncio.create_task(cursor.execute("SELECT 1"))
            await asyncio.sleep(0)
            assert conn._core.wire.queued()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task
            # A cancel request that the server took in time has ended the transaction.
            with contextlib.suppress(errors.InFailedSqlTransaction):
                await conn.commit()
        assert await conn.fetch("SELECT name FROM pg_cursors WHERE is_holdable") == []


async def test_cancelled_description_leaves_no_cursor(url: str) -> None:
    async with await headrace.aio.connect(url) as conn:
        cursor = conn.cursor("held", withhold=True)
        task = asyncio.create_task(cursor.execute("SELECT 1"))
        while cursor._declared is None:
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        with contextlib.suppress(errors.InFailedSqlTransaction):
            await conn.commit()
        assert await conn.fetch("SELECT name FROM pg_cursors WHERE is_holdable") == []


def test_overdue_declaration_leaves_no_cursor(url: str, monkeypatch: pytest.MonkeyPatch) -> None:
    with headrace.connect(url) as conn:
        # The answer comes too late to be waited for, and too early to be cancelled.
        cursor, wait = conn.cursor("held", withhold=True), conn._wait

        def overdue(ticket: Any, limit: Any) -> Any:
            monkeypatch.undo()
            wait(ticket, limit)
            raise TimeoutError

        monkeypatch.setattr(conn, "_wait", overdue)
        with pytest.raises(TimeoutError):
            cursor.execute("SELECT 1", timeout=10)
        conn.commit()
        assert conn.fetch("SELECT name FROM pg_cursors WHERE is_holdable") == []


@pytest.mark.parametrize("rows", [2**31, 2**70])
def test_more_rows_than_the_protocol_counts_are_all(connect: Connect, rows: int) -> None:
    conn = connect()
    cursor = conn.cursor("many")
    cursor.execute("SELECT generate_series(1, 3)")
    assert cursor.fetchmany(rows) == [(1,), (2,), (3,)]
    assert list(conn.stream("SELECT generate_series(1, 3)", fetch_size=rows)) == [(1,), (2,), (3,)]


def test_a_block_of_fewer_rows_than_one_is_not_fetched_backwards(url: str) -> None:
    with headrace.connect(url) as conn:
        cursor = conn.cursor("backwards", scrollable=True)
        cursor.execute("SELECT generate_series(1, 3)")
        assert cursor.fetchmany(2) == [(1,), (2,)]
        for rows in (0, -1):
            cursor.itersize = rows
            with pytest.raises(headrace.ProgrammingError, match="itersize must be at least 1"):
                cursor.fetchone()
        assert cursor.fetchall() == [(3,)]


@pytest.mark.parametrize("itersize", [1, 2, 100])
def test_a_row_that_is_none_does_not_end_an_iteration(connect: Connect, itersize: int) -> None:
    with connect().cursor("nones", row_factory=headrace.rows.scalar_row) as cursor:
        cursor.itersize = itersize
        cursor.execute("VALUES (1), (NULL), (NULL), (4), (NULL)")
        assert list(cursor) == [1, None, None, 4, None]


@pytest.mark.parametrize("scrollable", [None, False])
def test_a_cursor_that_reads_ahead_and_does_not_scroll_goes_forward(connect: Connect, scrollable: bool | None) -> None:
    conn = connect()
    with conn.cursor("forward", scrollable=scrollable) as cursor:
        cursor.itersize = 5
        cursor.execute("SELECT i FROM generate_series(1, 20) i")
        assert cursor.fetchone() == (1,)
        cursor.scroll(2)
        assert cursor.fetchone() == (4,)
        cursor.scroll(3)
        assert cursor.fetchmany(2) == [(8,), (9,)]
        cursor.scroll(30)
        assert cursor.fetchone() is None
    conn.rollback()


@pytest.mark.parametrize("scrollable", [None, False, True])
def test_a_cursor_that_was_not_executed_scrolls_nowhere(connect: Connect, scrollable: bool | None) -> None:
    with connect().cursor("new", scrollable=scrollable) as cursor, pytest.raises(errors.ProgrammingError):
        cursor.scroll(0)


def test_scrollable_is_taken_by_its_truth(url: str) -> None:
    with headrace.connect(url) as conn:
        for scrollable, name in ((float("nan"), "scrolls"), ("", "does_not")):
            conn.cursor(name, scrollable=scrollable).execute("SELECT 1")  # type: ignore[call-overload]
        query = "SELECT name FROM pg_cursors WHERE is_scrollable AND name IN ('scrolls', 'does_not')"
        assert conn.fetch(query) == [("scrolls",)]
