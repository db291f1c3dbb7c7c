"""A row factory that makes None of a row: that is no end of the rows, on any database."""

# Made by tools/async_to_sync.py of test_rows_of_none_async.py: edit that file, and run the tool.

from __future__ import annotations

from typing import Any

from headrace.rows import scalar_row
from servers import Database

QUERY = "select word, n from nones order by n"
ROWS = [(None, 1), ("two", 2), (None, 3), (None, 4)]
WORDS = [word for word, _ in ROWS]


def test_a_row_that_is_none_does_not_end_an_iteration(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists nones")
        conn.execute("create table nones (word varchar(10), n integer)")
        mark = any_db.differences.mark
        conn.executemany(f"insert into nones values ({mark}, {mark})", ROWS)

        def none(_: Any) -> Any:
            return lambda _: None

        for factory, made in ((scalar_row, WORDS), (none, [None] * len(ROWS))):
            cursor = conn.cursor(row_factory=factory)
            for _ in range(2):
                cursor.execute(QUERY)
                assert list(cursor) == made
                assert cursor.fetchone() is None
            cursor.execute(QUERY)
            assert cursor.fetchmany(2) == made[:2]
            assert list(cursor) == made[2:]
        conn.execute("drop table nones")
