"""The commit after one that was cancelled while it waited does not report what the server has rolled back as stored."""

# Made by tools/async_to_sync.py of test_cancelled_commits_async.py: edit that file, and run the tool.

from __future__ import annotations

from typing import Any

import pytest

import headrace.postgres
from headrace import errors

SLOW = """
    create table slow_ends (n int);
    create function slow_end() returns trigger language plpgsql as 'begin perform pg_sleep(60); return null; end';
    create constraint trigger slow after insert on slow_ends deferrable initially deferred
        for each row execute function slow_end()
"""


def test_a_commit_after_one_that_was_cancelled_raises(url: str, dba: Any) -> None:
    dba.executescript(SLOW)
    conn = headrace.postgres.connect(url)
    conn.execute("insert into slow_ends values (1)")
    with pytest.raises(TimeoutError):
        conn.commit(timeout=0.2)
    with pytest.raises(errors.ConnectionClosed, match="its changes are lost"):
        conn.commit()
    assert dba.fetchval("select count(*) from slow_ends") == 0
    conn.close()
