"""Random conversations are answered as the server itself answers them, whole and in pieces."""

from __future__ import annotations

import random
import socket
from collections.abc import Callable

import pytest

from headrace.testing import PostgresServer

from .conftest import Daemon
from .raw import EXECUTE, FLUSH, SYNC, Client, bind, close, describe, messages, parse, query

CONVERSATIONS = 150
NAMES = ["", "a", "b"]
PREPARED = [
    "select 1", "select 'x'::text", "select $1::int", "select nosuch", "select 1/0", "", "select 2 as n",
    "set timezone to 'Asia/Tokyo'", "reset timezone", "deallocate a", "deallocate all", "discard all",
    "show timezone",
]  # fmt: skip
TEXTS = [
    "select 5", "select 1/0", "select 1; select 1/0; select 3", "", "deallocate a", "deallocate b",
    "/* b */ deallocate\tprepare a;",
    "deallocate all", "set timezone to 'Asia/Tokyo'", "show timezone", "discard all", "reset timezone",
    "copy (select 1) to stdout", "create temp table if not exists q (n int)", "drop table if exists q",
    "prepare c as select 7", "execute c", "deallocate c",
]  # fmt: skip
BLOCKS = [
    "begin", "begin", "rollback", "commit", "savepoint s", "rollback to s", "start transaction read only",
    "select 1; begin", "commit; select 2",
]  # fmt: skip


def group(chance: random.Random) -> bytes:
    """Messages of the extended protocol, and a Sync."""
    made = b""
    for _ in range(chance.randint(1, 5)):
        name = chance.choice(NAMES)
        made += chance.choices(
            [
                parse(name, chance.choice(PREPARED)), bind(name) + EXECUTE, describe(name), close(name), FLUSH,
                bind(name), EXECUTE,
            ],
            [30, 25, 15, 12, 4, 4, 10],
        )[0]  # fmt: skip
    return made + SYNC


def conversation(chance: random.Random, texts: list[str]) -> list[bytes]:
    """Requests that end with ReadyForQuery, and whether the names are there in the end."""
    asked = [
        query(chance.choice(texts)) if chance.random() < 0.5 else group(chance) for _ in range(chance.randint(4, 10))
    ]
    return asked + [bind(name) + EXECUTE + SYNC for name in NAMES]


def shown(received: bytes) -> list[tuple[str, object]]:
    """Messages without what differs from one server session to the next."""
    told: list[tuple[str, object]] = []
    for tag, body in messages(received):
        if tag in b"EN":
            fields = {field[:1]: field[1:] for field in body.split(b"\0") if field}
            told.append((tag.decode(), fields[b"C"]))
        elif tag != b"S":
            told.append((tag.decode(), body))
    return told


@pytest.fixture
def places(daemon: Daemon, server: PostgresServer) -> list[Callable[[], Client]]:
    """The server, and a pool of one connection to it."""

    def direct() -> Client:
        return Client(socket.create_connection(("127.0.0.1", server.port)), user="postgres", database="postgres")

    return [direct, lambda: Client.local(daemon.socket, user="postgres", database="one")]


def test_each_request_is_answered_as_by_the_server(places: list[Callable[[], Client]]) -> None:
    for seed in range(CONVERSATIONS):
        asked = conversation(random.Random(seed), TEXTS + BLOCKS)
        told = []
        for place in places:
            with place() as client:
                told.append([shown(client.ask(request)) for request in asked])
        assert told[0] == told[1], seed


def test_requests_that_do_not_wait_for_each_other_are_answered_as_by_the_server(
    places: list[Callable[[], Client]],
) -> None:
    # In a transaction that fails meanwhile, a Parse of a text that the server has is answered as if it had not failed.
    for seed in range(CONVERSATIONS):
        asked = conversation(random.Random(seed), TEXTS)
        told = []
        for place in places:
            with place() as client:
                told.append(shown(client.ask(b"".join(asked), len(asked))))
        assert told[0] == told[1], seed
