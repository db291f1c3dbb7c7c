"""A block of ``transaction()`` whose transaction the server has ended, by a deadlock for one: nothing of the block is
executed any more, and its end raises an error, whatever the program has caught in it."""

# Made by tools/async_to_sync.py of test_lost_transactions_async.py: edit that file, and run the tool.

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import pytest

import headrace
from headrace import errors
from servers import Database
from waiting import Work

TABLE = "hr_lost_transactions"
ROWS = 40


@pytest.fixture(autouse=True)
def table(any_db: Database) -> None:
    """Rows that two connections can lock."""
    with any_db.connect(autocommit=True) as conn:
        conn.execute(f"drop table if exists {TABLE}")
        conn.execute(f"create table {TABLE} (id int primary key, n int)")
        conn.executemany(f"insert into {TABLE} values ({any_db.differences.mark}, 0)", [(i,) for i in range(ROWS)])


def changed(db: Database) -> list[int]:
    """The rows that were changed for good."""
    with db.connect(autocommit=True) as conn:
        return sorted(row[0] for row in conn.execute(f"select id from {TABLE} where n > 0"))


def update(row: int) -> str:
    """A statement that changes one row, which must not be 30 or more."""
    return f"update {TABLE} set n = n + 1 where id = {row}"


@contextlib.contextmanager
def losing(db: Database, conn: Any) -> Iterator[str]:
    """A statement with which the server ends the connection's transaction."""
    if db.error_fails_transaction:
        yield "select 1/0"
    elif db.abort_hook is None:
        # Another connection, which has changed more rows, wins.
        with db.connect(autocommit=False) as rival:
            rival.execute(f"update {TABLE} set n = n - 1 where id >= 30")
            rival.execute(f"update {TABLE} set n = n - 1 where id = 11")
            conn.execute(update(10))
            waits = Work(rival.execute, f"update {TABLE} set n = n - 1 where id = 10")
            yield update(11)
            waits.result()
            rival.rollback()
    else:
        conn.execute(db.abort_hook)
        yield update(20)


def lose(db: Database, conn: Any) -> None:
    """Has the server end the connection's transaction, by an error that is caught."""
    with losing(db, conn) as statement, pytest.raises(errors.DatabaseError):
        conn.execute(statement)


