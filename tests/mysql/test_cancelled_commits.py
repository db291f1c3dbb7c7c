"""The commit after one that was cancelled while it waited does not report what the server has rolled back as stored."""

# Made by tools/async_to_sync.py of test_cancelled_commits_async.py: edit that file, and run the tool.

from __future__ import annotations

from collections.abc import Iterator

import pytest

import headrace.mysql
from headrace import errors


@pytest.fixture
def locked(my_url: str) -> Iterator[headrace.mysql.Connection[tuple[object, ...]]]:
    """Another session, which keeps all commits waiting when it locks everything."""
    with headrace.mysql.connect(my_url, autocommit=True) as holder:
        holder.execute("drop table if exists c")
        holder.execute("create table c (n int)")
        yield holder


def test_a_commit_after_one_that_was_cancelled_raises(
    my_url: str, locked: headrace.mysql.Connection[tuple[object, ...]]
) -> None:
    conn = headrace.mysql.connect(my_url)
    conn.execute("insert into c values (1)")
    locked.execute("flush tables with read lock")
    try:
        with pytest.raises(TimeoutError):
            conn.commit(timeout=0.2)
    finally:
        locked.execute("unlock tables")
    with pytest.raises(errors.ConnectionClosed, match="its changes are lost"):
        conn.commit()
    assert locked.fetchval("select count(*) from c") == 0
    conn.close()
