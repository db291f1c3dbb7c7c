"""Nothing of one client reaches another: what poolers have got wrong before, and a model of random clients."""

from __future__ import annotations

import itertools
import random
import socket
import struct
import threading
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import headrace
from headrace.testing import PostgresServer, postgres

from .conftest import Daemon, config, started
from .raw import (
    EXECUTE,
    SYNC,
    TERMINATE,
    Client,
    answers,
    bind,
    close,
    message,
    messages,
    parse,
    query,
    sqlstates,
    startup,
    values,
)  # fmt: skip

CLIENTS, STEPS = 8, 60


def said(daemon: Daemon, sent: bytes) -> bytes:
    """All that the daemon answers to ``sent``."""
    with socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(30)
        raw.connect(str(daemon.socket))
        raw.sendall(sent)
        raw.shutdown(socket.SHUT_WR)
        received = b""
        while piece := raw.recv(65536):
            received += piece
        return received


@pytest.mark.parametrize(
    "leak",
    [
        "set session_authorization to leaker",
        "set session authorization leaker",
        "set role leaker",
        "select set_config('session_authorization', 'leaker', false)",
        "set search_path to pg_catalog",
        "set statement_timeout to 1234",
        "set default_transaction_isolation to serializable",
        "set default_transaction_read_only to on",
        "set standard_conforming_strings to off",
        "set scram_iterations to 5000",
    ],
)
def test_state_of_one_client_does_not_reach_the_next(daemon: Daemon, leak: str) -> None:
    with headrace.connect(daemon.server.url, autocommit=True) as admin:
        admin.execute("do $$ begin create role leaker superuser; exception when duplicate_object then null; end $$")
    look = (
        "select session_user, current_user, current_setting('search_path'), current_setting('statement_timeout'),"
        " current_setting('default_transaction_isolation'), current_setting('default_transaction_read_only'),"
        " current_setting('standard_conforming_strings'), current_setting('scram_iterations', true)"
    )
    with daemon.connect("one", autocommit=True) as before:
        clean = before.execute(look).fetchone()
    with psycopg.connect(**daemon.where("one"), autocommit=True) as leaking:
        leaking.execute(leak)
    with daemon.connect("one", autocommit=True) as after:
        assert after.execute(look).fetchone() == clean


def test_client_without_settings_does_not_get_those_of_the_client_before(daemon: Daemon) -> None:
    look = query("select current_setting('application_name') || current_setting('timezone')") + TERMINATE
    with headrace.connect(daemon.server.url) as direct:
        default = direct.fetchval("show timezone")
    given = {"application_name": "before", "TimeZone": "Asia/Tokyo", "search_path": "nowhere"}
    assert values(answers(daemon.socket, startup(user="me", database="one", **given) + look)) == ["beforeAsia/Tokyo"]
    welcome = answers(daemon.socket, startup(user="me", database="one") + look)
    assert values(welcome) == [default]
    assert not [
        body for tag, body in messages(welcome) if tag == b"S" and any(x in body for x in (b"Tokyo", b"nowhere"))
    ]


def test_setting_that_a_server_does_not_report_is_its_clients(program: Path, folder: Path) -> None:
    """The system's server may be older than 18, which is the first that reports search_path."""
    with postgres(tls=True) as server, started(program, folder, config(server, app="pool_size = 1"), server) as daemon:
        look = query("show search_path") + TERMINATE
        before = answers(daemon.socket, startup(user="me", database="app") + look)
        given = answers(daemon.socket, startup(user="me", database="app", search_path="nowhere") + look)
        after = answers(daemon.socket, startup(user="me", database="app") + look)
    assert values(given) == ["nowhere"]
    assert values(before) == values(after) != ["nowhere"]


