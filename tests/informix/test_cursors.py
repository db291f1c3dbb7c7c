"""Cursors that stay open: streams, named, scroll, hold and update cursors, blocking and on a loop."""

from __future__ import annotations

import tracemalloc
from collections.abc import Callable
from typing import Any

import pytest

import headrace.informix
from headrace import errors
from headrace.rows import dict_row
from headrace.testing import InformixServer

Connection = headrace.informix.Connection[Any]
ROWS = 5000


@pytest.fixture
def numbers(conn: Connection, table: str) -> str:
    conn.execute(f"create table {table} (a int, b varchar(60))")
    conn.executemany(f"insert into {table} values (?, ?)", [(n, f"row {n}") for n in range(1, ROWS + 1)])
    conn.commit()
    return table


@pytest.mark.parametrize("fetch_bytes", [1, 1000, 65_536, 10_000_000])
def test_stream_gives_every_row_once(conn: Connection, numbers: str, fetch_bytes: int) -> None:
    rows = 50 if fetch_bytes == 1 else ROWS
    got = list(conn.stream(f"select a, b from {numbers} where a <= ? order by a", (rows,), fetch_bytes=fetch_bytes))
    assert got == [(n, f"row {n}") for n in range(1, rows + 1)]


def test_stream_left_early_leaves_the_connection_in_step(conn: Connection, numbers: str) -> None:
    for stop in (1, 40, 700):
        stream = conn.stream(f"select a from {numbers} order by a", fetch_bytes=1000)
        assert [next(stream) for _ in range(stop)] == [(n,) for n in range(1, stop + 1)]
        stream.close()
        assert conn.fetchval(f"select count(*) from {numbers}") == ROWS


def test_streams_run_side_by_side_with_other_statements(conn: Connection, numbers: str) -> None:
    sql = f"select a from {numbers} order by a"
    first, second = conn.stream(sql, fetch_bytes=500), conn.stream(sql + " desc", fetch_bytes=700)
    again = conn.stream(sql, fetch_bytes=900)
    for n in range(1, 1001):
        assert next(first) == (n,)
        assert next(second) == (ROWS + 1 - n,)
        assert next(again) == (n,)
        if n % 250 == 0:
            assert conn.fetchval(f"select b from {numbers} where a = ?", n) == f"row {n}"
    for stream in (first, second, again):
        stream.close()
    conn.commit()


def test_stream_whose_transaction_was_committed_says_so(conn: Connection, numbers: str) -> None:
    stream = conn.stream(f"select a from {numbers} order by a", fetch_bytes=100)
    next(stream)
    conn.commit()
    with pytest.raises(errors.InvalidCursorName, match="transaction that it reads in was ended") as raised:
        list(stream)
    assert raised.value.sqlcode == -400
    assert conn.fetchval(f"select count(*) from {numbers}") == ROWS


async def test_stream_on_a_loop_whose_transaction_was_committed_says_so(
    aconn: Any, conn: Connection, numbers: str
) -> None:
    stream = aconn.stream(f"select a from {numbers} order by a", fetch_bytes=100)
    await anext(stream)
    await aconn.commit()
    with pytest.raises(errors.InvalidCursorName, match="transaction that it reads in was ended"):
        [row async for row in stream]


def test_stream_keeps_memory_bounded(conn: Connection, numbers: str) -> None:
    sql = f"select x.b, y.b from {numbers} x, {numbers} y where x.a <= 20"

    def peak(work: Callable[[], int]) -> int:
        tracemalloc.start()
        assert work() == 20 * ROWS
        _, most = tracemalloc.get_traced_memory()
        tracemalloc.stop()
        return most

    streamed = peak(lambda: sum(len(block) for block in conn.stream_blocks(sql, fetch_bytes=65_536)))
    assert streamed < peak(lambda: len(conn.fetch(sql))) / 4


def test_stream_of_what_has_no_rows(conn: Connection, numbers: str) -> None:
    with pytest.raises(errors.ProgrammingError, match="no rows"):
        list(conn.stream(f"update {numbers} set a = a"))
    assert list(conn.stream(f"select a from {numbers} where a < 0")) == []
    with pytest.raises(errors.UndefinedTable):
        list(conn.stream("select * from nowhere"))
    conn.ping()


def test_statement_of_a_stream_is_kept_for_the_next(conn: Connection, numbers: str) -> None:
    for _ in range(3):
        assert len(list(conn.stream(f"select a from {numbers}"))) == ROWS
    assert conn._core.wire.prepared_statements() <= 3


def test_named_cursor_fetches_as_it_is_asked(conn: Connection, numbers: str) -> None:
    with conn.cursor("c1") as cursor:
        cursor.fetch_bytes = 1000
        cursor.execute(f"select a from {numbers} order by a")
        assert cursor.fetchone() == (1,)
        assert cursor.fetchmany(300) == [(n,) for n in range(2, 302)]
        assert next(cursor) == (302,)
        assert len(cursor.fetchall()) == ROWS - 302
        assert cursor.fetchone() is None
        assert cursor.fetchall() == []
    with pytest.raises(errors.InterfaceError):
        cursor.fetchone()


