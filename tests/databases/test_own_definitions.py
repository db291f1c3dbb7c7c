"""What a session does to its own tables is known to the statements that it executes after that, in pipelines too."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

from servers import Database

SHAPES = [
    ("a int, b varchar(20)", (1, "one")),
    ("b varchar(20), a int", ("two", 2)),
    ("a date, b decimal(8,2), c varchar(20)", (None, None, "three")),
    ("a varchar(20)", ("four",)),
]
"""Columns of a table, and a row that fits them."""


async def played(db: Database, aio: bool) -> None:
    """Changes the table to each shape in turn, before and within a pipeline that uses it."""

    async def done(value: Any) -> Any:
        return await value if aio else value

    mark = db.differences.mark
    conn = await db.aconnect(autocommit=True) if aio else db.connect(autocommit=True)
    for within in (False, True):
        for columns, row in SHAPES:
            insert = f"insert into defined values ({', '.join([mark] * len(row))})"
            redefine = ["drop table if exists defined", f"create table defined ({columns})"]
            if not within:
                for sql in redefine:
                    await done(conn.execute(sql))
            pipeline = conn.pipeline()
            await done(pipeline.__aenter__() if aio else pipeline.__enter__())
            for sql in redefine if within else []:
                await done(conn.execute(sql))
            await done(conn.execute(insert, row))
            before = await done(conn.execute("select * from defined"))
            await done(conn.execute(insert, row))
            after = await done(conn.execute("select * from defined"))
            await done(pipeline.__aexit__(None, None, None) if aio else pipeline.__exit__(None, None, None))
            assert await done(before.fetchall()) == [row]
            assert await done(after.fetchall()) == [row, row]
    await done(conn.execute("drop table defined"))
    await done(conn.close())


@pytest.mark.parametrize("shell", ["blocking", "asyncio"])
def test_pipeline_follows_the_own_definitions_of_its_session(any_db: Database, shell: str) -> None:
    asyncio.run(played(any_db, shell == "asyncio"))


@pytest.mark.parametrize("kind", ["table", "view"])
def test_queries_side_by_side_read_what_was_defined_last(any_db: Database, kind: str) -> None:
    with any_db.connect(autocommit=True) as conn:
        for number in (1, 2):
            conn.execute(f"drop table if exists defined_{number}")
            conn.execute(f"create table defined_{number} (a int)")
            conn.execute(f"insert into defined_{number} values ({number})")
        for number in (1, 2, 1):
            if kind == "view":
                conn.execute(f"create view redefined as select a from defined_{number}")
            else:
                conn.execute("create table redefined (a int)")
                conn.execute(f"insert into redefined values ({number})")
            for _ in range(2):
                with conn.pipeline():
                    cursors = [conn.execute("select a from redefined") for _ in range(40)]
                assert [cursor.fetchall() for cursor in cursors] == [[(number,)]] * 40
            conn.execute(f"drop {kind} redefined")
        for number in (1, 2):
            conn.execute(f"drop table defined_{number}")
