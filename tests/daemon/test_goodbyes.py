"""Clients that say goodbye after their requests and are gone at once: what they have sent whole is executed, as
PostgreSQL itself does, and no more than that."""

from __future__ import annotations

import contextlib
import json
import socket
from collections.abc import Iterator

import pytest

import headrace
from headrace.testing import PostgresServer
from waiting import until

from .conftest import Daemon
from .raw import EXECUTE, FLUSH, SECONDS, SYNC, TERMINATE, Client, bind, message, parse, query, startup, values
from .test_status import ask


def insert(what: str) -> str:
    """A statement that waits for the lock of the table."""
    return f"insert into said values ('{what}')"


def group(*texts: str) -> bytes:
    """The same in the extended protocol, without its end."""
    return b"".join(parse("", text) + bind("") + EXECUTE for text in texts)


COPY = query("copy said from stdin") + message(b"d", b"a\n")
CASES = {
    "query": (query(insert("a")), ["a"]),
    "query of several": (query(f"{insert('a')}; {insert('b')}"), ["a", "b"]),
    "query with error": (query(f"{insert('a')}; select 1 / 0"), []),
    "group": (group(insert("a")) + SYNC, ["a"]),
    "group without Sync": (group(insert("a")), []),
    "group that is flushed": (group(insert("a")) + FLUSH, []),
    "commit without Sync": (group("begin", insert("a"), "commit"), ["a"]),
    "no commit": (query(f"begin; {insert('a')}"), []),
    "copy": (COPY + message(b"c", b""), ["a"]),
    "copy without its end": (COPY, []),
    "copy that is given up": (COPY + message(b"f", b"no\0"), []),
}
"""What is said, and what the table has after that: on the server itself, too."""
SEVERAL = {
    "queries": (query(insert("a")) + query("select 1 / 0") + query(insert("b")), ["a", "b"]),
    "transaction": (query("begin") + query(insert("a")) + query("commit"), ["a"]),
    "groups": (
        group(insert("a")) + SYNC + group("select 1 / 0", insert("c")) + SYNC + group(insert("b")) + SYNC,
        ["a", "b"],
    ),
    "what waits for replies": (query(insert("a")) + query("deallocate all") + query(insert("b")), ["a", "b"]),
    "half a message": (query(insert("a")) + query(insert("b"))[:-9], None),
}
"""The same of several requests: it is a matter of time when the server itself finds that it cannot answer the first."""


@pytest.fixture
def admin(server: PostgresServer) -> Iterator[headrace.Connection]:
    """A session that has locked the table."""
    with headrace.connect(server.url) as conn:
        conn.execute("drop table if exists said")
        conn.execute("create table said (what text)")
        conn.commit()
        conn.execute("lock table said")
        yield conn
        conn.rollback()
        conn.execute("drop table said")
        conn.commit()


def is_waited_for(server: PostgresServer) -> bool:
    """A session waits for the table."""
    with headrace.connect(server.url) as conn:
        return conn.fetchval("select count(*) from pg_locks where not granted and relation = 'said'::regclass") == 1


def said(server: PostgresServer) -> list[str]:
    """What is in the table when nobody works on it any more."""
    works = "select count(*) from pg_stat_activity where state <> 'idle' and query ~ 'said' and pid <> pg_backend_pid()"
    with headrace.connect(server.url, autocommit=True) as conn:
        until(lambda: conn.fetchval(works) == 0)
        return [what for (what,) in conn.fetch("select what from said order by what")]


@pytest.mark.parametrize("how", ["direct", "two", "session"])
def test_what_was_sent_whole_before_a_goodbye_is_executed(
    daemon: Daemon, server: PostgresServer, admin: headrace.Connection, how: str
) -> None:
    cases = CASES if how == "direct" else {**CASES, **SEVERAL}
    for name, (sent, expected) in cases.items():
        if how == "direct":
            connected = Client(
                socket.create_connection(("127.0.0.1", server.port)), user="postgres", database="postgres"
            )
        else:
            connected = Client.local(daemon.socket, user="me", database=how)
        connected.send(sent + TERMINATE)
        connected.socket.close()
        if expected is None:
            # The server itself would execute what comes before: without a goodbye that is cancelled here.
            until(lambda: json.loads(ask(daemon, "GET", "/clients")[1]) == [])
            expected = []
        else:
            until(lambda: is_waited_for(server))
        admin.commit()
        until(lambda: json.loads(ask(daemon, "GET", "/clients")[1]) == [])
        assert said(server) == expected, name
        admin.execute("truncate said")
        admin.commit()
        admin.execute("lock table said")


def test_goodbye_of_a_client_that_waits_for_a_server_connection(
    daemon: Daemon, server: PostgresServer, admin: headrace.Connection
) -> None:
    admin.commit()
    with Client.local(daemon.socket, user="me", database="one") as holder:
        holder.ask(query("begin"))
        for unread in (b"", query("select 1 / 0")):
            connected = Client.local(daemon.socket, user="me", database="one")
            # An answer that it has not read makes an error of its end.
            connected.send(unread + query(insert("a")) + TERMINATE)
            connected.socket.close()
        until(lambda: [each["waiting"] for each in json.loads(ask(daemon, "GET", "/pools")[1])] == [2])
        assert values(holder.ask(query("select 1"))) == ["1"]
        holder.ask(query("commit"))
        until(lambda: len(json.loads(ask(daemon, "GET", "/clients")[1])) == 1)
    assert said(server) == ["a", "a"]


def test_goodbye_before_the_answer_to_the_login(
    daemon: Daemon, server: PostgresServer, admin: headrace.Connection
) -> None:
    admin.commit()
    for _ in range(20):
        with socket.socket(socket.AF_UNIX) as raw:
            raw.settimeout(SECONDS)
            raw.connect(str(daemon.socket))
            with contextlib.suppress(BrokenPipeError):
                raw.sendall(startup(user="me", database="app") + query(insert("a")) + TERMINATE)
    # Some may not have been accepted yet.
    until(lambda: said(server) == ["a"] * 20)
