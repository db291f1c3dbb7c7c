"""Streams: rows while they come, in bounded memory, and a connection that is in step whatever becomes of them."""

from __future__ import annotations

import asyncio
import contextlib
import resource
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

import headrace.aio.mysql
import headrace.mysql
from headrace import errors
from headrace.rows import dict_row
from served import Served, fresh

Conn = headrace.mysql.Connection[Any]
ROWS = 50_000


def sequence(server: Served, count: int) -> str:
    """A query of that many rows."""
    return f"select seq, repeat('x', 50) from {server.series(count)}"


@pytest.mark.parametrize("on_server", [False, True])
@pytest.mark.parametrize("size", [1, 7, 2000, 100_000])
def test_blocks_have_the_size_that_was_asked_for(my_server: Served, my: Conn, size: int, on_server: bool) -> None:
    count = 300 if size == 1 else ROWS
    blocks = list(my.stream_blocks(sequence(my_server, count), fetch_size=size, on_server=on_server))
    assert [row for block in blocks for row in block] == [(n, "x" * 50) for n in range(1, count + 1)]
    assert all(len(block) == size for block in blocks[:-1])
    assert 0 < len(blocks[-1]) <= size
    assert my.fetchval("select 42") == 42


@pytest.mark.parametrize("on_server", [False, True])
@pytest.mark.parametrize("prepared", [True, False])
def test_rows_parameters_and_factories(my_server: Served, my_url: str, prepared: bool, on_server: bool) -> None:
    with headrace.mysql.connect(my_url, prepared=prepared, row_factory=dict_row) as conn:
        rows = conn.stream(
            f"select seq as n from {my_server.series(100)} where seq > ?", (97,), fetch_size=2, on_server=on_server
        )
        assert list(rows) == [{"n": 98}, {"n": 99}, {"n": 100}]
        assert list(conn.stream("select 1 as a from dual where 1 = 0", on_server=on_server)) == []
        with pytest.raises(errors.ProgrammingError, match="no rows"):
            list(conn.stream("set @a = 1", on_server=on_server))
        with pytest.raises(errors.UndefinedTable):
            list(conn.stream("select * from missing", on_server=on_server))
        with pytest.raises(errors.ProgrammingError, match="fetch_size"):
            conn.stream_blocks("select 1", fetch_size=0)
        assert conn.fetchrow("select 42 as a") == {"a": 42}


@pytest.mark.parametrize("on_server", [False, True])
@pytest.mark.slow
def test_a_stream_that_is_left_early_leaves_the_connection_usable(my_server: Served, my: Conn, on_server: bool) -> None:
    for taken in (0, 1, 3):
        stream = my.stream(sequence(my_server, 3_000_000), fetch_size=100, on_server=on_server)
        with contextlib.closing(stream):
            for _ in range(taken):
                next(stream)
        assert my.fetchval("select 42") == 42


def test_an_error_in_the_middle_of_the_rows(my_server: Served, my: Conn) -> None:
    fresh(my, "table dates (n int primary key, d date)")
    my.execute("set sql_mode = ''")
    my.execute(
        "insert into dates select seq, if(seq = 15000, '0000-00-00', '2020-01-01') from " + my_server.series(20_000)
    )
    seen = 0
    with pytest.raises(errors.DataError, match="0000-00-00"):
        for block in my.stream_blocks("select n, d from dates order by n", fetch_size=100):
            seen += len(block)
    assert seen < 15_000
    assert my.fetchval("select 42") == 42


def test_a_cursor_is_only_asked_for_where_the_server_can_open_one(my: Conn) -> None:
    """MySQL does not survive all of them."""
    fresh(my, "table looked_at (n int)")
    fresh(my, "procedure one() select 1")
    for sql in ("explain select 1", "describe looked_at", "show full processlist", "analyze table looked_at"):
        assert list(my.stream(sql, on_server=True))
    assert list(my.stream("call one()", on_server=True)) == [(1,)]
    for sql in ("with x as (select 1) select * from x", "(select 1) union (select 2)"):
        assert list(my.stream(sql, on_server=True, fetch_size=1)) == my.fetch(sql)
    assert my.fetchval("select 42") == 42


def test_the_connection_is_occupied_while_a_stream_is_read(my_server: Served, my: Conn) -> None:
    with contextlib.closing(my.stream(sequence(my_server, ROWS), fetch_size=100)) as stream:
        next(stream)
        with pytest.raises(errors.InterfaceError, match="on_server=True"):
            my.execute("select 1")
    assert my.fetchval("select 1") == 1


def test_statements_of_other_threads_wait_for_the_end_of_a_stream(my_server: Served, my: Conn) -> None:
    def block() -> None:
        with my.transaction():
            my.execute("insert into other values (1)")

    fresh(my, "table other (n int)")
    with ThreadPoolExecutor() as threads, contextlib.closing(my.stream(sequence(my_server, ROWS))) as stream:
        next(stream)
        asked = [threads.submit(my.fetchval, "select ?", n) for n in range(3)]
        other = threads.submit(lambda: sum(1 for _ in my.stream(sequence(my_server, ROWS))))
        written = threads.submit(block)
        assert sum(1 for _ in stream) == ROWS - 1
        assert [one.result(20) for one in asked] == [0, 1, 2]
        assert (other.result(20), written.result(20)) == (ROWS, None)
    assert my.fetchval("select count(*) from other") == 1


def test_statements_between_the_blocks_of_a_cursor_on_the_server(my_server: Served, my: Conn) -> None:
    fresh(my, "table copied (n int primary key)")
    my.autocommit = False
    for (n,) in my.stream(f"select seq from {my_server.series(500)}", fetch_size=50, on_server=True):
        my.execute("insert into copied values (?)", (n,))
        if n % 100 == 0:
            my.commit()
    assert my.fetchval("select count(*) from copied") == 500


