"""Random conversations of clients with functions, temporary tables and settings are answered as by own sessions.

A session of its own has DISCARD PLANS before each statement that may use a plan: what names and constants mean is then
what they mean now, and not what they have meant when the session has first come there.
"""

from __future__ import annotations

import random
import re
import socket
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest

import headrace
from headrace.testing import PostgresServer
from long import times

from .conftest import Daemon, config, started
from .raw import EXECUTE, SYNC, Client, bind, message, messages, parse, query
from .test_plans import FUNCTIONS

CONVERSATIONS = times(40)
STEPS = 40
POOLS = {"one": 1, "two": 2, "session": 3}
PATH = "nearer, plans, public"
STARTS: list[dict[str, str]] = [{}, {"TimeZone": "Asia/Tokyo"}, {"TimeZone": "UTC", "DateStyle": "SQL, DMY"}]
DISCARD = "discard plans"
USES = [
    "select put('{}')", "select put_sql('{}')", "select put_twice('{}')", "call proc('{}')",
    "insert into fires values ('{}')", "do $$ begin perform put('{}'); end $$", "insert into tt values ('{}')",
    "select string_agg(n, ' ' order by n) from tt", "select string_agg(n, ' ' order by n) from plans.tt",
    "select const()", "select const_stmt()", "select const_sql()", "select day()", "select seconds()",
    "select digits()", "select string_agg(n, ' ' order by n) from v", "create temp table made as select put('{}')",
]  # fmt: skip
MAKES = [
    "create temp table tt (n text)", "create temp table tt (n text) on commit drop",
    "create temp table if not exists z (n int)",
    "create temp view tt as select n from other", "select '{}'::text as n into temp tt",
    "do $$ begin create temp table tt (n text); end $$", "create table pg_temp.tt (n text)",
    "do $$ begin execute 'create temp table tt (n text)'; end $$",
]  # fmt: skip
DROPS = [
    "drop table if exists pg_temp.tt", "drop view if exists pg_temp.tt", "drop table if exists pg_temp.z",
    "discard temp", "drop table if exists pg_temp.made", "discard plans",
]  # fmt: skip
SHARED = ["create table if not exists nearer.tt (n text)", "drop table if exists nearer.tt"]
"""What all clients see: only while nobody has a transaction, which would be waited for, or keeps a session, whose plans
are those of before that, as without the daemon."""
SETS = [
    "set timezone to 'UTC'", "set timezone to 'America/New_York'", "set datestyle to 'ISO, DMY'", "reset datestyle",
    "set intervalstyle to sql_standard", "reset intervalstyle", "set extra_float_digits to -14",
    "reset extra_float_digits", "select set_config('timezone', 'Asia/Tokyo', false)", "reset all",
    "set local timezone to 'Europe/Paris'",
    "select set_config('datestyle', 'SQL, MDY', true)",
]  # fmt: skip
BLOCKS = [
    "begin", "begin isolation level repeatable read", "commit", "commit", "rollback", "savepoint s", "rollback to s",
    "release s", "select 1/0", "set transaction read write",
]  # fmt: skip
PREPARED = ["insert into tt values ('{}')", "select string_agg(n, ' ' order by n) from tt", "select put('{}')"]


@dataclass
class Request:
    """What a client asks, and how it asks it of a session of its own."""

    statements: list[str]
    how: str

    def sent(self, *, discards: bool) -> tuple[bytes, int]:
        """The messages, and how many ReadyForQuery they have."""
        parts = [(statement, discards and may_use_plans(statement)) for statement in self.statements]
        more = sum(discarded for _, discarded in parts)
        if self.how == "text":
            texts = [f"{DISCARD};{statement}" if discarded else statement for statement, discarded in parts]
            return query(";".join(texts)), 1
        if self.how == "texts":
            made = [query(DISCARD) * discarded + query(statement) for statement, discarded in parts]
            return b"".join(made), len(parts) + more
        end = SYNC if self.how == "groups" else b""
        made = [own_group(DISCARD, end) * discarded + group(statement, end) for statement, discarded in parts]
        return (b"".join(made), len(parts) + more) if end else (b"".join(made) + SYNC, 1)


def may_use_plans(statement: str) -> bool:
    """Whether the session is told to make its plans again before this."""
    return statement.split(" ")[0] not in ("begin", "set", "reset", "savepoint", "rollback", "release", "commit")


def group(sql: str, end: bytes) -> bytes:
    """A statement of the extended protocol. One that is prepared already has its name in front."""
    if named := re.match(r"(s\d): ", sql):
        return bind(named[1]) + EXECUTE + end
    if named := re.match(r"prepare (s\d): (.*)", sql):
        return message(b"C", b"S" + named[1].encode() + b"\0") + parse(named[1], named[2]) + end
    return parse("", sql) + bind("") + EXECUTE + end


def own_group(sql: str, end: bytes) -> bytes:
    """The same by a name that no client has."""
    portal = b"d\0"
    made = message(b"C", b"Sd\0") + parse("d", sql) + message(b"B", portal + b"d\0" + bytes(6))
    return made + message(b"E", portal + bytes(4)) + message(b"C", b"P" + portal) + end


