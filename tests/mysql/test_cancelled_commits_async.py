"""The commit after one that was cancelled while it waited does not report what the server has rolled back as stored."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator

import pytest

import headrace.aio.mysql
import headrace.mysql
from headrace import errors


@pytest.fixture
def locked(my_url: str) -> Iterator[headrace.mysql.Connection[tuple[object, ...]]]:
    """Another session, which keeps all commits waiting when it locks everything."""
    with headrace.mysql.connect(my_url, autocommit=True) as holder:
        holder.execute("drop table if exists c")
        holder.execute("create table c (n int)")
        yield holder


async def test_a_commit_after_one_that_was_cancelled_raises(
    my_url: str, locked: headrace.mysql.Connection[tuple[object, ...]]
) -> None:
    conn = await headrace.aio.mysql.connect(my_url)
    await conn.execute("insert into c values (1)")
    locked.execute("flush tables with read lock")
    try:
        with pytest.raises(TimeoutError):
            await conn.commit(timeout=0.2)
        for _ in range(100):  # asyncio only
            if conn.closed:  # asyncio only
                break  # asyncio only
            await asyncio.sleep(0.05)  # asyncio only
    finally:
        locked.execute("unlock tables")
    with pytest.raises(errors.ConnectionClosed, match="its changes are lost"):
        await conn.commit()
    assert locked.fetchval("select count(*) from c") == 0
    await conn.close()
