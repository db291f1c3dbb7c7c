"""Streams and transactions: a stream ends what it began, and nothing else."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import threading
from collections.abc import AsyncIterator, Callable
from typing import Any

import pytest

import headrace
import headrace.aio
from headrace import errors
from headrace.types import TransactionStatus

Conn = headrace.Connection[Any]
MANY = "select generate_series(1, 100000)"
INSERT = "insert into t values (%s)"


@pytest.fixture(autouse=True)
def _table(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        conn.executescript("drop table if exists t; create table t (n int)")


@pytest.fixture
async def auto(url: str) -> AsyncIterator[Any]:
    """An asyncio connection in autocommit."""
    async with await headrace.aio.connect(url, autocommit=True) as connection:
        yield connection


def rows(url: str) -> list[int]:
    with headrace.connect(url) as other:
        return [n for (n,) in other.fetch("select n from t order by n")]


def left_by_break(conn: Conn) -> None:
    for _ in conn.stream(MANY, fetch_size=10):
        break


def left_by_closing(conn: Conn) -> None:
    with contextlib.closing(conn.stream_blocks(MANY, fetch_size=10)) as blocks:
        next(blocks)


def left_by_an_error(conn: Conn) -> None:
    with contextlib.suppress(ZeroDivisionError):
        for _ in conn.stream(MANY, fetch_size=10):
            raise ZeroDivisionError


def left_by_a_server_error(conn: Conn) -> None:
    with pytest.raises(errors.DivisionByZero):
        list(conn.stream("select 1 / (50 - g) from generate_series(1, 100) g", fetch_size=10))


def left_by_a_wrong_statement(conn: Conn) -> None:
    with pytest.raises(errors.SyntaxError):
        list(conn.stream("selec"))
    with pytest.raises(errors.ProgrammingError, match="returns no rows"):
        list(conn.stream("set application_name = 'x'"))
    with pytest.raises(errors.Error):
        list(conn.stream("select $1::int", ("x",)))


def left_in_a_cycle(conn: Conn) -> None:
    cycle: list[Any] = [conn.stream(MANY, fetch_size=10)]
    next(cycle[0])
    cycle.append(cycle)
    del cycle
    gc.collect()


def left_at_its_end(conn: Conn) -> None:
    assert len(list(conn.stream(MANY))) == 100_000


WAYS = [
    left_by_break,
    left_by_closing,
    left_by_an_error,
    left_by_a_server_error,
    left_by_a_wrong_statement,
    left_in_a_cycle,
    left_at_its_end,
]


@pytest.mark.parametrize("leave", WAYS)
def test_in_autocommit_a_stream_leaves_no_transaction_open(url: str, leave: Callable[[Conn], None]) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        conn.execute(INSERT, (1,))
        leave(conn)
        assert conn.transaction_status is TransactionStatus.IDLE
        conn.execute(INSERT, (2,))
        assert rows(url) == [1, 2]
        with conn.transaction():
            conn.execute(INSERT, (3,))
        assert rows(url) == [1, 2, 3]


@pytest.mark.parametrize("leave", [left_by_break, left_by_closing, left_by_an_error, left_in_a_cycle, left_at_its_end])
@pytest.mark.parametrize("commit", [True, False])
def test_a_stream_leaves_an_implicit_transaction_to_its_user(
    conn: Conn, url: str, leave: Callable[[Conn], None], commit: bool
) -> None:
    leave(conn)
    assert conn.transaction_status is TransactionStatus.INTRANS
    conn.execute(INSERT, (1,))
    leave(conn)
    conn.execute(INSERT, (2,))
    conn.commit() if commit else conn.rollback()
    assert rows(url) == ([1, 2] if commit else [])


def test_statements_between_the_rows_of_a_stream_belong_to_its_user(conn: Conn, url: str) -> None:
    for (n,) in conn.stream(MANY, fetch_size=2):
        conn.execute(INSERT, (n,))
        if n == 5:
            break
    conn.commit()
    assert rows(url) == [1, 2, 3, 4, 5]
    for (n,) in conn.stream("select generate_series(6, 9)", fetch_size=2):
        conn.execute(INSERT, (n,))
    conn.rollback()
    assert rows(url) == [1, 2, 3, 4, 5]


def test_in_autocommit_the_reader_of_a_stream_is_refused_other_statements(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        for (n,) in conn.stream(MANY, fetch_size=2):
            for refused in (
                lambda: conn.execute(INSERT, (1,)),
                lambda: conn.executemany(INSERT, [(1,)]),
                lambda: conn.executescript("insert into t values (1)"),
                lambda: next(iter(conn.stream("select 1"))),
                lambda: conn.copy_in("t", [(1,)]),
            ):
                with pytest.raises(errors.InterfaceError, match="a stream is being read"):
                    refused()
            if n == 5:
                break
        assert conn.transaction_status is TransactionStatus.IDLE
        conn.execute(INSERT, (2,))
    assert rows(url) == [2]


def test_streams_that_overlap_in_a_transaction_give_their_rows(conn: Conn) -> None:
    one, two, three = (conn.stream("select generate_series(1, 250)", fetch_size=100) for _ in range(3))
    assert (next(one), next(two), next(three)) == ((1,), (1,), (1,))
    assert len(list(one)) == 249
    three.close()  # type: ignore[attr-defined]
    assert len(list(two)) == 249
    assert conn.transaction_status is TransactionStatus.INTRANS


def test_a_stream_in_nested_blocks_ends_with_none_of_them(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn, conn.transaction():
        conn.execute(INSERT, (1,))
        for (n,) in conn.stream(MANY, fetch_size=10):
            with contextlib.suppress(errors.DivisionByZero), conn.transaction():
                conn.execute(INSERT, (n + 10,))
                conn.execute("select 1 / %s", (n % 2,))
            if n == 4:
                break
        conn.execute(INSERT, (2,))
    assert rows(url) == [1, 2, 11, 13]


def test_a_stream_whose_transaction_was_committed_says_so_and_harms_nothing(conn: Conn, url: str) -> None:
    stream = conn.stream(MANY, fetch_size=10)
    next(stream)
    conn.execute(INSERT, (1,))
    conn.commit()
    conn.execute(INSERT, (2,))
    with pytest.raises(errors.InvalidCursorName, match="transaction that it reads in was ended"):
        list(stream)
    conn.commit()
    assert rows(url) == [1, 2]


@pytest.mark.parametrize("autocommit", [True, False])
def test_a_reset_ends_a_stream_that_is_still_held(url: str, autocommit: bool) -> None:
    with headrace.connect(url, autocommit=autocommit) as conn:
        stream = conn.stream(MANY, fetch_size=10)
        next(stream)
        conn.reset()
        assert conn.transaction_status is TransactionStatus.IDLE
        with conn.transaction():
            conn.execute(INSERT, (1,))
            with pytest.raises(errors.InterfaceError, match="was reset"):
                list(stream)
    assert rows(url) == [1]


def test_a_pool_takes_a_connection_back_from_an_open_stream(url: str) -> None:
    with headrace.ConnectionPool(url, min_size=1, max_size=1, kwargs={"autocommit": True}) as pool:
        with pool.connection() as conn:
            stream = conn.stream(MANY)
            next(stream)
        with pool.connection() as conn:
            conn.execute(INSERT, (1,))
        del stream
    assert rows(url) == [1]


def test_other_threads_wait_for_a_stream_and_keep_what_they_did(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        stream = conn.stream(MANY, fetch_size=10)
        next(stream)
        started = threading.Event()

        def insert() -> None:
            started.set()
            conn.execute(INSERT, (1,))

        def insert_in_a_block() -> None:
            with conn.transaction():
                insert()

        threads = [threading.Thread(target=work) for work in (insert, insert, insert, insert_in_a_block)]
        for thread in threads:
            thread.start()
        started.wait()
        next(stream)
        with pytest.raises(TimeoutError):
            in_thread(lambda: conn.execute("select 1", timeout=0.05))
        assert rows(url) == []
        stream.close()  # type: ignore[attr-defined]
        for thread in threads:
            thread.join()
        assert conn.transaction_status is TransactionStatus.IDLE
    assert rows(url) == [1, 1, 1, 1]


def in_thread(work: Callable[[], Any]) -> None:
    """Raises what ``work`` does in a thread of its own."""
    raised: list[BaseException] = []

    def run() -> None:
        try:
            work()
        except BaseException as error:
            raised.append(error)

    thread = threading.Thread(target=run)
    thread.start()
    thread.join()
    if raised:
        raise raised[0]


@pytest.mark.parametrize("autocommit", [True, False])
def test_threads_that_stream_and_query_at_once_leave_the_connection_idle(url: str, autocommit: bool) -> None:
    with headrace.connect(url, autocommit=autocommit) as conn:

        def stream() -> None:
            for _ in range(20):
                assert sum(1 for _ in conn.stream("select generate_series(1, 500)", fetch_size=100)) == 500

        def pipeline() -> None:
            for _ in range(50):
                with conn.pipeline():
                    cursors = [conn.execute("select %s::int", (n,)) for n in range(5)]
                assert [cursor.fetchone() for cursor in cursors] == [(n,) for n in range(5)]

        def query() -> None:
            assert [conn.fetchval("select 1") for _ in range(300)] == [1] * 300

        raised: list[BaseException] = []

        def run(work: Callable[[], None]) -> None:
            try:
                work()
            except BaseException as error:
                raised.append(error)

        threads = [threading.Thread(target=run, args=(work,)) for work in (stream, stream, pipeline, pipeline, query)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert raised == []
        conn.rollback()
        assert conn.transaction_status is TransactionStatus.IDLE


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("autocommit", [True, False])
def test_a_stream_that_is_collected_after_its_backend_died_prints_nothing(url: str, autocommit: bool) -> None:
    conn = headrace.connect(url, autocommit=autocommit)
    stream = conn.stream(MANY, fetch_size=10)
    next(stream)
    with headrace.connect(url, autocommit=True) as other:
        other.execute("select pg_terminate_backend(%s, 10000)", (conn.backend_pid,))
    del stream
    gc.collect()
    conn.close()


async def test_a_loop_stream_left_by_break_leaves_the_next_statement_alone(auto: Any, url: str) -> None:
    async for _ in auto.stream(MANY, fetch_size=10):
        break
    await auto.execute(INSERT, (1,))
    assert auto.transaction_status is TransactionStatus.IDLE
    async with contextlib.aclosing(auto.stream_blocks(MANY, fetch_size=10)) as blocks:
        await anext(blocks)
    assert auto.transaction_status is TransactionStatus.IDLE
    async with auto.transaction():
        await auto.execute(INSERT, (2,))
    assert rows(url) == [1, 2]


async def test_a_loop_stream_that_is_dropped_ends_its_transaction(auto: Any, url: str) -> None:
    cycle: list[Any] = [auto.stream(MANY, fetch_size=10)]
    await anext(cycle[0])
    assert auto.transaction_status is not TransactionStatus.IDLE
    cycle.append(cycle)
    del cycle
    await asyncio.to_thread(gc.collect)
    await auto.execute(INSERT, (1,))
    assert auto.transaction_status is TransactionStatus.IDLE
    assert rows(url) == [1]


async def test_a_cancelled_loop_stream_loses_nothing_of_others(auto: Any, url: str) -> None:
    reading = asyncio.Event()

    async def read() -> None:
        async for (n,) in auto.stream(
            "select pg_sleep(case g when 15 then 60 else 0 end) from generate_series(1, 20) g", fetch_size=10
        ):
            del n
            reading.set()

    reader = asyncio.create_task(read())
    await reading.wait()
    inserts = [asyncio.create_task(auto.execute(INSERT, (n,))) for n in (1, 2)]
    await asyncio.sleep(0)
    reader.cancel()
    with pytest.raises(asyncio.CancelledError):
        await reader
    assert [cursor.rowcount for cursor in await asyncio.gather(*inserts)] == [1, 1]
    assert auto.transaction_status is TransactionStatus.IDLE
    assert rows(url) == [1, 2]


async def test_tasks_of_the_reader_of_a_loop_stream_are_refused_not_kept_waiting(auto: Any) -> None:
    async for _ in auto.stream(MANY, fetch_size=10):
        with pytest.raises(errors.InterfaceError, match="a stream is being read"):
            await auto.execute("select 1")
        with pytest.raises(errors.InterfaceError, match="a stream is being read"):
            await asyncio.gather(auto.fetch("select 1"), auto.fetch("select 2"))
        break
    assert await auto.fetchval("select 1") == 1


async def test_tasks_that_stream_on_one_connection_get_their_rows(url: str) -> None:
    for autocommit in (True, False):
        async with await headrace.aio.connect(url, autocommit=autocommit) as conn:

            async def read(start: int, conn: Any = conn) -> int:
                statement = "select g from generate_series(%s::int, %s) g"
                return len([r async for r in conn.stream(statement, (start, start + 999), fetch_size=64)])

            async def insert(n: int, conn: Any = conn) -> int:
                return int((await conn.execute(INSERT, (n,))).rowcount)

            counts = await asyncio.gather(*(f(n) for n in range(5) for f in (read, insert)))
            assert counts == [1000, 1] * 5
            await conn.rollback()
            assert conn.transaction_status is TransactionStatus.IDLE
    assert rows(url) == [0, 1, 2, 3, 4]


async def test_a_connection_block_with_an_open_loop_stream_commits(url: str) -> None:
    async with await headrace.aio.connect(url, autocommit=True) as conn:
        await conn.execute(INSERT, (1,))
        stream = conn.stream(MANY)
        await anext(stream)
    async with await headrace.aio.connect(url) as conn:
        await conn.execute(INSERT, (2,))
        other = conn.stream(MANY)
        await anext(other)
    del stream, other
    assert rows(url) == [1, 2]


def test_statements_beside_a_block_of_another_thread_begin_nothing_after_its_end(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        ended = threading.Event()

        def blocks() -> None:
            try:
                for _ in range(300):
                    with conn.transaction():
                        conn.execute("select 1")
            finally:
                ended.set()

        def queries() -> None:
            while not ended.is_set():
                conn.fetchval("select 1")

        threads = [threading.Thread(target=work) for work in (blocks, queries, queries, queries)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert conn.transaction_status is TransactionStatus.IDLE
        assert not conn._core.depth


FAILS_AHEAD = "select noted(n) from generate_series(1, 10) n"
"""It writes, and fails in its second block, which is asked for while the first is read."""


@pytest.fixture
def _noted(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        conn.executescript(
            "create or replace function noted(n int) returns int language plpgsql as "
            "$$begin insert into t values (n); return 1 / (3 - n); end$$"
        )


@pytest.mark.usefixtures("_noted")
def test_leaving_a_stream_says_that_what_was_asked_for_ahead_has_undone_it(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        numbers = conn.stream(FAILS_AHEAD, fetch_size=2)
        next(numbers)
        with pytest.raises(errors.InFailedSqlTransaction, match=r"not committed: .*division by zero"):
            numbers.close()  # type: ignore[attr-defined]
        assert conn.fetchval("select 1") == 1
    assert rows(url) == []


@pytest.mark.usefixtures("_noted")
async def test_leaving_a_stream_says_so_on_asyncio(auto: Any, url: str) -> None:
    numbers = auto.stream(FAILS_AHEAD, fetch_size=2)
    await anext(numbers)
    with pytest.raises(errors.InFailedSqlTransaction, match=r"not committed: .*division by zero"):
        await numbers.aclose()
    assert await auto.fetchval("select 1") == 1
    assert rows(url) == []


@pytest.mark.usefixtures("_noted")
def test_a_stream_that_has_failed_raises_its_own_error_once(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        with pytest.raises(errors.DivisionByZero):
            list(conn.stream(FAILS_AHEAD, fetch_size=2))
        assert conn.fetchval("select 1") == 1
