"""A stream of record batches reads ahead: the server sends one fetch while another is decoded."""

# Made by tools/async_to_sync.py of test_arrow_ahead_async.py: edit that file, and run the tool.

from __future__ import annotations

import time
from typing import Any

import pytest

import headrace
from headrace import errors

ROWS = 1000
"""Rows of a batch, and of a fetch."""
PATIENCE = 60.0
"""Seconds that a cancelled statement may take to end."""
SLOW = "select n, case when n > 3500 then pg_sleep(600) end::text as slept from generate_series(1, 100000) n"
WRONG = "select 1 / (n - 3500) as x from generate_series(1, 100000) n"


def taken(stream: Any, batches: int) -> None:
    """Takes batches."""
    for _ in range(batches):
        assert len(next(stream)) == ROWS


def test_two_fetches_are_under_way_and_no_more(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn, headrace.connect(url) as other:
        conn.execute("drop sequence if exists fetched")
        conn.execute("create sequence fetched")
        stream = conn.stream_arrow("select nextval('fetched') from generate_series(1, 100000)", batch_rows=ROWS)
        taken(stream, 1)
        # A sequence counts what the server has executed, whoever looks.
        end = time.monotonic() + PATIENCE
        while (count := other.fetchval("select last_value from fetched")) < 3 * ROWS:
            assert time.monotonic() < end, f"{count} rows were fetched"
        for batches in range(1, 20):
            assert other.fetchval("select last_value from fetched") <= (batches + 2) * ROWS
            taken(stream, 1)
        stream.close()
        assert conn.fetchval("select 1") == 1


def test_a_timeout_cancels_what_is_waited_for_and_what_is_asked_ahead(url: str) -> None:
    with headrace.connect(url, autocommit=True, command_timeout=PATIENCE) as conn:
        stream = conn.stream_arrow(SLOW, batch_rows=ROWS, timeout=0.5)
        taken(stream, 3)
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            next(stream)
        assert conn.fetchval("select 1") == 1
        assert time.monotonic() - started < PATIENCE


def test_a_cancel_ends_a_stream_that_reads_ahead(url: str) -> None:
    with (
        headrace.connect(url, command_timeout=PATIENCE) as conn,
        headrace.connect(url, autocommit=True) as other,
    ):
        pid = conn.fetchval("select pg_backend_pid()")
        stream = conn.stream_arrow(SLOW, batch_rows=ROWS)
        taken(stream, 3)
        end = time.monotonic() + PATIENCE
        while other.fetchval("select wait_event from pg_stat_activity where pid = $1", pid) != "PgSleep":
            assert time.monotonic() < end, "it does not sleep"
        conn.cancel()
        with pytest.raises(errors.QueryCanceled):
            next(stream)
        conn.rollback()
        assert conn.fetchval("select 1") == 1


def test_a_stream_that_fails_in_a_savepoint_leaves_the_block_outside_usable(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn, conn.transaction():
        conn.execute("create temporary table kept (n int)")
        with pytest.raises(errors.DivisionByZero), conn.transaction():
            stream = conn.stream_arrow(WRONG, batch_rows=ROWS)
            taken(stream, 3)
            next(stream)
        assert conn.fetchval("select count(*) from kept") == 0


def test_what_was_asked_ahead_of_a_rollback_is_not_taken_for_all(url: str) -> None:
    with headrace.connect(url) as conn:
        stream = conn.stream_arrow("select n from generate_series(1, 100000) n", batch_rows=ROWS)
        taken(stream, 1)
        conn.rollback()
        taken(stream, 2)
        with pytest.raises(errors.InvalidCursorName, match="transaction that it reads in was ended"):
            next(stream)
        assert conn.fetchval("select 1") == 1
