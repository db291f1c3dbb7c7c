"""Transactions that the server ends because of an error, a deadlock for one: nothing that their client has sent after
it, without waiting for the error, is stored by itself. On PostgreSQL the server sees to it."""

from __future__ import annotations

import contextlib
import json
import socket
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.parse import urlsplit

import pytest

import headrace
from accepting import Accepting
from waiting import Work

from ..raw import EXECUTE, SYNC, Client, bind, messages, parse, query, sqlstates
from .conftest import PORT, Front, running

ROWS = 40
READY = b"Z"


def simple(sql: str) -> bytes:
    """A statement by the simple protocol."""
    return query(sql)


def extended(sql: str) -> bytes:
    """The same by the extended protocol, with a Sync of its own."""
    return parse("", sql) + bind("") + EXECUTE + SYNC


def update(table: str, row: int) -> str:
    """A statement that changes one row, which must not be 30 or more."""
    return f"update {table} set n = n + 1 where id = {row}"


@pytest.fixture
def table(each: Front) -> str:
    """Rows that two connections can lock."""
    name = each.table("lost_transactions", "id int primary key, n int")
    with each.direct() as admin:
        admin.executemany(f"insert into {name} values ({each.db.differences.mark}, 0)", [(n,) for n in range(ROWS)])
    return name


@contextlib.contextmanager
def losing(each: Front, client: Client, table: str) -> Iterator[str]:
    """A statement with which the server ends the client's transaction."""
    if each.db.error_fails_transaction:
        yield "select 1/0"
    elif each.db.abort_hook is None:
        # Another connection, which has changed more rows, wins.
        with headrace.connect(each.url) as rival:
            rival.execute(f"update {table} set n = n - 1 where id >= 30")
            rival.execute(f"update {table} set n = n - 1 where id = 11")
            client.ask(query(update(table, 10)))
            waits = Work(rival.execute, f"update {table} set n = n - 1 where id = 10")
            yield update(table, 11)
            waits.result()
            rival.rollback()
    else:
        assert sqlstates(client.ask(query(each.db.abort_hook))) == []
        yield update(table, 20)


@pytest.fixture
def client(each: Front) -> Iterator[Client]:
    """A client in a transaction that has changed a row."""
    with Client.local(each.socket, user="anyone", database=each.name) as made:
        made.ask(query("begin"))
        yield made


def tags(received: bytes) -> list[str]:
    """Those of the commands that were completed."""
    return [body[:-1].decode() for tag, body in messages(received) if tag == b"C"]


def states(received: bytes) -> list[str]:
    """Of the transaction after each group."""
    return [body.decode() for tag, body in messages(received) if tag == READY]


@pytest.mark.parametrize("send", [simple, extended])
def test_what_was_sent_after_the_error_is_not_stored(
    each: Front, client: Client, table: str, send: Callable[[str], bytes]
) -> None:
    client.ask(query(update(table, 1)))
    with losing(each, client, table) as statement:
        sent = [statement, update(table, 2), f"insert into {table} values (99, 1)", "begin", update(table, 3)]
        answer = client.ask(b"".join(map(send, sent)), len(sent))
    assert len(sqlstates(answer)) == len(sent)
    assert sqlstates(answer)[1:] == ["25P02"] * (len(sent) - 1)
    assert states(answer) == ["E"] * len(sent)
    ended = client.ask(query("commit") + send(update(table, 4)), 2)
    assert (tags(ended), states(ended)) == (["ROLLBACK", "UPDATE 1"], ["I", "I"])
    with each.direct() as admin:
        assert admin.fetch(f"select id from {table} where n > 0") == [(4,)]


def test_savepoint_is_lost_with_the_transaction(each: Front, client: Client, table: str) -> None:
    if each.db.error_fails_transaction:
        pytest.skip("its savepoints outlive errors")
    client.ask(query("savepoint a"))
    with losing(each, client, table) as statement:
        sent = [statement, "rollback to savepoint a", update(table, 2), "savepoint b", update(table, 3)]
        answer = client.ask(b"".join(map(query, sent)), len(sent))
    assert sqlstates(answer)[1:] == ["25P02"] * (len(sent) - 1)
    client.ask(query("rollback"))
    with each.direct() as admin:
        assert admin.fetch(f"select id from {table} where n > 0") == []


