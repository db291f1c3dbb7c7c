"""Clients of other makers and our own talk to the daemon as to the server."""

from __future__ import annotations

import asyncio
import socket
import struct
from pathlib import Path
from typing import Any

import asyncpg
import pg8000.native
import psycopg
import pytest

import headrace
import headrace.aio
from headrace.testing import PostgresServer

from .conftest import Daemon, started
from .raw import TERMINATE, answers
from .test_status import ask, status

PARTIES = 6


def test_psycopg_with_prepared_statements_on_fewer_servers(daemon: Daemon) -> None:
    clients = [psycopg.connect(**daemon.where("two"), prepare_threshold=1) for _ in range(PARTIES)]
    for n in range(10):
        for client in clients:
            assert client.execute("select %s::int + 1", (n,)).fetchone() == (n + 1,)
            client.commit()
    used = set()
    for client in clients:
        used.add(client.execute("select pg_backend_pid()").fetchone())
        client.commit()
    assert len(used) <= 2
    for client in clients:
        client.close()


def test_psycopg_deallocates_what_only_it_knows(daemon: Daemon) -> None:
    with psycopg.connect(**daemon.where("one"), prepare_threshold=0, autocommit=True) as client:
        client.prepared_max = 2
        for n in range(20):
            assert client.execute(f"select {n} + %s::int", (n,)).fetchone() == (2 * n,)
        with client.pipeline():
            for n in range(20):
                assert client.execute(f"select {n} - %s::int", (n,)).fetchone() == (0,)
        with client.transaction():
            for n in range(5):
                assert client.execute(f"select {n} * %s::int", (n,)).fetchone() == (n * n,)


def test_process_id_of_a_client_is_no_servers(daemon: Daemon) -> None:
    with psycopg.connect(**daemon.where(), autocommit=True) as client:
        told = client.info.backend_pid
        assert told != client.execute("select pg_backend_pid()").fetchone()
        # Servers run on systems whose processes have smaller numbers.
        assert told > 4_194_304
        assert client.execute("select pg_terminate_backend(%s)", (told,)).fetchone() == (False,)
        assert client.execute("select 1").fetchone() == (1,)


def test_client_of_a_newer_protocol_is_offered_version_3_0(daemon: Daemon) -> None:
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(str(daemon.socket))
        body = struct.pack("!HH", 3, 2) + b"user\0anyone\0database\0app\0\0"
        client.sendall(struct.pack("!i", 4 + len(body)) + body)
        with client.makefile("rb") as answers:
            # NegotiateProtocolVersion, with the version and the number of options, as servers send it.
            assert answers.read(13) == b"v" + struct.pack("!iHHi", 12, 3, 0, 0)
            assert answers.read(9) == b"R" + struct.pack("!ii", 8, 0)
    if psycopg.pq.version() >= 180000:
        with psycopg.connect(**daemon.where(), max_protocol_version="latest") as newest:
            assert newest.execute("select 1").fetchone() == (1,)


async def test_asyncpg_with_its_statement_cache(daemon: Daemon) -> None:
    where = {"host": str(daemon.folder), "port": 5432, "database": "two", "user": "anyone"}
    clients: list[Any] = [await asyncpg.connect(**where) for _ in range(PARTIES)]

    async def work(client: Any) -> int:
        total = 0
        for n in range(50):
            total += await client.fetchval("select $1::int * 2", n)
            async with client.transaction():
                total += len(await client.fetch("select * from generate_series(1, $1::int)", n % 7))
        return total

    totals = await asyncio.gather(*map(work, clients))
    assert len(set(totals)) == 1
    for client in clients:
        await client.close()


async def test_asyncpg_copies_and_cancels(daemon: Daemon) -> None:
    client: Any = await asyncpg.connect(host=str(daemon.folder), port=5432, database="one", user="anyone")
    await client.execute("drop table if exists copied; create table copied (n int)")
    await client.copy_records_to_table("copied", records=[(n,) for n in range(10_000)])
    assert await client.fetchval("select sum(n) from copied") == sum(range(10_000))
    with pytest.raises(TimeoutError):
        await client.fetchval("select pg_sleep(60)", timeout=0.2)
    assert await client.fetchval("select 1") == 1
    await client.close()


def test_pg8000(daemon: Daemon) -> None:
    client = pg8000.native.Connection("anyone", unix_sock=str(daemon.socket), database="app")
    assert client.run("select :a || ' and ' || :b", a="one", b="two") == [["one and two"]]
    with pytest.raises(pg8000.native.DatabaseError):
        client.run("select 1 / 0")
    assert client.run("select 1") == [[1]]
    client.close()


