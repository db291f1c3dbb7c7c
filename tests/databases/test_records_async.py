"""Rows with names, :func:`headrace.rows.record_row`, by every way to read them, on every database."""

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


async def test_rows_are_records_by_every_way(any_db: Database) -> None:
    sql = query(any_db)
    async with await any_db.aconnect(row_factory=record_row) as aconn:
        check(await aconn.fetch(sql))
        row = await aconn.fetchrow(sql)
        assert isinstance(row, Record)
        assert row["word"] == "one"
        cursor = await aconn.execute(sql)
        first = await cursor.fetchone()
        check([first, *await cursor.fetchmany(1), *await cursor.fetchall()])
        await cursor.scroll(0, "absolute")
        check(await cursor.fetchall())
        check([row async for row in aconn.stream(sql)])
    async with await any_db.aconnect() as aconn, aconn.cursor(row_factory=record_row) as cursor:
        await cursor.execute(sql)
        check([row async for row in cursor])