def test_search_path_follows_its_client_where_the_server_does_not_report_it(program: Path, folder: Path) -> None:
    with postgres(tls=True) as server, started(program, folder, config(server, app="pool_size = 1"), server) as daemon:
        with headrace.connect(server.url, autocommit=True) as admin:
            for schema in ("path_a", "path_b"):
                admin.executescript(f"create schema {schema}; create table {schema}.t as select '{schema}' as who")
        clients = [Client.local(daemon.socket, user="me", database="app") for _ in range(3)]
        one, other, plain = clients
        read = parse("p", "select who from t") + bind("p") + EXECUTE + close("p") + SYNC
        one.ask(query("set search_path to path_a"))
        other.ask(query("select set_config('search_path', 'path_b', false)"))
        for _ in range(2):
            assert values(one.ask(read)) == values(one.ask(query("select who from t"))) == ["path_a"]
            assert values(other.ask(read)) == values(other.ask(query("select who from t"))) == ["path_b"]
            assert sqlstates(plain.ask(read)) == ["42P01"]
        # Until the transaction ends, and not longer.
        local = query("begin; set local search_path to path_b") + query("select who from t") + query("commit")
        assert values(one.ask(local, 3)) == ["path_b"]
        assert values(one.ask(read)) == ["path_a"]
        for reset in ("reset search_path", "discard all"):
            one.ask(query(reset))
            assert sqlstates(one.ask(query("select who from t"))) == ["42P01"]
            one.ask(query('set search_path to path_b, "a b"'))
            assert values(one.ask(query("show search_path"))) == ['path_b, "a b"']
        assert values(other.ask(read)) == ["path_b"]
        for each in clients:
            each.close()


def test_settings_with_quotes_and_backslashes_are_values(daemon: Daemon) -> None:
    for name in ("a'; select 1; --", "back\\slash'", "\\'; drop table x; --"):
        with daemon.connect("one", application_name=name, autocommit=True) as one:
            assert one.fetchval("show application_name") == name
            one.execute("set standard_conforming_strings to off")
            with daemon.connect("one", application_name="other", autocommit=True) as other:
                assert other.fetchval("show application_name") == "other"
            assert one.fetchval("show application_name") == name


def test_search_path_is_a_list_of_names(daemon: Daemon) -> None:
    with daemon.connect("one", autocommit=True) as one, daemon.connect("one", autocommit=True) as two:
        one.execute('set search_path to "a, b", pg_catalog')
        default = two.fetchval("show search_path")
        assert one.fetchval("show search_path") == '"a, b", pg_catalog'
        assert two.fetchval("show search_path") == default


@pytest.mark.parametrize(
    ("sent", "sqlstate"),
    [
        (startup(database="app", user="me", replication="database"), b"28000"),
        (startup(database="", user=""), b"3D000"),
        (startup(user="me", database="app", **{"headrace.target": "host = 5"}), b"22023"),
        (startup(user="me", database="app", **{"headrace.target": 'host = "h"\nfilter = "id = 2"'}), b"22023"),
        (struct.pack("!ii", 20_000, 196608), b"08P01"),
        (struct.pack("!ii", 16, 196608) + b"user\0me\0", b"08P01"),
        (startup(user="me", database="app") + b"\x01\0\0\0\4", b"08P01"),
        (startup(user="me", database="app") + b"Q\xff\xff\xff\xff", b"08P01"),
        (startup(user="me", database="app") + b"Q\x30\0\0\0", b"HR003"),
    ],
)
def test_malformed_or_forbidden_messages_are_refused(daemon: Daemon, sent: bytes, sqlstate: bytes) -> None:
    assert b"C" + sqlstate + b"\0" in said(daemon, sent)
    with daemon.connect("app", autocommit=True) as conn:
        assert conn.fetchval("select 1") == 1


def test_wrong_key_cancels_nothing(daemon: Daemon) -> None:
    with daemon.connect("one", autocommit=True) as conn:
        running = threading.Thread(target=lambda: outcome.append(conn.fetchval("select 1 from pg_sleep(0.5)")))
        outcome: list[int] = []
        running.start()
        for process_id in range(50):
            said(daemon, struct.pack("!iiii", 16, 80877102, process_id, random.getrandbits(31)))
        running.join()
    assert outcome == [1]


