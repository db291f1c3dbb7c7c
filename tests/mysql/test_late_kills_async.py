"""A KILL QUERY that comes when its statement has ended meets no other: MySQL before 5.7 keeps it for the next."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from served import fresh

pytestmark = pytest.mark.servers("mysql56", "mysql80", "mysql", "mariadb")
COUNT = "select count(*) from k"
FOLLOWED_BY: dict[str, Callable[[Any], Any]] = {
    "a prepared statement": lambda c: c.fetchval(COUNT),
    "a new statement": lambda c: c.fetchval(f"{COUNT} where n > ?", 0),
    "text": lambda c: c.executescript(COUNT),
    "a batch": lambda c: c.executemany("update k set n = n + ? where n = ?", [(0, 1), (0, 2)]),
    "rows": lambda c: c.executemany("insert into k values (?)", [(4,), (5,)]),
    "a load": lambda c: c.load_rows("k", [(6,)]),
    "a schema": lambda c: c.select_db("test"),
    "a ping": lambda c: c.ping(),
}


@pytest.fixture(autouse=True)
def _table(my: Any) -> None:
    fresh(my, "table k (n int) engine=innodb")
    my.execute("insert into k values (1), (2)")


@pytest.mark.parametrize("name", FOLLOWED_BY)
async def test_a_cancel_request_of_an_idle_connection_meets_nothing(amy: Any, name: str) -> None:
    await amy.fetchval(COUNT)
    schema = await amy.fetchval("select database()")
    await amy.cancel()
    await FOLLOWED_BY[name](amy)
    await amy.select_db(schema)
    assert await amy.fetchval(COUNT) >= 2


@pytest.mark.parametrize("steps", range(1, 30))
async def test_a_cancelled_task_leaves_nothing_to_others(amy: Any, steps: int) -> None:  # asyncio only
    task = asyncio.ensure_future(amy.load_rows("k", [(n,) for n in range(1000)]))
    for _ in range(steps):
        await asyncio.sleep(0)
    other = asyncio.ensure_future(amy.fetchval("select count(*) from test.numbers"))
    task.cancel()
    await asyncio.wait([task])
    assert await asyncio.wait_for(other, 10) == 1000
    assert await amy.fetchval(COUNT) in (2, 1002)


async def test_what_ends_a_block_is_not_met(amy: Any) -> None:
    for _ in range(3):
        with pytest.raises(ZeroDivisionError):
            async with amy.transaction():
                await amy.execute("insert into k values (3)")
                await amy.cancel()
                raise ZeroDivisionError
        async with amy.transaction():
            await amy.execute("insert into k values (3)")
            await amy.cancel()
    assert await amy.fetchval(COUNT) == 5
