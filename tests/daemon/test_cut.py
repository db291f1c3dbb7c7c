"""Connections that are cut at each byte of what is said on them (at each fifth or so, but in a long run), on both sides
of the daemon and in both directions.
The database has one server connection: whoever comes next gets it, or its successor, as if nobody had been there."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

import headrace
from accepting import Accepting
from headrace.testing import PostgresServer
from long import every
from waiting import until

from .conftest import Daemon, config, started
from .raw import (
    EXECUTE,
    SECONDS,
    SYNC,
    TERMINATE,
    answers,
    bind,
    message,
    messages,
    parse,
    query,
    sqlstates,
    startup,
    values,
)

STEP = every(5)
"""Bytes from one cut to the next."""
STEPS = dict.fromkeys(("error", "transaction", "state"), every(9))
"""The same between daemon and server, where it is another: each needs a new session."""
READY, COPIES_IN, NOTHING = b"Z", b"G", b""
LOGIN = startup(user="me", database="app", application_name="to be cut")


@dataclass
class Conversation:
    """What is said: requests, each with the message that ends its answer, and the rows that may be there after it was
    cut, in the order in which they come to be."""

    say: Callable[[int], list[tuple[bytes, bytes]]]
    rows: list[list[str]]


def insert(n: int, what: str) -> str:
    """A statement that must not run twice."""
    return f"insert into cut values ({n}, '{what}')"


def data(n: int) -> bytes:
    """Two rows of COPY, and its end."""
    rows = b"".join(message(b"d", f"{n}\t{what}\n".encode()) for what in ("one", "two"))
    return rows + message(b"c", b"")


CONVERSATIONS = {
    "simple": Conversation(lambda n: [(query(insert(n, "one")), READY)], [[], ["one"]]),
    "prepared": Conversation(
        lambda n: [
            (parse("mine", f"insert into cut values ({n}, $1)") + bind("mine", "one") + EXECUTE + SYNC, READY),
            (bind("mine", "two") + EXECUTE + SYNC, READY),
        ],
        [[], ["one"], ["one", "two"]],
    ),
    "error": Conversation(
        lambda n: [
            (parse("", "select 1 / 0") + bind("") + EXECUTE + SYNC, READY),
            (query(insert(n, "one") + "; select 1 / 0"), READY),
        ],
        [[]],
    ),
    "transaction": Conversation(
        lambda n: [
            (query("begin; set local search_path to nowhere"), READY),
            (query(insert(n, "one").replace("cut", "public.cut")), READY),
            (query("savepoint s; select 1 / 0"), READY),
            (query("rollback to s"), READY),
            (query("commit"), READY),
        ],
        [[], ["one"]],
    ),
    "state": Conversation(
        lambda n: [
            (query("set search_path to pg_catalog; create temp table mine (n int)"), READY),
            (query("prepare p as select 1; declare c cursor with hold for select 1; listen l"), READY),
            (query("select pg_advisory_lock(1), set_config('TimeZone', 'Asia/Tokyo', false)"), READY),
        ],
        [[]],
    ),
    "copy": Conversation(
        lambda n: [(query("copy cut from stdin"), COPIES_IN), (data(n), READY)], [[], ["one", "two"]]
    ),
    "extended copy": Conversation(
        lambda n: [
            (parse("", "copy cut from stdin") + bind("") + EXECUTE + SYNC, COPIES_IN),
            # The server keeps its answer back up to Sync.
            (data(n), NOTHING),
            (SYNC, READY),
        ],
        [[], ["one", "two"]],
    ),
}  # fmt: skip


class Cut(Exception):
    """The client has cut its connection."""


class Client:
    """A client that cuts its own connection after so many bytes, or never."""

    def __init__(self, daemon: Daemon) -> None:
        self.raw = socket.socket(socket.AF_UNIX)
        self.raw.settimeout(SECONDS)
        self.raw.connect(str(daemon.socket))
        self.sends: int | None = None
        self.receives: int | None = None

    def ask(self, request: bytes, end: bytes) -> bool:
        """Sends a request, and reads to the end of its answer. False if the daemon has ended the connection.

        Raises:
            Cut: it has come to where it is cut.
        """
        self.raw.sendall(request[: self.sends])
        if self.sends is not None:
            self.sends -= len(request)
            if self.sends <= 0:
                raise Cut
        received = b""
        while end != NOTHING and not any(tag == end for tag, _ in messages(received)):
            block = self.raw.recv(65536 if self.receives is None else min(65536, self.receives))
            if not block:
                return False
            received += block
            if self.receives is not None:
                self.receives -= len(block)
                if self.receives <= 0:
                    raise Cut
        return True

    def say(self, conversation: Conversation, n: int) -> bool:
        """The whole conversation; returns true if everything was answered."""
        with contextlib.suppress(ConnectionError):
            if all(self.ask(request, end) for request, end in conversation.say(n)):
                self.raw.sendall(TERMINATE)
                return True
        return False


LOOK = """select concat_ws(' | ', txid_current_if_assigned(), current_setting('application_name'),
    current_setting('search_path'), current_setting('TimeZone'), to_regclass('pg_temp.mine'),
    (select count(*) from pg_prepared_statements where name not like 'headraced%'),
    (select count(*) from pg_cursors), (select count(*) from pg_listening_channels()),
    (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
    now() = statement_timestamp())"""


def look(daemon: Daemon, *, is_being_cut: bool = False) -> str:
    """What another client sees of the session that it is lent. ``is_being_cut``: one may be lent that is cut off at
    this moment, which its client is told."""
    asked = startup(user="me", database="app", application_name="next") + query(LOOK) + TERMINATE
    received = answers(daemon.socket, asked)
    if is_being_cut and sqlstates(received) == ["HR005"]:
        received = answers(daemon.socket, asked)
    found = values(received)
    assert len(found) == 1, received
    return found[0]


class Network(Accepting):
    """The way to the server. It is cut after so many bytes in one direction, once it was told to."""

    def __init__(self, target: int) -> None:
        super().__init__()
        self.target = target
        self.left: dict[str, int | None] = {"sent": None, "received": None}
        self.cuts = 0
        self.counting = threading.Lock()
        self.listen()

    def serve(self, client: socket.socket) -> None:
        server = self.connected(self.target)
        self.start(self._pass, client, server, "sent")
        self._pass(server, client, "received")

    def _pass(self, one: socket.socket, other: socket.socket, direction: str) -> None:
        with contextlib.suppress(OSError):
            while block := one.recv(65536):
                with self.counting:
                    left = self.left[direction]
                    if left is not None:
                        block = block[:left]
                        self.left[direction] = None if len(block) == left else left - len(block)
                    is_last = left is not None and len(block) == left
                    self.cuts += is_last
                other.sendall(block)
                if is_last:
                    break
        for each in (one, other):
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)


@pytest.fixture(scope="module")
def network(server: PostgresServer) -> Iterator[Network]:
    with Network(server.port) as way:
        yield way


@pytest.fixture(scope="module")
def one(
    program: Path, server: PostgresServer, network: Network, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Daemon]:
    """A daemon with one connection to the server, through the network."""
    text = config(server, app=f"pool_size = 1\nqueue_wait = {SECONDS}")
    text = text.replace(f"port = {server.port}", f"port = {network.port}")
    with started(program, tmp_path_factory.mktemp("cut"), text, server) as running:
        yield running


class Record:
    """What is in the table after each cut."""

    def __init__(self, admin: headrace.Connection) -> None:
        self.admin = admin
        admin.executescript("drop table if exists cut; create table cut (n int, what text)")

    def rows(self, n: int) -> list[str]:
        """The rows of one conversation."""
        return [what for (what,) in self.admin.execute("select what from cut where n = %s order by ctid", (n,))]

    def is_quiet(self) -> bool:
        """No session has a transaction open, or is at work, but this one."""
        busy = "select count(*) from pg_stat_activity where backend_type = 'client backend' and state <> 'idle'"
        return bool(self.admin.fetchval(busy) == 1)


@pytest.fixture
def record(server: PostgresServer) -> Iterator[Record]:
    with headrace.connect(server.url, autocommit=True) as admin:
        yield Record(admin)


@pytest.mark.parametrize("direction", ["sent", "received"])
@pytest.mark.parametrize("name", ["login", *CONVERSATIONS])
def test_client_that_is_cut_at_each_byte_leaves_nothing(one: Daemon, record: Record, name: str, direction: str) -> None:
    conversation = CONVERSATIONS.get(name, Conversation(lambda n: [(LOGIN, READY)], [[]]))
    clean, n, complete = look(one), 0, False
    while not complete:
        n += STEP
        client = Client(one)
        with client.raw, contextlib.suppress(Cut):
            if name != "login":
                assert client.ask(LOGIN, READY)
            client.sends, client.receives = (n, None) if direction == "sent" else (None, n)
            complete = client.say(conversation, n)
            assert complete
        assert look(one) == clean, f"after byte {n}"
        found = record.rows(n)
        assert found in conversation.rows, f"after byte {n}"
        assert not complete or found == conversation.rows[-1]
    assert n > 20
    until(record.is_quiet)


@pytest.mark.parametrize("direction", ["sent", "received"])
@pytest.mark.parametrize("name", list(CONVERSATIONS))
def test_server_that_is_cut_off_at_each_byte_is_replaced(
    one: Daemon, network: Network, record: Record, name: str, direction: str
) -> None:
    conversation = CONVERSATIONS[name]
    clean, n, was_cut = look(one), 0, True
    while was_cut:
        n += STEPS.get(name, STEP)
        client = Client(one)
        with client.raw:
            assert client.ask(LOGIN, READY)
            cuts = network.cuts
            network.left[direction] = n
            complete = client.say(conversation, n)
        with network.counting:
            # What comes when the client has left is the daemon's own affair.
            was_cut, network.left[direction] = network.cuts > cuts, None
        assert complete or was_cut
        # After the last byte of an answer the client may be ready before the cut.
        assert look(one, is_being_cut=complete and was_cut) == clean, f"after byte {n}"
        found = record.rows(n)
        assert found in conversation.rows, f"after byte {n}"
        assert not complete or found == conversation.rows[-1], f"after byte {n}"
    assert complete
    assert n > 20
    until(record.is_quiet)
