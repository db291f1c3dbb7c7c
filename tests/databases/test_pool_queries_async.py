"""Statements of a pool: each is a transaction of its own on a connection that is lent for it."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import errors
from headrace.aio.pool import AsyncConnectionPool
from headrace.rows import dict_row
from servers import Database


async def test_statements_of_a_pool_are_transactions_of_their_own(any_db: Database) -> None:
    mark, other = any_db.native_marks(2)
    aconnect: Any = any_db.aconnect
    keywords = {"connect": lambda _, **rest: aconnect(**rest), "min_size": 1, "max_size": 1}
    async with AsyncConnectionPool(**keywords) as pool:
        await pool.execute("drop table if exists pooled")
        await pool.execute(f"create table pooled (n int, v varchar(20)) {any_db.transactional}")
        cursor = await pool.execute(f"insert into pooled values ({mark}, {other})", (1, "one"))
        assert cursor.rowcount == 1
        cursor = await pool.executemany(f"insert into pooled values ({mark}, {other})", [(2, "two"), (3, "three")])
        assert cursor.rowcount == 2
        assert await pool.fetch("select n, v from pooled order by n") == [(1, "one"), (2, "two"), (3, "three")]
        assert await pool.fetchrow(f"select v from pooled where n = {mark}", 2) == ("two",)
        assert await pool.fetchrow(f"select v from pooled where n = {mark}", 9) is None
        assert await pool.fetchval("select count(*) from pooled", timeout=30) == 3
        rows = await pool.execute("select n from pooled order by n")
        assert await rows.fetchall() == [(1,), (2,), (3,)]
        with pytest.raises(errors.Error):
            await rows.execute("select n from pooled")
        with pytest.raises(errors.DatabaseError):
            await pool.execute("insert into nowhere values (1)")
        with pytest.raises(TypeError, match="params"):
            await pool.fetch("select 1", params=(1,))  # type: ignore[arg-type]
        assert pool.stats().in_use == 0
        await pool.execute("delete from pooled")
    async with AsyncConnectionPool(**keywords, row_factory=dict_row) as pool:
        assert await pool.fetch("select n, v from pooled") == []
        assert list((await pool.fetchrow("select count(*) as c from pooled")).values()) == [0]
        await pool.execute("drop table pooled")
