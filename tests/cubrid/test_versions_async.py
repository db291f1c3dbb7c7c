"""Servers of older versions of the protocol: the rows are the right ones, although these servers cannot seek."""

from __future__ import annotations

import random
from typing import Any

import headrace.aio.cubrid

from .older import ALL, ROWS


async def filled(older_server: Any, long_rows: list[tuple[int, str]]) -> Any:
    """A connection to a server with a table of these rows."""
    conn = await headrace.aio.cubrid.connect(older_server.url)
    await conn.execute("create table hr_long (n int primary key, v varchar(4000))")
    await conn.executemany("insert into hr_long values (?, ?)", long_rows)
    await conn.commit()
    return conn


async def test_rows_of_all_pages_are_the_right_ones(older_server: Any, long_rows: list[tuple[int, str]]) -> None:
    async with await filled(older_server, long_rows) as conn:
        assert await conn.fetch(ALL) == long_rows
        assert [row async for row in conn.stream(ALL, fetch_size=50)] == long_rows


async def test_cursors_scroll(older_server: Any, long_rows: list[tuple[int, str]]) -> None:
    async with await filled(older_server, long_rows) as conn, conn.transaction():
        cursor = conn.cursor(scrollable=True)
        await cursor.execute(ALL)
        rng = random.Random(2)
        for _ in range(60):
            number = rng.randint(1, ROWS)
            assert await cursor.fetch_absolute(number) == long_rows[number - 1]
        assert await cursor.fetch_last() == long_rows[-1]
        assert await cursor.fetch_first() == long_rows[0]
        assert await cursor.fetchall() == long_rows[1:]
        await cursor.scroll(10, "absolute")
        assert await cursor.fetchmany(300) == long_rows[10:310]


async def test_session_of_each_version(older_server: Any) -> None:
    async with await headrace.aio.cubrid.connect(older_server.url, autocommit=True) as conn:
        await conn.execute("create table hr_key (id int auto_increment primary key, d datetime, j json)")
        assert len(await conn.generated_keys("insert into hr_key (d) values (?), (?)", (None, None))) == 2
        assert await conn.fetchval("select count(*) from hr_key") == 2
        await conn.ping()
