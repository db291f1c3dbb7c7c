"""A broker on Windows: it answers the hello with the port of a process, to which the session is connected."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import headrace.aio.cubrid
import headrace.testing
from headrace import errors


@pytest.fixture
def windows() -> Iterator[str]:
    """The URL of such a broker, of one process."""
    with headrace.testing.cubrid(port_answer=True, cas=1) as server:
        yield server.url


async def test_a_session_is_connected_to_the_port_that_is_named(windows: str) -> None:
    for setting in ("windows_broker=true", "windows_broker=1&connect_timeout=20"):
        async with await headrace.aio.cubrid.connect(f"{windows}?{setting}", autocommit=True) as conn:
            await conn.execute("drop table if exists t")
            await conn.execute("create table t (n int)")
            await conn.executemany("insert into t values (?)", [(n,) for n in range(500)])
            async with conn.transaction():
                await conn.execute("insert into t values (?)", (500,))
            assert await conn.fetchval("select sum(n) from t") == sum(range(501))


async def test_its_statements_are_cancelled_by_the_broker(windows: str) -> None:
    async with await headrace.aio.cubrid.connect(f"{windows}?windows_broker=true") as conn:
        await conn.execute("create table n (n int)")
        await conn.executemany("insert into n values (?)", [(n,) for n in range(500)])
        with pytest.raises(TimeoutError):
            await conn.execute("select count(*) from n a, n b, n c where a.n + b.n + c.n = -1", timeout=0.3)
        assert await conn.fetchval("select 1") == 1


async def test_a_wrong_password_is_refused(windows: str) -> None:
    with pytest.raises(errors.InvalidPassword):
        await headrace.aio.cubrid.connect(f"{windows}?windows_broker=true&password=wrong")


async def test_a_session_whose_process_was_given_away_is_resumed_at_the_port_that_is_named(windows: str) -> None:
    url = f"{windows}?windows_broker=true"
    conn = await headrace.aio.cubrid.connect(url, autocommit=True)
    await conn.execute("create table t (n int)")
    for count in range(3):
        async with await headrace.aio.cubrid.connect(url) as other:
            assert await other.fetchval("select count(*) from t") == count
        await conn.execute("insert into t values (?)", (count,))
        assert conn.resumed == count + 1
    await conn.close()
    async with await headrace.aio.cubrid.connect(url) as other:
        assert await other.fetch("select n from t order by n") == [(0,), (1,), (2,)]
