"""The commit after one that was cancelled while it waited does not report what the server has rolled back as stored."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest

import headrace.aio.postgres
from headrace import errors

SLOW = """
    create table slow_ends (n int);
    create function slow_end() returns trigger language plpgsql as 'begin perform pg_sleep(60); return null; end';
    create constraint trigger slow after insert on slow_ends deferrable initially deferred
        for each row execute function slow_end()
"""


async def test_a_commit_after_one_that_was_cancelled_raises(url: str, dba: Any) -> None:
    dba.executescript(SLOW)
    conn = await headrace.aio.postgres.connect(url)
    await conn.execute("insert into slow_ends values (1)")
    with pytest.raises(TimeoutError):
        await conn.commit(timeout=0.2)
    while not conn.closed:  # asyncio only
        await asyncio.sleep(0.01)  # asyncio only
    with pytest.raises(errors.ConnectionClosed, match="its changes are lost"):
        await conn.commit()
    assert dba.fetchval("select count(*) from slow_ends") == 0
    await conn.close()
