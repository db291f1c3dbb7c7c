"""A ``timeout`` of each kind of call, on both shells, ends it, and the connection is in step afterwards."""

from __future__ import annotations

import contextlib
import inspect
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import headrace
import headrace.aio
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


async def finish(result: Any) -> None:
    if inspect.isawaitable(result):  # asyncio only
        result = await result
    if hasattr(result, "__aenter__"):
        async with result:
            pass
    async for _ in result:
        pass


@pytest.mark.parametrize("autocommit", [True, False])
@pytest.mark.parametrize("name", CALLS)
async def test_a_timeout_ends_a_call(url: str, name: str, autocommit: bool) -> None:
    async with await headrace.aio.connect(url, autocommit=autocommit) as conn:
        with times_out():
            await finish(CALLS[name](conn))
        await conn.rollback()
        assert await conn.fetchval("select 1") == 1


async def test_pipelines_named_cursors_and_blocks_have_a_timeout(aconn: Any) -> None:
    with times_out():
        async with aconn.pipeline(timeout=T):
            await aconn.execute("select pg_sleep(60)")
    await aconn.rollback()
    with times_out():
        async with aconn.pipeline() as pipeline:
            await aconn.execute("select pg_sleep(60)")
            await pipeline.sync(timeout=T)
    await aconn.rollback()
    with times_out():
        async with aconn.pipeline():
            await (await aconn.execute("select pg_sleep(60)")).fetchall(timeout=T)
    await aconn.rollback()
    cursor = await aconn.cursor("slow").execute("select pg_sleep(60)")
    with times_out():
        await cursor.fetchone(timeout=T)
    await aconn.rollback()
    await aconn.executescript(
        "create temp table d (n int); create function pg_temp.slow() returns trigger language plpgsql as "
        "'begin perform pg_sleep(60); return null; end'; create constraint trigger t after insert on d "
        "deferrable initially deferred for each row execute function pg_temp.slow()"
    )
    await aconn.commit()
    with times_out():
        async with aconn.transaction(timeout=T):
            await aconn.execute("insert into d values (1)")
    assert await aconn.fetchval("select count(*) from d") == 0


async def test_the_time_of_a_call_is_that_of_all_its_waits(aconn: Any) -> None:
    """Each block of rows is written within it, and together they are not."""

    def rows() -> Iterator[tuple[int]]:
        for n in range(10):
            time.sleep(0.05)
            yield (n,)

    # Slow to the end: an answer that is there already when its wait begins would count, also after its time.
    await aconn.executescript("create temp table free (n int check (pg_sleep(0.1)::text is not null))")
    await aconn.commit()
    started = time.monotonic()
    with pytest.raises(TimeoutError, match=r"longer than 0\.1 s"):
        await aconn.copy_in("free", rows(), timeout=T)
    assert time.monotonic() - started < TOO_LONG
    await aconn.rollback()
    assert await aconn.fetchval("select count(*) from free") == 0


async def test_what_is_left_of_a_time() -> None:
    assert Until(float("inf")).left() == float("inf")
    assert 0 < Until(10).left() <= 10
    assert Until(-1).left() == 0
