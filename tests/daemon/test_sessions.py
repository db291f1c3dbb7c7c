"""What a session keeps: each line of the page that says so."""

from __future__ import annotations

import re
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace
from headrace.testing import PostgresServer
from waiting import until

from .conftest import Daemon, config, started
from .raw import Client, message, query, sqlstates, values

_TEXT = (Path(__file__).parents[2] / "docs" / "howto" / "daemon-sessions.md").read_text()
PAGES = dict(part.split("\n", 1) for part in _TEXT.split("\n## ")[1:])
"""The sections of the page."""
KEPT = re.compile(r"^\| `(?P<sql>.*)` \| .* \| (?P<end>reset|closed) \|$", re.MULTILINE)
SHARED = re.compile(r"^\| `(?P<sql>.*)` \| (?:(?!\|).)* \|$", re.MULTILINE)
PID = query("select pg_backend_pid()")
# What another session of the server sees of it.
SEEN = "select count(*) from pg_replication_slots where slot_name like 'sessions%'"


def kept(page: str = PAGES["PostgreSQL"]) -> list[tuple[str, str]]:
    """The lines of the first table."""
    return KEPT.findall(page)


def shared(page: str) -> list[str]:
    """Those of the second."""
    _, _, table = page.partition("| what becomes of it |")
    return SHARED.findall(table)


@pytest.fixture(scope="module")
def daemon(program: Path, server: PostgresServer) -> Iterator[Daemon]:
    """A daemon for all lines."""
    with headrace.connect(server.url, autocommit=True) as admin:
        if not admin.fetchval("select count(*) from pg_replication_origin where roname = 'sessions'"):
            admin.execute("select pg_replication_origin_create('sessions')")
    text = config(server, one="pool_size = 1", session='pool_mode = "session"\npool_size = 1')
    with (
        tempfile.TemporaryDirectory(prefix="headraced-") as made,
        started(program, Path(made), text, server) as running,
    ):
        yield running


def left_by(daemon: Daemon, database: str, sql: str, *, discards: bool) -> tuple[str, str]:
    """The process of a client that sends this and leaves, and that of the next."""
    with Client.local(daemon.socket, user="me", database=database) as client:
        # The server may not have the extension; the daemon cannot know that.
        client.ask(query(sql))
        if discards:
            client.ask(query("rollback"))
            client.ask(query("discard all"))
        (mine,) = values(client.ask(query("rollback") + PID, 2))
        assert values(client.ask(PID)) == [mine]
    with Client.local(daemon.socket, user="me", database=database) as client:
        (other,) = values(client.ask(PID))
    return mine, other


def test_page_has_what_keeps_a_connection() -> None:
    assert len(kept()) > 25
    assert {end for _, end in kept()} == {"reset", "closed"}


@pytest.mark.parametrize("database", ["one", "session"])
@pytest.mark.parametrize(("sql", "end"), kept())
def test_connection_is_reset_or_closed(daemon: Daemon, sql: str, end: str, database: str) -> None:
    for discards in (False, True):
        mine, other = left_by(daemon, database, sql, discards=discards)
        assert (mine == other) == (end == "reset"), f"discards: {discards}"
    if end == "closed":
        with headrace.connect(daemon.server.url, autocommit=True) as admin:
            until(lambda: not admin.fetchval("select count(*) from pg_stat_activity where pid = %s", int(mine)))
            assert admin.fetchval(SEEN) == 0


def test_what_ends_with_its_transaction_keeps_nothing(daemon: Daemon) -> None:
    statements = shared(PAGES["PostgreSQL"])
    assert len(statements) == 5
    with Client.local(daemon.socket, user="me", database="one") as one:
        for sql in statements:
            assert sqlstates(one.ask(query("begin") + query(sql) + query("commit"), 3)) == []
            with Client.local(daemon.socket, user="me", database="one") as two:
                assert values(one.ask(PID)) == values(two.ask(PID)), sql


def test_function_that_is_called_by_its_number_is_not_known(daemon: Daemon) -> None:
    with headrace.connect(daemon.server.url, autocommit=True) as admin:
        setseed = admin.fetchval("select 'setseed'::regproc::oid::int")
    call = message(b"F", setseed.to_bytes(4, "big") + b"\0\1\0\0\0\1\0\0\0\x030.5\0\0")
    with Client.local(daemon.socket, user="me", database="one") as client:
        assert sqlstates(client.ask(call)) == []
        (mine,) = values(client.ask(PID))
    with Client.local(daemon.socket, user="me", database="one") as client:
        assert values(client.ask(PID)) != [mine]
