"""Statements of a pool: each is a transaction of its own on a connection that is lent for it."""

# Made by tools/async_to_sync.py of test_pool_queries_async.py: edit that file, and run the tool.

from __future__ import annotations

from typing import Any

import pytest

from headrace import errors
from headrace.pool import ConnectionPool
from headrace.rows import dict_row
from servers import Database


def test_statements_of_a_pool_are_transactions_of_their_own(any_db: Database) -> None:
    mark, other = any_db.native_marks(2)
    connect: Any = any_db.connect
    keywords = {"connect": lambda _, **rest: connect(**rest), "min_size": 1, "max_size": 1}
    with ConnectionPool(**keywords) as pool:
        pool.execute("drop table if exists pooled")
        pool.execute(f"create table pooled (n int, v varchar(20)) {any_db.transactional}")
        cursor = pool.execute(f"insert into pooled values ({mark}, {other})", (1, "one"))
        assert cursor.rowcount == 1
        cursor = pool.executemany(f"insert into pooled values ({mark}, {other})", [(2, "two"), (3, "three")])
        assert cursor.rowcount == 2
        assert pool.fetch("select n, v from pooled order by n") == [(1, "one"), (2, "two"), (3, "three")]
        assert pool.fetchrow(f"select v from pooled where n = {mark}", 2) == ("two",)
        assert pool.fetchrow(f"select v from pooled where n = {mark}", 9) is None
        assert pool.fetchval("select count(*) from pooled", timeout=30) == 3
        rows = pool.execute("select n from pooled order by n")
        assert rows.fetchall() == [(1,), (2,), (3,)]
        with pytest.raises(errors.Error):
            rows.execute("select n from pooled")
        with pytest.raises(errors.DatabaseError):
            pool.execute("insert into nowhere values (1)")
        with pytest.raises(TypeError, match="params"):
            pool.fetch("select 1", params=(1,))  # type: ignore[arg-type]
        assert pool.stats().in_use == 0
        pool.execute("delete from pooled")
    with ConnectionPool(**keywords, row_factory=dict_row) as pool:
        assert pool.fetch("select n, v from pooled") == []
        assert list(pool.fetchrow("select count(*) as c from pooled").values()) == [0]
        pool.execute("drop table pooled")
