"""What has a connection for itself, and what is said to those who would wait for themselves."""

from __future__ import annotations

import asyncio
import io
import threading
import time
from collections.abc import AsyncIterator
from typing import Any

import pytest

import headrace
import headrace.aio
from headrace import errors

Conn = headrace.Connection[Any]
MANY = "select repeat('x', 100) as t from generate_series(1, 200000)"


@pytest.fixture(autouse=True)
def _table(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        conn.executescript("drop table if exists c; create table c (n int)")


def test_a_statement_inside_a_copy_in_is_refused(conn: Conn) -> None:
    with conn.cursor().copy("copy c from stdin") as copy:
        copy.write(b"1\n")
        with pytest.raises(errors.InterfaceError, match="COPY is under way"):
            conn.execute("select 1")
        copy.write(b"2\n")
    assert conn.fetchval("select count(*) from c") == 2
    with pytest.raises(ZeroDivisionError), conn.cursor().copy("copy c from stdin"):
        raise ZeroDivisionError
    conn.rollback()
    assert conn.fetchval("select 1") == 1


def test_a_pipeline_inside_a_copy_in_is_refused(conn: Conn) -> None:
    conn.execute("insert into c values (1)")
    with conn.cursor().copy("copy c from stdin") as copy:
        copy.write(b"2\n")
        with pytest.raises(errors.InterfaceError, match="COPY is under way"), conn.pipeline(timeout=20):
            conn.execute("select 1")
    assert conn.fetchval("select count(*) from c") == 2


async def test_a_pipeline_inside_a_loop_copy_is_refused(aconn: Any) -> None:
    await aconn.execute("insert into c values (1)")
    async with aconn.cursor().copy("copy c from stdin") as copy:
        await copy.write(b"2\n")
        with pytest.raises(errors.InterfaceError, match="COPY is under way"):
            async with aconn.pipeline(timeout=20):
                await aconn.execute("select 1")
    assert await aconn.fetchval("select count(*) from c") == 2


def test_another_threads_statement_waits_for_a_copy_in(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        found: list[Any] = []
        with conn.cursor().copy("copy c from stdin") as copy:
            copy.write(b"1\n")
            thread = threading.Thread(target=lambda: found.append(conn.fetchval("select count(*) from c")))
            thread.start()
            for _ in range(20):
                copy.write(b"2\n" * 10_000)
        thread.join()
        assert found == [200_001]


async def test_a_statement_inside_a_loop_copy_is_refused(aconn: Any) -> None:
    async with aconn.cursor().copy("copy c from stdin") as copy:
        await copy.write(b"1\n")
        with pytest.raises(errors.InterfaceError, match="COPY is under way"):
            await aconn.execute("select 1")
        with pytest.raises(errors.InterfaceError, match="COPY is under way"):
            await asyncio.gather(aconn.execute("select 1"))
    async with aconn.cursor().copy(f"copy ({MANY}) to stdout") as copy:
        await copy.read()
        with pytest.raises(errors.InterfaceError, match="COPY is under way"):
            await aconn.execute("select 1")
        while await copy.read():
            pass
    assert await aconn.fetchval("select count(*) from c") == 1


async def test_a_statement_between_the_rows_of_a_loop_copy_out_is_refused(aconn: Any) -> None:
    await aconn.set_autocommit(True)
    async for _ in await aconn.copy_out(MANY):
        with pytest.raises(errors.InterfaceError, match="COPY is under way"):
            await aconn.execute("select 1")
        break
    # It was left; what comes next waits until the COPY has ended, and is not refused.
    assert await aconn.fetchval("select 1") == 1
    assert await aconn.copy_out("c", format="csv", to=io.BytesIO()) == 0


async def test_rows_that_use_the_connection_they_are_copied_by_are_refused(aconn: Any) -> None:
    async def rows() -> AsyncIterator[tuple[int]]:
        yield (1,)
        yield (await aconn.fetchval("select 2"),)

    with pytest.raises(errors.InterfaceError, match="COPY is under way"):
        await aconn.copy_in("c", rows())
    await aconn.rollback()
    assert await aconn.fetchval("select count(*) from c") == 0


def test_a_cursor_on_the_server_has_no_row_count_before_its_first_fetch(conn: Conn) -> None:
    with conn.cursor("counted") as cursor:
        cursor.execute("select generate_series(1, 5)")
        assert (cursor.rowcount, len(cursor.description or ())) == (-1, 1)
        cursor.fetchmany(2)
        assert cursor.rowcount == 2


async def test_a_loop_cursor_on_the_server_has_no_row_count_before_its_first_fetch(aconn: Any) -> None:
    async with aconn.cursor("counted") as cursor:
        await cursor.execute("select generate_series(1, 5)")
        assert (cursor.rowcount, len(cursor.description)) == (-1, 1)
        await cursor.fetchall()
        assert cursor.rowcount == 5


@pytest.mark.parametrize("attempt", range(10))
def test_a_stream_goes_on_beside_the_end_of_another_threads_pipeline(url: str, attempt: int) -> None:
    """The pipeline waits for the stream's end, and its round trip is answered before the stream's next rows: one
    of the two threads has to read that."""
    with headrace.connect(url, autocommit=True) as conn:
        asked, cursors = threading.Event(), []

        def pipeline() -> None:
            with conn.transaction(), conn.pipeline():
                cursors.append(conn.execute("select 1"))
                asked.set()

        rows = conn.stream("select generate_series(1, 300)", fetch_size=10)
        read = [next(rows)]
        thread = threading.Thread(target=pipeline, daemon=True)
        thread.start()
        assert asked.wait(10)
        for row in rows:
            read.append(row)
            # Somewhere in between the pipeline comes to its end.
            time.sleep(0.0001 * attempt)
        assert [n for (n,) in read] == list(range(1, 301))
        thread.join(10)
        assert not thread.is_alive()
        assert cursors[0].fetchone() == (1,)
