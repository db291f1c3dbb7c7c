"""Values of columns are what the program's loaders make of them, by type, however rows are read, on every database."""

from __future__ import annotations

from collections.abc import AsyncIterator
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from typing import Any

import pytest

import headrace.aio
import headrace.types
from headrace.rows import dict_row, record_row
from servers import Database, names

QUERY = "select n, price, word from loaded order by n"


@dataclass(frozen=True)
class Loaded:
    """What a loader makes."""

    value: Any


ROWS = [(1, Loaded(Decimal("1.50")), "one"), (2, None, "two"), (3, Loaded(Decimal("3.50")), "six")]
"""The rows of :data:`QUERY` with a loader of exact numbers."""
PLAIN = [(1, Decimal("1.50"), "one"), (2, None, "two"), (3, Decimal("3.50"), "six")]


@pytest.fixture
async def exact(any_db: Database) -> AsyncIterator[str]:
    """The name that a column of exact numbers has in a description, without precision and scale."""
    async with await any_db.aconnect(autocommit=True) as aconn:
        await aconn.execute("drop table if exists loaded")
        await aconn.execute("create table loaded (n integer, price decimal(10,2), word varchar(20))")
        mark = any_db.differences.mark
        await aconn.executemany(f"insert into loaded values ({mark}, {mark}, {mark})", PLAIN)
        cursor = await aconn.execute(QUERY)
        assert cursor.description is not None
        yield cursor.description[1].type_code.base
        await aconn.execute("drop table loaded")


async def test_loaders_have_the_values_by_every_way_to_read_rows(any_db: Database, exact: str) -> None:
    async with await any_db.aconnect(loaders={exact: Loaded}) as aconn:
        assert await aconn.fetch(QUERY) == ROWS
        assert await aconn.fetchrow(QUERY) == ROWS[0]
        assert await aconn.fetchval("select price from loaded where n = 1") == ROWS[0][1]
        cursor = await aconn.execute(QUERY)
        assert [await cursor.fetchone(), *await cursor.fetchmany(1), *await cursor.fetchall()] == ROWS
        await cursor.scroll(0, "absolute")
        assert [row async for row in cursor] == ROWS
        assert [row async for row in aconn.stream(QUERY)] == ROWS
        async with aconn.pipeline():
            cursors = [await aconn.execute(QUERY) for _ in range(3)]
        assert [await each.fetchall() for each in cursors] == [ROWS] * 3
        mark = any_db.differences.mark
        one = f"select n, price, word from loaded where n = {mark}"
        assert await aconn.fetch(one, 3) == ROWS[2:]
        assert await aconn.fetchmany(one, [(1,), (3,)]) == [ROWS[0], ROWS[2]]


@pytest.mark.parametrize("any_db", names(supports_unprepared=True), indirect=True)
async def test_loaders_have_the_same_values_of_statements_that_are_not_prepared(any_db: Database, exact: str) -> None:
    async with await any_db.aconnect(loaders={exact: Loaded}, prepared=False) as aconn:
        mark = any_db.differences.mark
        assert await aconn.fetch(QUERY) == ROWS
        assert await aconn.fetch(f"select n, price, word from loaded where n = {mark}", 3) == ROWS[2:]
        assert [row async for row in aconn.stream(QUERY)] == ROWS
        assert await (await aconn.executescript(QUERY)).fetchall() == ROWS


async def test_loaders_have_the_values_before_a_row_factory(any_db: Database, exact: str) -> None:
    names = ("n", "price", "word")
    dicts = [dict(zip(names, row, strict=True)) for row in ROWS]
    async with await any_db.aconnect(loaders={exact: Loaded}, row_factory=dict_row) as aconn:
        assert await aconn.fetch(QUERY) == dicts
        assert await (await aconn.execute(QUERY)).fetchall() == dicts
        assert [row async for row in aconn.stream(QUERY)] == dicts
        cursor = aconn.cursor(row_factory=record_row)
        await cursor.execute(QUERY)
        assert [row["price"] for row in await cursor.fetchall()] == [row[1] for row in ROWS]
        aconn.row_factory = record_row
        assert [row["price"] async for row in aconn.stream(QUERY)] == [row[1] for row in ROWS]
        aconn.row_factory = tuple_of_texts
        assert [row async for row in aconn.stream(QUERY)] == [tuple(map(str, row)) for row in ROWS]


def tuple_of_texts(_: Any) -> Any:
    """A row factory."""
    return lambda values: tuple(map(str, values))


async def test_loaders_have_the_values_of_cursors_that_fetch_later(any_db: Database, exact: str) -> None:
    for factory in (None, dict_row, record_row):
        for keywords in any_db.cursors_that_fetch_later:
            async with await any_db.aconnect(loaders={exact: Loaded}) as aconn, aconn.transaction():
                cursor = aconn.cursor(row_factory=factory, **keywords)
                await cursor.execute(QUERY)
                rows = [await cursor.fetchone(), *await cursor.fetchmany(1), *await cursor.fetchall()]
                assert [tuple(row.values()) if isinstance(row, dict) else row for row in rows] == ROWS
                await cursor.close()


async def test_a_type_is_its_name_with_or_without_limits_or_its_number(any_db: Database, exact: str) -> None:
    async with await any_db.aconnect() as aconn:
        description = (await aconn.execute(QUERY)).description
        assert description is not None
        code = description[1].type_code
        for key in (str(code), exact, exact.upper(), code.oid):
            aconn.register_loaders({key: Loaded})
            assert await aconn.fetch(QUERY) == ROWS, key
            aconn.register_loaders({key: None})
            assert await aconn.fetch(QUERY) == PLAIN, key
        aconn.register_loaders({exact: str})
        aconn.register_loaders({description[0].type_code.base: float})
        assert await aconn.fetchrow(QUERY) == (1.0, "1.50", "one")
        for wrong in ({code: Loaded}, {headrace.types.NUMBER: Loaded}, {True: Loaded}, {exact: "Loaded"}, [exact]):
            with pytest.raises(TypeError):
                aconn.register_loaders(wrong)