def test_a_block_whose_transaction_was_lost_fails_at_its_end(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        with (
            pytest.raises(errors.InFailedSqlTransaction, match="rolled back, not committed") as caught,
            conn.transaction(),
        ):
            conn.execute(update(1))
            lose(any_db, conn)
        assert caught.value.sqlstate == "25P02"
        assert isinstance(caught.value, headrace.InternalError)
        conn.execute(update(2))
        with conn.transaction():
            conn.execute(update(3))
        assert not conn._core.in_transaction()
    assert changed(any_db) == [2, 3]


def test_what_follows_in_a_lost_block_is_not_executed(any_db: Database) -> None:
    mark = any_db.differences.mark
    with any_db.connect(autocommit=True) as conn:
        with pytest.raises(errors.InFailedSqlTransaction), conn.transaction():
            lose(any_db, conn)
            with pytest.raises(errors.InFailedSqlTransaction) as caught:
                conn.execute(update(4))
            assert caught.value.sqlstate == "25P02"
            with pytest.raises(errors.InFailedSqlTransaction):
                conn.fetch(f"select id from {TABLE}")
            with pytest.raises(errors.InFailedSqlTransaction):
                conn.executemany(f"update {TABLE} set n = n + 1 where id = {mark}", [(5,), (6,)])
            with pytest.raises(errors.InFailedSqlTransaction):
                conn.fetch_arrow(f"select id from {TABLE}")
        assert conn.fetchval(f"select count(*) from {TABLE}") == ROWS
    assert changed(any_db) == []


def test_a_lost_block_that_is_left_by_its_error_is_rolled_back(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        with pytest.raises(KeyError), conn.transaction():
            conn.execute(update(1))
            lose(any_db, conn)
            raise KeyError
        with conn.transaction():
            lose(any_db, conn)
            raise headrace.Rollback
        with conn.transaction(force_rollback=True):
            lose(any_db, conn)
        conn.execute(update(2))
    assert changed(any_db) == [2]


def test_a_savepoint_is_lost_with_the_block_around_it(any_db: Database) -> None:
    if any_db.error_fails_transaction:
        pytest.skip("its savepoints outlive errors")
    with any_db.connect(autocommit=True) as conn:
        with pytest.raises(errors.InFailedSqlTransaction, match="not committed"), conn.transaction():
            conn.execute(update(1))
            with pytest.raises(KeyError), conn.transaction():
                conn.execute(update(2))
                lose(any_db, conn)
                raise KeyError
            with pytest.raises(errors.InFailedSqlTransaction, match="not executed"):
                conn.execute(update(3))
            with pytest.raises(errors.InFailedSqlTransaction, match="not executed"), conn.transaction():
                pass
        conn.execute(update(4))
    assert changed(any_db) == [4]


def test_an_inner_block_whose_transaction_was_lost_fails_at_its_end(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        with pytest.raises(errors.InFailedSqlTransaction), conn.transaction():
            conn.execute(update(1))
            with conn.transaction():
                lose(any_db, conn)
        conn.execute(update(4))
    assert changed(any_db) == [4]


def test_a_pipeline_in_a_lost_block_is_not_executed(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        with pytest.raises(errors.InFailedSqlTransaction), conn.transaction():
            lose(any_db, conn)
            with pytest.raises(errors.InFailedSqlTransaction), conn.pipeline():
                for row in range(5):
                    conn.execute(update(row))
        with conn.transaction(), conn.pipeline():
            conn.execute(update(6))
    assert changed(any_db) == [6]


@pytest.mark.parametrize("from_the_start", [True, False])
def test_what_is_in_flight_when_the_transaction_is_lost_is_undone(any_db: Database, from_the_start: bool) -> None:
    with any_db.connect(autocommit=from_the_start) as conn:
        if not from_the_start:
            conn.fetchval(f"select count(*) from {TABLE}")
            conn.rollback()
            conn.autocommit = True
        for row in (1, 2):
            # Their statements are prepared.
            conn.execute(f"update {TABLE} set n = 0 where id = {row}")
        with pytest.raises(errors.InFailedSqlTransaction), conn.transaction():
            with losing(any_db, conn) as statement, pytest.raises(errors.DatabaseError), conn.pipeline():
                conn.execute(statement)
                for row in (1, 2):
                    conn.execute(f"update {TABLE} set n = {row} where id = {row}")
                    conn.execute(f"update {TABLE} set n = n + 1 where id = {any_db.differences.mark}", (row,))
            with pytest.raises(errors.InFailedSqlTransaction):
                conn.execute(update(3))
        assert conn.autocommit
        conn.execute(update(4))
        with conn.transaction(), conn.pipeline():
            conn.execute(update(5))
            conn.execute(update(6))
        conn.execute(update(7))
    assert changed(any_db) == [4, 5, 6, 7]


def test_a_block_within_a_transaction_of_the_program_fails_alone(any_db: Database) -> None:
    with any_db.connect(autocommit=False) as conn:
        conn.execute(update(1))
        with pytest.raises(errors.InFailedSqlTransaction), conn.transaction():
            lose(any_db, conn)
        if any_db.error_fails_transaction:
            conn.rollback()
        # There is no transaction any more: the next statement begins another.
        conn.execute(update(2))
        conn.commit()
        with conn.transaction():
            conn.execute(update(3))
        conn.commit()
    assert changed(any_db) == [2, 3]


def test_without_a_block_the_next_statement_begins_a_transaction(any_db: Database) -> None:
    with any_db.connect(autocommit=False) as conn:
        conn.execute(update(1))
        lose(any_db, conn)
        if any_db.error_fails_transaction:
            with pytest.raises(errors.InFailedSqlTransaction):
                conn.execute(update(2))
            conn.rollback()
        conn.execute(update(2))
        conn.commit()
    assert changed(any_db) == [2]


def test_an_error_that_leaves_the_transaction_does_not_end_the_block(any_db: Database) -> None:
    if any_db.error_fails_transaction:
        pytest.skip("every error fails its transaction")
    with any_db.connect(autocommit=True) as conn:
        with conn.transaction():
            conn.execute(update(1))
            with pytest.raises(errors.IntegrityError):
                conn.execute(f"insert into {TABLE} values (1, 1)")
            conn.execute(update(2))
            with conn.transaction(), pytest.raises(errors.IntegrityError):
                conn.execute(f"insert into {TABLE} values (1, 1)")
        with conn.transaction(), pytest.raises(errors.IntegrityError):
            conn.execute(f"insert into {TABLE} values (1, 1)")
    assert changed(any_db) == [1, 2]


def test_a_reset_ends_a_lost_block(any_db: Database) -> None:
    with any_db.connect(autocommit=True) as conn:
        with conn.transaction():
            lose(any_db, conn)
            conn.reset()
            conn.execute(update(1))
        conn.execute(update(2))
    assert changed(any_db) == [1, 2]
