"""A ``timeout`` of each kind of call, on both shells, ends it, and the connection is in step afterwards."""

# Made by tools/async_to_sync.py of test_timeouts_async.py: edit that file, and run the tool.

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import headrace
from headrace._shared.limits import Until

T = 0.1
READ = "select n from locked"
WRITE = "insert into locked values (%s)"
TOO_LONG = 5.0
CALLS: dict[str, Callable[[Any], Any]] = {
    "execute": lambda c: c.execute(READ, timeout=T),
    "fetch": lambda c: c.fetch(READ, timeout=T),
    "fetchmany": lambda c: c.fetchmany(READ, [(), ()], timeout=T),
    "executemany": lambda c: c.executemany(WRITE, [(1,), (2,)], timeout=T),
    "executescript": lambda c: c.executescript("select 1; select n from locked", timeout=T),
    "stream": lambda c: c.stream(READ, timeout=T),
    "stream_blocks": lambda c: c.stream_blocks(READ, timeout=T),
    "copy_in": lambda c: c.copy_in("locked", [(1,)], timeout=T),
    "copy_in of bytes": lambda c: c.copy_in("locked", b"1\n", format="text", timeout=T),
    "copy_out": lambda c: c.copy_out("locked", timeout=T),
    "copy_out of text": lambda c: c.copy_out("locked", format="text", timeout=T),
    "copy": lambda c: c.cursor().copy("copy locked from stdin", timeout=T),
    "callproc": lambda c: c.cursor().callproc("pg_sleep", [60], timeout=T),
    "named cursor": lambda c: c.cursor("n", withhold=True).execute(READ, timeout=T),
}


@pytest.fixture(autouse=True)
def _locked(url: str) -> Iterator[None]:
    with headrace.connect(url, autocommit=True) as holder:
        holder.executescript("drop table if exists locked; create table locked (n int)")
        with holder.transaction():
            holder.execute("lock table locked in access exclusive mode")
            yield


@contextlib.contextmanager
def times_out() -> Iterator[None]:
    started = time.monotonic()
    with pytest.raises(TimeoutError, match=r"longer than 0\.1 s.*outside of a transaction it may have been"):
        yield
    assert time.monotonic() - started < TOO_LONG


def finish(result: Any) -> None:
    if hasattr(result, "__enter__"):
        with result:
            pass
    for _ in result:
        pass


@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize("name", CALLS)
def test_a_timeout_ends_a_call(url: str, name: str, autocommit: bool) -> None:
    with headrace.connect(url, autocommit=autocommit) as conn:
        with times_out():
            finish(CALLS[name](conn))
        conn.rollback()
        assert conn.fetchval("select 1") == 1


def test_pipelines_named_cursors_and_blocks_have_a_timeout(conn: Any) -> None:
    with times_out(), conn.pipeline(timeout=T):
        conn.execute("select pg_sleep(60)")
    conn.rollback()
    with times_out(), conn.pipeline() as pipeline:
        conn.execute("select pg_sleep(60)")
        pipeline.sync(timeout=T)
    conn.rollback()
    with times_out(), conn.pipeline():
        conn.execute("select pg_sleep(60)").fetchall(timeout=T)
    conn.rollback()
    cursor = conn.cursor("slow").execute("select pg_sleep(60)")
    with times_out():
        cursor.fetchone(timeout=T)
    conn.rollback()
    conn.executescript(
        "create temp table d (n int); create function pg_temp.slow() returns trigger language plpgsql as "
        "'begin perform pg_sleep(60); return null; end'; create constraint trigger t after insert on d "
        "deferrable initially deferred for each row execute function pg_temp.slow()"
    )
    conn.commit()
    with times_out(), conn.transaction(timeout=T):
        conn.execute("insert into d values (1)")
    assert conn.fetchval("select count(*) from d") == 0


def test_the_time_of_a_call_is_that_of_all_its_waits(conn: Any) -> None:
    """Each block of rows is written within it, and together they are not."""

    def rows() -> Iterator[tuple[int]]:
        for n in range(10):
            time.sleep(0.05)
            yield (n,)

    # Slow to the end: an answer that is there already when its wait begins would count, also after its time.
    conn.executescript("create temp table free (n int check (pg_sleep(0.1)::text is not null))")
    conn.commit()
    started = time.monotonic()
    with pytest.raises(TimeoutError, match=r"longer than 0\.1 s"):
        conn.copy_in("free", rows(), timeout=T)
    assert time.monotonic() - started < TOO_LONG
    conn.rollback()
    assert conn.fetchval("select count(*) from free") == 0


def test_what_is_left_of_a_time() -> None:
    assert Until(float("inf")).left() == float("inf")
    assert 0 < Until(10).left() <= 10
    assert Until(-1).left() == 0
