"""Clients of many makers on each database behind the front."""

from __future__ import annotations

from typing import Any

import asyncpg
import pg8000.native
import pytest

import headrace

from .conftest import Front

ROWS = 50


@pytest.fixture
def people(front: Front) -> str:
    """A table of fifty rows."""
    table = front.table("people", "id int primary key, name varchar(20)")
    with front.direct() as admin:
        admin.executemany(f"insert into {table} values (?, ?)", [(n, f"name {n}") for n in range(ROWS)])
    return table


async def test_asyncpg(front: Front, people: str) -> None:
    client: Any = await asyncpg.connect(host=str(front.folder), port=5432, database=front.name, user="anyone")
    try:
        assert await client.fetchval(f"select name from {people} where id = $1", "3") == "name 3"
        assert await client.fetchval(f"select name from {people} where id = $1::int", 4) == "name 4"
        async with client.transaction():
            await client.execute(f"update {people} set name = $1 where id = $2::int", "changed", 4)
            found = [row["id"] async for row in client.cursor(f"select id from {people} order by id", prefetch=7)]
        assert found == list(range(ROWS))
        assert await client.fetchval(f"select name from {people} where id = $1::int", 4) == "changed"
        with pytest.raises(asyncpg.UniqueViolationError):
            await client.execute(f"insert into {people} values ($1::int, $2)", 4, "again")
        await client.reset()
    finally:
        await client.close()


def test_pg8000(front: Front, people: str) -> None:
    client = pg8000.native.Connection("anyone", unix_sock=str(front.socket), database=front.name)
    assert client.run(f"select name from {people} where id = :n", n=5) == [["name 5"]]
    client.run("begin")
    client.run(f"delete from {people}")
    client.run("rollback")
    assert client.run(f"select count(*) from {people}") == [[ROWS]]
    client.close()


def test_our_own_driver(front: Front, people: str) -> None:
    with headrace.connect(**front.where()) as client:
        assert client.execute(f"select id, name from {people} where id = %s", (6,)).fetchone() == (6, "name 6")
        with client.transaction():
            client.execute(f"update {people} set name = %s where id = %s", ("changed", 6))
        assert client.execute(f"select name from {people} where id = %s", (6,)).fetchone() == ("changed",)
