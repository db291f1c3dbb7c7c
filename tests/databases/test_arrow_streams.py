"""Arrow record batches in bounded memory: the same values as rows, on every database, in both worlds."""

from __future__ import annotations

import asyncio
import gc
import threading
from collections.abc import AsyncIterator
from typing import Any

import polars
import pyarrow
import pytest

import headrace.cubrid
import headrace.testing
from headrace import errors
from servers import Database

ROWS = 3000


@pytest.fixture
def table(any_db: Database) -> str:
    """A table ``(n, name, big)`` of ROWS rows, of about 1 KB each."""
    with any_db.connect(autocommit=True) as admin:
        admin.execute("drop table if exists arrow_stream")
        admin.execute("create table arrow_stream (n int, name varchar(40), big varchar(200), amount numeric(12, 3))")
        rows = [(n, None if n % 7 == 0 else f"grün {n}", "x" * 200, f"{n}.125") for n in range(ROWS)]
        admin.executemany(f"insert into arrow_stream values ({', '.join([any_db.question_mark] * 4)})", rows)
    return "arrow_stream"


def query(table: str) -> str:
    return f"select n, name, big, big as b2, big as b3, big as b4, big as b5, amount from {table} order by n"


def rows_of(batches: Any) -> list[tuple[Any, ...]]:
    """The rows of batches, in Python's types."""
    return [tuple(row.values()) for batch in batches for row in pyarrow.record_batch(batch).to_pylist()]


def usable(conn: Any) -> None:
    assert conn.fetchval("select count(*) from arrow_stream") == ROWS


@pytest.mark.parametrize("batch_rows", [1, 700, 65_536])
def test_stream_has_the_values_of_rows(any_db: Database, table: str, batch_rows: int) -> None:
    with any_db.connect() as conn:
        rows = conn.fetch(query(table))
        batches = list(conn.stream_arrow(query(table), batch_rows=batch_rows))
        usable(conn)
    assert all(1 <= len(batch) <= batch_rows for batch in batches)
    assert rows_of(batches) == rows
    assert batches[0].column_names == ["n", "name", "big", "b2", "b3", "b4", "b5", "amount"]
    assert (batches[0].num_rows, batches[0].num_columns) == (len(batches[0]), 8)


@pytest.mark.asyncio
@pytest.mark.parametrize("batch_rows", [700, 65_536])
async def test_loop_stream_has_the_values_of_rows(any_db: Database, table: str, batch_rows: int) -> None:
    conn = await any_db.aconnect()
    async with conn:
        rows = await conn.fetch(query(table))
        stream = conn.stream_arrow(query(table), batch_rows=batch_rows)
        batches = [batch async for batch in stream]
        assert await conn.fetchval(f"select count(*) from {table}") == ROWS
    assert stream.column_names == pyarrow.schema(stream).names
    assert rows_of(batches) == rows


def test_batches_end_by_their_bytes(any_db: Database, table: str) -> None:
    with any_db.connect() as conn:
        result = conn.fetch_arrow(query(table), batch_bytes=1)
        batches = list(conn.stream_arrow(query(table), batch_bytes=100_000))
    # A batch ends with the bytes that were received together, of which there are at most 256 KiB.
    assert result.num_batches > ROWS * 1000 // 300_000
    assert len(batches) > 1
    assert max(pyarrow.record_batch(batch).nbytes for batch in batches) < 800_000
    assert sum(map(len, batches)) == ROWS


def test_memory_is_bounded(any_db: Database, table: str) -> None:
    with any_db.connect() as conn:
        taken = 0
        stream = conn.stream_arrow(query(table), batch_rows=50)
        for batch in stream:
            taken += len(batch)
            # What was received and not taken: a run of 256 KiB, or a block that was requested ahead.
            assert len(stream._sink) - taken < 1000
        assert taken == ROWS


