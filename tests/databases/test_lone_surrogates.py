"""A text that has no UTF-8 is refused before anything is sent, wherever it is."""

from __future__ import annotations

from typing import Any

import pytest

from headrace import errors
from servers import Database

LONE = "a\ud800b"


@pytest.fixture
def insert(any_db: Database) -> Any:
    """A connection, and a statement with one parameter."""
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists lone_surrogates")
        conn.execute("create table lone_surrogates (name varchar(20))")
        yield conn, f"insert into lone_surrogates values ({any_db.differences.mark})"
        conn.execute("drop table lone_surrogates")


def test_parameter(insert: Any) -> None:
    conn, sql = insert
    with pytest.raises(errors.DataError, match="not Unicode"):
        conn.execute(sql, (LONE,))
    with pytest.raises(errors.DataError, match="not Unicode") as failed:
        conn.executemany(sql, [("a",), (LONE,), ("b",)])
    assert failed.value.row == 1
    assert conn.fetchval("select count(*) from lone_surrogates") == 0
    conn.execute(sql, ("a",))
    assert conn.fetch("select name from lone_surrogates") == [("a",)]


def test_statement(insert: Any) -> None:
    conn, _ = insert
    with pytest.raises(errors.ProgrammingError, match="not Unicode"):
        conn.execute(f"select '{LONE}' from lone_surrogates")
    with pytest.raises(errors.ProgrammingError, match="not Unicode"):
        conn.executemany(f"insert into lone_surrogates values ('{LONE}')", [(), ()])
    assert conn.fetchval("select count(*) from lone_surrogates") == 0
