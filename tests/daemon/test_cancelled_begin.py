"""A request that is cancelled while it waits for a server connection: what was sent after it in the same transaction is
not executed outside of one."""

from __future__ import annotations

import contextlib
import json
import socket
import time
from collections.abc import Iterator

import pytest

import headrace
from headrace import _daemon
from headrace.testing import PostgresServer

from .conftest import START_SECONDS, Daemon
from .raw import EXECUTE, SYNC, Client, bind, messages, parse, query, sqlstates
from .test_cancelled_settings import CANCEL

INSERT = "insert into cancelled values (1)"
BEHIND = {"simple": query(INSERT), "extended": parse("", INSERT) + bind("") + EXECUTE + SYNC}


def extended(name: str, *texts: str) -> bytes:
    """A group of statements."""
    return b"".join(parse(name, text) + bind(name) + EXECUTE for text in texts) + SYNC


@pytest.fixture
def cancelled(server: PostgresServer) -> Iterator[headrace.Connection]:
    """An empty table."""
    with headrace.connect(server.url, autocommit=True) as admin:
        admin.execute("create table cancelled (n int)")
        yield admin
        admin.execute("drop table cancelled")


def waits(daemon: Daemon) -> bool:
    """A client waits for a server connection."""
    pools = json.loads(_daemon.ask(str(daemon.folder), "GET", "/status")[1])["pools"]
    return any(pool["waiting"] for pool in pools)


def cancel_waiting(daemon: Daemon, first: bytes, behind: bytes, prepare: bytes = b"") -> tuple[list[str], bool]:
    """Has a client send both requests while somebody else has the only server connection, and cancels it. Returns the
    errors that it receives, and whether its connection goes on."""
    client = Client.local(daemon.socket, user="me", database="one")
    key = next(body for tag, body in messages(client.welcome) if tag == b"K")
    errors: list[str] = []
    with client.socket:
        if prepare:
            client.ask(prepare)
        with daemon.connect("one") as holder:
            holder.execute("select 1")
            client.send(first + behind)
            deadline = time.monotonic() + START_SECONDS
            while not waits(daemon):
                assert time.monotonic() < deadline
            with socket.socket(socket.AF_UNIX) as canceller:
                canceller.settimeout(START_SECONDS)
                canceller.connect(str(daemon.socket))
                canceller.sendall(CANCEL + key)
                assert canceller.recv(1) == b""
            with contextlib.suppress(ConnectionError):
                errors = sqlstates(client.receive(1))
            holder.rollback()
        try:
            client.receive(1)
        except ConnectionError:
            return errors, False
    return errors, True


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize(
    ("first", "prepare"),
    [
        (query("begin"), b""),
        (query("select 1; start transaction"), b""),
        (extended("", "begin"), b""),
        (extended("", "select 1", "begin", INSERT), b""),
        (bind("b") + EXECUTE + SYNC, parse("b", "begin isolation level serializable") + SYNC),
    ],
    ids=["simple", "script", "extended", "within a group", "prepared"],
)
def test_nothing_behind_a_begin_that_was_cancelled_is_stored(
    daemon: Daemon, cancelled: headrace.Connection, first: bytes, prepare: bytes, behind: str
) -> None:
    _, goes_on = cancel_waiting(daemon, first, BEHIND[behind], prepare)
    assert not goes_on
    assert cancelled.fetch("select * from cancelled") == []


@pytest.mark.parametrize("behind", BEHIND)
@pytest.mark.parametrize("first", [query(INSERT), extended("", INSERT)], ids=["simple", "extended"])
def test_what_comes_behind_a_cancelled_statement_of_its_own_is_executed(
    daemon: Daemon, cancelled: headrace.Connection, first: bytes, behind: str
) -> None:
    errors, goes_on = cancel_waiting(daemon, first, BEHIND[behind])
    assert (errors, goes_on) == (["57014"], True)
    assert cancelled.fetch("select * from cancelled") == [(1,)]
