"""Interrupts of the test server: they leave the transaction as it was, or it says that the transaction is gone."""

from __future__ import annotations

import threading
import time
from typing import Any

import pytest

import headrace.informix
from headrace import errors
from headrace.testing import InformixServer


def test_a_long_change_that_is_broken_off_takes_its_transaction_with_it(ifx: InformixServer, table: str) -> None:
    with headrace.informix.connect(**ifx.parameters(), autocommit=True) as conn:
        conn.execute(f"create table {table} (a int)")
        conn.executemany(f"insert into {table} values (?)", [(n,) for n in range(3000)])
        conn.execute("begin work")
        conn.execute(f"insert into {table} values (-1)")
        endless = f"update {table} set a = (select count(*) from {table} x, {table} y where x.a + y.a = {table}.a)"
        started = time.monotonic()
        with pytest.raises(TimeoutError):
            conn.execute(endless, timeout=0.2)
        assert time.monotonic() - started < 10
        change: Any = f"insert into {table} values (-2)"
        for lost in (change, f"select count(*) from {table}", "commit work"):
            with pytest.raises(errors.OperationalError, match="-458"):
                conn.execute(lost)
        conn.execute("rollback work")
        assert conn.fetchval(f"select count(*) from {table} where a < 0") == 0
        assert conn.fetchval(f"select count(*) from {table}") == 3000
        conn.execute(change)


def test_a_cancelled_query_leaves_the_transaction_as_it_was(ifx: InformixServer, table: str) -> None:
    with headrace.informix.connect(**ifx.parameters()) as conn:
        conn.execute(f"create table {table} (a int)")
        conn.executemany(f"insert into {table} values (?)", [(n,) for n in range(3000)])
        timer = threading.Timer(0.2, conn.cancel)
        timer.start()
        with pytest.raises(errors.QueryCanceled):
            conn.fetchval(f"select count(*) from {table} a, {table} b, {table} c where a.a + b.a + c.a = -1")
        timer.join()
        assert conn.fetchval(f"select count(*) from {table}") == 3000
        conn.commit()
