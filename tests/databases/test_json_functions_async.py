"""What reads and writes JSON is the program's, per connection, pool and process, on every database; and its dumpers."""

from __future__ import annotations

import asyncio  # asyncio only
import json
import weakref
from collections.abc import AsyncIterator
from fractions import Fraction
from typing import Any

import pytest

import headrace.aio
import headrace.types
from headrace.types import Json, Jsonb
from servers import Database


class Document(dict[str, Any]):
    """What the loader makes."""


def loads(text: str) -> Document:
    return Document(json.loads(text))


def dumps(value: Any) -> str:
    return json.dumps({"dumped": value})


@pytest.fixture
async def place(any_db: Database) -> AsyncIterator[tuple[Database, str, str]]:
    """A database, an INSERT of one document, and the query for the documents."""
    async with await any_db.aconnect(autocommit=True) as aconn:
        await aconn.execute("drop table if exists json_own")
        await aconn.execute(f"create table json_own (document {any_db.json})")
        insert = f"insert into json_own values ({any_db.differences.mark})"
        yield any_db, insert, f"select document{any_db.as_json} from json_own"
        await aconn.execute("drop table json_own")


async def test_a_connection_has_its_own(place: tuple[Database, str, str]) -> None:
    db, insert, query = place
    async with await db.aconnect(autocommit=True, json_loads=loads, json_dumps=dumps) as aconn:
        await aconn.execute(insert, ({"n": 1},))
        await aconn.execute(insert, (Json([2]),))
        await aconn.execute(insert, (Json({"n": 3}, lambda _: '{"own": 3}'),))
        await aconn.execute(insert, (Jsonb({"n": 4}, json.dumps),))
        found = [row[0] for row in await aconn.fetch(query)]
        assert found == [{"dumped": {"n": 1}}, {"dumped": [2]}, {"own": 3}, {"n": 4}]
        assert {type(each) for each in found} == {Document}
        aconn.register_json()
        assert {type(row[0]) for row in await aconn.fetch(query)} == {dict}
        aconn.register_json(loads=lambda text: len(text))
        assert all(type(row[0]) is int for row in await aconn.fetch(query))
        with pytest.raises(TypeError):
            aconn.register_json(loads="json")  # type: ignore[arg-type]


async def test_a_result_is_freed_before_the_next_statement_of_its_cursor_is_sent(
    place: tuple[Database, str, str],
) -> None:
    db, insert, query = place
    alive: list[bool] = []
    async with await db.aconnect(autocommit=True, json_loads=loads) as aconn, aconn.cursor() as cursor:
        await cursor.execute(insert, (Json({"n": 1}),))
        await cursor.execute(query)
        row = await cursor.fetchone()
        assert row is not None
        document = weakref.ref(row[0])
        del row
        # What the loop runs now has the future, which has the result.
        await asyncio.sleep(0)  # asyncio only

        def dumped(value: Any) -> str:
            alive.append(document() is not None)
            return json.dumps(value)

        await cursor.execute(insert, (Json({"n": 2}, dumped),))
    assert set(alive) == {False}


async def test_an_exception_of_theirs_leaves_the_connection_usable(place: tuple[Database, str, str]) -> None:
    db, insert, query = place

    def refuse(_: Any) -> Any:
        raise LookupError("mine")

    async with await db.aconnect(autocommit=True, json_loads=refuse) as aconn:
        await aconn.execute(insert, ({"n": 1},))
        with pytest.raises(LookupError, match="mine"):
            await aconn.fetch(query)
        aconn.register_json(dumps=refuse)
        with pytest.raises(LookupError, match="mine"):
            await aconn.execute(insert, ({"n": 1},))
        assert len(await aconn.fetch(query)) == 1


async def test_a_pool_sets_them_back_and_the_process_has_some(
    place: tuple[Database, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    db, insert, query = place
    async with headrace.aio.AsyncConnectionPool(
        db.url, kwargs={"json_loads": loads, "autocommit": True}, min_size=1, max_size=1
    ) as pool:
        async with pool.connection() as aconn:
            await aconn.execute(insert, ({"n": 1},))
            aconn.register_json()
            assert type((await aconn.fetch(query))[0][0]) is dict
        async with pool.connection() as aconn:
            assert type((await aconn.fetch(query))[0][0]) is Document
    headrace.types.set_json(loads=loads)
    try:
        async with await db.aconnect() as aconn:
            assert type((await aconn.fetch(query))[0][0]) is Document
    finally:
        headrace.types.set_json()


async def test_dumpers_make_parameters_of_classes(any_db: Database) -> None:
    mark = any_db.differences.mark
    async with await any_db.aconnect(autocommit=True) as aconn:
        await aconn.execute("drop table if exists dumped")
        await aconn.execute("create table dumped (name varchar(40))")
        insert = f"insert into dumped values ({mark})"
        aconn.register_dumpers({Fraction: str})
        await aconn.execute(insert, (Fraction(1, 3),))
        await aconn.executemany(insert, [(Fraction(2, 3),), ("plain",)])
        aconn.register_dumpers({Fraction: lambda value: f"<{value}>"})
        await aconn.execute(insert, (Fraction(1, 2),))
        found = [row[0] for row in await aconn.fetch("select name from dumped")]
        assert sorted(found) == ["1/3", "2/3", "<1/2>", "plain"]
        with pytest.raises(TypeError):
            aconn.register_dumpers({"Fraction": str})  # type: ignore[dict-item]