@pytest.mark.filterwarnings("error")
def test_a_stream_that_is_collected_after_its_session_was_killed_prints_nothing(
    my_server: Served, my: Conn, my_url: str
) -> None:
    stream = my.stream(sequence(my_server, ROWS), fetch_size=10, on_server=True)
    next(stream)
    with headrace.mysql.connect(my_url) as other:
        other.execute(f"kill {my.thread_id}")
    del stream
    my.close()


def test_memory_is_bounded(my_server: Served, my: Conn) -> None:
    def peak() -> int:
        return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss

    list(my.stream_blocks(sequence(my_server, 10_000)))
    before = peak()
    count = sum(len(block) for block in my.stream_blocks(sequence(my_server, 2_000_000)))
    assert count == 2_000_000
    # All of it would take more than 300 MB.
    assert (peak() - before) / 1024 < 50


@pytest.mark.slow
async def test_async_streams(my_server: Served, amy: Any) -> None:
    for on_server in (False, True):
        rows = [row async for row in amy.stream(sequence(my_server, ROWS), fetch_size=1000, on_server=on_server)]
        assert rows == [(n, "x" * 50) for n in range(1, ROWS + 1)]
        stream = amy.stream(sequence(my_server, 3_000_000), fetch_size=100, on_server=on_server)
        async with contextlib.aclosing(stream):
            assert await anext(stream) == (1, "x" * 50)
        assert await amy.fetchval("select 42") == 42


async def test_other_tasks_wait_for_the_end_of_a_stream(my_server: Served, amy: Any) -> None:
    begun, blocks = asyncio.Event(), list[int]()

    async def read() -> None:
        async for block in amy.stream_blocks(sequence(my_server, ROWS), fetch_size=5000):
            begun.set()
            blocks.append(len(block))
            await asyncio.sleep(0.001)

    async def ask() -> None:
        await begun.wait()
        assert await amy.fetchval("select 7") == 7
        # Its reply came after all rows, of which not many were kept.
        assert len(blocks) >= 7

    await asyncio.gather(read(), ask())
    assert blocks == [5000] * 10
    async for _ in amy.stream(sequence(my_server, ROWS), fetch_size=100):
        with pytest.raises(errors.InterfaceError, match="stream"):
            await amy.execute("select 1")
        break
    # It was left, so the very next statement is not refused.
    assert await amy.fetchval("select 1") == 1
    async for _ in amy.stream_blocks(sequence(my_server, ROWS), fetch_size=100):
        break
    assert await amy.fetchval("select 2") == 2


async def test_async_memory_is_bounded_while_the_reader_is_slow(my_server: Served, amy: Any) -> None:
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    count = 0
    async for block in amy.stream_blocks(sequence(my_server, 1_000_000), fetch_size=2000):
        count += len(block)
        if count < 100_000:
            await asyncio.sleep(0.005)
    assert count == 1_000_000
    assert (resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before) / 1024 < 50


@pytest.mark.parametrize("steps", range(1, 40, 3))
async def test_a_cancelled_stream_leaves_the_connection_in_step(my_server: Served, amy: Any, steps: int) -> None:
    async def read() -> None:
        async for _ in amy.stream_blocks(sequence(my_server, 2_000_000), fetch_size=500):
            await asyncio.sleep(0)

    task = asyncio.ensure_future(read())
    for _ in range(steps):
        await asyncio.sleep(0)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert await asyncio.wait_for(amy.fetchval("select 42"), 10) == 42


def test_streams_on_the_server_run_beside_other_threads(my_server: Served, my: Conn) -> None:
    failed: list[BaseException] = []

    def ask(number: int) -> None:
        try:
            for n in range(200):
                assert my.fetchval("select ? + 0", number * 1000 + n) == number * 1000 + n
        except BaseException as error:
            failed.append(error)

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    while any(thread.is_alive() for thread in threads):
        rows = [row[0] for row in my.stream(sequence(my_server, 20), fetch_size=7, on_server=True)]
        assert rows == [*range(1, 21)]
    assert failed == []


def test_streams_on_the_server_run_side_by_side_and_leave_transactions_alone(my_server: Served, my: Conn) -> None:
    fresh(my, "table kept (n int)")
    left = my.stream(sequence(my_server, 30), fetch_size=2, on_server=True)
    read = my.stream(sequence(my_server, 30), fetch_size=2, on_server=True)
    for n in range(3):
        assert (next(left)[0], next(read)[0]) == (n + 1, n + 1)
        my.execute("insert into kept values (?)", (n,))
    left.close()  # type: ignore[attr-defined]
    assert [row[0] for row in read] == [*range(4, 31)]
    assert my.fetch("select n from kept") == [(0,), (1,), (2,)]
    my.autocommit = False
    for _ in my.stream(sequence(my_server, 30), on_server=True):
        my.execute("insert into kept values (9)")
        break
    my.rollback()
    assert my.fetchval("select count(*) from kept") == 3


@pytest.mark.parametrize("on_server", [False, True])
def test_stream_that_is_left_keeps_what_the_transaction_had_done(my_server: Served, my: Conn, on_server: bool) -> None:
    fresh(my, "table begun (n int)")
    my.autocommit = False
    my.execute("insert into begun values (1)")
    with contextlib.closing(my.stream(sequence(my_server, 300_000), fetch_size=2, on_server=on_server)) as rows:
        next(rows)
    my.execute("insert into begun values (2)")
    my.commit()
    my.rollback()
    assert my.fetch("select n from begun") == [(1,), (2,)]
