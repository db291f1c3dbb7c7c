"""Errors after which MariaDB has rolled back the whole transaction, or only the statement, by its settings: headrace
asks for the status before the next statement of a ``transaction()`` block."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest

import headrace.testing
from headrace import errors


@pytest.fixture(scope="module")
def server() -> Iterator[headrace.testing.MariaDBServer]:
    """One that rolls back the transaction when a lock was waited for too long."""
    with headrace.testing.mariadb(settings={"innodb_rollback_on_timeout": "1"}) as running:
        yield running


def prepared(url: str) -> tuple[Any, Any]:
    """A connection in autocommit, and another one that has locked row 2."""
    conn: Any = headrace.connect(url, autocommit=True)
    rival: Any = headrace.connect(url, autocommit=False)
    conn.execute("drop table if exists ended")
    conn.execute("create table ended (id int primary key, n int)")
    conn.executemany("insert into ended values (?, 0)", [(1,), (2,), (3,)])
    rival.execute("update ended set n = -1 where id = 2")
    conn.execute("set innodb_lock_wait_timeout = 1")
    return conn, rival


def run(conn: Any, rival: Any, error: type[errors.Error]) -> None:
    """A block whose second change fails with an error that the program catches."""
    with conn.transaction():
        conn.execute("update ended set n = 1 where id = 1")
        with pytest.raises(error):
            conn.execute("update ended set n = 1 where id = 2")
        rival.rollback()
        conn.execute("update ended set n = 1 where id = 3")


def changed(conn: Any) -> list[tuple[int, int]]:
    """The rows that were changed for good."""
    rows: list[tuple[int, int]] = conn.fetch("select id, n from ended where n <> 0 order by id")
    return rows


@pytest.mark.slow
def test_a_lock_timeout_ends_the_block_where_it_ends_the_transaction(server: headrace.testing.MariaDBServer) -> None:
    conn, rival = prepared(server.url)
    with conn, rival:
        with pytest.raises(errors.InFailedSqlTransaction, match="1205"):
            run(conn, rival, errors.LockNotAvailable)
        assert changed(conn) == []


@pytest.mark.slow
def test_a_lock_timeout_leaves_the_block_where_it_undoes_the_statement(my_url: str) -> None:
    conn, rival = prepared(my_url)
    with conn, rival:
        run(conn, rival, errors.LockNotAvailable)
        assert changed(conn) == [(1, 1), (3, 1)]


def test_a_row_that_is_newer_than_the_snapshot_ends_the_block(server: headrace.testing.MariaDBServer) -> None:
    conn, rival = prepared(server.url)
    with conn, rival:
        rival.rollback()
        conn.execute("set innodb_snapshot_isolation = 1")
        with pytest.raises(errors.InFailedSqlTransaction, match="1020"), conn.transaction():
            conn.execute("update ended set n = 1 where id = 1")
            assert conn.fetchval("select n from ended where id = 2") == 0
            rival.execute("update ended set n = -1 where id = 2")
            rival.commit()
            with pytest.raises(errors.OperationalError):
                conn.execute("update ended set n = 1 where id = 2")
            conn.execute("update ended set n = 1 where id = 3")
        assert changed(conn) == [(2, -1)]