@pytest.mark.asyncio
async def test_memory_is_bounded_on_a_loop(any_db: Database, table: str) -> None:
    conn = await any_db.aconnect()
    async with conn:
        taken = 0
        stream = conn.stream_arrow(query(table), batch_rows=50)
        async for batch in stream:
            taken += len(batch)
            # Turns in which the loop could receive all the rest.
            for _ in range(5):
                await asyncio.sleep(0)
            assert len(stream._sink) - taken < 1000
        assert taken == ROWS


def left_by_closing(conn: Any, sql: str) -> None:
    stream = conn.stream_arrow(sql, batch_rows=10)
    next(stream)
    stream.close()
    stream.close()
    # What was closed early does not look complete.
    with pytest.raises(errors.ProgrammingError, match="closed before it was read to its end"):
        next(stream)


def left_by_a_block(conn: Any, sql: str) -> None:
    with pytest.raises(ZeroDivisionError), conn.stream_arrow(sql, batch_rows=10) as stream:
        for _ in stream:
            raise ZeroDivisionError


def left_unused(conn: Any, sql: str) -> None:
    next(conn.stream_arrow(sql, batch_rows=10))
    gc.collect()


def never_begun(conn: Any, sql: str) -> None:
    conn.stream_arrow(sql).close()


def left_by_another_library(conn: Any, sql: str) -> None:
    with pyarrow.RecordBatchReader.from_stream(conn.stream_arrow(sql, batch_rows=10)) as reader:
        assert len(reader.read_next_batch()) == 10


def after_its_schema(conn: Any, sql: str) -> None:
    with conn.stream_arrow(sql, batch_rows=10) as stream:
        assert pyarrow.schema(stream).names == stream.column_names


@pytest.mark.parametrize(
    "left", [left_by_closing, left_by_a_block, left_unused, never_begun, left_by_another_library, after_its_schema]
)
@pytest.mark.parametrize("autocommit", [True, False])
def test_stream_that_is_left_early_leaves_the_connection_usable(
    any_db: Database, table: str, left: Any, autocommit: bool
) -> None:
    with any_db.connect(autocommit=autocommit) as conn:
        conn.execute(f"delete from {table} where n = -1")
        left(conn, query(table))
        usable(conn)
        # Also in the transaction that was open before.
        conn.execute(f"insert into {table} (n) values (-1)")
        left(conn, query(table))
        conn.commit()
    with any_db.connect(autocommit=True) as conn:
        assert conn.fetchval(f"select count(*) from {table}") == ROWS + 1


@pytest.mark.asyncio
@pytest.mark.parametrize("autocommit", [True, False])
async def test_loop_stream_that_is_left_early_leaves_the_connection_usable(
    any_db: Database, table: str, autocommit: bool
) -> None:
    conn = await any_db.aconnect(autocommit=autocommit)
    async with conn:
        async with conn.stream_arrow(query(table), batch_rows=10) as stream:
            await anext(stream)
        assert await conn.fetchval(f"select count(*) from {table}") == ROWS
        stream = conn.stream_arrow(query(table), batch_rows=10)
        await anext(stream)
        await stream.aclose()
        assert await conn.fetchval(f"select count(*) from {table}") == ROWS


@pytest.mark.asyncio
async def test_a_cancelled_task_leaves_the_connection_usable(any_db: Database, table: str) -> None:
    conn = await any_db.aconnect(autocommit=True)
    async with conn:
        begun = asyncio.Event()

        async def read() -> None:
            async for _ in conn.stream_arrow(query(table), batch_rows=10):
                begun.set()
                await asyncio.sleep(3600)

        task = asyncio.create_task(read())
        await begun.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await conn.fetchval(f"select count(*) from {table}") == ROWS

        async def wait() -> None:
            async for _ in conn.stream_arrow(any_db.slow):
                pass

        task = asyncio.create_task(wait())
        await asyncio.sleep(0.1)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        assert await conn.fetchval(f"select count(*) from {table}") == ROWS