def test_scroll_cursor_goes_everywhere(conn: Connection, numbers: str) -> None:
    cursor = conn.cursor("s1", scrollable=True)
    cursor.execute(f"select a, b from {numbers} where a <= 100 order by a")
    assert cursor.fetch_last() == (100, "row 100")
    assert cursor.fetchone() is None
    assert cursor.fetch_prior() == (100, "row 100")
    assert cursor.fetch_prior() == (99, "row 99")
    assert cursor.fetch_first() == (1, "row 1")
    assert cursor.fetch_prior() is None
    assert cursor.fetchone() == (1, "row 1")
    assert cursor.fetch_absolute(17) == (17, "row 17")
    assert cursor.fetch_relative(-7) == (10, "row 10")
    assert cursor.fetch_relative(5) == (15, "row 15")
    assert [row[0] for row in cursor.fetchmany(5)] == [16, 17, 18, 19, 20]
    assert cursor.fetch_absolute(101) is None
    assert cursor.fetch_relative(-1) == (100, "row 100")
    cursor.scroll(50, "absolute")
    assert cursor.fetchone() == (51, "row 51")
    cursor.scroll(-11)
    assert cursor.fetchone() == (41, "row 41")
    with pytest.raises(IndexError):
        cursor.scroll(1000)
    assert cursor.fetchone() == (42, "row 42")
    assert len(cursor.fetchall()) == 58
    cursor.close()
    conn.ping()


def test_scroll_from_after_the_last_row(conn: Connection, numbers: str) -> None:
    with conn.cursor("s3", scrollable=True) as cursor:
        for back, row in (0, None), (-1, None), (-2, (10,)), (-10, (2,)), (-11, (1,)):
            cursor.execute(f"select a from {numbers} where a <= 10 order by a")
            assert len(cursor.fetchall()) == 10
            cursor.scroll(back)
            assert cursor.fetchone() == row


def test_scroll_cursor_of_an_empty_result(conn: Connection, numbers: str) -> None:
    with conn.cursor("s2", scrollable=True) as cursor:
        cursor.execute(f"select a from {numbers} where a < 0")
        assert cursor.fetch_last() is None
        assert cursor.fetch_first() is None
        assert cursor.fetchall() == []


def test_row_factory_of_a_named_cursor(conn: Connection, numbers: str) -> None:
    for scrollable in (False, True):
        with conn.cursor("d1", row_factory=dict_row, scrollable=scrollable) as cursor:
            cursor.execute(f"select a from {numbers} where a <= 2 order by a")
            assert cursor.fetchall() == [{"a": 1}, {"a": 2}]


def test_update_cursor(conn: Connection, numbers: str) -> None:
    cursor = conn.cursor("u1")
    cursor.execute(f"select a from {numbers} where a <= 10 for update")
    seen = 0
    for (a,) in cursor:
        seen += 1
        if a % 2:
            conn.execute(f"update {numbers} set b = ? where current of u1", (f"new {a}",))
        else:
            conn.execute(f"delete from {numbers} where current of u1")
    cursor.close()
    conn.commit()
    assert seen == 10
    assert conn.fetch(f"select a, b from {numbers} where a <= 10 order by a") == [
        (a, f"new {a}") for a in range(1, 11, 2)
    ]


def test_hold_cursor_outlives_its_transaction(conn: Connection, numbers: str) -> None:
    held, other = conn.cursor("h1", withhold=True), conn.cursor("h2")
    for cursor in (held, other):
        cursor.fetch_bytes = 1000
        cursor.execute(f"select a from {numbers} order by a")
        assert cursor.fetchone() == (1,)
    conn.commit()
    assert len(held.fetchall()) == ROWS - 1
    with pytest.raises(errors.Error):
        other.fetchall()
    held.close()
    other.close()
    conn.ping()


def test_timeout_of_a_named_cursor(conn: Connection, slow: str) -> None:
    cursor = conn.cursor("t1")
    with pytest.raises(TimeoutError):
        cursor.execute(slow, timeout=0.2)
    assert conn.fetchval("select tabname from systables where tabid = 1") == "systables"


async def test_stream_on_a_loop(aconn: Any, numbers: str) -> None:
    sql = f"select a from {numbers} order by a"
    assert [row async for row in aconn.stream(sql, fetch_bytes=1000)] == [(n,) for n in range(1, ROWS + 1)]
    stream = aconn.stream(sql, fetch_bytes=1000)
    assert await anext(stream) == (1,)
    await stream.aclose()
    assert await aconn.fetchval(f"select count(*) from {numbers}") == ROWS


async def test_named_and_scroll_cursors_on_a_loop(aconn: Any, numbers: str) -> None:
    async with aconn.cursor("a1") as cursor:
        cursor.fetch_bytes = 1000
        await cursor.execute(f"select a from {numbers} order by a")
        assert await cursor.fetchone() == (1,)
        assert [row async for row in cursor] == [(n,) for n in range(2, ROWS + 1)]
    async with aconn.cursor("a2", scrollable=True) as cursor:
        await cursor.execute(f"select a from {numbers} order by a")
        assert await cursor.fetch_last() == (ROWS,)
        assert await cursor.fetch_prior() == (ROWS - 1,)
        assert await cursor.fetch_absolute(7) == (7,)
        await cursor.scroll(-3)
        assert await cursor.fetchmany(2) == [(5,), (6,)]


def test_closing_a_cursor_of_a_closed_connection(ifx: InformixServer, numbers: str) -> None:
    conn = headrace.informix.connect(**ifx.parameters())
    cursor = conn.cursor("x1")
    cursor.execute(f"select a from {numbers}")
    stream = conn.stream(f"select a from {numbers}", fetch_bytes=1000)
    next(stream)
    conn.close()
    cursor.close()
    stream.close()
