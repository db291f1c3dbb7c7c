"""CancelRequest, on each database behind the front: it ends the statement that it is for, and nothing else."""

from __future__ import annotations

import contextlib
import json
import socket
import struct
import threading
import time
from collections.abc import Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import psycopg
import pytest

import headrace.mysql
from balancing import Balances
from headrace import _daemon
from served import Served
from waiting import until

from ..raw import SYNC, TERMINATE, Client, answers, bind, message, messages, parse, query, sqlstates, startup, values
from ..test_cancelled_settings import CANCEL
from ..test_sharing import die
from .conftest import PORT, Front, running

SHORT_STATEMENTS = 150
END_SECONDS = 60


@pytest.fixture
def slow(front: Front) -> str:
    """A statement that runs for many seconds."""
    front.table("numbers", "n int primary key")
    with front.direct() as admin:
        admin.executemany("insert into numbers values (?)", [(n,) for n in range(1000)])
    return front.db.differences.slow


@pytest.fixture
def threads() -> Iterator[ThreadPoolExecutor]:
    """Threads for statements that wait."""
    with ThreadPoolExecutor() as pool:
        yield pool


def cancelled(client: psycopg.Connection, running: Future[object]) -> None:
    """Cancels until the statement has ended: a request that comes before the statement is for nothing."""
    for _ in range(10 * END_SECONDS):
        client.cancel()
        with contextlib.suppress(TimeoutError):
            running.exception(timeout=0.1)
            break
    with pytest.raises(psycopg.errors.QueryCanceled):
        running.result(timeout=0)


def test_cancelled_statement_leaves_its_client_usable(front: Front, slow: str, threads: ThreadPoolExecutor) -> None:
    with front.psycopg(autocommit=True) as client:
        for parameters in (None, ()):
            cancelled(client, threads.submit(client.execute, slow.encode(), parameters))
            assert client.execute(f"select 1{front.one_row}".encode()).fetchone() == (1,)
        with client.transaction():
            client.execute("delete from numbers where n = 0")
            cancelled(client, threads.submit(client.execute, slow.encode()))
        assert client.execute("select count(*) from numbers where n < 2").fetchone() == (1,)


def test_cancel_is_for_its_own_client(front: Front, slow: str, threads: ThreadPoolExecutor) -> None:
    with front.psycopg(autocommit=True) as one, front.psycopg(autocommit=True) as other:
        runs = threads.submit(one.execute, slow.encode())
        cancelled(other, threads.submit(other.execute, slow.encode()))
        assert not runs.done()
        cancelled(one, runs)


def test_cancel_ends_the_wait_for_a_session(front: Front, threads: ThreadPoolExecutor) -> None:
    name, query = f"{front.name}_one", f"select 1{front.one_row}".encode()
    with front.psycopg(database=name) as holder, front.psycopg(database=name, autocommit=True) as waiting:
        holder.execute("begin")
        holder.execute(query)
        for _ in range(2):
            cancelled(waiting, threads.submit(waiting.execute, query))
        assert holder.execute(query).fetchone() == (1,)
        holder.commit()
        assert waiting.execute(query).fetchone() == (1,)


def test_statement_of_a_client_that_dies_is_cancelled(front: Front, slow: str) -> None:
    name = f"{front.name}_one"
    for n in range(30):
        client = front.psycopg(database=name, autocommit=True)
        client.pgconn.send_query(slow.encode())
        # The server may have the cancel request before the statement.
        time.sleep(n / 10_000)
        die(client)
    with front.psycopg(database=name, autocommit=True) as client:
        assert client.execute(f"select 1{front.one_row}".encode()).fetchone() == (1,)
    if (executing := front.db.executing) is not None:
        with front.direct() as admin:
            until(lambda: admin.fetchval(executing, slow[:20] + "%") == 0)