@pytest.mark.asyncio
async def test_a_stream_is_closed_while_another_task_waits_for_a_batch(any_db: Database, table: str) -> None:
    async with await any_db.aconnect(autocommit=True) as conn:
        stream = conn.stream_arrow(query(table), batch_rows=10)
        reading = asyncio.ensure_future(anext(stream))
        await asyncio.sleep(0)
        await stream.aclose()
        with pytest.raises(errors.ProgrammingError, match="closed before it was read to its end"):
            await reading
        assert await conn.fetchval(f"select count(*) from {table}") == ROWS


def test_a_stream_is_closed_while_another_thread_waits_for_a_batch(any_db: Database, table: str) -> None:
    with any_db.connect(autocommit=True) as conn:
        stream = conn.stream_arrow(query(table), batch_rows=10)
        found: list[BaseException] = []

        def read() -> None:
            try:
                for _ in stream:
                    begun.set()
            except Exception as error:
                found.append(error)

        begun, thread = threading.Event(), threading.Thread(target=read)
        thread.start()
        assert begun.wait(30)
        stream.close()
        thread.join(30)
        # It may have read all of it by then.
        assert not found or (isinstance(found[0], errors.ProgrammingError) and "closed before" in str(found[0]))
        usable(conn)


def test_a_wait_that_takes_too_long_is_cancelled(any_db: Database, table: str) -> None:
    with any_db.connect(autocommit=True) as conn:
        with pytest.raises(TimeoutError):
            list(conn.stream_arrow(any_db.slow, timeout=0.2))
        usable(conn)


FAILS = {
    "postgresql": "select n, 1 / (n - 2500) as x from arrow_stream",
    "mysql": "select n, if(n = 2500, exp(1000), 1) as x, big from arrow_stream",
}


@pytest.mark.parametrize("any_db", ["postgresql", "mariadb", "mysql"], indirect=True)
def test_an_error_in_the_middle_leaves_the_connection_usable(any_db: Database, table: str) -> None:
    with any_db.connect(autocommit=True) as conn:
        taken = 0
        with pytest.raises(errors.DatabaseError):
            for batch in conn.stream_arrow(FAILS[any_db.kind], batch_rows=10):
                taken += len(batch)
        assert taken > 0
        usable(conn)
        # Another library has no class for it, but its text.
        reader = pyarrow.RecordBatchReader.from_stream(conn.stream_arrow(FAILS[any_db.kind], batch_rows=10))
        with pytest.raises((OSError, pyarrow.ArrowInvalid), match=r"division by zero|out of range"):
            reader.read_all()
        usable(conn)


def test_a_value_that_does_not_fit_fails_after_the_batches_before_it(url: str) -> None:
    sql = "select case when n = 2500 then 'NaN' else n::numeric end as x from generate_series(0, 2999) n"
    with headrace.connect(url, autocommit=True) as conn:
        taken = 0
        with pytest.raises(errors.DataError, match=r"column 1 \(x\), row 2501: NaN"):
            for batch in conn.stream_arrow(sql, batch_rows=100):
                taken += len(batch)
        assert 1000 < taken <= 2500
        assert conn.fetchval("select 1") == 1
        assert sum(map(len, conn.stream_arrow(sql, batch_rows=100, numeric="string"))) == 3000


def test_other_libraries_take_a_stream(any_db: Database, table: str) -> None:
    with any_db.connect() as conn:
        rows = conn.fetch(query(table))
        reader = pyarrow.RecordBatchReader.from_stream(conn.stream_arrow(query(table), batch_rows=500))
        assert rows_of(reader) == rows
        stream = conn.stream_arrow(query(table), batch_rows=500)
        assert polars.DataFrame(stream).rows() == rows
        with pytest.raises(errors.ProgrammingError, match="once"):
            pyarrow.table(stream)
        # What was read before is not read again.
        stream = conn.stream_arrow(query(table), batch_rows=500)
        first = next(stream)
        assert rows_of([first]) + rows_of(pyarrow.table(stream).to_batches()) == rows
        batch = next(conn.stream_arrow(query(table)))
        assert pyarrow.table(batch).num_rows == polars.DataFrame(batch).height == len(batch)
        assert "ArrowBatch" in repr(batch)
        assert batch.nbytes > 0


