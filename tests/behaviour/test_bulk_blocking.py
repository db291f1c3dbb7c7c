"""Notifications from another thread."""

from __future__ import annotations

import threading

import pytest

import headrace


@pytest.fixture(autouse=True)
def _table(url: str) -> None:
    with headrace.connect(url, autocommit=True) as conn:
        conn.execute("drop table if exists c")
        conn.execute("create table c (n int primary key, t text, d date)")


def test_notifications(url: str) -> None:
    with headrace.connect(url, autocommit=True) as listener, headrace.connect(url, autocommit=True) as sender:
        listener.listen("news")
        threading.Timer(
            0.1, lambda: sender.execute("select pg_notify('news', 'one'), pg_notify('news', 'two')")
        ).start()
        assert [n.payload for n in listener.notifies(timeout=5, stop_after=2)] == ["one", "two"]
        assert list(listener.notifies(timeout=0.05)) == []
        assert listener.fetchval("select 1") == 1