def test_part_of_a_message_occupies_nothing(daemon: Daemon) -> None:
    """The database has one connection, which a client that has sent a part of a query does not keep from others."""
    query = message(b"Q", b"select 101\0")
    with daemon.connect("one", autocommit=True) as other:
        for cut in range(1, len(query)):
            with socket.socket(socket.AF_UNIX) as raw:
                raw.settimeout(30)
                raw.connect(str(daemon.socket))
                raw.sendall(startup(user="me", database="one"))
                received = b""
                while not received.endswith(b"Z\0\0\0\5I"):
                    received += raw.recv(65536)
                raw.sendall(query[:cut])
                assert other.fetchval("select 1") == 1
                raw.sendall(query[cut:])
                received = b""
                while not received.endswith(b"Z\0\0\0\5I"):
                    received += raw.recv(65536)
                assert b"\0\0\0\x03101" in received


def test_error_at_every_cut_leaves_the_answers_in_step(daemon: Daemon) -> None:
    broken = message(b"P", b"\0selct 1\0\0\0") + message(b"B", b"\0\0\0\0\0\0\0\0") + message(b"S", b"")
    query = b"".join(message(b"Q", b"select %d\0" % n) for n in (101, 102, 103))
    sent = broken + query + message(b"X", b"")
    for cut in range(1, len(sent)):
        with socket.socket(socket.AF_UNIX) as raw:
            raw.connect(str(daemon.socket))
            raw.sendall(startup(user="me", database="one"))
            raw.sendall(sent[:cut])
            raw.sendall(sent[cut:])
            received = b""
            while piece := raw.recv(65536):
                received += piece
        places = [received.index(b"C42601\0"), *(received.index(b"\0\0\0\x03%d" % n) for n in (101, 102, 103))]
        assert places == sorted(places)


@pytest.fixture
def statements(program: Path, folder: Path, server: PostgresServer) -> Iterator[Daemon]:
    """A daemon whose connections go back after each statement."""
    text = config(server, app='pool_mode = "statement"\npool_size = 1')
    with started(program, folder, text, server) as running:
        yield running


def test_statement_mode_refuses_transactions_before_they_begin(statements: Daemon) -> None:
    with statements.connect(autocommit=True) as one, statements.connect(autocommit=True) as two:
        for n in range(3):
            assert one.fetchval("select $1::int", n) == two.fetchval("select $1::int", n) == n
        with pytest.raises(headrace.OperationalError, match="pool_mode") as caught:
            two.executescript("begin; select 1")
        assert caught.value.sqlstate == "HR006"
        assert one.fetchval("select 1") == 1