def shown(received: bytes) -> list[str]:
    """Rows, ends and errors, without those of DISCARD PLANS and the ends of requests."""
    told = []
    for tag, body in messages(received):
        if tag == b"E":
            sqlstate = next(part[1:].decode() for part in body.split(b"\0") if part[:1] == b"C")
            # In a transaction that has failed DISCARD PLANS has one, too.
            told += ["error " + sqlstate] * (sqlstate != "25P02")
        elif tag == b"D" or (tag == b"C" and body != b"DISCARD PLANS\0"):
            told.append(body.decode("latin1"))
    return [*told, received[-1:].decode()]


@dataclass
class Pair:
    """A client of the daemon, and a session of its own that is asked the same."""

    places: Places
    database: str
    start: dict[str, str]
    prepared: list[str] = field(default_factory=list)
    is_open: bool = False
    holds: bool = False
    keeps: bool = False

    def __post_init__(self) -> None:
        """Connects both."""
        parameters = {**self.start, "search_path": PATH}
        direct = socket.create_connection(("127.0.0.1", self.places.daemon.server.port))
        self.direct = Client(direct, user="postgres", database="plans_direct", **parameters)
        self.client = Client.local(self.places.daemon.socket, user="postgres", database=self.database, **parameters)
        self.status = "I"

    def ask(self, request: Request) -> tuple[list[str], list[str]]:
        """What both say."""
        sent, count = request.sent(discards=self.status != "E")
        direct = shown(self.direct.ask(sent, count))
        sent, count = request.sent(discards=False)
        client = shown(self.client.ask(sent, count))
        self.status = direct[-1]
        # Of a DO with one of these words it is not known what it leaves.
        self.keeps |= any(statement.startswith("do ") and "temp" in statement for statement in request.statements)
        self.is_open = self.status != "I"
        self.holds = self.is_open
        if not self.is_open:
            has = "select exists (select from pg_class where relnamespace = pg_my_temp_schema())"
            self.holds = self.keeps or shown(self.direct.ask(query(has)))[0].endswith("t")
        return direct, client

    def close(self) -> None:
        """Both leave."""
        self.direct.close()
        self.client.close()


@dataclass
class Places:
    """The server, with a database that is not the daemon's, and the daemon."""

    daemon: Daemon

    def clear(self) -> None:
        """Both databases are as they were at first."""
        for name in ("postgres", "plans_direct"):
            url = re.sub(r"/postgres(\?|$)", rf"/{name}\1", self.daemon.server.url)
            with headrace.connect(url, autocommit=True) as admin:
                admin.executescript("drop schema if exists plans, nearer cascade; create schema nearer")
                admin.executescript(FUNCTIONS)


@pytest.fixture
def places(program: Path, folder: Path, server: PostgresServer) -> Iterator[Places]:
    """Pools of one and two connections, and one whose connections stay with their clients."""
    with headrace.connect(server.url, autocommit=True) as admin:
        admin.execute("drop database if exists plans_direct")
        admin.execute("create database plans_direct")
    text = config(server, one="pool_size = 1", two="pool_size = 2", session='pool_mode = "session"\npool_size = 3')
    with started(program, folder, text, server) as daemon:
        yield Places(daemon)


def request(chance: random.Random, number: int, *, may_share: bool) -> Request:
    """One of a client that has prepared nothing."""
    kinds = [USES, MAKES, DROPS, SETS, BLOCKS] + [SHARED] * may_share

    def statement() -> str:
        (kind,) = chance.choices(kinds, [45, 12, 8, 12, 20] + [4] * may_share)
        return chance.choice(kind).format(number)

    how = chance.choices(["text", "texts", "group", "groups"], [60, 12, 14, 14])[0]
    count = chance.choices([1, 2, 3, 4], [50, 25, 15, 10])[0]
    statements = [statement() for _ in range(count)]
    if how == "text" and count > 1:
        # By itself it executes several.
        statements = [each for each in statements if not each.startswith(("do ", "call "))] or ["select 1"]
    if how in ("group", "groups") and chance.random() < 0.5:
        name = chance.choice(["s1", "s2"])
        statements.insert(0, f"prepare {name}: " + chance.choice(PREPARED).format(number))
        statements.append(f"{name}: ")
    return Request(statements, how)


def converse(places: Places, seed: int) -> None:
    """A conversation; what was asked is shown if an answer is another one."""
    chance = random.Random(seed)
    database = list(POOLS)[seed % len(POOLS)]
    places.clear()
    pairs = [Pair(places, database, STARTS[number]) for number in range(3)]
    asked: list[tuple[int, Request]] = []
    try:
        for number in range(STEPS):
            who = chance.randrange(3)
            pair = pairs[who]
            others = [other for other in pairs if other is not pair]
            if database != "session" and sum(other.holds for other in others) >= POOLS[database]:
                continue
            if chance.random() < (0.2 if pair.keeps else 0.08):
                pair.close()
                pairs[who] = Pair(places, database, STARTS[who])
                continue
            may_share = database != "session" and not any(other.holds for other in pairs)
            made = request(chance, number, may_share=may_share)
            asked.append((who, made))
            direct, client = pair.ask(made)
            assert direct == client, (seed, database, asked, direct, client)
    finally:
        for pair in pairs:
            pair.close()


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(CONVERSATIONS))
def test_answers_are_those_of_sessions_of_their_own(places: Places, seed: int) -> None:
    converse(places, seed)
