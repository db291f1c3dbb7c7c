"""A daemon that is killed: what was under way may have been done, and the error says so."""

from __future__ import annotations

import pytest

import headrace.aio
from waiting import AsyncWork, asleep

from .conftest import Daemon

WAITS = "select count(*) from pg_locks where not granted and relation = 'in_doubt'::regclass"
POLL_SECONDS = 0.002


async def test_write_under_way_is_in_doubt(daemon: Daemon) -> None:
    async with (
        await headrace.aio.connect(daemon.server.url) as admin,
        await headrace.aio.connect(**daemon.where(), autocommit=True) as conn,
    ):
        await admin.execute("drop table if exists in_doubt")
        await admin.execute("create table in_doubt (n int)")
        await admin.commit()
        await admin.execute("lock table in_doubt")
        work = AsyncWork(conn.execute, "insert into in_doubt values (%s)", (1,))
        while not await admin.fetchval(WAITS):
            await asleep(POLL_SECONDS)
        daemon.process.kill()
        with pytest.raises(
            headrace.OperationalError, match="unknown whether the statement in flight was executed"
        ) as lost:
            await work.result()
        assert lost.value.code == "connection_lost"
        await admin.execute("drop table in_doubt")
        await admin.commit()
