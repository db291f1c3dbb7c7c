"""A daemon that is killed: what was under way may have been done, and the error says so."""

# Made by tools/async_to_sync.py of test_killed_async.py: edit that file, and run the tool.

from __future__ import annotations

import pytest

import headrace
from waiting import Work, sleep

from .conftest import Daemon

WAITS = "select count(*) from pg_locks where not granted and relation = 'in_doubt'::regclass"
POLL_SECONDS = 0.002


def test_write_under_way_is_in_doubt(daemon: Daemon) -> None:
    with (
        headrace.connect(daemon.server.url) as admin,
        headrace.connect(**daemon.where(), autocommit=True) as conn,
    ):
        admin.execute("drop table if exists in_doubt")
        admin.execute("create table in_doubt (n int)")
        admin.commit()
        admin.execute("lock table in_doubt")
        work = Work(conn.execute, "insert into in_doubt values (%s)", (1,))
        while not admin.fetchval(WAITS):
            sleep(POLL_SECONDS)
        daemon.process.kill()
        with pytest.raises(
            headrace.OperationalError, match="unknown whether the statement in flight was executed"
        ) as lost:
            work.result()
        assert lost.value.code == "connection_lost"
        admin.execute("drop table in_doubt")
        admin.commit()
