"""Messages without a Sync before a Query: what becomes of their transaction, and whose error it is.

Since version 18 the server leaves the transaction open, and after a Sync that has nothing else before it says that
none is.
"""

from __future__ import annotations

import socket

import pytest

import headrace

from .conftest import Daemon
from .raw import EXECUTE, SYNC, Client, bind, parse, query, sqlstates, values

INSERT = parse("", "insert into unfinished values (1)") + bind("") + EXECUTE
GROUP = parse("", "select 2") + bind("") + EXECUTE + SYNC


AFTER = {
    "nothing": b"",
    "sync": SYNC,
    "query": query("select 2"),
    "group": GROUP,
    "commit": query("commit"),
    "rollback": query("rollback"),
    "empty": query(""),
}
ENDS = {
    "query": query("select 1"),
    "query and sync": query("select 1") + SYNC,
    "begin and sync": query("begin") + SYNC,
    "error": query("select 1/0"),
}
LOCKS = "begin; lock table unfinished in access exclusive mode; commit"


@pytest.mark.parametrize("after", AFTER.values(), ids=AFTER)
@pytest.mark.parametrize("ends", ENDS.values(), ids=ENDS)
def test_transaction_without_a_sync_is_that_of_its_client(daemon: Daemon, ends: bytes, after: bytes) -> None:
    told = []
    with headrace.connect(daemon.server.url, autocommit=True) as admin:
        for database in (None, "two", "session"):
            admin.executescript("drop table if exists unfinished; create table unfinished (n int)")
            if database is None:
                direct = socket.create_connection(("127.0.0.1", daemon.server.port))
                client = Client(direct, user="postgres", database="postgres")
            else:
                client = Client.local(daemon.socket, user="postgres", database=database)
            with client:
                received = client.ask(INSERT + ends, 1 + ends.endswith(SYNC))
                for _ in range(2):
                    if database == "two":
                        with Client.local(daemon.socket, user="postgres", database=database) as other:
                            assert values(other.ask(query("select 'of another client'"))) == ["of another client"]
                    if after:
                        received += client.ask(after)
                seen = [admin.fetchval("select count(*) from unfinished")]
            with Client.local(daemon.socket, user="postgres", database="two") as other:
                assert sqlstates(other.ask(query(LOCKS))) == []
            seen.append(admin.fetchval("select count(*) from unfinished"))
            told.append((received, seen))
    assert told[0] == told[1] == told[2]
