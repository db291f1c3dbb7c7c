"""Several statements in one text, settings that end where they end, rows put together, and the content of a
description."""

from __future__ import annotations

import signal
import struct
import subprocess
import tempfile
import time
from pathlib import Path
from typing import Any

import pytest

import headrace.informix
from headrace import errors
from headrace.testing import InformixServer, informix
from headrace.testing._programs import find_binary

from .raw import Client, bind_ints, command, prepare

Connection = headrace.informix.Connection[Any]


def test_statements_after_a_setting_are_executed(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (n int)")
    for n, setting in enumerate(
        ("isolation to committed read", "pdqpriority 5", "explain off", "lock mode to not wait")
    ):
        conn.execute(f"set {setting}; insert into {table} values ({n})")
    assert conn.fetchval(f"select count(*) from {table}") == 4
    conn.execute("set isolation to committed read; set dataskip default;set explain off;;set lock mode to wait 3;")


def test_several_statements_share_the_parameters(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (n int, v varchar(10))")
    both = f"insert into {table} values (?, ?); update {table} set v = ? where n = ?"
    assert conn.execute(both, (1, "old", "new", 1)).rowcount == 2
    conn.executemany(both, [(n, "old", f"new {n}", n) for n in range(2, 6)])
    assert conn.fetch(f"select v from {table} order by n") == [("new",), *((f"new {n}",) for n in range(2, 6))]


async def test_several_statements_on_a_loop(aconn: Any, table: str) -> None:
    await aconn.execute(f"create table {table} (n int)")
    await aconn.execute(
        f"insert into {table} values (1); insert into {table} values (2); delete from {table} where n = 1"
    )
    assert await aconn.fetch(f"select n from {table}") == [(2,)]


@pytest.mark.parametrize(
    ("sql", "code"),
    [
        ("insert into {table} values (1); select 1 from systables", -555),
        ("insert into {table} values (1); database testdb", -555),
        ("insert into {table} values (1); garbage", -201),
        ("insert into {table} values (1); insert into nosuch values (1)", -206),
        ("select from from", -201),
        ("set isolation to committed read garbage", -201),
        ("set pdqpriority 101", -201),
        ("set explain on off", -201),
        ("update statistics for nonsense ) (", -201),
        ("grant select on {table} to public garbage", -201),
    ],
)
def test_what_is_no_statement_is_refused_before_anything_runs(
    conn: Connection, table: str, sql: str, code: int
) -> None:
    conn.execute(f"create table {table} (n int)")
    conn.commit()
    with pytest.raises(errors.Error) as caught:
        conn.execute(sql.format(table=table))
    assert caught.value.sqlcode == code  # type: ignore[attr-defined]
    conn.rollback()
    assert conn.fetchval(f"select count(*) from {table}") == 0


@pytest.mark.parametrize(
    "sql",
    [
        "set isolation to dirty read with warning",
        "set isolation to dirty read warning",
        "set isolation committed read last committed retain update locks",
        "set transaction isolation level read committed, read write",
        "set optimization low",
        "set pdqpriority default",
        "set dataskip off",
        "update statistics",
        "update statistics medium for table {table} (n) resolution 10 0.95 distributions only force",
        "grant select, insert on {table} to public with grant option",
    ],
)
def test_settings_are_taken(conn: Connection, table: str, sql: str) -> None:
    conn.execute(f"create table {table} (n int)")
    conn.execute(sql.format(table=table))


def test_rows_of_one_width_are_put_together(ifx: InformixServer, table: str) -> None:
    with Client(ifx) as client:
        client.ask(command(f"create table {table} (n int, c char(3))"))
        prepared = client.ask(prepare(f"insert into {table} values (?, ?)"))
        client.ask(b"\0\x23\0\x0c")
        rows = b"".join(struct.pack(">i", n) + b"abc\0" for n in range(10))
        named = b"\0\x03\0\x04curs\0\x06"
        put = struct.pack(">Hh", 4, prepared.statement) + named + struct.pack(">HiH", 17, 7, 10) + rows + b"\0\x0c"
        assert ("DONE", (0, 10, 0, 0)) in client.ask(put).messages
        client.ask(b"\0\x13\0\x0c")
    with headrace.informix.connect(**ifx.parameters()) as conn:
        assert conn.fetch(f"select * from {table} order by n") == [(n, "abc") for n in range(10)]


def test_a_batch_may_stand_in_brackets() -> None:
    with informix(mode="ansi") as server, Client(server) as client:
        client.ask(command("create table t (n int)"))
        prepared = client.ask(prepare("insert into t values (?)"))
        pairs = [bind_ints(n) for n in range(3)]
        group = struct.pack(">Hh", 4, prepared.statement) + pairs[0] + b"\0\x8d\0\x07"
        group += b"".join(pair + b"\0\x07" for pair in pairs[1:]) + b"\0\x8e\0\x0c"
        assert client.ask(group).names().count("DONE") == 3


def test_description_tells_what_refuses_null(conn: Connection, table: str) -> None:
    conn.execute(f"create table {table} (a int not null, b int, c serial)")
    cursor = conn.execute(f"select a, b, c, a + 1, a as d from {table}")
    assert [column[6] for column in cursor.description or []] == [False, True, False, True, False]
    cursor = conn.execute(f"select l.a, r.a from {table} l left join {table} r on l.a = r.b")
    assert [column[6] for column in cursor.description or []] == [True, True]


def test_a_large_object_is_kept_without_being_closed(ifx: InformixServer, table: str) -> None:
    with headrace.informix.connect(**ifx.parameters()) as conn:
        conn.execute(f"create table {table} (b blob)")
        lob = conn.create_lob()
        lob.write(b"content")
        with conn.open_lob(lob.locator) as same:
            assert same.read() == b"content"
        conn.execute(f"insert into {table} values (?)", (lob.locator,))
        lob.write(b", and more")
        conn.commit()
    with headrace.informix.connect(**ifx.parameters()) as conn:
        with conn.open_lob(conn.fetchval(f"select b from {table}"), "r+b") as stored:
            assert stored.read() == b"content, and more"
            stored.write(b" that is rolled back")
            conn.rollback()
        with conn.open_lob(conn.fetchval(f"select b from {table}")) as stored:
            assert stored.read() == b"content, and more"


@pytest.mark.parametrize("ending", ["commit work", "set pdqpriority 0; commit work", "commit work; begin work"])
def test_what_ends_a_transaction_in_a_pipeline_ends_it_for_what_follows(
    conn: Connection, table: str, ending: str
) -> None:
    conn.execute(f"create table {table} (n int)")
    conn.commit()
    with conn.pipeline():
        conn.execute(f"insert into {table} values (1)")
        conn.execute(ending)
        conn.execute(f"insert into {table} values (2)")
    conn.rollback()
    assert conn.fetch(f"select n from {table}") == [(1,)]


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGKILL])
def test_the_folder_goes_with_the_server(number: signal.Signals) -> None:
    with subprocess.Popen([str(find_binary("informix"))], stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline().startswith("port ")
        folder = Path(tempfile.gettempdir()) / f"headrace-informix-{server.pid}"
        assert folder.is_dir()
        server.send_signal(number)
        server.wait(10)
    deadline = time.monotonic() + 10
    while folder.exists() and time.monotonic() < deadline:
        time.sleep(0.01)
    assert not folder.exists()