def test_a_capsule_that_is_dropped_keeps_the_exception(any_db: Database, table: str) -> None:
    with any_db.connect(autocommit=True) as conn:
        stream = conn.stream_arrow(query(table), batch_rows=500)
        with pytest.raises(ZeroDivisionError):
            [stream.__arrow_c_stream__(), 1 / 0]
        stream = conn.stream_arrow(query(table), batch_rows=500)
        with pytest.raises(errors.ProgrammingError, match="once"):
            (stream.__arrow_c_stream__(), stream.__arrow_c_stream__())
        usable(conn)


def test_another_thread_reads_on(any_db: Database, table: str) -> None:
    with any_db.connect(autocommit=True) as conn:
        reader = pyarrow.RecordBatchReader.from_stream(conn.stream_arrow(query(table), batch_rows=500))
        got: list[Any] = []
        thread = threading.Thread(target=lambda: got.append(reader.read_all()))
        thread.start()
        thread.join(60)
        assert got[0].num_rows == ROWS
        usable(conn)


def test_no_rows_have_a_schema(any_db: Database, table: str) -> None:
    with any_db.connect() as conn:
        stream = conn.stream_arrow(f"select n, name from {table} where n = -9")
        assert pyarrow.table(stream).schema.names == ["n", "name"]
        stream = conn.stream_arrow(f"select n, name from {table} where n = -9")
        assert list(stream) == []
        assert stream.column_names == ["n", "name"]
        usable(conn)


def test_a_statement_without_rows(any_db: Database, table: str) -> None:
    with any_db.connect() as conn:
        with pytest.raises(errors.ProgrammingError, match="no rows"):
            list(conn.stream_arrow(f"delete from {table} where n = -9"))
        with pytest.raises(errors.DatabaseError):
            list(conn.stream_arrow("select * from no_such_table"))
        conn.rollback()
        usable(conn)


@pytest.mark.parametrize(
    ("keywords", "match"),
    [
        ({"numeric": "float"}, "numeric='?\"?float"),
        ({"batch_rows": 0}, "batch_rows"),
        ({"batch_bytes": 0}, "batch_bytes"),
        ({"batch_bytes": 1 << 31}, "batch_bytes"),
    ],
)
def test_wrong_arguments(any_db: Database, keywords: dict[str, Any], match: str) -> None:
    with any_db.connect() as conn:
        for call in (conn.stream_arrow, conn.fetch_arrow):
            with pytest.raises(errors.ProgrammingError, match=match):
                call("select 1", **keywords)
        with pytest.raises(TypeError, match="no keyword 'x'"):
            conn.stream_arrow("select 1", x=1)


@pytest.mark.asyncio
async def test_a_loop_stream_knows_its_columns_from_its_first_batch_on(any_db: Database, table: str) -> None:
    conn = await any_db.aconnect()
    async with conn:
        async with conn.stream_arrow(query(table)) as stream:
            with pytest.raises(errors.ProgrammingError, match="first record batch"):
                pyarrow.schema(stream)
            await anext(stream)
            assert pyarrow.schema(stream).names == stream.column_names
        with pytest.raises(AttributeError):
            stream.__arrow_c_stream__()


@pytest.fixture
async def beside(any_db: Database) -> AsyncIterator[Any]:
    """A second asyncio connection."""
    conn = await any_db.aconnect(autocommit=True)
    async with conn:
        yield conn


@pytest.mark.asyncio
async def test_the_loop_runs_while_a_stream_waits(any_db: Database, table: str, beside: Any) -> None:
    conn = await any_db.aconnect(autocommit=True)
    async with conn:
        stream = conn.stream_arrow(query(table), batch_rows=100)
        seen = 0
        async for batch in stream:
            seen += len(batch)
            assert await beside.fetchval(f"select count(*) from {table}") == ROWS
        assert seen == ROWS
