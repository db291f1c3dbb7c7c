"""Batches of a statement that was prepared before another session has altered the table: the rows that were sent are
sent again, from the first batch of the stream."""

from __future__ import annotations

import pyarrow as pa
import pytest

from servers import Database

from .conftest import connect, marks, rows, run

BATCHES, ROWS = 3, 300
LARGE = 2**40
"""A value of the altered column only."""


def stream(first: int, last: int | None = None) -> pa.RecordBatchReader:
    """Numbers from ``first`` on, in several batches; the last one may be another."""
    numbers = list(range(first, first + BATCHES * ROWS))
    if last is not None:
        numbers[-1] = last
    parts = [numbers[at : at + ROWS] for at in range(0, len(numbers), ROWS)]
    batches = [pa.record_batch({"n": pa.array(part, pa.int64())}) for part in parts]
    return pa.RecordBatchReader.from_batches(batches[0].schema, batches)


@pytest.mark.parametrize("autocommit", [True, False], ids=["autocommit", "transaction"])
def test_every_row_of_a_stream_is_stored_once_and_counted_once(any_db: Database, autocommit: bool) -> None:
    with connect(any_db) as other, connect(any_db, autocommit=autocommit) as conn:
        with other.cursor() as admin:
            run(admin, "drop table if exists altered")
            run(admin, f"create table altered (n int){any_db.transactional}")
        with conn.cursor() as cursor:
            insert = f"insert into altered values ({marks(any_db, 1)})"
            for first, last in ((0, None), (10_000, LARGE)):
                cursor.executemany(insert, stream(first, last))
                assert cursor.rowcount == BATCHES * ROWS
                if not autocommit:
                    conn.commit()
                if last is None:
                    with other.cursor() as admin:
                        run(admin, any_db.change_type("altered", "n", "bigint"))
        assert rows(other, "select count(*), count(distinct n), max(n) from altered") == [
            (2 * BATCHES * ROWS, 2 * BATCHES * ROWS, LARGE)
        ]
        with other.cursor() as admin:
            run(admin, "drop table altered")
