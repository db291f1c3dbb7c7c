"""A ``timeout`` of each kind of call to MySQL and MariaDB ends it, and the connection is in step afterwards."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import headrace.aio.mysql
import headrace.mysql

T = 0.2
READ = "select n from locked"
CALLS: dict[str, Callable[[Any], Any]] = {
    "fetchmany": lambda c: c.fetchmany("select n from locked where n = %s", [(1,), (2,)], timeout=T),
    "executemany": lambda c: c.executemany("insert into locked values (%s)", [(1,), (2,)], timeout=T),
    "executescript": lambda c: c.executescript(READ, timeout=T),
    "stream": lambda c: c.stream(READ, timeout=T),
    "stream on the server": lambda c: c.stream(READ, on_server=True, timeout=T),
    "load_rows": lambda c: c.load_rows("locked", [(1,)], timeout=T),
    "load_data": lambda c: c.load_data("load data local infile 'x' into table locked", b"1\n", timeout=T),
    "callproc": lambda c: c.cursor().callproc("slow", timeout=T),
}


@pytest.fixture(scope="module", autouse=True)
def _locked(my_url: str) -> Iterator[None]:
    with headrace.mysql.connect(my_url, autocommit=True) as holder:
        holder.execute("create table locked (n int)")
        holder.execute("create procedure slow() select sleep(60)")
        holder.execute("lock tables locked write")
        yield


async def finish(result: Any) -> None:
    if inspect.isawaitable(result):  # asyncio only
        result = await result
    async for _ in result:
        pass


@pytest.mark.parametrize("name", CALLS)
async def test_a_timeout_ends_a_call(my_url: str, name: str) -> None:
    async with await headrace.aio.mysql.connect(my_url, autocommit=True, local_infile=True) as conn:
        with pytest.raises(TimeoutError, match=r"longer than 0\.2 s"):
            await finish(CALLS[name](conn))
        assert await conn.fetchval("select 1", timeout=5) == 1
        await conn.ping(timeout=5)
