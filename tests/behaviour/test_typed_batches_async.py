"""Batches whose rows differ in their types: several statements in one group, still all rows or none."""

from __future__ import annotations

import asyncio
import itertools
from typing import Any

import pytest

import headrace
from headrace import errors

SIZES = [1, 40_000, 2**40, None, 1.5]


@pytest.fixture(params=[True, False], ids=["prepared", "unnamed"])
async def mixed(request: pytest.FixtureRequest, url: str) -> Any:
    """A connection in autocommit, and a table."""
    conn = await headrace.aio.connect(url, autocommit=True, prepared=request.param)
    await conn.executescript("drop table if exists w; create table w (id int primary key, v text)")
    yield conn
    await conn.close()


def rows(size: int, bad: int | None = None) -> list[tuple[Any, int]]:
    return [(SIZES[i % len(SIZES)], 0 if i == bad else i) for i in range(size)]


async def test_a_batch_of_many_types_is_right_row_by_row(mixed: Any) -> None:
    await mixed.executemany(
        "insert into w select %(id)s, coalesce(%(v)s, 0)", [{"v": v, "id": i} for v, i in rows(5000)]
    )
    expected = [(str(v or 0),) for v, _ in rows(5000)]
    assert await mixed.fetch("select v from w order by id") == expected


async def test_columns_follow_the_rows(mixed: Any) -> None:
    values = [SIZES[i * i % 5] for i in range(500)]
    assert await mixed.fetchmany("select coalesce(%s, 0)", [(value,) for value in values]) == [
        (v or 0,) for v in values
    ]
    cursor = await mixed.executemany("select %s", [(1,), (2**40,), ("x",), (1,)], returning=True)
    names = [cursor.description[0][1]]
    while await cursor.nextset():
        names.append(cursor.description[0][1])
    assert names == ["int2", "int8", "text", "int2"]


@pytest.mark.parametrize("bad", [1, 2, 700, 4999])
@pytest.mark.parametrize("returning", [False, True])
async def test_a_failing_row_among_others_is_named_and_nothing_stays(mixed: Any, bad: int, returning: bool) -> None:
    sql = "insert into w (v, id) select coalesce(%s, 0), %s" + (" returning v" if returning else "")
    with pytest.raises(errors.UniqueViolation) as caught:
        await mixed.executemany(sql, rows(5000, bad), returning=returning)
    assert caught.value.row == bad
    assert await mixed.fetchval("select count(*) from w") == 0


@pytest.mark.parametrize(("value", "error"), [(object(), errors.ProgrammingError), (b"x", errors.DatatypeMismatch)])
async def test_a_row_that_no_statement_takes_rolls_back(mixed: Any, value: Any, error: type[Exception]) -> None:
    batch = [*rows(1000), (value, 5000)]
    with pytest.raises(error) as caught:
        await mixed.executemany("insert into w (v, id) select coalesce(%s, 0), %s", batch)
    assert caught.value.row == 1000  # type: ignore[attr-defined]
    assert await mixed.fetchval("select count(*) from w") == 0
    await mixed.executemany("insert into w (v, id) values (%s, %s)", rows(10))


async def test_an_iterator_that_raises_after_a_change_rolls_back(mixed: Any) -> None:
    def broken() -> Any:
        yield from rows(3000)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await mixed.executemany("insert into w (v, id) select %s + 1, %s", broken())
    assert await mixed.fetchval("select count(*) from w") == 0


async def test_the_types_of_a_batch_take_a_bounded_number_of_statements(mixed: Any) -> None:
    before = await mixed.fetchval("select count(*) from pg_prepared_statements")
    values: list[Any] = list(itertools.product(SIZES[:3], repeat=5))
    await mixed.executemany("update w set v = %s + %s + %s + %s + %s", values * 3)
    assert await mixed.fetchval("select count(*) from pg_prepared_statements") <= before + 33
    assert await mixed.fetchmany("select %s + %s + %s + %s + %s", values) == [(sum(row),) for row in values]


async def test_whole_numbers_for_columns_need_one_statement(url: str) -> None:
    async with await headrace.aio.connect(url, autocommit=True) as conn:
        await conn.execute("create temp table n (a int8, b numeric, c float8, d jsonb)")
        rows = [(v, v, v, {"v": v}) for v in (1, 40_000, 2**40, None)]
        await conn.executemany("insert into n values (%s, %s, %s, %s)", rows)
        assert (
            await conn.fetchval("select count(*) from pg_prepared_statements where statement like 'insert into n%'")
            == 1
        )


async def test_a_type_that_is_met_in_the_middle_of_a_batch_is_looked_up_in_its_transaction(mixed: Any) -> None:
    await mixed.executescript(
        "drop type if exists mid cascade; create type mid as (a int, b text);"
        "create function made(int) returns int language sql as 'select $1';"
        "create function made(text) returns mid language sql as 'select row(7, $1)::mid'"
    )
    try:
        assert await mixed.fetchmany("select made(%s)", [(1,), ("x",), (2,)]) == [(1,), ((7, "x"),), (2,)]
        with pytest.raises(errors.UniqueViolation):
            sql = "with done as (insert into w values (%s, 'x')) select made(%s)"
            await mixed.fetchmany(sql, [(1, 1), (2, "x"), (1, 1)])
        assert await mixed.fetchval("select count(*) from w") == 0
    finally:
        await mixed.executescript("drop type mid cascade; drop function made(int)")


async def test_a_stale_statement_in_a_batch_is_prepared_again(mixed: Any) -> None:
    batch = rows(50)
    sql = "insert into w (v, id) select coalesce(%s, 0), %s returning v"
    await mixed.fetchmany(sql, batch)
    await mixed.executescript("truncate w; alter table w alter v type varchar(50)")
    await mixed.fetchmany(sql, batch)
    await mixed.executescript("truncate w; deallocate all")
    assert len(await mixed.fetchmany(sql, batch)) == 50


async def test_a_cancelled_batch_of_many_types_leaves_nothing(url: str) -> None:  # asyncio only
    async with await headrace.aio.connect(url, autocommit=True) as conn:
        await conn.executescript("drop table if exists w; create table w (id int primary key, v text)")
        for wait in (0.0, 0.002, 0.02, 0.1):
            batch = conn.executemany("insert into w (v, id) select coalesce(%s, 0), %s returning v", rows(100_000))
            with pytest.raises(asyncio.TimeoutError):  # its own class before Python 3.11
                await asyncio.wait_for(batch, wait)
            assert await conn.fetchval("select count(*) from w") == 0


async def test_what_fails_at_the_end_of_a_batch_names_no_row(mixed: Any) -> None:
    await mixed.executescript(
        "drop table if exists late; create table late (a int unique deferrable initially deferred)"
    )
    with pytest.raises(errors.UniqueViolation) as caught:
        await mixed.executemany("insert into late values (%s)", [(1,), (1,)])
    assert caught.value.row is None
