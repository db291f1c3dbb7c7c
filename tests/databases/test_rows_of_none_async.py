"""A row factory that makes None of a row: that is no end of the rows, on any database."""

from __future__ import annotations

from typing import Any

from headrace.rows import scalar_row
from servers import Database

QUERY = "select word, n from nones order by n"
ROWS = [(None, 1), ("two", 2), (None, 3), (None, 4)]
WORDS = [word for word, _ in ROWS]


async def test_a_row_that_is_none_does_not_end_an_iteration(any_db: Database) -> None:
    async with await any_db.aconnect(autocommit=True) as aconn:
        await aconn.execute("drop table if exists nones")
        await aconn.execute("create table nones (word varchar(10), n integer)")
        mark = any_db.differences.mark
        await aconn.executemany(f"insert into nones values ({mark}, {mark})", ROWS)

        def none(_: Any) -> Any:
            return lambda _: None

        for factory, made in ((scalar_row, WORDS), (none, [None] * len(ROWS))):
            cursor = aconn.cursor(row_factory=factory)
            for _ in range(2):
                await cursor.execute(QUERY)
                assert [row async for row in cursor] == made
                assert await cursor.fetchone() is None
            await cursor.execute(QUERY)
            assert await cursor.fetchmany(2) == made[:2]
            assert [row async for row in cursor] == made[2:]
        await aconn.execute("drop table nones")
