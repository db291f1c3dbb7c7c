"""Transactions: implicit, blocks, savepoints, modes, two phases."""

# Made by tools/async_to_sync.py of test_transactions_async.py: edit that file, and run the tool.

from __future__ import annotations

import contextlib
from typing import Any

import pytest

import headrace
from headrace import errors
from headrace.types import TransactionStatus

Conn = headrace.Connection[Any]


@pytest.fixture(scope="module", autouse=True)
def _table(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        conn.execute("create table t (n int primary key)")


@pytest.fixture(autouse=True)
def _empty(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        conn.execute("truncate t")


def count(url: str) -> int:
    with headrace.connect(url) as other:
        return int(other.fetchval("select count(*) from t"))


def test_a_statement_begins_a_transaction_that_commit_ends(conn: Conn, url: str) -> None:
    assert conn.transaction_status == TransactionStatus.IDLE
    conn.execute("insert into t values (1)")
    assert conn.transaction_status == TransactionStatus.INTRANS
    assert count(url) == 0
    conn.commit()
    assert conn.transaction_status == TransactionStatus.IDLE
    assert count(url) == 1
    conn.execute("insert into t values (2)")
    conn.rollback()
    assert count(url) == 1


def test_a_connection_block_commits_or_rolls_back(url: str) -> None:
    with headrace.connect(url) as conn:
        conn.execute("insert into t values (1)")
    assert conn.closed
    assert count(url) == 1
    with pytest.raises(ZeroDivisionError), headrace.connect(url) as conn:
        conn.execute("insert into t values (2)")
        raise ZeroDivisionError
    assert count(url) == 1


def test_after_an_error_the_transaction_has_failed_until_rollback(conn: Conn) -> None:
    with pytest.raises(errors.SyntaxError):
        conn.execute("selec")
    assert conn.transaction_status == TransactionStatus.INERROR
    with pytest.raises(errors.InFailedSqlTransaction):
        conn.execute("select 1")
    conn.rollback()
    assert conn.fetchval("select 1") == 1


def test_nested_blocks_are_savepoints(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        with conn.transaction():
            conn.execute("insert into t values (1)")
            with pytest.raises(errors.UniqueViolation), conn.transaction():
                conn.execute("insert into t values (2)")
                conn.execute("insert into t values (1)")
            with conn.transaction():
                conn.execute("insert into t values (3)")
                raise headrace.Rollback
            with conn.transaction("named"):
                conn.execute("insert into t values (4)")
        assert conn.transaction_status == TransactionStatus.IDLE
        assert conn.fetch("select n from t order by 1") == [(1,), (4,)]
        with conn.transaction(force_rollback=True):
            conn.execute("insert into t values (5)")
        assert conn.fetchval("select count(*) from t") == 2


def test_commit_inside_a_block_is_refused(conn: Conn) -> None:
    with conn.transaction(), pytest.raises(errors.ProgrammingError, match="transaction"):
        conn.commit()


@pytest.mark.parametrize("level", ["serializable", "repeatable read", "read committed"])
def test_isolation_levels(conn: Conn, level: str) -> None:
    conn.isolation_level = level
    assert conn.fetchval("show transaction_isolation") == level


def test_modes_change_only_between_transactions(conn: Conn) -> None:
    conn.read_only = True
    with pytest.raises(errors.ReadOnlySqlTransaction):
        conn.execute("insert into t values (1)")
    with pytest.raises(errors.ProgrammingError, match="inside a transaction"):
        conn.read_only = False
    conn.rollback()
    conn.read_only = None
    conn.isolation_level = "serializable"
    conn.deferrable = True
    assert conn.fetchval("show transaction_deferrable") == "on"
    conn.rollback()
    with pytest.raises(errors.ProgrammingError, match="isolation_level"):
        conn.isolation_level = "none at all"


def test_two_phase_commit(url: str) -> None:
    conn = headrace.connect(url)
    xid = conn.xid(42, "global", "branch")
    conn.tpc_begin(xid)
    conn.execute("insert into t values (7)")
    with pytest.raises(errors.ProgrammingError):
        conn.commit()
    conn.tpc_prepare()
    conn.close()
    assert count(url) == 0
    with headrace.connect(url) as conn:
        assert xid in conn.tpc_recover()
        conn.rollback()
        conn.tpc_commit(xid)
    assert count(url) == 1
    with headrace.connect(url) as conn:
        conn.tpc_begin("plain")
        conn.execute("insert into t values (8)")
        conn.tpc_rollback()
    assert count(url) == 1


def test_a_failed_block_in_a_block_leaves_the_outer_one(conn: Any, url: str) -> None:
    with conn.transaction():
        conn.execute("insert into t values (1)")
        with pytest.raises(errors.UniqueViolation), conn.transaction():
            conn.execute("insert into t values (1)")
    assert count(url) == 1
    conn.execute("insert into t values (2)")
    conn.rollback()
    assert count(url) == 1


def test_a_block_begins_with_its_first_statement(url: str) -> None:
    with (
        headrace.connect(url, autocommit=True) as conn,
        headrace.connect(url, autocommit=True) as watch,
    ):
        state = f"select state from pg_stat_activity where pid = {conn.backend_pid}"
        with conn.transaction():
            # Nothing was sent, but the state is that of a transaction.
            assert watch.fetchval(state) == "idle"
            assert conn.transaction_status == TransactionStatus.INTRANS
            with pytest.raises(errors.ProgrammingError, match="inside a transaction"):
                conn.read_only = True
            conn.execute("insert into t values (1)")
            assert watch.fetchval(state) == "idle in transaction"
            assert count(url) == 0
        assert count(url) == 1
        with conn.transaction(), conn.transaction():
            conn.execute("insert into t values (2)")
        with contextlib.suppress(ZeroDivisionError), conn.transaction(), conn.transaction("inner"):
            raise ZeroDivisionError
        with conn.transaction():
            with contextlib.suppress(errors.SyntaxError), conn.transaction():
                conn.execute("selec")
            conn.executemany("insert into t values (%s)", [(3,), (4,)])
            assert list(conn.stream("select n from t order by n")) == [(1,), (2,), (3,), (4,)]
        with conn.transaction():
            pass
        assert conn.transaction_status == TransactionStatus.IDLE
        assert count(url) == 4
        # Behind a block, statements stand for themselves again.
        conn.execute("insert into t values (5)")
        assert count(url) == 5


def test_an_outermost_block_with_a_name_ends_after_an_error_that_was_caught(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        with (
            pytest.raises(errors.InFailedSqlTransaction, match="rolled back, not committed"),
            conn.transaction("named"),
            contextlib.suppress(errors.SyntaxError),
        ):
            conn.execute("selec")
        assert conn.transaction_status == TransactionStatus.IDLE


def test_a_block_that_a_reset_has_ended_ends_nothing_else(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        for left_over in (conn.stream("select generate_series(1, 9)", fetch_size=1), conn.transaction()):
            block = left_over if hasattr(left_over, "close") else left_over.gen
            next(block)
            conn.reset()
            with conn.transaction():
                conn.execute("insert into t values (1)")
                block.close()
                assert conn.transaction_status == TransactionStatus.INTRANS
            assert count(url) == 1
            conn.execute("delete from t")
            assert conn.transaction_status == TransactionStatus.IDLE


def test_a_cursor_of_the_server_in_a_pipeline(conn: Conn) -> None:
    with conn.pipeline():
        one = conn.execute("select 1")
        cursor = conn.cursor(name="c", scrollable=True)
        cursor.execute("select generate_series(1, 9)")
        assert cursor.fetchmany(2) == [(1,), (2,)]
        cursor.scroll(8, mode="absolute")
        two = conn.execute("select 2")
        assert cursor.fetchall() == [(9,)]
        cursor.close()
    assert (one.fetchone(), two.fetchone()) == ((1,), (2,))


def test_a_failed_transaction_is_not_prepared_in_silence(url: str) -> None:
    with headrace.connect(url) as conn:
        for end in (conn.tpc_prepare, conn.tpc_commit):
            conn.tpc_begin("failed")
            conn.execute("insert into t values (9)")
            with pytest.raises(errors.DivisionByZero):
                conn.execute("select 1 / 0")
            with pytest.raises(errors.InFailedSqlTransaction, match="not committed"):
                end()
            assert conn.transaction_status is TransactionStatus.IDLE
            assert conn.fetchval("select count(*) from t where n = 9") == 0
            conn.rollback()
        assert conn.tpc_recover() == []


def test_a_rollback_of_an_outer_block_is_refused(conn: Conn, url: str) -> None:
    with pytest.raises(TypeError, match="an exception of your own"), conn.transaction() as outer:
        conn.execute("insert into t values (10)")
        with conn.transaction():
            raise headrace.Rollback(outer)
    assert conn.fetchval("select count(*) from t where n = 10") == 0
    with conn.transaction():
        raise headrace.Rollback("with a reason")
