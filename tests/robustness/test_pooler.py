"""PgBouncer in transaction mode: more sessions than server connections, and no statement prepared by name."""

from __future__ import annotations

import asyncio
import shutil
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from tests.company.pooler import pgbouncer

import headrace
from headrace import errors
from headrace.testing import PostgresServer


@pytest.fixture(scope="module")
def pooler(server: PostgresServer) -> Iterator[str]:
    program = shutil.which("pgbouncer") or shutil.which("pgbouncer", path="/usr/sbin")
    assert program, "pgbouncer is missing: `make server` installs it"
    with pgbouncer(program, server, size=2) as url:
        yield url


def work(conn: Any, number: int) -> None:
    for k in range(60):
        assert conn.fetchval(f"select $1::int + {k % 7}", k) == k + k % 7
        assert conn.execute("select %s, %s::text", (k, "a")).fetchone() == (k, "a")
        if k % 20:
            continue
        with conn.transaction():
            conn.execute(f"create temp table pooled_{number} (a int) on commit drop")
            assert (
                conn.executemany(f"insert into pooled_{number} values (%s)", [(i,) for i in range(100)]).rowcount == 100
            )
            assert conn.fetchval(f"select count(*) from pooled_{number}") == 100
        with conn.pipeline():
            cursors = [conn.execute("select $1::int", (i,)) for i in range(10)]
        assert [cursor.fetchone() for cursor in cursors] == [(i,) for i in range(10)]


def test_many_sessions_share_two_connections(pooler: str) -> None:
    conns = [headrace.connect(pooler, autocommit=True, prepared=False) for _ in range(6)]
    try:
        with ThreadPoolExecutor(len(conns)) as threads:
            list(threads.map(work, conns, range(len(conns))))
    finally:
        for conn in conns:
            conn.close()


def test_long_batches_of_a_pipeline_stay_with_their_server(pooler: str) -> None:
    with headrace.connect(pooler, autocommit=True, prepared=False) as conn:
        conn.execute("create table batches_of_a_pipeline (a int)")
        for _ in range(3):
            with conn.pipeline():
                for rows in (1, 3000, 1023, 2048):
                    conn.executemany("insert into batches_of_a_pipeline values (%s)", [(n,) for n in range(rows)])
                counted = conn.execute("select count(*) from batches_of_a_pipeline")
            assert counted.fetchone() == (6072,)
            conn.execute("truncate batches_of_a_pipeline")
        conn.execute("drop table batches_of_a_pipeline")


def test_streams_copies_and_cancels_go_through(pooler: str) -> None:
    with headrace.connect(pooler, autocommit=True, prepared=False) as conn:
        assert len(list(conn.stream("select generate_series(1, 5000)", fetch_size=100))) == 5000
        conn.execute("create table through_a_pooler (a int)")
        assert conn.copy_in("through_a_pooler", [(i,) for i in range(1000)]) == 1000
        assert len(list(conn.copy_out("through_a_pooler"))) == 1000
        conn.execute("drop table through_a_pooler")
        timer = threading.Timer(0.2, conn.cancel)
        timer.start()
        with pytest.raises(errors.QueryCanceled):
            conn.execute("select pg_sleep(20)")
        timer.join()
        assert conn.fetchval("select 1") == 1


async def test_tasks_on_shared_sessions(pooler: str) -> None:
    conns = [await headrace.aio.connect(pooler, autocommit=True, prepared=False) for _ in range(5)]

    async def use(conn: Any) -> None:
        for _ in range(50):
            assert await asyncio.gather(*(conn.fetchval("select $1::int", i) for i in range(5))) == list(range(5))

    await asyncio.gather(*(use(conn) for conn in conns))
    for conn in conns:
        await conn.close()
