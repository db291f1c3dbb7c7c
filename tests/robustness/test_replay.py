"""Recorded conversations with a real server, replayed to the driver, split and cut: it returns what was recorded or
raises its own error, in time; never a hang, never a wrong row.

In ``make test-long`` at every byte. The crates' tests (``crates/*/tests/machine/replay.rs``) always split the engine's
conversations at every byte; here it is the sockets and the shell that are tested.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from headrace import errors
from long import every
from servers import Database

from .proxy import Proxy, Replay

Conn = Any


MORE_VALUES = {
    "postgresql": "$1::text, null",
    "mysql": "cast(? as char), null",
    "informix": "cast(? as lvarchar(20)), cast(null as date), extend(mdy(1, 2, 2024), year to fraction(3))",
    "cubrid": "cast(? as varchar(20)), null, datetime'2024-01-02 03:04:05.678', cast({1, 2} as list(int))",
}


def selects(target: Database, conn: Conn) -> Any:
    rows = conn.execute(f"select n, n / 2.0, 'row' from ({target.series(5)}) s where n <= {target.mark}", (4,))
    more = f"select {MORE_VALUES[target.kind]}{target.differences.from_nothing}"
    return rows.fetchall(), conn.execute(more, ("é",)).fetchall()


def batch_with_an_error(target: Database, conn: Conn) -> Any:
    conn.execute(target.temporary)
    try:
        conn.executemany(f"insert into r values ({target.mark})", [(1,), (2,), (1,), (3,)])
    except errors.UniqueViolation as error:
        return error.row, conn.fetchval("select count(*) from r")
    return None


def postgresql_script(target: Database, conn: Conn) -> Any:
    cursor = conn.executescript("select 1; select 'two'")
    first = cursor.fetchall()
    cursor.nextset()
    return first, cursor.fetchall(), list(conn.copy_out("select generate_series(1, 3)"))


def mysql_script(target: Database, conn: Conn) -> Any:
    conn.execute(target.temporary)
    loaded = conn.load_rows("r", [(1,), (2,), (3,)])
    streamed = list(conn.stream("select n from r order by n", fetch_size=2))
    return loaded, streamed, conn.fetch("show tables like 'x%'")


def informix_script(target: Database, conn: Conn) -> Any:
    conn.execute("create temp table large (n int, t text, b byte)")
    conn.executemany("insert into large values (?, ?, ?)", [(1, "one " * 10, b"1"), (2, None, b""), (3, "", None)])
    large = conn.fetch("select * from large order by n")
    streamed = list(conn.stream("select n from numbers where n <= 90 order by n", fetch_bytes=512))
    with conn.transaction(), conn.cursor("named", scrollable=True) as cursor:
        cursor.execute("select n from numbers where n <= 5 order by n")
        cursor.scroll(3)
        return large, streamed, cursor.fetchone()


def cubrid_script(target: Database, conn: Conn) -> Any:
    both = conn.execute("select 1; select 'two'")
    first, more, second = both.fetchall(), both.nextset(), both.fetchall()
    streamed = list(conn.stream(target.series(20)))
    with conn.transaction(), conn.cursor(scrollable=True) as cursor:
        cursor.execute(target.series(5))
        cursor.scroll(3)
        content = conn.read_lob(conn.store_lob(b"content"))
        return first, more, second, streamed, cursor.fetchone(), content, conn.plan(target.answer)


SCRIPTS: dict[str, Callable[[Database, Conn], Any]] = {
    "postgresql": postgresql_script,
    "mysql": mysql_script,
    "informix": informix_script,
    "cubrid": cubrid_script,
}


def script_and_bulk(target: Database, conn: Conn) -> Any:
    return SCRIPTS[target.kind](target, conn)


CONVERSATIONS: dict[str, Callable[[Database, Conn], Any]] = {
    "selects": selects,
    "batch": batch_with_an_error,
    "script": script_and_bulk,
}


def converse(target: Database, port: int, work: Callable[[Database, Conn], Any]) -> Any:
    more = target.differences.allowing_load_data
    conn = target.connect(port, autocommit=True, **more)
    try:
        return work(target, conn)
    finally:
        conn.close()


@pytest.mark.parametrize("name", CONVERSATIONS)
def test_split_and_cut(target: Database, name: str) -> None:
    work = CONVERSATIONS[name]
    with Proxy(target.port) as proxy:
        expected = converse(target, proxy.port, work)
        record = list(proxy.record)
    while record and record[-1][0]:
        record.pop()
    total = sum(len(block) for from_client, block in record if not from_client)
    assert total > 300
    for at in range(1, total, every(3)):
        replay = Replay(record, split=at)
        assert converse(target, replay.port, work) == expected, f"split at {at}"
        replay.close()
    for at in range(0, total, every(2)):
        replay = Replay(record, cut=at)
        try:
            got = converse(target, replay.port, work)
        except errors.Error:
            pass
        else:
            # Only data that was not waited for was cut off.
            assert got == expected, f"cut at {at}"
        replay.close()