def test_next_client_of_a_lost_transaction_has_a_session_in_order(each: Front, table: str) -> None:
    where = {"user": "anyone", "database": f"{each.name}_one" if each.name != "postgresql" else each.name}
    client = Client.local(each.socket, **where)
    client.ask(query("begin"))
    with losing(each, client, table) as statement:
        client.ask(query(statement))
    client.socket.close()
    with Client.local(each.socket, **where) as other:
        for _ in range(2):
            assert states(other.ask(query(update(table, 4)))) == ["I"]
    with each.direct() as admin:
        assert admin.fetch(f"select id, n from {table} where n > 0") == [(4, 2)]


@pytest.mark.parametrize("front", ["mariadb"], indirect=True)
def test_reads_that_are_in_flight_leave_no_setting_behind(front: Front) -> None:
    table = front.table("left_settings", "id int primary key")
    with Client.local(front.socket, user="anyone", database="mariadb_one") as client:
        for end in ("commit", "rollback", "create table if not exists left_settings_2 (id int)"):
            group = [parse("", f"select {n} from {table}") + bind("") + EXECUTE for n in range(5)]
            client.ask(query("begin") + b"".join(group) + SYNC + query(end), 3)
            assert states(client.ask(query(f"insert into {table} select coalesce(max(id), 0) + 1 from {table}"))) == [
                "I"
            ]
    with front.direct() as admin:
        assert admin.fetchval(f"select count(*) from {table}") == 3
        admin.execute("drop table left_settings_2")


class HoldsAnswers(Accepting):
    """Passes everything to a server and back, but for the answers to what has ``mark`` in it: these are kept until
    something of ``until`` was sent, on any connection."""

    def __init__(self, port: int, mark: bytes, *until: bytes) -> None:
        super().__init__()
        self.target, self.mark, self.until = port, mark, until
        self.came, self.released = threading.Event(), threading.Event()
        self.listen()

    def serve(self, client: socket.socket) -> None:
        server, holds = self.connected(self.target), threading.Event()
        self.start(self._answers, server, client, holds)
        while block := client.recv(65536):
            if any(mark in block for mark in self.until):
                self.released.set()
            if self.mark in block:
                holds.set()
                self.came.set()
            server.sendall(block)

    def _answers(self, server: socket.socket, client: socket.socket, holds: threading.Event) -> None:
        while block := server.recv(65536):
            if holds.is_set():
                self.released.wait(20)
            with contextlib.suppress(OSError):
                client.sendall(block)


def test_client_that_leaves_while_it_begins_leaves_no_transaction(fronts: dict[str, Front], program: Path) -> None:
    front = fronts["mariadb"]
    table = front.table("left_beginning", "id int")
    port = urlsplit(front.url).port
    assert port is not None
    insert = f"insert into {table} values (1)"
    # The session is cancelled, or, were it lent to another client, that one's statement comes.
    with contextlib.closing(HoldsAnswers(port, b"START TRANSACTION", b"KILL", insert.encode())) as proxy:
        url = front.url.replace(f":{port}/", f":{proxy.port}/")
        with running(program, f"[databases.one]\nurl = {json.dumps(url)}\npool_size = 1\n") as folder:
            path = folder / f".s.PGSQL.{PORT}"
            client = Client.local(path, user="anyone", database="one")
            client.send(query("begin"))
            assert proxy.came.wait(20)
            client.socket.close()
            with Client.local(path, user="anyone", database="one") as other:
                answer = other.ask(query(insert))
                assert (sqlstates(answer), states(answer)) == ([], ["I"])
    with front.direct() as admin:
        assert admin.fetch(f"select id from {table}") == [(1,)]
