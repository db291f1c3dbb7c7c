"""Savepoints of ``transaction()`` blocks that have a name of the user's own."""

# Made by tools/async_to_sync.py of test_named_savepoints_async.py: edit that file, and run the tool.

from __future__ import annotations

import pytest

import headrace
from servers import Database


@pytest.fixture
def place(any_db: Database) -> str:
    """The URL of a database with an empty table."""
    with any_db.connect(autocommit=True) as conn:
        conn.execute("drop table if exists marked")
        conn.execute("create table marked (n int)")
    return any_db.url


def rows(url: str) -> list[int]:
    with headrace.connect(url, autocommit=True) as conn:
        return [n for (n,) in conn.fetch("select n from marked order by n")]


def test_named_savepoint_of_the_outermost_block_can_be_returned_to(place: str) -> None:
    with headrace.connect(place, autocommit=True) as conn:
        with conn.transaction("mark"):
            conn.execute("insert into marked values (1)")
            conn.execute("rollback to savepoint mark")
            conn.execute("insert into marked values (2)")
        assert rows(place) == [2]


def test_inner_block_is_undone_to_its_named_savepoint_alone(place: str) -> None:
    with headrace.connect(place, autocommit=True) as conn, conn.transaction():
        conn.execute("insert into marked values (1)")
        with pytest.raises(ZeroDivisionError), conn.transaction("mark"):
            conn.execute("insert into marked values (2)")
            raise ZeroDivisionError
        conn.execute("insert into marked values (3)")
    assert rows(place) == [1, 3]


def test_block_whose_savepoint_cannot_be_named_so_leaves_no_transaction(place: str) -> None:
    with headrace.connect(place, autocommit=True) as conn:
        with pytest.raises(headrace.ProgrammingError), conn.transaction("a\0b"):
            raise AssertionError("the block is not entered")
        assert conn.transaction_status is headrace.types.TransactionStatus.IDLE
        conn.execute("insert into marked values (1)")
        assert rows(place) == [1]
