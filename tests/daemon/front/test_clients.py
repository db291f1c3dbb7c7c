"""Clients of many makers on each database behind the front."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import asyncpg
import pg8000.native
import pytest

import headrace
import headrace.aio
from headrace import errors

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


FAILING = (1, 0, 2)
"""Numbers, of which the table has the second."""
Stored = Callable[[Any, str], None]


def _block_in_a_pipeline(client: Any, insert: str) -> None:
    with client.pipeline(), client.transaction():
        for number in FAILING:
            client.execute(insert, (number,))


def _commit_in_a_pipeline(client: Any, insert: str) -> None:
    client.autocommit = False
    with client.pipeline():
        for number in FAILING:
            client.execute(insert, (number,))
        client.commit()


def _batch(client: Any, insert: str) -> None:
    client.executemany(insert, [(number,) for number in FAILING])


def _batch_in_a_pipeline(client: Any, insert: str) -> None:
    with client.pipeline():
        _batch(client, insert)


def _caught_batch_in_a_block(client: Any, insert: str) -> None:
    with client.transaction():
        try:
            _batch(client, insert)
        except errors.UniqueViolation as error:
            failed = error
    raise failed


def _caught_batch_in_an_implicit_transaction(client: Any, insert: str) -> None:
    client.autocommit = False
    try:
        _batch(client, insert)
    except errors.UniqueViolation as error:
        failed = error
    client.commit()
    raise failed


@pytest.mark.parametrize(
    "work",
    [
        _block_in_a_pipeline,
        _commit_in_a_pipeline,
        _batch,
        _batch_in_a_pipeline,
        _caught_batch_in_a_block,
        _caught_batch_in_an_implicit_transaction,
    ],
)
def test_our_own_driver_stores_all_of_it_or_nothing(front: Front, work: Stored) -> None:
    table = front.table("whole", "id int primary key")
    with front.direct() as admin:
        admin.execute(f"insert into {table} values (0)")
        with pytest.raises(errors.UniqueViolation), headrace.connect(**front.where(), autocommit=True) as client:
            work(client, f"insert into {table} values (%s)")
        assert admin.fetch(f"select id from {table}") == [(0,)]
        with headrace.connect(**front.where()) as client:
            client.executemany(f"insert into {table} values (%s)", [(1,), (2,)])
            client.rollback()
            client.executemany(f"insert into {table} values (%s)", [(3,), (4,)])
        assert admin.fetch(f"select id from {table} order by id") == [(0,), (3,), (4,)]


async def test_our_own_driver_on_asyncio_does_so_too(front: Front) -> None:
    table = front.table("whole", "id int primary key")
    insert = f"insert into {table} values (%s)"
    with front.direct() as admin:
        admin.execute(f"insert into {table} values (0)")
        async with await headrace.aio.connect(**front.where(), autocommit=True) as client:
            with pytest.raises(errors.UniqueViolation):
                await client.executemany(insert, [(number,) for number in FAILING])
            with pytest.raises(errors.UniqueViolation):
                async with client.pipeline(), client.transaction():
                    for number in FAILING:
                        await client.execute(insert, (number,))
        assert admin.fetch(f"select id from {table}") == [(0,)]
