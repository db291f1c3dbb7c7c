"""Recorded conversations with a real server, replayed to the driver split and cut at every byte: it gives what was
recorded or raises its own error, in time; never a hang, never a wrong row."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import headrace
from headrace import errors
from headrace.lab.servers import Server

from .proxy import Proxy, Replay

Conn = headrace.Connection[Any]


def selects(conn: Conn) -> Any:
    rows = conn.execute("select g, 'row ' || g, g / 2.0 from generate_series(1, 5) g where g <= %s", (4,)).fetchall()
    return rows, conn.execute("select $1::text, null", ("é",)).fetchall()


def batch_with_an_error(conn: Conn) -> Any:
    conn.execute("create temp table r (n int primary key)")
    try:
        conn.executemany("insert into r values ($1)", [(1,), (2,), (1,), (3,)])
    except errors.UniqueViolation as error:
        return error.row, conn.fetchval("select count(*) from r")
    return None


def script_and_copy(conn: Conn) -> Any:
    cursor = conn.executescript("select 1; select 'two'")
    first = cursor.fetchall()
    cursor.nextset()
    return first, cursor.fetchall(), list(conn.copy_out("select generate_series(1, 3)"))


CONVERSATIONS: dict[str, Callable[[Conn], Any]] = {
    "selects": selects,
    "batch": batch_with_an_error,
    "script": script_and_copy,
}


def converse(port: int, work: Callable[[Conn], Any]) -> Any:
    conn = headrace.connect(
        f"host=127.0.0.1 port={port} user=postgres dbname=postgres sslmode=disable connect_timeout=5", autocommit=True
    )
    try:
        return work(conn)
    finally:
        conn.close()


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_split_and_cut_at_every_byte(server: Server, name: str) -> None:
    work = CONVERSATIONS[name]
    with Proxy(server.port) as proxy:
        expected = converse(proxy.port, work)
        record = list(proxy.record)
    while record and record[-1][0]:
        record.pop()
    total = sum(len(block) for from_client, block in record if not from_client)
    assert total > 300
    for at in range(1, total):
        replay = Replay(record, split=at)
        assert converse(replay.port, work) == expected, f"split at {at}"
        replay.close()
    for at in range(total):
        replay = Replay(record, cut=at)
        try:
            got = converse(replay.port, work)
        except errors.Error:
            pass
        else:
            # Only what nobody waited for was cut off.
            assert got == expected, f"cut at {at}"
        replay.close()
