"""What a blocking driver promises to threads, on MariaDB, MySQL, and the servers of Informix and CUBRID."""

from __future__ import annotations

import _thread
import threading
import time
from typing import Any

import pytest

from headrace import errors
from servers import Database

SOON = 5.0
"""Seconds within which a cancelled statement has ended; it would run for far longer."""


def test_another_thread_can_cancel(db: Database, conn: Any) -> None:
    timer = threading.Timer(0.3, conn.cancel)
    timer.start()
    try:
        with pytest.raises(errors.QueryCanceled):
            conn.execute(db.slow)
            # MariaDB ends sleep() with a result.
            raise errors.QueryCanceled("sleep() was interrupted")
    finally:
        timer.join()
    assert conn.fetchval("select count(*) from numbers") == 1000


def test_ctrl_c(db: Database, conn: Any) -> None:
    timer = threading.Timer(0.3, _thread.interrupt_main)
    timer.start()
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        conn.execute(db.slow)
    timer.join()
    assert time.monotonic() - started < SOON
    assert conn.fetchval("select count(*) from numbers") == 1000


def test_threads_share_a_connection(conn: Any) -> None:
    conn.executemany("insert into t values (?, ?)", [(n, str(n)) for n in range(100)])
    wrong: list[Any] = []

    def look(start: int) -> None:
        for n in range(start, 100, 4):
            if conn.fetchval("select name from t where id = ?", n) != str(n):
                wrong.append(n)

    threads = [threading.Thread(target=look, args=(start,)) for start in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
