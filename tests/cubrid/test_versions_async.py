"""Servers of older versions of the protocol: the rows are the right ones, although these servers cannot seek."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import pytest

import headrace.aio.cubrid
import headrace.testing

VERSIONS = (8, 10, 12)
ROWS = 700
LONGEST = 2000


@pytest.fixture(params=VERSIONS)
def server(request: pytest.FixtureRequest) -> Iterator[Any]:
    with headrace.testing.cubrid(protocol=request.param) as running:
        yield running


@pytest.fixture
def rows() -> list[tuple[int, str]]:
    """Rows of very different lengths: which rows a page has cannot be guessed."""
    rng = random.Random(1)
    return [(n, "x" * rng.randrange(LONGEST if n % 7 else 10)) for n in range(ROWS)]


async def filled(server: Any, rows: list[tuple[int, str]]) -> Any:
    """A connection to a server with a table of these rows."""
    conn = await headrace.aio.cubrid.connect(server.url)
    await conn.execute("create table hr_long (n int primary key, v varchar(4000))")
    await conn.executemany("insert into hr_long values (?, ?)", rows)
    await conn.commit()
    return conn


ALL = "select n, v from hr_long order by n"


async def test_rows_of_all_pages_are_the_right_ones(server: Any, rows: list[tuple[int, str]]) -> None:
    async with await filled(server, rows) as conn:
        assert await conn.fetch(ALL) == rows
        assert [row async for row in conn.stream(ALL, fetch_size=50)] == rows


async def test_cursors_scroll(server: Any, rows: list[tuple[int, str]]) -> None:
    async with await filled(server, rows) as conn, conn.transaction():
        cursor = conn.cursor(scrollable=True)
        await cursor.execute(ALL)
        rng = random.Random(2)
        for _ in range(60):
            number = rng.randint(1, ROWS)
            assert await cursor.fetch_absolute(number) == rows[number - 1]
        assert await cursor.fetch_last() == rows[-1]
        assert await cursor.fetch_first() == rows[0]
        assert await cursor.fetchall() == rows[1:]
        await cursor.scroll(10, "absolute")
        assert await cursor.fetchmany(300) == rows[10:310]


async def test_session_of_each_version(server: Any) -> None:
    async with await headrace.aio.cubrid.connect(server.url, autocommit=True) as conn:
        await conn.execute("create table hr_key (id int auto_increment primary key, d datetime, j json)")
        assert len(await conn.generated_keys("insert into hr_key (d) values (?), (?)", (None, None))) == 2
        assert await conn.fetchval("select count(*) from hr_key") == 2
        await conn.ping()
