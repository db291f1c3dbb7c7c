"""Clients that take too long: what ends their connection, what they are told, and that others get what they held."""

from __future__ import annotations

import contextlib
import fcntl
import socket
import struct
import termios
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace
from headrace.testing import PostgresServer
from waiting import until

from .conftest import Daemon, config, started
from .raw import EXECUTE, FLUSH, Client, bind, message, parse, query, sqlstates, startup, values

SECONDS = 0.3
"""Of each bound: nothing here waits for less, and a slower machine only waits longer."""

GROUP = parse("", "select 1") + bind("") + EXECUTE
PARTS = {
    "of a header": query("select 1")[:3],
    "of a Query": query("select 1")[:-1],
    "of a Parse": parse("", "select 1")[:-1],
    "of a Bind": (parse("", "select $1::text") + bind("", "x" * 1000))[:-500],
    "of a group": GROUP,
    "of a Sync": GROUP + b"S\0\0",
}
"""What a client sends, and then nothing."""


@pytest.fixture
def hasty(program: Path, folder: Path, server: PostgresServer) -> Iterator[Daemon]:
    """Databases with a bound each, of which the others have none."""
    names = ("query", "transaction", "idle_transaction", "client_idle")
    databases = {name: f"pool_size = 1\n{name}_timeout = {SECONDS}" for name in names}
    databases["patient"] = f"query_timeout = {SECONDS}\nusers.postgres.query_timeout = 0"
    text = f"[daemon]\nmessage_timeout = {SECONDS}\n" + config(server, app="pool_size = 1", **databases)
    with started(program, folder, text, server) as daemon:
        with headrace.connect(server.url, autocommit=True) as admin:
            admin.executescript("drop table if exists hasty; create table hasty (n int)")
        yield daemon


def connected(daemon: Daemon, database: str) -> Client:
    """A client that is a socket."""
    return Client.local(daemon.socket, user="anyone", database=database)


def told(client: Client) -> list[str]:
    """The SQLSTATEs of what comes until the daemon closes the connection."""
    received = b""
    with client.socket as raw, contextlib.suppress(ConnectionResetError):
        while block := raw.recv(65536):
            received += block
    return sqlstates(received)


def is_taken(sent: socket.socket) -> bool:
    """True once the other side has received everything."""
    (left,) = struct.unpack("i", fcntl.ioctl(sent, termios.TIOCOUTQ, b"\0\0\0\0"))
    return bool(left == 0)


def rows(daemon: Daemon) -> int:
    """The number of rows that were committed."""
    with headrace.connect(daemon.server.url) as admin:
        return int(admin.fetchval("select count(*) from hasty"))


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS)
def test_part_of_a_request_holds_no_server_connection(daemon: Daemon, part: bytes) -> None:
    with connected(daemon, "impatient") as slow, connected(daemon, "impatient") as other:
        slow.send(part)
        until(lambda: is_taken(slow.socket))
        for _ in range(3):
            assert values(other.ask(query("select 7"))) == ["7"]


def test_request_that_comes_in_pieces_is_answered(daemon: Daemon) -> None:
    whole = parse("", "select $1::text") + bind("", "seven") + EXECUTE + message(b"S", b"") + query("select 'eight'")
    with connected(daemon, "one") as client, connected(daemon, "one") as other:
        for byte in whole:
            client.send(bytes([byte]))
            until(lambda: is_taken(client.socket))
        assert values(client.receive(2)) == ["seven", "eight"]
        assert values(other.ask(query("select 7"))) == ["7"]


def test_message_that_is_too_large_to_wait_for_is_passed_on(daemon: Daemon) -> None:
    text = "x" * 5_000_000
    with connected(daemon, "one") as client:
        answer = client.ask(parse("", "select length($1::text)") + bind("", text) + EXECUTE + message(b"S", b""))
        assert values(answer) == [str(len(text))]


def test_request_that_takes_too_long_is_cancelled(hasty: Daemon) -> None:
    client = connected(hasty, "query")
    client.send(query("insert into hasty select 1 from pg_sleep(600)"))
    assert told(client) == ["57014"]
    with connected(hasty, "query") as other:
        running = "select count(*) from pg_stat_activity where query like 'insert into hasty%' and state = 'active'"
        assert values(other.ask(query(running))) == ["0"], "its server connection is free when the client is told"
    assert hasty.process.stderr is not None
    line = hasty.process.stderr.readline()
    assert 'sqlstate="57014"' in line
    assert "query_timeout" in line


def test_transaction_that_takes_too_long_is_rolled_back(hasty: Daemon) -> None:
    client = connected(hasty, "transaction")
    client.send(query("begin") + query("insert into hasty values (1)") + query("select pg_sleep(600)"))
    assert told(client) == ["25P04"]
    assert rows(hasty) == 0


@pytest.mark.parametrize(
    "opening",
    [
        query("begin") + query("insert into hasty values (1)"),
        query("begin") + query("nonsense"),
        parse("", "insert into hasty values (1)") + bind("") + EXECUTE + FLUSH,
        query("copy hasty from stdin") + message(b"d", b"1\n"),
    ],
    ids=["a transaction", "a failed transaction", "a group without Sync", "a COPY"],
)
def test_client_that_has_the_server_wait_is_ended(hasty: Daemon, opening: bytes) -> None:
    client = connected(hasty, "idle_transaction")
    client.send(opening)
    assert told(client)[-1:] == ["25P03"]
    with connected(hasty, "idle_transaction") as other:
        assert values(other.ask(query("select 7"))) == ["7"]
    assert rows(hasty) == 0


@pytest.mark.parametrize("state", ["select 1", "listen hasty"], ids=["shared", "pinned"])
def test_client_that_asks_for_nothing_is_ended(hasty: Daemon, state: str) -> None:
    client = connected(hasty, "client_idle")
    client.ask(query(state))
    assert told(client) == ["57P05"]


@pytest.mark.parametrize("begun", ["", "begin"], ids=["outside of a transaction", "in one"])
def test_message_that_is_not_completed_ends_its_client(hasty: Daemon, begun: str) -> None:
    client = connected(hasty, "app")
    client.ask(query(begun))
    client.send((parse("", "select $1::text") + bind("", "x" * 1000))[:-500])
    assert told(client) == ["08P01"]


def test_login_that_takes_too_long_is_refused(program: Path, folder: Path, server: PostgresServer) -> None:
    text = f"[daemon]\nclient_login_timeout = {SECONDS}\n" + config(server, app="")
    with started(program, folder, text, server) as daemon, socket.socket(socket.AF_UNIX) as raw:
        raw.settimeout(30)
        raw.connect(str(daemon.socket))
        raw.sendall(startup(user="anyone", database="app")[:-1])
        received = b""
        while block := raw.recv(65536):
            received += block
        assert sqlstates(received) == ["57014"]
        assert daemon.process.stderr is not None
        assert "client_login_timeout" in daemon.process.stderr.readline()


def test_bound_of_a_user_goes_before_that_of_its_database(hasty: Daemon) -> None:
    with connected(hasty, "patient") as client:
        answer = client.ask(query(f"select 'slept' from pg_sleep({3 * SECONDS})"))
    assert values(answer) == ["slept"]
