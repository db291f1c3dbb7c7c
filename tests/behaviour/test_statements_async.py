"""Statements, results, rows."""

from __future__ import annotations

import asyncio
import dataclasses
import datetime
import decimal
import time
from typing import Any

import pytest

import headrace
from headrace import errors, rows

Conn = headrace.aio.AsyncConnection[Any]


async def test_all_parameter_styles(aconn: Conn) -> None:
    assert await (await aconn.execute("select %s, %s", (1, "a"))).fetchone() == (1, "a")
    assert await (await aconn.execute("select %(b)s, %(a)s, %(b)s", {"a": 1, "b": "x"})).fetchone() == ("x", 1, "x")
    assert await (await aconn.execute("select $1::int + $2", (1, 2))).fetchone() == (3,)
    assert await (await aconn.execute("select 5 %% %s", (3,))).fetchone() == (2,)
    assert await (await aconn.execute("select 5 % 3")).fetchone() == (2,)
    assert await (await aconn.execute("select '100%'")).fetchone() == ("100%",)


async def test_fetching_in_every_way(aconn: Conn) -> None:
    cursor = await aconn.execute("select g from generate_series(1, 10) g")
    assert cursor.rowcount == 10
    assert await cursor.fetchone() == (1,)
    assert await cursor.fetchmany() == [(2,)]
    assert await cursor.fetchmany(3) == [(3,), (4,), (5,)]
    assert await anext(cursor) == (6,)
    assert [row async for row in cursor] == [(7,), (8,), (9,), (10,)]
    assert await cursor.fetchone() is None
    assert await cursor.fetchall() == []


async def test_description_tells_names_and_types(aconn: Conn) -> None:
    cursor = await aconn.execute(
        "select 1 as n, 'x'::varchar(9) as t, 1.5::numeric(10,2) as d, now() as w, ''::bytea as b"
    )
    description = cursor.description
    assert description is not None
    assert [column[0] for column in description] == ["n", "t", "d", "w", "b"]
    pg = headrace.postgres
    assert [column[1] for column in description] == [pg.NUMBER, pg.STRING, pg.NUMBER, pg.DATETIME, pg.BINARY]
    assert description[2][1] == "numeric(10,2)"
    assert description[2][4:6] == (10, 2)
    assert description[1][3] == 9
    assert (await aconn.execute("create temp table x ()")).description is None


async def test_status_message_and_rowcount(aconn: Conn) -> None:
    cursor = await aconn.execute("create temp table s (n int)")
    assert (cursor.statusmessage, cursor.rowcount) == ("CREATE TABLE", -1)
    await cursor.execute("insert into s select generate_series(1, 5)")
    assert (cursor.statusmessage, cursor.rowcount) == ("INSERT 0 5", 5)
    with pytest.raises(errors.ProgrammingError, match="no result"):
        await cursor.fetchone()


async def test_scripts_have_a_result_per_statement(aconn: Conn) -> None:
    cursor = await aconn.executescript("select 1; select 'a', 2.5; create temp table q (i int); select null")
    assert await cursor.fetchall() == [(1,)]
    assert await cursor.nextset()
    row = await cursor.fetchone()
    assert row is not None
    assert row[0] == "a"
    assert str(row[1]) == "2.5"
    assert await cursor.nextset()
    assert cursor.description is None
    assert await cursor.nextset()
    assert await cursor.fetchall() == [(None,)]
    assert await cursor.nextset() is None


@dataclasses.dataclass
class User:
    id: int
    name: str


async def test_row_factories(aconn: Conn) -> None:
    sql = "select 1 as id, 'ann' as name"
    assert await (await aconn.cursor(row_factory=rows.dict_row).execute(sql)).fetchall() == [{"id": 1, "name": "ann"}]
    assert await (await aconn.cursor(row_factory=rows.class_row(User)).execute(sql)).fetchone() == User(1, "ann")
    assert (await (await aconn.cursor(row_factory=rows.namedtuple_row).execute(sql)).fetchone()).name == "ann"
    assert await (await aconn.cursor(row_factory=rows.scalar_row).execute(sql)).fetchall() == [1]
    with pytest.raises(errors.ProgrammingError, match="unknown extra"):
        await aconn.cursor(row_factory=rows.class_row(User)).execute("select 1 as id, 'a' as name, 2 as extra")


async def test_callproc(aconn: Conn) -> None:
    await aconn.execute("create function pg_temp.twice(n int) returns int language sql as 'select n * 2'")
    cursor = aconn.cursor()
    assert await cursor.callproc("lower", ("ABC",)) == ("ABC",)
    assert await cursor.fetchone() == ("abc",)


async def test_a_schema_change_does_not_break_a_prepared_statement(url: str) -> None:
    async with await headrace.aio.connect(url, autocommit=True) as conn:
        await conn.execute("create table changing (a int)")
        await conn.execute("insert into changing values (1)")
        assert await (await conn.execute("select * from changing")).fetchall() == [(1,)]
        await conn.execute("alter table changing add b text default 'new'")
        assert await (await conn.execute("select * from changing")).fetchall() == [(1, "new")]
        await conn.execute("deallocate all")
        assert await (await conn.execute("select * from changing")).fetchall() == [(1, "new")]
        await conn.executescript("discard all")
        assert await (await conn.execute("select * from changing")).fetchall() == [(1, "new")]


async def test_the_statement_cache_is_bounded(url: str) -> None:
    async with await headrace.aio.connect(url, autocommit=True, statement_cache_size=5) as conn:
        for i in range(20):
            assert await conn.fetchval(f"select {i}") == i
        assert await conn.fetchval("select count(*) from pg_prepared_statements") <= 6