async def test_a_prepared_statement_is_loaded_as_its_new_columns_are(any_db: Database, exact: str) -> None:
    async with await any_db.aconnect(autocommit=True, loaders={exact: Loaded}) as aconn:
        for _ in range(3):
            assert await aconn.fetch("select * from loaded order by n") == ROWS
        await aconn.execute("drop table loaded")
        await aconn.execute("create table loaded (n integer, price varchar(20), word decimal(10,2))")
        await aconn.execute("insert into loaded values (1, 'text', 7.25)")
        assert await aconn.fetch("select * from loaded order by n") == [(1, "text", Loaded(Decimal("7.25")))]


async def test_an_exception_of_a_loader_leaves_the_connection_usable(any_db: Database, exact: str) -> None:
    def refuse(_: Any) -> Any:
        raise LookupError("mine")

    async with await any_db.aconnect(loaders={exact: refuse}) as aconn:
        for _ in range(2):
            with pytest.raises(LookupError, match="mine"):
                await aconn.fetch(QUERY)
            with pytest.raises(LookupError, match="mine"):
                await aconn.execute(QUERY)
            with pytest.raises(LookupError, match="mine"):
                async for _row in aconn.stream(QUERY):
                    pass
        async with aconn.pipeline():
            refused, other = await aconn.execute(QUERY), await aconn.execute("select n from loaded order by n")
            with pytest.raises(LookupError, match="mine"):
                await refused.fetchall()
        assert await other.fetchall() == [(1,), (2,), (3,)]
        aconn.register_loaders({exact: None})
        assert await aconn.fetch(QUERY) == PLAIN


async def test_stop_iteration_of_a_row_factory_or_a_loader_is_not_the_end_of_the_rows(
    any_db: Database, exact: str
) -> None:
    def stopping(_: Any) -> Any:
        return lambda row: row if row[0] < 3 else next(iter(()))

    async def each(cursor: Any) -> list[Any]:
        return [row async for row in cursor]

    async def block(cursor: Any) -> Any:
        return await cursor.fetchmany(5)

    async def whole(cursor: Any) -> Any:
        return await cursor.fetchall()

    async with await any_db.aconnect() as aconn:
        for read in (each, block, whole):
            for keywords in ({}, *any_db.cursors_that_fetch_later):
                async with aconn.transaction():
                    cursor = aconn.cursor(row_factory=stopping, **keywords)
                    await cursor.execute(QUERY)
                    with pytest.raises(RuntimeError):
                        await read(cursor)
                    await cursor.close()
    async with await any_db.aconnect(row_factory=stopping) as aconn:
        with pytest.raises(RuntimeError):
            await aconn.fetch(QUERY)
        with pytest.raises(RuntimeError):
            await each(aconn.stream(QUERY))
    async with await any_db.aconnect(loaders={exact: lambda value: next(iter(()))}) as aconn:
        with pytest.raises(RuntimeError):
            await aconn.fetch(QUERY)
        with pytest.raises(RuntimeError):
            await each(aconn.stream(QUERY))


async def test_a_connection_is_before_its_pool_and_that_before_the_process(any_db: Database, exact: str) -> None:
    headrace.types.set_loaders({exact: str})
    headrace.types.set_dumpers({Fraction: lambda value: f"process {value}"})
    try:
        mark = any_db.differences.mark
        async with await any_db.aconnect(autocommit=True) as aconn:
            assert (await aconn.fetch(QUERY))[0] == (1, "1.50", "one")
            await aconn.execute(f"update loaded set word = {mark} where n = 1", (Fraction(1, 3),))
            assert await aconn.fetchval("select word from loaded where n = 1") == "process 1/3"
        async with await any_db.aconnect(loaders={}) as aconn:
            assert (await aconn.fetch(QUERY))[0] == (1, Decimal("1.50"), "process 1/3")
        own: dict[str, Any] = {"loaders": {exact: float}, "dumpers": {Fraction: str}, "autocommit": True}
        async with headrace.aio.AsyncConnectionPool(any_db.url, kwargs=own, min_size=1, max_size=1) as pool:
            async with pool.connection() as aconn:
                await aconn.execute(f"update loaded set word = {mark} where n = 1", (Fraction(1, 3),))
                assert (await aconn.fetch(QUERY))[0] == (1, 1.5, "1/3")
                aconn.register_loaders({exact: Loaded})
                assert (await aconn.fetch(QUERY))[0] == (1, ROWS[0][1], "1/3")
            async with pool.connection() as aconn:
                assert (await aconn.fetch(QUERY))[0] == (1, 1.5, "1/3")
    finally:
        headrace.types.set_loaders()
        headrace.types.set_dumpers()
    async with await any_db.aconnect() as aconn:
        assert (await aconn.fetch(QUERY))[0] == (1, Decimal("1.50"), "1/3")


async def test_what_headrace_asks_for_itself_is_not_loaded(any_db: Database, exact: str) -> None:
    seen: list[Any] = []
    names = ("integer", "int", "int4", "bigint", "int8", "varchar", "text", "char", "name", "oid", exact)
    async with await any_db.aconnect(loaders=dict.fromkeys(names, seen.append)) as aconn:
        async with aconn.transaction():
            await aconn.execute("update loaded set n = n")
        await aconn.rollback()
        await aconn.ping()
        await aconn.reset()
    assert seen == []
