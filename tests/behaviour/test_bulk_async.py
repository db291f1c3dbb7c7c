"""Pipelines, streams, COPY, notifications."""

from __future__ import annotations

import io
import time
import weakref
from typing import Any

import pytest

import headrace
from headrace import errors

Conn = headrace.aio.AsyncConnection[Any]


@pytest.fixture(autouse=True)
def _table(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        conn.execute("drop table if exists c")
        conn.execute("create table c (n int primary key, t text, d date)")


async def test_each_statement_of_a_pipeline_has_its_own_result_and_error(url: str) -> None:
    async with await headrace.aio.connect(url, autocommit=True) as conn:
        with pytest.raises(errors.DivisionByZero):
            async with conn.pipeline():
                one = await conn.execute("select %s::int", (1,))
                bad = await conn.execute("select 1 / %s", (0,))
                two = await conn.execute("select %s::int", (2,))
        assert await one.fetchone() == (1,)
        assert await two.fetchone() == (2,)
        assert bad.description is None
        assert await conn.fetchval("select 3") == 3


async def test_a_pipeline_in_a_transaction_stops_at_its_first_error(aconn: Conn) -> None:
    with pytest.raises(errors.UniqueViolation):
        async with aconn.pipeline():
            await aconn.execute("insert into c values (1)")
            await aconn.execute("insert into c values (1)")
            await aconn.execute("insert into c values (2)")
    await aconn.rollback()
    assert await aconn.fetchval("select count(*) from c") == 0


async def test_results_can_be_fetched_inside_the_pipeline(aconn: Conn) -> None:
    async with aconn.pipeline() as pipeline:
        cursors = [await aconn.execute("select %s::int", (i,)) for i in range(100)]
        await pipeline.sync()
        assert [await c.fetchone() for c in cursors] == [(i,) for i in range(100)]


async def test_results_can_be_fetched_inside_a_pipeline_in_a_transaction(aconn: Conn) -> None:
    with pytest.raises(errors.InFailedSqlTransaction):
        async with aconn.pipeline():  # blocking: with conn.pipeline() as pipeline:
            one = await aconn.execute("insert into c values (1) returning n")
            assert await one.fetchone() == (1,)
            two = await aconn.execute("insert into c values (2)")
            # blocking: pipeline.flush()
            assert await two.wait(10)
            bad = await aconn.execute("insert into c values (2)")
            with pytest.raises(errors.UniqueViolation):
                await bad.wait()
            await aconn.execute("insert into c values (3)")
    await aconn.rollback()
    assert await aconn.fetchval("select count(*) from c") == 0


async def test_the_server_works_while_the_caller_does_something_else(url: str) -> None:
    async with (
        await headrace.aio.connect(url, autocommit=True) as conn,
        await headrace.aio.connect(url, autocommit=True) as other,
    ):
        insert, fail = "insert into c select %s from pg_sleep(%s)", "select 1 / %s"
        await conn.execute(insert, (0, 0))
        await conn.execute(fail, (1,))
        async with conn.pipeline():  # blocking: with conn.pipeline() as pipeline:
            slow = await conn.execute(insert, (1, 1))
            bad = await conn.execute(fail, (0,))
            script = await conn.executescript("insert into c values (2); insert into c values (3)")
            assert not await slow.wait(0)
            # blocking: pipeline.flush()
            assert not await slow.wait(0)
            give_up = time.monotonic() + 60
            while await other.fetchval("select count(*) from c") < 4:
                assert time.monotonic() < give_up, "no request waits, and the server does not continue"
                time.sleep(0.01)
            assert await slow.wait(60)
            assert slow.rowcount == 1
            with pytest.raises(errors.DivisionByZero):
                await bad.wait(60)
            assert await bad.wait(0), "its error was raised"
            assert await script.wait()
            assert await script.nextset()
            assert script.rowcount == 1
        assert await conn.fetchval("select 1") == 1


async def test_a_long_pipeline_keeps_no_results_that_were_waited_for(aconn: Conn) -> None:
    async with aconn.pipeline():
        held = [weakref.ref(await aconn.execute("select %s::int", (i,))) for i in range(3)]
        last = await aconn.execute("select 3")
        assert [cursor() is not None for cursor in held] == [True] * 3
        for cursor in held:
            waiting = cursor()
            assert waiting is not None
            assert await waiting.wait()
            del waiting
        assert [cursor() for cursor in held] == [None] * 3
        assert await last.fetchone() == (3,)


async def test_a_pipeline_in_a_transaction_can_be_looked_at(aconn: Any) -> None:
    async with aconn.pipeline():
        slow = await aconn.execute("insert into c select 1 from pg_sleep(1)")
        script = await aconn.executescript("select 1; select 2")
        assert not await slow.wait(0)
        assert await slow.wait(60)
        assert slow.rowcount == 1
        assert await script.wait()
        assert await script.fetchall() == [(1,)]
        assert await (await aconn.execute("select 3")).fetchone() == (3,), "in a transaction, within the pipeline"


async def test_a_stream_gives_every_row_once(aconn: Conn) -> None:
    rows = [row async for row in aconn.stream("select g, 'x' || g from generate_series(1, 5001) g", fetch_size=100)]
    assert rows == [(i, f"x{i}") for i in range(1, 5002)]
    assert await aconn.fetchval("select 1") == 1


async def test_a_stream_in_blocks(aconn: Conn) -> None:
    blocks = [row async for row in aconn.stream_blocks("select generate_series(1, 250)", fetch_size=100)]
    assert [len(block) for block in blocks] == [100, 100, 50]
    assert blocks[2][-1] == (250,)
    assert [row async for row in aconn.stream_blocks("select 1 where false")] == []
    assert await aconn.fetchval("select 1") == 1


async def test_a_stream_that_is_left_early_leaves_the_connection_usable(aconn: Conn) -> None:
    async for row in aconn.stream("select generate_series(1, 1000000)", fetch_size=10):
        if row == (25,):
            break
    assert await aconn.fetchval("select 1") == 1


async def test_named_cursors(aconn: Conn) -> None:
    async with aconn.cursor("mine", scrollable=True) as cursor:
        cursor.itersize = 7
        await cursor.execute("select generate_series(1, %s)", (100,))
        assert cursor.description is not None
        assert await cursor.fetchone() == (1,)
        assert await cursor.fetchmany(3) == [(2,), (3,), (4,)]
        await cursor.scroll(10, "absolute")
        assert await cursor.fetchone() == (11,)
        assert len(await cursor.fetchall()) == 89
    await aconn.commit()
    async with aconn.cursor("held", withhold=True) as cursor:
        await cursor.execute("select generate_series(1, 10)")
        await aconn.commit()
        assert len(await cursor.fetchall()) == 10


async def test_a_named_cursor_needs_a_transaction(url: str) -> None:
    async with await headrace.aio.connect(url, autocommit=True) as conn:
        with pytest.raises(errors.ProgrammingError, match="transaction"):
            await conn.cursor("nope").execute("select 1")


def sample(n: int) -> list[tuple[Any, ...]]:
    import datetime

    return [(i, None if i % 3 == 0 else f"tab\t{i}\\é\n", datetime.date(2020, 1, 1)) for i in range(n)]


async def test_rows_in_and_out_by_binary_copy(aconn: Conn) -> None:
    rows = sample(20_000)
    assert await aconn.copy_in("c", rows) == 20_000
    assert [row async for row in await aconn.copy_out("c")] == rows
    assert [row async for row in await aconn.copy_out("select n from c where n < 3 order by n")] == [(0,), (1,), (2,)]
    assert await aconn.fetch("select * from c order by n") == rows


async def test_text_and_csv_and_files(aconn: Conn) -> None:
    rows = sample(1000)
    assert await aconn.copy_in("c", rows, format="text") == 1000
    out = io.BytesIO()
    assert await aconn.copy_out("c", format="csv", to=out) == 1000
    await aconn.execute("truncate c")
    out.seek(0)
    assert await aconn.copy_in("c", out, format="csv") == 1000
    assert await aconn.fetch("select * from c order by n") == rows
    await aconn.execute("truncate c")
    assert await aconn.copy_in("c", b"5\tfive\t2020-01-01\n", format="text") == 1
    async with aconn.cursor().copy("copy c (n) from stdin") as copy:
        await copy.write("6\n7\n")
        await copy.write_row((8,))
    assert await aconn.fetch("select n from c order by n") == [(5,), (6,), (7,), (8,)]
    async with aconn.cursor().copy("copy c to stdout") as copy:
        assert b"".join([data async for data in copy]).count(b"\n") == 4


async def test_a_copy_that_fails_leaves_nothing_and_the_connection_in_step(aconn: Conn) -> None:
    with pytest.raises(errors.UniqueViolation):
        await aconn.copy_in("c", [(1, "a", None), (1, "b", None)])
    await aconn.rollback()
    with pytest.raises(errors.DataError, match="does not fit int4"):
        await aconn.copy_in("c", [(1, "a", None)] * 0 + [(2**40, "b", None)])
    await aconn.rollback()

    def broken() -> Any:
        yield (1, "a", None)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        await aconn.copy_in("c", broken())
    await aconn.rollback()
    assert await aconn.fetchval("select count(*) from c") == 0
    with pytest.raises(errors.UndefinedTable):
        await aconn.copy_in("nothing", [(1,)])
    await aconn.rollback()
    with pytest.raises(errors.ProgrammingError, match="use copy_in"):
        await aconn.execute("copy c from stdin")
    await aconn.rollback()
    assert await aconn.fetchval("select 1") == 1


async def test_a_copy_out_that_is_left_early(aconn: Conn) -> None:
    async for row in await aconn.copy_out("select generate_series(1, 2000000)"):
        if row == (10,):
            break
    await aconn.rollback()
    assert await aconn.fetchval("select 1") == 1


async def test_pipeline_stream_copy_notify(aconn: Any) -> None:
    async with aconn.pipeline():
        cursors = [await aconn.execute("select $1::int", (i,)) for i in range(20)]
    assert [await c.fetchone() for c in cursors] == [(i,) for i in range(20)]
    blocks = [b async for b in aconn.stream_blocks("select generate_series(1, 250)", fetch_size=100)]
    assert [len(block) for block in blocks] == [100, 100, 50]
    assert [r async for r in aconn.stream("select generate_series(1, 1000)", fetch_size=64)] == [
        (i,) for i in range(1, 1001)
    ]
    rows = sample(20_000)
    assert await aconn.copy_in("c", rows) == 20_000
    assert [r async for r in await aconn.copy_out("c")] == rows

    async def source(first: int, bad: int | None = None) -> Any:
        for i in range(first, first + 1_200):
            yield (i if i != bad else "bad", "async", None)

    assert await aconn.copy_in("c", source(20_000)) == 1_200
    async with aconn.transaction():
        with pytest.raises(errors.ProgrammingError) as caught:
            async with aconn.transaction():
                await aconn.copy_in("c", source(30_000, 30_700))
        assert caught.value.row == 700
    assert await aconn.fetchval("select count(*) from c") == 21_200
    with pytest.raises(errors.UniqueViolation):
        await aconn.copy_in("c", rows)
    await aconn.rollback()
    await aconn.listen("anews")
    await aconn.commit()
    await aconn.execute("notify anews, 'hi'")
    await aconn.commit()
    assert [n.payload async for n in aconn.notifies(timeout=2, stop_after=1)] == ["hi"]


async def test_data_of_a_copy_that_is_not_received_is_an_error(aconn: Conn) -> None:
    for execute in (aconn.execute, aconn.executescript):
        for rows in ("select 1", "select 1 where false"):
            with pytest.raises(errors.ProgrammingError, match=r"use copy_out"):
                await execute(f"copy ({rows}) to stdout")
            assert await aconn.fetchval("select 2") == 2


async def test_a_query_with_a_comment_at_its_end_is_copied(aconn: Conn) -> None:
    assert [row async for row in await aconn.copy_out("select 1 -- one")] == [(1,)]


@pytest.mark.parametrize("data", [3, [49, 10], (49, 10), None])
async def test_numbers_are_no_data(aconn: Conn, data: Any) -> None:
    await aconn.execute("create temporary table of_data (v text)")
    with pytest.raises(TypeError, match="the data are bytes or text, not"):
        async with aconn.cursor().copy("copy of_data from stdin") as copy:
            await copy.write(data)
    await aconn.rollback()
    assert await aconn.fetchval("select 1") == 1