def test_clients_that_send_without_a_pause_let_others_go_first(daemon: Daemon) -> None:
    ended, pipelined = threading.Event(), 1000
    with daemon.connect("one", autocommit=True) as client:
        client.execute("create sequence hogged")

    def hog() -> None:
        with psycopg.connect(**daemon.where("one"), autocommit=True, prepare_threshold=0) as client:
            while not ended.is_set():
                with client.pipeline() as pipeline:
                    for _ in range(pipelined):
                        client.execute("select pg_sleep(0.0005), nextval('hogged')")
                        pipeline.sync()

    hogs = [threading.Thread(target=hog, daemon=True) for _ in range(2)]
    for thread in hogs:
        thread.start()
    try:
        with daemon.connect("one", autocommit=True) as small:
            seen = [small.fetchval("select last_value from hogged") for _ in range(12)]
        # How many of theirs were executed between two answers. Without turns it is the rest of a pipeline.
        between = sorted(later - earlier for earlier, later in itertools.pairwise(seen[1:]))
        assert between[len(between) // 2] < pipelined // 4
        assert seen[-1] > seen[0]
    finally:
        ended.set()
        for thread in hogs:
            thread.join()


class Model(threading.Thread):
    """A client with a random program: it alone owns what it sees."""

    def __init__(self, daemon: Daemon, number: int, seed: int) -> None:
        super().__init__(daemon=True)
        self.daemon_under_test, self.number, self.chance = daemon, number, random.Random(f"{seed}-{number}")
        self.name_now, self.zone, self.error = f"client {number}", "UTC", None
        self.rows = 0
        self.connect()

    def connect(self) -> None:
        """A new connection: what was set before is gone."""
        self.name_now, self.zone = f"client {self.number}", "UTC"
        where = self.daemon_under_test.where("two", application_name=self.name_now, options=None)
        self.conn = psycopg.connect(**where, autocommit=True, prepare_threshold=1)
        self.conn.execute("set timezone to 'UTC'")

    def run(self) -> None:
        try:
            for _ in range(STEPS):
                self.step()
                self.look()
            self.conn.close()
        except BaseException as error:
            self.error = error

    def look(self) -> None:
        """Checks everything that belongs to this client."""
        row = self.conn.execute(
            "select current_setting('application_name'), current_setting('TimeZone'), %s::int, count(*)"
            " from owned where owner = %s",
            (self.number, self.number),
        ).fetchone()
        assert row == (self.name_now, self.zone, self.number, self.rows), row

    def step(self) -> None:
        """One random step."""
        match self.chance.randrange(9):
            case 0:
                self.name_now = f"client {self.number} {self.chance.random()}"
                self.conn.execute("select set_config('application_name', %s, false)", (self.name_now,))
            case 1:
                self.zone = self.chance.choice(["UTC", "Asia/Tokyo", "Europe/Paris"])
                self.conn.execute(f"set timezone to '{self.zone}'".encode())
            case 2:
                with self.conn.transaction():
                    pids = {self.conn.execute("select pg_backend_pid()").fetchone() for _ in range(3)}
                    self.conn.execute("insert into owned values (%s)", (self.number,))
                assert len(pids) == 1
                self.rows += 1
            case 3:
                with self.conn.transaction(force_rollback=True):
                    self.conn.execute("set application_name to 'undone'")
                    self.conn.execute("delete from owned where owner = %s", (self.number,))
            case 4:
                with pytest.raises(psycopg.errors.DivisionByZero):
                    self.conn.execute("select 1 / %s::int", (0,))
            case 5:
                with self.conn.pipeline():
                    cursors = [self.conn.execute("select %s::int", (n,)) for n in range(20)]
                    assert [cursor.fetchone() for cursor in cursors] == [(n,) for n in range(20)]
            case 6:
                self.cancelled("select pg_sleep(20)")
            case 7:
                self.conn.execute("begin")
                self.conn.execute("insert into owned values (%s)", (self.number,))
                self.conn.close()
                self.connect()
            case _:
                if self.chance.random() < 0.2:
                    self.conn.execute("create temp table if not exists mine as select %s::int as n", (self.number,))
                    assert self.conn.execute("select n from mine").fetchone() == (self.number,)
                    self.conn.close()
                    self.connect()

    def cancelled(self, sql: str) -> None:
        """Cancels a query while it runs. A request that comes before it has begun cancels nothing."""
        ended = threading.Event()

        def cancel() -> None:
            while not ended.wait(0.02):
                self.conn.cancel()

        canceller = threading.Thread(target=cancel, daemon=True)
        canceller.start()
        try:
            with pytest.raises(psycopg.errors.QueryCanceled):
                self.conn.execute(sql)
        finally:
            ended.set()
            canceller.join()


@pytest.mark.parametrize("seed", [1, 2])
def test_each_random_client_owns_what_it_sees(daemon: Daemon, seed: int) -> None:
    with headrace.connect(daemon.server.url, autocommit=True) as admin:
        admin.execute("drop table if exists owned")
        admin.execute("create table owned (owner int)")
    clients = [Model(daemon, number, seed) for number in range(CLIENTS)]
    for client in clients:
        client.start()
    for client in clients:
        client.join()
    assert [client.error for client in clients] == [None] * CLIENTS