def test_headrace_blocking(daemon: Daemon) -> None:
    with daemon.connect("one", autocommit=True) as conn:
        conn.executescript("drop table if exists t; create table t (n int primary key)")
        conn.executemany("insert into t values (%s)", [(n,) for n in range(3000)])
        with conn.pipeline():
            cursors = [conn.execute("select %s::int + 1", (n,)) for n in range(1000)]
        assert [cursor.fetchone() for cursor in cursors] == [(n + 1,) for n in range(1000)]
        with conn.transaction(force_rollback=True):
            conn.execute("delete from t")
        assert conn.fetchval("select count(*) from t") == 3000
        with pytest.raises(headrace.errors.UniqueViolation):
            conn.execute("insert into t values (1)")
        assert sum(1 for _ in conn.copy_out("t")) == 3000
        with pytest.raises(TimeoutError):
            conn.execute("select pg_sleep(60)", timeout=0.2)
        assert conn.fetchval("select 42") == 42


async def test_headrace_asyncio(daemon: Daemon) -> None:
    async def work(number: int) -> int:
        async with await headrace.aio.connect(**daemon.where("two")) as conn:
            async with conn.transaction():
                await conn.execute("select set_config('application_name', $1, true)", (str(number),))
                await asyncio.sleep(0)
                assert await conn.fetchval("show application_name") == str(number)
            return int(await conn.fetchval("select $1::int", number))

    assert await asyncio.gather(*map(work, range(20))) == list(range(20))


def test_large_values_go_through_in_pieces(daemon: Daemon) -> None:
    large = "x" * 30_000_000
    with daemon.connect("one") as conn:
        assert conn.fetchval("select $1::text", large) == large
        assert conn.fetchval("select length($1::text)", large) == len(large)


def test_rows_faster_than_the_client_reads_do_not_stop_the_others(daemon: Daemon) -> None:
    with daemon.connect("two") as slow, daemon.connect("two", autocommit=True) as other:
        rows = slow.stream("select repeat('x', 1000) from generate_series(1, 200000)")
        first = next(iter(rows))
        assert other.fetchval("select 1") == 1
        assert len(first[0]) == 1000
        rows.close()


def test_page_of_code_with_a_socket_only(daemon: Daemon) -> None:
    def message(tag: bytes, body: bytes) -> bytes:
        return tag + struct.pack("!i", len(body) + 4) + body

    with socket.socket(socket.AF_UNIX) as raw:
        raw.connect(str(daemon.socket))
        startup = struct.pack("!i", 196608) + b"user\0me\0database\0app\0\0"
        raw.sendall(struct.pack("!i", len(startup) + 4) + startup)
        raw.sendall(message(b"Q", b"select 6 * 7\0") + message(b"X", b""))
        received = b""
        while piece := raw.recv(65536):
            received += piece
    assert b"\x00\x00\x00\x0242" in received


def test_client_that_leaves_before_it_has_begun_is_told_nothing(daemon: Daemon) -> None:
    """node-postgres: `client.connect(); client.end()`."""
    assert answers(daemon.socket, TERMINATE) == b""


def test_one_entry_may_be_that_of_all_databases(program: Path, folder: Path, server: PostgresServer) -> None:
    """As `*` of PgBouncer."""
    common = f'host = "127.0.0.1"\nport = {server.port}\nuser = "postgres"\n'
    text = f'[databases."*"]\n{common}[databases.app]\n{common}dbname = "template1"\n'
    with started(program, folder, text, server) as daemon:

        def asked(database: str) -> tuple[str, int]:
            with daemon.connect(database, autocommit=True) as conn:
                return conn.execute("select current_database(), pg_backend_pid()").fetchone()  # type: ignore[no-any-return]

        before = asked("postgres")
        assert [asked(name)[0] for name in ("postgres", "template1", "app")] == ["postgres", "template1", "template1"]
        with pytest.raises(headrace.errors.InvalidCatalogName, match='database "nowhere" does not exist'):
            asked("nowhere")
        assert ask(daemon, "POST", "/reload") == (200, "")
        assert asked("postgres") == before
        shown = status(daemon)
        assert {pool["name"] for pool in shown["pools"]} == {"*", "app"}


def test_database_that_is_not_configured_is_named(daemon: Daemon) -> None:
    with pytest.raises(psycopg.OperationalError, match='"nowhere" is not configured; there are: app'):
        psycopg.connect(**daemon.where("nowhere"))