async def test_without_named_statements_nothing_stays_prepared(url: str) -> None:
    async with await headrace.aio.connect(url, autocommit=True, prepared=False) as conn:
        for i in range(5):
            assert await conn.fetchval("select $1::int", i) == i
        await conn.executemany("select $1::int", [(1,), (2,)])
        assert await conn.fetchval("select count(*) from pg_prepared_statements") == 0


async def test_a_timeout_cancels_and_leaves_the_connection_usable(aconn: Conn) -> None:
    with pytest.raises(TimeoutError):
        await aconn.execute("select pg_sleep(30)", timeout=0.2)
    await aconn.rollback()
    assert await aconn.fetchval("select 1") == 1


async def test_timings_count_when_they_are_on(url: str) -> None:
    async with await headrace.aio.connect(url, enable_timing=True) as conn:
        await (await conn.execute("select 1")).fetchall()
        counted = conn.timings()
        assert counted["connect"]["count"] == 1
        assert counted["execute"]["count"] == 1
        assert counted["execute"]["ns"] > 0
        assert counted["fetch"]["count"] == 1
        conn.reset_timings()
        assert conn.timings()["execute"]["count"] == 0


async def test_notices_reach_their_handler(aconn: Conn) -> None:
    seen: list[str] = []
    aconn.add_notice_handler(lambda notice: seen.append(f"{notice.severity} {notice.message}"))
    await aconn.execute("do $$ begin raise notice 'hello'; end $$")
    assert seen == ["NOTICE hello"]


async def test_concurrent_awaits_queue_up(aconn: Any) -> None:  # asyncio only
    values = await asyncio.gather(*(aconn.fetchval("select $1::int", i) for i in range(50)))
    assert values == list(range(50))


async def test_a_cancelled_await_cancels_on_the_server(aconn: Any) -> None:  # asyncio only
    task = asyncio.ensure_future(aconn.execute("select pg_sleep(30)"))
    await asyncio.sleep(0.2)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    started = time.monotonic()
    await aconn.rollback()
    assert await aconn.fetchval("select 1") == 1
    assert time.monotonic() - started < 20, "it was cancelled, and not waited for"


async def test_a_schema_change_before_a_transactions_first_statement_is_not_seen(url: str) -> None:
    async with await headrace.aio.connect(url) as conn, await headrace.aio.connect(url, autocommit=True) as other:
        await other.execute("create table shifting (a int)")
        assert await (await conn.execute("select * from shifting")).fetchall() == []
        await conn.commit()
        await other.execute("alter table shifting add b int")
        assert await (await conn.execute("insert into shifting values (1, 2) returning *")).fetchall() == [(1, 2)]
        assert conn.transaction_status == headrace.types.TransactionStatus.INTRANS
        await conn.commit()
        assert await (await conn.execute("select * from shifting")).fetchall() == [(1, 2)]
        # In the middle of a transaction only its owner can repeat it.
        other_change = "alter table shifting add c int"
        await conn.commit()
        await conn.execute("select 1")
        await other.execute(other_change)
        with pytest.raises(errors.FeatureNotSupported):
            await conn.execute("select * from shifting")
        await conn.rollback()
        assert await (await conn.execute("select * from shifting")).fetchall() == [(1, 2, None)]


async def test_parameters_follow_a_table_that_has_changed(aconn: Conn) -> None:
    insert, batch = "insert into mutable values ($1)", "insert into mutable values (%s)"
    await aconn.set_autocommit(True)
    await aconn.execute("create table mutable (v int)")
    await aconn.execute(insert, (1,))
    assert (await aconn.executemany(batch, [(2,), (3,)])).rowcount == 2
    with pytest.raises(errors.ProgrammingError, match="cannot be sent as int4"):
        await aconn.execute(insert, (1.5,))
    with pytest.raises(errors.DataError, match="invalid input syntax"):
        await aconn.execute(insert, ("text",))
    await aconn.execute(insert, (4,))
    await aconn.execute("alter table mutable alter v type text")
    await aconn.execute(insert, ("five",))
    assert (await aconn.executemany(batch, [("six",), ("seven",)])).rowcount == 2
    await aconn.execute("drop table mutable")
    await aconn.execute("create table mutable (v date)")
    await aconn.execute(insert, (datetime.date(2020, 1, 1),))
    await aconn.execute("alter table mutable alter v type numeric using 0")
    await aconn.executemany(batch, [(decimal.Decimal("1.5"),)])
    assert await aconn.fetchval("select sum(v) from mutable") == decimal.Decimal("1.5")
    await aconn.execute("drop table mutable")


@pytest.mark.parametrize("prepared", [True, False])
async def test_more_parameters_than_the_protocol_can_count_are_refused(url: str, prepared: bool) -> None:
    most = 65_535
    async with await headrace.aio.connect(url, prepared=prepared) as conn:
        for given in (most, most + 1, 3 * most):
            query = f"select * from (values {', '.join(['(%s::int)'] * given)}) t(n) order by n desc limit 1"
            if given == most:
                assert await conn.fetchval(query, *range(given)) == given - 1
                continue
            with pytest.raises(errors.ProgrammingError, match=f"takes {most} parameters .* but {given} were given"):
                await conn.execute(query, range(given))
            async with conn.pipeline():
                before = await conn.execute("select 1")
                with pytest.raises(errors.ProgrammingError, match="were given"):
                    await (await conn.execute(query, list(range(given)))).fetchone()
                behind = await conn.execute("select 2")
            assert (await before.fetchone(), await behind.fetchone()) == ((1,), (2,))
