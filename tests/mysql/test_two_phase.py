"""Two-phase commit on MySQL and MariaDB: XA by the names of PEP 249."""

# Made by tools/async_to_sync.py of test_two_phase_async.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import headrace
import headrace.mysql
from headrace import errors
from headrace.pool import ConnectionPool
from headrace.types import Xid
from waiting import Work

INSERT = "insert into phases values (?)"


@pytest.fixture
def table(my: headrace.mysql.Connection[Any]) -> Iterator[headrace.mysql.Connection[Any]]:
    """A connection that sees what others have committed into an empty table. Nothing stays prepared."""
    my.execute("drop table if exists phases")
    my.execute("create table phases (n int primary key) engine=innodb")
    yield my
    my.autocommit = False
    for xid in my.tpc_recover():
        my.tpc_rollback(xid)


def committed(table: headrace.mysql.Connection[Any]) -> list[int]:
    return [n for (n,) in table.fetch("select n from phases order by n")]


def test_a_prepared_transaction_outlives_its_session(my_url: str, table: Any) -> None:
    conn = headrace.mysql.connect(my_url)
    xid = conn.xid(42, "überweisung", "branch")
    conn.tpc_begin(xid)
    conn.execute(INSERT, (7,))
    with pytest.raises(errors.ProgrammingError, match="tpc_commit"):
        conn.commit()
    with pytest.raises(errors.ProgrammingError, match="two-phase"), conn.transaction():
        pass
    conn.tpc_prepare()
    with pytest.raises(errors.ProgrammingError, match="already"):
        conn.tpc_prepare()
    conn.close()
    assert committed(table) == []
    with headrace.mysql.connect(my_url) as conn:
        assert xid in conn.tpc_recover()
        conn.tpc_commit(xid)
        assert xid not in conn.tpc_recover()
    assert committed(table) == [7]


def test_each_end(my_url: str, table: Any) -> None:
    with headrace.mysql.connect(my_url) as conn:
        for n, (prepares, commits) in enumerate([(True, True), (True, False), (False, True), (False, False)]):
            conn.tpc_begin(f"end {n}")
            conn.executemany(INSERT, [(10 * n,), (10 * n + 1,)])
            assert conn.transaction_status.name == "INTRANS"
            if prepares:
                conn.tpc_prepare()
            (conn.tpc_commit() if commits else conn.tpc_rollback())
            assert conn.transaction_status.name == "IDLE"
        assert conn.tpc_recover() == []
        conn.execute(INSERT, (99,))
    assert committed(table) == [0, 1, 20, 21, 99]


def test_a_text_is_a_global_transaction_id_without_a_branch(my_url: str, table: Any) -> None:
    with headrace.mysql.connect(my_url) as conn:
        conn.tpc_begin("it's")
        conn.execute(INSERT, (1,))
        conn.tpc_prepare()
        assert conn.tpc_recover() == [Xid(1, "it's", "")]
        conn.tpc_commit()
    with headrace.mysql.connect(my_url) as conn:
        with pytest.raises(errors.ProgrammingError, match="64 bytes"):
            conn.tpc_begin("x" * 65)
        with pytest.raises(TypeError, match="xid"):
            conn.tpc_begin(1)  # type: ignore[arg-type]
        conn.execute(INSERT, (2,))
    assert committed(table) == [1, 2]


def test_calls_out_of_order_are_refused_before_anything_is_sent(my_url: str, table: Any) -> None:
    with headrace.mysql.connect(my_url) as conn:
        for early in (conn.tpc_prepare, conn.tpc_commit, conn.tpc_rollback):
            with pytest.raises(errors.ProgrammingError, match="tpc_begin"):
                early()
        conn.execute(INSERT, (1,))
        with pytest.raises(errors.ProgrammingError, match="outside of a transaction"):
            conn.tpc_begin("late")
        conn.rollback()
        conn.tpc_begin("open")
        with pytest.raises(errors.ProgrammingError, match="with an xid"):
            conn.tpc_commit("other")
        conn.tpc_rollback()
    with (
        headrace.mysql.connect(my_url, autocommit=True) as conn,
        pytest.raises(errors.ProgrammingError, match="autocommit"),
    ):
        conn.tpc_begin("auto")


def test_an_id_that_another_session_has_is_left_to_it(my_url: str, table: Any) -> None:
    with headrace.mysql.connect(my_url) as one, headrace.mysql.connect(my_url) as two:
        one.tpc_begin("same")
        one.execute(INSERT, (1,))
        one.tpc_prepare()
        with pytest.raises(errors.DatabaseError):
            two.tpc_begin("same")
        assert two.transaction_status.name == "IDLE"
        two.execute(INSERT, (2,))
        two.commit()
        one.tpc_commit()
    assert committed(table) == [1, 2]


def test_a_failed_statement_leaves_a_transaction_to_be_rolled_back(my_url: str, table: Any) -> None:
    table.execute("insert into phases values (1), (2)")
    with headrace.mysql.connect(my_url) as conn:
        conn.tpc_begin("failed")
        conn.execute("update phases set n = 10 where n = 1")
        with pytest.raises(errors.UniqueViolation):
            conn.execute(INSERT, (2,))
        conn.tpc_rollback()
        assert conn.fetchval("select 1") == 1
    assert committed(table) == [1, 2]


def test_a_deadlock_leaves_one_that_can_only_be_rolled_back(my_url: str, table: Any) -> None:
    table.execute("insert into phases values (1), (2)")
    with headrace.mysql.connect(my_url) as conn, headrace.mysql.connect(my_url) as other:
        # The server ends the one that has changed fewer rows.
        other.executemany(INSERT, [(n,) for n in range(100, 200)])
        other.execute("update phases set n = 20 where n = 2")
        conn.tpc_begin("deadlock")
        conn.execute("update phases set n = 10 where n = 1")
        work = Work(other.execute, "update phases set n = 11 where n = 1")
        with pytest.raises(errors.DeadlockDetected):
            conn.execute("update phases set n = 21 where n = 2")
        work.result()
        other.rollback()
        with pytest.raises(errors.DatabaseError):
            conn.tpc_prepare()
        conn.tpc_rollback()
        assert conn.fetchval("select 1") == 1
    assert committed(table) == [1, 2]


def test_a_block_that_leaves_one_open_says_that_nothing_is_stored(my_url: str, table: Any) -> None:
    with pytest.raises(errors.ProgrammingError, match="tpc_commit"), headrace.mysql.connect(my_url) as conn:
        conn.tpc_begin("open")
        conn.execute(INSERT, (1,))
    assert conn.closed
    with headrace.mysql.connect(my_url) as conn:
        conn.tpc_begin("prepared")
        conn.execute(INSERT, (2,))
        conn.tpc_prepare()
    with headrace.mysql.connect(my_url) as conn:
        conn.tpc_commit("prepared")
    assert committed(table) == [2]


@pytest.mark.parametrize("prepared", [False, True])
def test_a_pool_does_not_lend_it_on(my_url: str, table: Any, prepared: bool) -> None:
    with ConnectionPool(my_url, min_size=1, max_size=1) as pool:
        conn = pool.getconn()
        conn.tpc_begin("left")
        conn.execute(INSERT, (1,))
        if prepared:
            conn.tpc_prepare()
        pool.putconn(conn)
        with pool.connection() as conn:
            conn.execute(INSERT, (2,))
        with pool.connection() as conn:
            found = conn.tpc_recover()
            assert found == ([Xid(1, "left", "")] if prepared else [])
            for xid in found:
                conn.tpc_commit(xid)
    assert committed(table) == ([1, 2] if prepared else [2])
