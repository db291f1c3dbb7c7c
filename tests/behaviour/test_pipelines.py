"""Pipelines belong to the task or thread that entered them."""

# Made by tools/async_to_sync.py of test_pipelines_async.py: edit that file, and run the tool.

from __future__ import annotations

import contextlib
from typing import Any

import pytest

import headrace
from headrace import errors
from headrace.types import TransactionStatus

INSERT = "insert into t values (%s)"


@pytest.fixture(autouse=True)
def _table(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        conn.executescript("drop table if exists t; create table t (n int primary key); insert into t values (1)")


# What the user's own words do to the transaction.


@pytest.mark.parametrize("end", ["COMMIT", "/* done */ end work", "ROLLBACK", "COMMIT AND CHAIN"])
@pytest.mark.parametrize("script", [False, True])
def test_after_a_commit_in_the_users_own_words_the_next_statement_has_its_begin(
    url: str, end: str, script: bool
) -> None:
    with headrace.connect(url) as conn, headrace.connect(url, autocommit=True) as other:
        with conn.pipeline():
            conn.execute(INSERT, (2,))
            conn.executescript(f"{INSERT % 3}; {end}") if script else conn.execute(end)
            conn.execute(INSERT, (4,))
        assert conn.transaction_status is TransactionStatus.INTRANS
        assert other.fetch("select n from t where n = 4") == []
        conn.rollback()
        kept = [1] if end == "ROLLBACK" else [1, 2, 3] if script else [1, 2]
        assert other.fetch("select n from t order by n") == [(n,) for n in kept]


def test_a_begin_in_the_users_own_words_is_seen_by_what_follows(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        with conn.pipeline():
            conn.execute("begin")
            conn.execute(INSERT, (2,))
        assert conn.transaction_status is TransactionStatus.INTRANS
        assert len(list(conn.stream("select n from t", fetch_size=1))) == 2
        assert conn.transaction_status is TransactionStatus.INTRANS
        conn.rollback()
        assert conn.fetchval("select count(*) from t") == 1


# A failed transaction is not committed in silence.


def fail(conn: Any) -> None:
    conn.execute(INSERT, (2,))
    with pytest.raises(errors.UniqueViolation):
        conn.execute(INSERT, (1,))


def test_commit_of_a_failed_transaction_raises(url: str) -> None:
    with headrace.connect(url) as conn:
        fail(conn)
        with pytest.raises(errors.InFailedSqlTransaction, match="rolled back, not committed"):
            conn.commit()
        assert conn.transaction_status is TransactionStatus.IDLE
        conn.commit()
    with pytest.raises(errors.InFailedSqlTransaction), headrace.connect(url) as conn:
        fail(conn)
    assert conn.closed
    with headrace.connect(url, autocommit=True) as conn:
        with pytest.raises(errors.InFailedSqlTransaction), conn.transaction():
            fail(conn)
        with conn.transaction(force_rollback=True):
            fail(conn)
        with conn.transaction():
            fail(conn)
            raise headrace.Rollback
        assert conn.fetch("select n from t") == [(1,)]


def test_commit_of_a_failed_transaction_raises_and_a_block_too(url: str) -> None:
    with headrace.connect(url) as conn:
        with contextlib.suppress(errors.UniqueViolation):
            conn.execute(INSERT, (1,))
        with pytest.raises(errors.InFailedSqlTransaction):
            conn.commit()
        with (
            pytest.raises(errors.InFailedSqlTransaction),
            conn.transaction(),
            contextlib.suppress(errors.UniqueViolation),
        ):
            conn.execute(INSERT, (1,))
        assert conn.transaction_status is TransactionStatus.IDLE