def test_closed_portal_is_cancelled(front: Front, slow: str) -> None:
    """Its thousand million rows are not waited for, however soon it is closed; a million, where all of them are found
    before the first is sent."""
    endless = "select a.n from numbers a, numbers b" + ", numbers c" * front.db.answers_early
    one_row = message(b"E", b"\0" + struct.pack("!i", 1))
    closed = message(b"C", b"P\0")
    for begin, end in ((b"", b""), (query("begin"), query("commit"))):
        for requests in (one_row + closed, one_row * 3 + closed, one_row + bind("s", "0") + one_row + closed):
            asked = parse("s", f"{endless} where a.n >= $1") + bind("s", "0") + requests + SYNC
            client = startup(user="anyone", database=front.name) + begin + asked + query(f"select 42{front.one_row}")
            received = answers(front.socket, client + end + TERMINATE)
            assert sqlstates(received) == []
            assert values(received)[-1] == "42"


def test_late_cancel_is_for_nobody_else(front: Front) -> None:
    name, query = f"{front.name}_one", f"select 1{front.one_row}".encode()
    ended = threading.Event()

    def short(client: psycopg.Connection) -> None:
        while not ended.is_set():
            with contextlib.suppress(psycopg.errors.QueryCanceled):
                assert client.execute(query).fetchone() == (1,)

    def cancels(client: psycopg.Connection) -> None:
        while not ended.is_set():
            client.cancel()

    with (
        front.psycopg(database=name, autocommit=True) as cancelling,
        front.psycopg(database=name, autocommit=True) as other,
        ThreadPoolExecutor() as pool,
    ):
        running = [pool.submit(short, cancelling), pool.submit(cancels, cancelling)]
        try:
            for _ in range(SHORT_STATEMENTS):
                assert other.execute(query).fetchone() == (1,)
        finally:
            ended.set()
        for each in running:
            each.result(timeout=END_SECONDS)
        assert cancelling.execute(query).fetchone() == (1,)


def test_nothing_behind_a_begin_that_was_cancelled_is_stored(front: Front) -> None:
    table = front.table("cancelled", "n int primary key")
    path = front.folder / ".s.PGSQL.5432"
    name = f"{front.name}_one"

    def waits() -> bool:
        status = json.loads(_daemon.ask(str(front.folder), "GET", "/status")[1])
        return any(pool["waiting"] for pool in status["pools"] if pool["pool"].endswith(f"@{name}"))

    holder, client = (Client.local(path, user="me", database=name) for _ in range(2))
    key = next(body for tag, body in messages(client.welcome) if tag == b"K")
    with holder.socket, client.socket:
        holder.ask(query("begin"))
        holder.ask(query(f"select 1{front.one_row}"))
        client.send(query("begin") + query(f"insert into {table} values (1)"))
        until(waits)
        with socket.socket(socket.AF_UNIX) as canceller:
            canceller.settimeout(END_SECONDS)
            canceller.connect(str(path))
            canceller.sendall(CANCEL + key)
            assert canceller.recv(1) == b""
        assert sqlstates(client.receive()) == ["57014"]
        holder.ask(query("rollback"))
        assert sqlstates(client.receive()) == ["25P02"]
        assert sqlstates(client.ask(query("commit"))) == []
        assert sqlstates(client.ask(query(f"insert into {table} values (2)"))) == []
    with front.direct() as admin:
        assert admin.fetch(f"select n from {table}") == [(2,)]


def test_a_kill_is_sent_to_no_other_server(program: Path, mariadb_served: Served, mysql_served: Served) -> None:
    def kills() -> int:
        with headrace.mysql.connect(**mysql_served.where, autocommit=True) as conn:
            return int(conn.fetch("show global status like 'Com_kill'")[0][1])

    before = kills()
    ports = (mariadb_served.server.port, mysql_served.server.port)
    with Balances(*ports) as proxy:
        url = mariadb_served.url("test").replace(str(ports[0]), str(proxy.port))
        text = f"[databases.balanced]\nurl = {json.dumps(f'{url}?ssl_mode=DISABLED')}\n"
        with (
            running(program, text) as folder,
            psycopg.connect(host=str(folder), port=PORT, dbname="balanced", user="anyone", autocommit=True) as client,
            ThreadPoolExecutor() as pool,
        ):
            cancelled(client, pool.submit(client.execute, "select sleep(60)"))
            assert client.execute("select 1").fetchone() == (1,)
    assert kills() == before
