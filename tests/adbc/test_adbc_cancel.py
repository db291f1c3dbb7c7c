"""Cancelling through ADBC, at any time, on every database: what was cancelled leaves nothing behind, and the session is
usable."""

from __future__ import annotations

import contextlib
import random
import signal
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any

import pyarrow as pa
import pytest

from adbc_driver_headrace import dbapi
from long import FIRST_SEED, times
from servers import Database
from waiting import until

from .conftest import connect, rows, run

ROWS = 3000
BATCHES = [
    pa.record_batch(
        {
            "id": pa.array(range(first, first + 100), pa.int32()),
            "name": [f"{number:030}" for number in range(first, first + 100)],
        }
    )
    for first in range(0, ROWS, 100)
]
TABLE = pa.Table.from_batches(BATCHES)


def is_cancelled(error: BaseException) -> bool:
    """The error says that the program has cancelled it. What reads a stream itself has no more than its text."""
    if isinstance(error, pa.ArrowInvalid):
        return "cancelled" in str(error).lower()
    return isinstance(error, dbapi.Error) and error.status_code.name == "CANCELLED"


def is_interrupt(error: BaseException | None) -> bool:
    """The error is of Ctrl-C, also if nothing was under way that it could cancel."""
    return error is not None and any(
        isinstance(each, KeyboardInterrupt) or (each is not None and is_cancelled(each))
        for each in (error, error.__cause__)
    )


def ingested(cursor: dbapi.Cursor) -> None:
    """A table out of memory."""
    cursor.adbc_ingest("cancelled", TABLE, mode="append")


def streamed(cursor: dbapi.Cursor) -> None:
    """A stream."""
    cursor.adbc_ingest("cancelled", TABLE.to_reader(), mode="append")


def inserted(cursor: dbapi.Cursor) -> None:
    """A batch of parameters."""
    cursor.executemany(INSERTS[0], TABLE)


def read(cursor: dbapi.Cursor) -> None:
    """A result of several batches."""
    cursor.execute("select a.id, a.name from t a, t b")
    for batch in cursor.fetch_record_batch():
        assert batch.num_rows


def fetched(cursor: dbapi.Cursor) -> None:
    """The same as a table."""
    cursor.execute("select a.id, a.name from t a, t b")
    cursor.fetch_arrow_table()


def partitioned(cursor: dbapi.Cursor) -> None:
    """A part of a result."""
    parts, _ = cursor.adbc_execute_partitions("select a.id, a.name from t a, t b")
    for part in parts:
        cursor.adbc_read_partition(part)
        cursor.fetch_arrow_table()


INSERTS = [""]
"""The statement of :func:`inserted`, as the database has it."""
CALLS = {each.__name__: each for each in (ingested, streamed, inserted, read, fetched, partitioned)}


@pytest.fixture
def filled(any_db: Database, conn: dbapi.Connection) -> Iterator[dbapi.Connection]:
    """Rows in ``t``, and an empty table ``cancelled``."""
    INSERTS[0] = f"insert into cancelled (id, name) values ({', '.join(any_db.native_marks(2))})"
    with conn.cursor() as cursor:
        cursor.adbc_ingest("t", TABLE.slice(0, 400), mode="append")
        run(cursor, "drop table if exists cancelled")
        run(cursor, f"create table cancelled (id int, name varchar(40)){any_db.transactional}")
    yield conn
    with conn.cursor() as cursor:
        run(cursor, "drop table cancelled")


@pytest.mark.parametrize("name", CALLS)
def test_a_cancel_at_any_time_leaves_all_or_nothing(any_db: Database, filled: dbapi.Connection, name: str) -> None:
    if name == "partitioned" and not any_db.supports_partitions:
        pytest.skip("results have no partitions")
    call, choice = CALLS[name], random.Random(FIRST_SEED)
    with connect(any_db, batch_rows="500") as other, other.cursor() as cursor:
        begun = time.monotonic()
        call(cursor)
        lasts = time.monotonic() - begun
        for _ in range(times(3)):
            with filled.cursor() as plain:
                run(plain, "delete from cancelled")
            acknowledged = threading.Event()

            def cancel(acknowledged: threading.Event = acknowledged, after: float = choice.uniform(0, lasts)) -> None:
                time.sleep(after)
                with contextlib.suppress(dbapi.ProgrammingError):
                    cursor.adbc_cancel()
                    acknowledged.set()

            thread = threading.Thread(target=cancel)
            thread.start()
            failed: BaseException | None = None
            try:
                call(cursor)
            except BaseException as error:
                failed = error
            thread.join()
            if failed is not None:
                assert acknowledged.is_set()
                assert is_cancelled(failed), failed
            stored = 0 if failed or name not in ("ingested", "streamed", "inserted") else ROWS
            assert rows(other, "select count(*) from cancelled") == [(stored,)]
            run(cursor, "insert into cancelled (id) values (1)")
            assert rows(filled, "select count(*) from cancelled") == [(stored + 1,)]


