"""Pipelines, streams, COPY, notifications."""

# Made by tools/async_to_sync.py of test_bulk_async.py: edit that file, and run the tool.

from __future__ import annotations

import io
import time
import weakref
from typing import Any

import pytest

import headrace
from headrace import errors

Conn = headrace.Connection[Any]


@pytest.fixture(autouse=True)
def _table(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        conn.execute("drop table if exists c")
        conn.execute("create table c (n int primary key, t text, d date)")


def test_each_statement_of_a_pipeline_has_its_own_result_and_error(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        with pytest.raises(errors.DivisionByZero), conn.pipeline():
            one = conn.execute("select %s::int", (1,))
            bad = conn.execute("select 1 / %s", (0,))
            two = conn.execute("select %s::int", (2,))
        assert one.fetchone() == (1,)
        assert two.fetchone() == (2,)
        assert bad.description is None
        assert conn.fetchval("select 3") == 3


def test_a_pipeline_in_a_transaction_stops_at_its_first_error(conn: Conn) -> None:
    with pytest.raises(errors.UniqueViolation), conn.pipeline():
        conn.execute("insert into c values (1)")
        conn.execute("insert into c values (1)")
        conn.execute("insert into c values (2)")
    conn.rollback()
    assert conn.fetchval("select count(*) from c") == 0


def test_results_can_be_fetched_inside_the_pipeline(conn: Conn) -> None:
    with conn.pipeline() as pipeline:
        cursors = [conn.execute("select %s::int", (i,)) for i in range(100)]
        pipeline.sync()
        assert [c.fetchone() for c in cursors] == [(i,) for i in range(100)]


def test_results_can_be_fetched_inside_a_pipeline_in_a_transaction(conn: Conn) -> None:
    with pytest.raises(errors.InFailedSqlTransaction), conn.pipeline() as pipeline:
        one = conn.execute("insert into c values (1) returning n")
        assert one.fetchone() == (1,)
        two = conn.execute("insert into c values (2)")
        pipeline.flush()
        assert two.wait(10)
        bad = conn.execute("insert into c values (2)")
        with pytest.raises(errors.UniqueViolation):
            bad.wait()
        conn.execute("insert into c values (3)")
    conn.rollback()
    assert conn.fetchval("select count(*) from c") == 0


def test_the_server_works_while_the_caller_does_something_else(url: str) -> None:
    with (
        headrace.connect(url, autocommit=True) as conn,
        headrace.connect(url, autocommit=True) as other,
    ):
        insert, fail = "insert into c select %s from pg_sleep(%s)", "select 1 / %s"
        conn.execute(insert, (0, 0))
        conn.execute(fail, (1,))
        with conn.pipeline() as pipeline:
            slow = conn.execute(insert, (1, 1))
            bad = conn.execute(fail, (0,))
            script = conn.executescript("insert into c values (2); insert into c values (3)")
            assert not slow.wait(0)
            pipeline.flush()
            assert not slow.wait(0)
            give_up = time.monotonic() + 60
            while other.fetchval("select count(*) from c") < 4:
                assert time.monotonic() < give_up, "no request waits, and the server does not continue"
                time.sleep(0.01)
            assert slow.wait(60)
            assert slow.rowcount == 1
            with pytest.raises(errors.DivisionByZero):
                bad.wait(60)
            assert bad.wait(0), "its error was raised"
            assert script.wait()
            assert script.nextset()
            assert script.rowcount == 1
        assert conn.fetchval("select 1") == 1


def test_a_long_pipeline_keeps_no_results_that_were_waited_for(conn: Conn) -> None:
    with conn.pipeline():
        held = [weakref.ref(conn.execute("select %s::int", (i,))) for i in range(3)]
        last = conn.execute("select 3")
        assert [cursor() is not None for cursor in held] == [True] * 3
        for cursor in held:
            waiting = cursor()
            assert waiting is not None
            assert waiting.wait()
            del waiting
        assert [cursor() for cursor in held] == [None] * 3
        assert last.fetchone() == (3,)


def test_a_pipeline_in_a_transaction_can_be_looked_at(conn: Any) -> None:
    with conn.pipeline():
        slow = conn.execute("insert into c select 1 from pg_sleep(1)")
        script = conn.executescript("select 1; select 2")
        assert not slow.wait(0)
        assert slow.wait(60)
        assert slow.rowcount == 1
        assert script.wait()
        assert script.fetchall() == [(1,)]
        assert conn.execute("select 3").fetchone() == (3,), "in a transaction, within the pipeline"


def test_a_stream_gives_every_row_once(conn: Conn) -> None:
    rows = list(conn.stream("select g, 'x' || g from generate_series(1, 5001) g", fetch_size=100))
    assert rows == [(i, f"x{i}") for i in range(1, 5002)]
    assert conn.fetchval("select 1") == 1


def test_a_stream_in_blocks(conn: Conn) -> None:
    blocks = list(conn.stream_blocks("select generate_series(1, 250)", fetch_size=100))
    assert [len(block) for block in blocks] == [100, 100, 50]
    assert blocks[2][-1] == (250,)
    assert list(conn.stream_blocks("select 1 where false")) == []
    assert conn.fetchval("select 1") == 1


def test_a_stream_that_is_left_early_leaves_the_connection_usable(conn: Conn) -> None:
    for row in conn.stream("select generate_series(1, 1000000)", fetch_size=10):
        if row == (25,):
            break
    assert conn.fetchval("select 1") == 1


def test_named_cursors(conn: Conn) -> None:
    with conn.cursor("mine", scrollable=True) as cursor:
        cursor.itersize = 7
        cursor.execute("select generate_series(1, %s)", (100,))
        assert cursor.description is not None
        assert cursor.fetchone() == (1,)
        assert cursor.fetchmany(3) == [(2,), (3,), (4,)]
        cursor.scroll(10, "absolute")
        assert cursor.fetchone() == (11,)
        assert len(cursor.fetchall()) == 89
    conn.commit()
    with conn.cursor("held", withhold=True) as cursor:
        cursor.execute("select generate_series(1, 10)")
        conn.commit()
        assert len(cursor.fetchall()) == 10


def test_a_named_cursor_needs_a_transaction(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn, pytest.raises(errors.ProgrammingError, match="transaction"):
        conn.cursor("nope").execute("select 1")


def sample(n: int) -> list[tuple[Any, ...]]:
    import datetime

    return [(i, None if i % 3 == 0 else f"tab\t{i}\\é\n", datetime.date(2020, 1, 1)) for i in range(n)]


def test_rows_in_and_out_by_binary_copy(conn: Conn) -> None:
    rows = sample(20_000)
    assert conn.copy_in("c", rows) == 20_000
    assert list(conn.copy_out("c")) == rows
    assert list(conn.copy_out("select n from c where n < 3 order by n")) == [(0,), (1,), (2,)]
    assert conn.fetch("select * from c order by n") == rows


def test_text_and_csv_and_files(conn: Conn) -> None:
    rows = sample(1000)
    assert conn.copy_in("c", rows, format="text") == 1000
    out = io.BytesIO()
    assert conn.copy_out("c", format="csv", to=out) == 1000
    conn.execute("truncate c")
    out.seek(0)
    assert conn.copy_in("c", out, format="csv") == 1000
    assert conn.fetch("select * from c order by n") == rows
    conn.execute("truncate c")
    assert conn.copy_in("c", b"5\tfive\t2020-01-01\n", format="text") == 1
    with conn.cursor().copy("copy c (n) from stdin") as copy:
        copy.write("6\n7\n")
        copy.write_row((8,))
    assert conn.fetch("select n from c order by n") == [(5,), (6,), (7,), (8,)]
    with conn.cursor().copy("copy c to stdout") as copy:
        assert b"".join(list(copy)).count(b"\n") == 4


def test_a_copy_that_fails_leaves_nothing_and_the_connection_in_step(conn: Conn) -> None:
    with pytest.raises(errors.UniqueViolation):
        conn.copy_in("c", [(1, "a", None), (1, "b", None)])
    conn.rollback()
    with pytest.raises(errors.DataError, match="does not fit int4"):
        conn.copy_in("c", [(1, "a", None)] * 0 + [(2**40, "b", None)])
    conn.rollback()

    def broken() -> Any:
        yield (1, "a", None)
        raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError):
        conn.copy_in("c", broken())
    conn.rollback()
    assert conn.fetchval("select count(*) from c") == 0
    with pytest.raises(errors.UndefinedTable):
        conn.copy_in("nothing", [(1,)])
    conn.rollback()
    with pytest.raises(errors.ProgrammingError, match="use copy_in"):
        conn.execute("copy c from stdin")
    conn.rollback()
    assert conn.fetchval("select 1") == 1


def test_a_copy_out_that_is_left_early(conn: Conn) -> None:
    for row in conn.copy_out("select generate_series(1, 2000000)"):
        if row == (10,):
            break
    conn.rollback()
    assert conn.fetchval("select 1") == 1


def test_pipeline_stream_copy_notify(conn: Any) -> None:
    with conn.pipeline():
        cursors = [conn.execute("select $1::int", (i,)) for i in range(20)]
    assert [c.fetchone() for c in cursors] == [(i,) for i in range(20)]
    blocks = list(conn.stream_blocks("select generate_series(1, 250)", fetch_size=100))
    assert [len(block) for block in blocks] == [100, 100, 50]
    assert list(conn.stream("select generate_series(1, 1000)", fetch_size=64)) == [(i,) for i in range(1, 1001)]
    rows = sample(20_000)
    assert conn.copy_in("c", rows) == 20_000
    assert list(conn.copy_out("c")) == rows

    def source(first: int, bad: int | None = None) -> Any:
        for i in range(first, first + 1_200):
            yield (i if i != bad else "bad", "async", None)

    assert conn.copy_in("c", source(20_000)) == 1_200
    with conn.transaction():
        with pytest.raises(errors.ProgrammingError) as caught, conn.transaction():
            conn.copy_in("c", source(30_000, 30_700))
        assert caught.value.row == 700
    assert conn.fetchval("select count(*) from c") == 21_200
    with pytest.raises(errors.UniqueViolation):
        conn.copy_in("c", rows)
    conn.rollback()
    conn.listen("anews")
    conn.commit()
    conn.execute("notify anews, 'hi'")
    conn.commit()
    assert [n.payload for n in conn.notifies(timeout=2, stop_after=1)] == ["hi"]


def test_data_of_a_copy_that_is_not_received_is_an_error(conn: Conn) -> None:
    for execute in (conn.execute, conn.executescript):
        for rows in ("select 1", "select 1 where false"):
            with pytest.raises(errors.ProgrammingError, match=r"use copy_out"):
                execute(f"copy ({rows}) to stdout")
            assert conn.fetchval("select 2") == 2


def test_a_query_with_a_comment_at_its_end_is_copied(conn: Conn) -> None:
    assert list(conn.copy_out("select 1 -- one")) == [(1,)]


@pytest.mark.parametrize("data", [3, [49, 10], (49, 10), None])
def test_numbers_are_no_data(conn: Conn, data: Any) -> None:
    conn.execute("create temporary table of_data (v text)")
    with (
        pytest.raises(TypeError, match="the data are bytes or text, not"),
        conn.cursor().copy("copy of_data from stdin") as copy,
    ):
        copy.write(data)
    conn.rollback()
    assert conn.fetchval("select 1") == 1
