"""Tables that others change, not through the daemon: rows are what the client was told, or the server's error comes."""

from __future__ import annotations

import random
import socket
import struct
import time

import psycopg
import pytest

import headrace
from headrace.testing import PostgresServer

from .conftest import START_SECONDS, Daemon
from .raw import (
    EXECUTE,
    SYNC,
    Client,
    bind,
    close,
    describe,
    describe_portal,
    message,
    messages,
    parse,
    query,
    sqlstates,
)
from .test_cancelled_settings import CANCEL

TYPES = {23: ("int", b"\0\0\0\1"), 700: ("real", struct.pack("!f", 1.0)), 25: ("text", b"1")}
STEPS = 250


class Reader:
    """A client that has read the type of the column from a description, and reads rows in binary."""

    def __init__(self, client: Client, text: str, describes: str) -> None:
        self.client, self.text, self.describes = client, text, describes
        self.number = 0
        self.prepare()

    def prepare(self) -> None:
        """Has the statement prepared, under another name each time."""
        old, self.number = self.number, self.number + 1
        described = describe(self.name) if self.describes == "statement" else self.bound() + describe_portal()
        answer = self.client.ask(close(f"s{old}") + parse(self.name, self.text) + described + SYNC)
        columns = [body for tag, body in messages(answer) if tag == b"T"]
        assert columns, sqlstates(answer)
        self.oid = struct.unpack_from("!i", columns[0], columns[0].index(b"\0", 2) + 7)[0]

    @property
    def name(self) -> str:
        """The statement's."""
        return f"s{self.number}"

    def bound(self) -> bytes:
        """A Bind of the statement."""
        return message(b"B", f"\0{self.name}\0".encode() + struct.pack("!hhhh", 0, 0, 1, 1))

    def read(self) -> None:
        """Executes it: either the row is of the type that was told, or it is refused as the server refuses it."""
        answer = self.client.ask(self.bound() + EXECUTE + SYNC)
        if errors := sqlstates(answer):
            assert errors == ["0A000"]
            assert b"RRevalidateCachedQuery\0" in answer
            return self.prepare()
        (row,) = [body for tag, body in messages(answer) if tag == b"D"]
        assert row[6:] == TYPES[self.oid][1], TYPES[self.oid][0]
        return None


@pytest.mark.parametrize("database", ["one", "two", "app", "session"])
@pytest.mark.parametrize("describes", ["statement", "portal"])
def test_rows_are_of_the_type_that_their_client_was_told(daemon: Daemon, database: str, describes: str) -> None:
    chance = random.Random(database + describes)
    clients = [
        Client.local(daemon.socket, user="me", database=database) for _ in range(1 if database == "session" else 4)
    ]
    # In a pool of several connections these keep some from the others.
    blocks: list[bool] = []
    blockers: list[Client] = []
    if database in ("two", "app"):
        blockers = [Client.local(daemon.socket, user="me", database=database)]
        blocks = [False]
    with headrace.connect(daemon.server.url, autocommit=True) as admin:
        admin.executescript(
            "drop table if exists retyped; create table retyped (a int); insert into retyped values (1)"
        )
        readers = [Reader(each, "select a from retyped", describes) for each in clients]
        for _ in range(STEPS):
            match chance.randrange(8):
                case 0:
                    name = chance.choice(list(TYPES.values()))[0]
                    admin.execute(f"alter table retyped alter a type {name} using a::{name}")
                case 1 if blockers:
                    at = chance.randrange(len(blockers))
                    blockers[at].ask(query("commit" if blocks[at] else "begin"))
                    blocks[at] = not blocks[at]
                case _:
                    chance.choice(readers).read()
        for each in [*clients, *blockers]:
            each.close()
        admin.execute("drop table retyped")


def test_new_clients_do_not_fail_after_a_change(daemon: Daemon) -> None:
    with headrace.connect(daemon.server.url, autocommit=True) as admin:
        admin.executescript(
            "drop table if exists migrated; create table migrated (a int); insert into migrated values (1)"
        )
        for columns, autocommit in [(1, True), (2, False), (3, True)]:
            with psycopg.connect(**daemon.where("one"), autocommit=autocommit, prepare_threshold=0) as conn:
                row = conn.execute("select * from migrated").fetchone()
            assert row is not None
            assert len(row) == columns
            admin.execute(f"alter table migrated add c{columns} int")
        admin.execute("drop table migrated")


