"""Two transactions and the same row. The test server has SQLite's locks, one writer at a time, so that these tests
need a genuine one."""

from __future__ import annotations

import threading
import time

import pytest

import headrace.cubrid
from headrace import errors


def test_isolation_and_lock_timeout(url: str) -> None:
    with headrace.cubrid.connect(url, isolation_level="repeatable read", autocommit=True) as conn:
        assert conn.isolation_level == "repeatable read"
        conn.isolation_level = "serializable"
        with pytest.raises(errors.ProgrammingError, match="is not one of"):
            conn.isolation_level = "read uncommitted"
        conn.execute("drop table if exists hr_locks")
        conn.execute("create table hr_locks (n int primary key)")
        conn.execute("insert into hr_locks values (1)")
    with (
        headrace.cubrid.connect(url) as one,
        headrace.cubrid.connect(url, lock_timeout=0.2) as two,
    ):
        one.execute("update hr_locks set n = 2")
        started = time.monotonic()
        with pytest.raises(errors.LockNotAvailable):
            two.execute("update hr_locks set n = 3")
        assert time.monotonic() - started < 5
        two.rollback()
        one.execute("drop table hr_locks")


def test_a_deadlock_is_a_serialization_failure(url: str) -> None:
    with headrace.cubrid.connect(url, autocommit=True) as admin:
        admin.execute("drop table if exists hr_dead")
        admin.execute("create table hr_dead (n int primary key, v int)")
        admin.executemany("insert into hr_dead values (?, 0)", [(1,), (2,)])
        found: list[Exception] = []
        barrier = threading.Barrier(2)

        def cross(first: int, second: int) -> None:
            with headrace.cubrid.connect(url) as conn:
                conn.execute("update hr_dead set v = 1 where n = ?", (first,))
                barrier.wait()
                try:
                    conn.execute("update hr_dead set v = 1 where n = ?", (second,))
                except errors.Error as error:
                    found.append(error)
                    conn.rollback()
                    assert conn.fetchval("select 1") == 1

        threads = [threading.Thread(target=cross, args=pair) for pair in ((1, 2), (2, 1))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert [(type(error), error.sqlstate) for error in found if isinstance(error, errors.Error)] == [
            (errors.SerializationFailure, "40001")
        ]
        admin.execute("drop table hr_dead")