def test_a_cancel_without_a_call_is_refused_and_meets_no_later_one(any_db: Database, conn: dbapi.Connection) -> None:
    with conn.cursor() as cursor:
        for cancel in (cursor.adbc_cancel, conn.adbc_cancel):
            with pytest.raises(dbapi.ProgrammingError, match="nothing is under way"):
                cancel()
            run(cursor, "insert into t (id) values (1)")
            run(cursor, "delete from t")
            assert cursor.rowcount == 1


def test_a_cancel_concerns_its_own_statement(any_db: Database, filled: dbapi.Connection) -> None:
    with connect(any_db, batch_rows="500") as other, other.cursor() as first, other.cursor() as second:
        run(first, "select a.id, a.name from t a, t b")
        reader = first.fetch_record_batch()
        reader.read_next_batch()
        with pytest.raises(dbapi.ProgrammingError, match="nothing is under way"):
            second.adbc_cancel()
        assert reader.read_next_batch().num_rows


def test_nothing_is_returned_after_a_cancel(any_db: Database, filled: dbapi.Connection) -> None:
    with connect(any_db, batch_rows="500") as other:
        for cancelling in ("cursor", "connection"):
            with other.cursor() as cursor:
                run(cursor, "select a.id, a.name from t a, t b")
                reader = cursor.fetch_record_batch()
                reader.read_next_batch()
                (cursor if cancelling == "cursor" else other).adbc_cancel()
                for _ in range(2):
                    with pytest.raises((dbapi.Error, pa.ArrowException, OSError), match="cancelled"):
                        reader.read_next_batch()
            with other.cursor() as cursor:
                run(cursor, "insert into cancelled (id) values (1)")
    assert rows(filled, "select count(*) from cancelled") == [(2,)]


def test_no_row_is_sent_after_a_cancel(any_db: Database, filled: dbapi.Connection) -> None:
    """Of a stream that never ends: the server has nothing to cancel while it waits for rows."""
    cancelled = threading.Event()

    def endless() -> Iterator[pa.RecordBatch]:
        number = 0
        while True:
            number += 1
            if number == 200:
                cursor.adbc_cancel()
                cancelled.set()
            assert number < 2000
            yield BATCHES[number % len(BATCHES)]

    with filled.cursor() as cursor:
        reader = pa.RecordBatchReader.from_batches(BATCHES[0].schema, endless())
        with pytest.raises(dbapi.Error) as raised:
            cursor.adbc_ingest("cancelled", reader, mode="append")
        assert is_cancelled(raised.value)
        assert cancelled.is_set()
    assert rows(filled, "select count(*) from cancelled") == [(0,)]


def interrupted(call: Callable[[], Any], begun: Callable[[], object]) -> BaseException | None:
    """Presses Ctrl-C once something has begun; the error of a call."""

    def press() -> None:
        until(begun)
        signal.raise_signal(signal.SIGINT)

    thread = threading.Thread(target=press)
    thread.start()
    try:
        call()
    except BaseException as error:
        return error
    finally:
        thread.join()
    return None


def test_ctrl_c_ends_an_ingestion(any_db: Database, filled: dbapi.Connection) -> None:
    asked = threading.Event()

    def endless() -> Iterator[pa.RecordBatch]:
        for number in range(100_000):
            if number == 150:
                asked.set()
            yield BATCHES[number % len(BATCHES)]

    with filled.cursor() as cursor:
        reader = pa.RecordBatchReader.from_batches(BATCHES[0].schema, endless())
        error = interrupted(lambda: cursor.adbc_ingest("cancelled", reader, mode="append"), asked.is_set)
        assert is_interrupt(error), error
    assert rows(filled, "select count(*) from cancelled") == [(0,)]


def test_ctrl_c_ends_a_query(any_db: Database, filled: dbapi.Connection) -> None:
    begun = time.monotonic()
    with filled.cursor() as cursor:
        error = interrupted(lambda: run(cursor, any_db.slow), lambda: time.monotonic() > begun + 0.2)
        assert is_interrupt(error) or (error is None and not any_db.slow_raises), error
    assert time.monotonic() - begun < 30
    assert len(rows(filled, "select id from t")) == 400