@pytest.mark.parametrize("described", [describe(""), bind("") + describe_portal()], ids=["statement", "portal"])
def test_unnamed_statement_is_what_its_client_was_told(
    daemon: Daemon, server: PostgresServer, described: bytes
) -> None:
    direct = socket.create_connection(("127.0.0.1", server.port))
    with (
        Client(direct, user="postgres", database="postgres") as admin,
        Client.local(daemon.socket, user="me", database="two") as one,
        Client.local(daemon.socket, user="me", database="two") as two,
    ):
        admin.ask(query("drop table if exists renamed; create table renamed (a int); insert into renamed values (1)"))
        told = one.ask(parse("", "select * from renamed") + described + SYNC)
        assert sqlstates(told) == []
        two.ask(query("begin"))
        admin.ask(query("alter table renamed add b int"))
        assert sqlstates(one.ask(bind("") + EXECUTE + SYNC)) == ["0A000"]
        two.ask(query("commit"))
        admin.ask(query("drop table renamed"))


def at_once(name: str, sql: str) -> bytes:
    """A statement that is prepared, described and executed in one group, as pgjdbc and node-postgres do."""
    return parse(name, sql) + bind(name) + describe_portal() + EXECUTE + SYNC


def test_group_of_a_new_client_has_the_rows_of_the_changed_table_and_stays_in_order(daemon: Daemon) -> None:
    sql, count = "insert into grouped default values returning *", "select count(*) from grouped"
    with headrace.connect(daemon.server.url, autocommit=True) as admin:
        admin.executescript("drop table if exists grouped; create table grouped (a int default 7)")
        for columns in range(1, 6):
            with Client.local(daemon.socket, user="me", database="one") as client:
                # What comes behind it is executed behind it.
                answer = client.ask(at_once("s", sql) + query(count) + at_once("t", sql), 3)
                assert sqlstates(answer) == []
                (_, first), (_, counted), (_, last) = [each for each in messages(answer) if each[0] == b"D"]
                assert struct.unpack_from("!h", first)[0] == struct.unpack_from("!h", last)[0] == columns
                assert counted[6:] == str(2 * columns - 1).encode()
            admin.execute(f"alter table grouped add c{columns} int")
        admin.execute("drop table grouped")
        with Client.local(daemon.socket, user="me", database="one") as client:
            assert sqlstates(client.ask(at_once("s", sql) + query("select 1"), 2)) == ["42P01"]


@pytest.mark.parametrize(
    "request_",
    [parse("s", "select * from locked") + describe("s") + SYNC, at_once("s", "select * from locked")],
    ids=["described", "executed"],
)  # fmt: skip
def test_statement_of_others_whose_table_is_locked_can_be_cancelled(daemon: Daemon, request_: bytes) -> None:
    with headrace.connect(daemon.server.url, autocommit=True) as admin:
        admin.executescript("drop table if exists locked; create table locked (a int)")
        with Client.local(daemon.socket, user="me", database="one") as client:
            assert sqlstates(client.ask(request_)) == []
        client = Client.local(daemon.socket, user="me", database="one")
        with client, headrace.connect(daemon.server.url) as holder:
            holder.execute("lock table locked")
            # Its plan has to be looked at again.
            holder.execute("alter table locked add b int")
            client.send(request_)
            waiting = "select count(*) from pg_locks where not granted"
            deadline = time.monotonic() + START_SECONDS
            while not admin.fetchval(waiting):
                assert time.monotonic() < deadline
            with socket.socket(socket.AF_UNIX) as canceller:
                canceller.settimeout(START_SECONDS)
                canceller.connect(str(daemon.socket))
                canceller.sendall(CANCEL + dict(messages(client.welcome))[b"K"])
                assert canceller.recv(1) == b""
            assert sqlstates(client.receive()) == ["57014"]
            holder.rollback()
            assert sqlstates(client.ask(request_)) == []
        admin.execute("drop table locked")


def test_new_clients_are_told_what_is_wrong_with_a_text_whose_types_are_gone(
    daemon: Daemon, server: PostgresServer
) -> None:
    """Describe does not notice it: no row is returned. Bind does, and the next client has the text parsed."""
    text = "insert into typed values (1, $1)"
    with headrace.connect(server.url, autocommit=True) as admin:
        admin.executescript("create type gone as enum ('x'); create table typed (a int, b gone)")
        try:
            with Client.local(daemon.socket, user="me", database="one") as first:
                assert sqlstates(first.ask(parse("s", text) + bind("s", "x") + EXECUTE + SYNC)) == []
                admin.executescript("drop type gone cascade")
                assert sqlstates(first.ask(bind("s", "x") + EXECUTE + SYNC)) == ["XX000"], "as on the server itself"
            for _ in range(2):
                with Client.local(daemon.socket, user="me", database="one") as new:
                    assert sqlstates(new.ask(parse("s", text) + bind("s", "x") + EXECUTE + SYNC)) == ["42601"]
        finally:
            admin.executescript("drop table typed; drop type if exists gone")
