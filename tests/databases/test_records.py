"""Rows with names, :func:`headrace.rows.record_row`, by every way to read them, on every database."""

# Made by tools/async_to_sync.py of test_records_async.py: edit that file, and run the tool.

from __future__ import annotations

from typing import Any

from headrace.rows import Record, record_row
from servers import Database


def check(rows: list[Any]) -> None:
    """The rows of :func:`query`."""
    assert [type(row).__name__ for row in rows] == ["Record"] * 3
    assert rows == [(1, "one"), (2, "two"), (3, "six")]
    assert [(row["n"], row[1], row.word) for row in rows] == [
        (1, "one", "one"),
        (2, "two", "two"),
        (3, "six", "six"),
    ]


def query(db: Database) -> str:
    """Three rows."""
    source = db.differences.one_row
    words = ("one", "two", "six")
    return (
        " union all ".join(f"select {n} as n, '{word}' as word from {source}" for n, word in enumerate(words, 1))
        + " order by 1"
    )


def test_rows_are_records_by_every_way(any_db: Database) -> None:
    sql = query(any_db)
    with any_db.connect(row_factory=record_row) as conn:
        check(conn.fetch(sql))
        row = conn.fetchrow(sql)
        assert isinstance(row, Record)
        assert row["word"] == "one"
        cursor = conn.execute(sql)
        first = cursor.fetchone()
        check([first, *cursor.fetchmany(1), *cursor.fetchall()])
        cursor.scroll(0, "absolute")
        check(cursor.fetchall())
        check(list(conn.stream(sql)))
    with any_db.connect() as conn, conn.cursor(row_factory=record_row) as cursor:
        cursor.execute(sql)
        check(list(cursor))
