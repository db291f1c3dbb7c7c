"""What clients have prepared counts for the memory that all of them may take."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from headrace.testing import PostgresServer

from .conftest import Daemon, config, started
from .raw import EXECUTE, SYNC, Client, bind, parse, query, sqlstates, values
from .test_status import status

MEGABYTES = 8
AT_ONCE = 4
LONG = "x" * 8000
TOO_LARGE = "HR003"
# What a client prepares: names and texts, of which one or the other is long.
MANY = {"texts": ("s{number}", f"select {{number}} /* {LONG} */"), "names": (f"s{{number}}{LONG}", "select 1")}


@pytest.fixture
def daemon(program: Path, folder: Path, server: PostgresServer) -> Iterator[Daemon]:
    """One that may not take much."""
    text = f"[daemon]\nmemory_mb = {MEGABYTES}\n" + config(server, app="pool_size = 2")
    with started(program, folder, text, server) as running:
        yield running


def client(daemon: Daemon) -> Client:
    """Of the daemon."""
    return Client.local(daemon.socket, user="me", database="app")


@pytest.mark.parametrize("what", MANY)
def test_client_with_too_many_prepared_statements_is_ended_and_others_are_served(daemon: Daemon, what: str) -> None:
    name, text = MANY[what]
    with client(daemon) as other:
        large, prepared = client(daemon), 0
        with pytest.raises(ConnectionError, match=TOO_LARGE):
            while prepared * len(LONG) < 2 * MEGABYTES << 20:
                numbers = range(prepared, prepared + AT_ONCE)
                made = b"".join(parse(name.format(number=each), text.format(number=each)) for each in numbers)
                assert sqlstates(large.ask(made + SYNC)) == []
                prepared += AT_ONCE
        large.socket.close()
        assert prepared * len(LONG) > (MEGABYTES - 1 << 20) - AT_ONCE * len(LONG)
        # What nobody has any more makes room for what others prepare.
        for number in range(prepared):
            found = other.ask(parse("", f"select {number}") + bind("") + EXECUTE + SYNC)
            assert values(found) == [str(number)]
        assert sqlstates(other.ask(parse("own", f"select 7 /* {LONG * 20} */") + SYNC)) == []
        assert values(other.ask(bind("own") + EXECUTE + SYNC)) == ["7"]
        assert values(other.ask(query("select 8"))) == ["8"]


def test_statement_that_clients_share_counts_once(daemon: Daemon) -> None:
    text = f"select 1 /* {LONG * 100} */"
    clients = [client(daemon) for _ in range(3 * MEGABYTES)]
    for each in clients:
        assert sqlstates(each.ask(parse("s", text) + SYNC)) == []
    assert len(text) < status(daemon)["memory_bytes"] < 2 * len(text)
    for each in clients:
        each.close()
