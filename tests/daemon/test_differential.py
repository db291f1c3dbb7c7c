"""Random conversations are answered as the server itself answers them, whole and in pieces."""

from __future__ import annotations

import random
import socket
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from headrace.testing import PostgresServer
from long import times

from .conftest import Daemon, config, started
from .raw import EXECUTE, FLUSH, SYNC, Client, bind, close, describe, messages, parse, query

CONVERSATIONS = times(60)
# In turn. A pool of several has clients beside this one that keep connections from it.
DATABASES = ["one", "two", "three", "session"]
STARTS: list[dict[str, str]] = [{}, {"TimeZone": "America/New_York", "DateStyle": "German"}]
LOOK = "select current_setting('TimeZone'), current_setting('DateStyle'), timestamptz '2024-01-01 12:00Z'"
NAMES = ["", "a", "b"]
PREPARED = [
    "select 1", "select 'x'::text", "select $1::int", "select nosuch", "select 1/0", "", "select 2 as n",
    "set timezone to 'Asia/Tokyo'", "reset timezone", "deallocate a", "deallocate all", "discard all",
    "show timezone", "reset all", "set timezone to default", "set local datestyle to default", LOOK,
    "set datestyle to 'SQL'",
]  # fmt: skip
TEXTS = [
    "select 5", "select 1/0", "select 1; select 1/0; select 3", "", "deallocate a", "deallocate b",
    "/* b */ deallocate\tprepare a;",
    "deallocate all", "set timezone to 'Asia/Tokyo'", "show timezone", "discard all", "reset timezone",
    "copy (select 1) to stdout", "create temp table if not exists q (n int)", "drop table if exists q",
    "prepare c as select 7", "execute c", "deallocate c", LOOK,
    "reset all; set timezone to 'Asia/Tokyo'", "set timezone to default; set timezone to 'Europe/Paris'",
    f"reset timezone; {LOOK}", "reset datestyle; select 1/0", "set datestyle to 'SQL'; reset all; reset timezone",
    "begin; reset timezone; set datestyle to 'SQL'; commit", f"begin; set local timezone to default; {LOOK}; rollback",
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
                bind(name), EXECUTE, SYNC, parse(name, "select 1") + describe(name) + SYNC,
            ],
            [30, 25, 15, 12, 4, 4, 10, 3, 3],
        )[0]  # fmt: skip
    return made + SYNC


def conversation(chance: random.Random, texts: list[str]) -> list[bytes]:
    """Requests that end with ReadyForQuery, and whether the names are there in the end."""
    asked = [
        query(chance.choice(texts)) if chance.random() < 0.5 else group(chance) for _ in range(chance.randint(4, 10))
    ]
    return asked + [bind(name) + EXECUTE + SYNC for name in NAMES] + [query(LOOK)]


def answers(request: bytes) -> int:
    """How many ReadyForQuery a request has."""
    return sum(tag in b"QS" for tag, _ in messages(request))


def crashes(request: bytes, received: bytes) -> bool:
    """Whether a request may end the server: Execute without a Bind, where a simple Query has failed in a block before.

    The unnamed portal of that Query is there still, and what it executes is not. PostgreSQL 16.14 and 18.4 receive
    SIGSEGV for ``begin``, ``execute nosuch``, Parse and Sync (refused), Execute and Sync on a direct connection.
    """
    status = received[-1:]
    for part in request.split(SYNC)[:-1]:
        tags = [tag for tag, _ in messages(part)]
        if status == b"E" and b"E" in tags and b"B" not in tags[: tags.index(b"E")]:
            return True
        # Whether it fails here is not known.
        status = status.replace(b"T", b"E")
    return False


NOT_PREPARED = [("E", b"25P02"), ("Z", b"E")]
IN_FAILED_TRANSACTION = ([("E", b"08P01"), ("Z", b"E")], [("t", b"\0\0"), ("n", b""), ("Z", b"E")], NOT_PREPARED)
"""Of a Bind, or a Describe, in a transaction that has failed: by the server, which cannot bind the statement as it is,
or describes one without rows; and by the daemon if the session does not have the statement, which cannot be prepared
there then (documented)."""


def alike(told: list[tuple[str, object]]) -> list[tuple[str, object]]:
    """Answers that may differ are made the same."""
    return NOT_PREPARED if told in IN_FAILED_TRANSACTION else told


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


def parameters(received: bytes) -> dict[str, str]:
    """The settings that a client has received in the end."""
    reports = (body.decode().split("\0") for tag, body in messages(received) if tag == b"S")
    return {name: value for name, value, *_ in reports if name in ("TimeZone", "DateStyle")}


@dataclass
class Places:
    """The server, and the daemon before it with other clients."""

    daemon: Daemon
    others: dict[str, Client]

    def connect(self, database: str | None, start: dict[str, str]) -> Client:
        """A client of a database of the daemon, or of the server."""
        if database is not None:
            return Client.local(self.daemon.socket, user="postgres", database=database, **start)
        direct = socket.create_connection(("127.0.0.1", self.daemon.server.port))
        return Client(direct, user="postgres", database="postgres", **start)

    def disturb(self, chance: random.Random, database: str | None) -> None:
        """Another client of the pool begins or ends a transaction, or changes what a session has."""
        if other := self.others.get(database or ""):
            other.ask(query(chance.choice(["begin", "commit", "rollback", "deallocate all", "discard all"])))


@pytest.fixture
def places(program: Path, folder: Path, server: PostgresServer) -> Iterator[Places]:
    """Pools of one to three connections, and one whose connections stay with their clients."""
    sizes = {name: f"pool_size = {size}" for name, size in (("one", 1), ("two", 2), ("three", 3))}
    text = config(server, **sizes, session='pool_mode = "session"\npool_size = 2')
    with started(program, folder, text, server) as daemon:
        others = {name: Client.local(daemon.socket, user="postgres", database=name) for name in ("two", "three")}
        yield Places(daemon, others)
        for other in others.values():
            other.close()


def test_each_request_is_answered_as_by_the_server(places: Places) -> None:
    for seed in range(CONVERSATIONS):
        database, start = DATABASES[seed % len(DATABASES)], STARTS[seed // len(DATABASES) % len(STARTS)]
        asked = conversation(random.Random(seed), TEXTS + BLOCKS)
        told = []
        for place in (None, database):
            chance = random.Random(seed)
            with places.connect(place, start) as client:
                received = [client.welcome]
                for request in asked:
                    if not crashes(request, received[-1]):
                        received.append(client.ask(request, answers(request)))
                    places.disturb(chance, place)
                told.append(([alike(shown(each)) for each in received[1:]], parameters(b"".join(received))))
        assert told[0] == told[1], (seed, database, start)


def test_requests_that_do_not_wait_for_each_other_are_answered_as_by_the_server(places: Places) -> None:
    # In a transaction that fails meanwhile, a Parse of a text that the server has is answered as if it had not failed.
    for seed in range(CONVERSATIONS):
        database, start = DATABASES[seed % len(DATABASES)], STARTS[seed // len(DATABASES) % len(STARTS)]
        asked = conversation(random.Random(seed), TEXTS)
        told = []
        for place in (None, database):
            with places.connect(place, start) as client:
                received = client.ask(b"".join(asked), sum(map(answers, asked)))
                told.append((shown(received), parameters(client.welcome + received)))
            places.disturb(random.Random(seed), place)
        assert told[0] == told[1], (seed, database, start)
