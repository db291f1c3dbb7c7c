"""Connecting, the session, and its settings."""

from __future__ import annotations

from typing import Any

import pytest

import headrace
import headrace.cubrid
from headrace import errors
from headrace.cubrid.settings import connect_options

Connection = headrace.cubrid.Connection[Any]


def test_the_forms_of_a_connection_string(url: str) -> None:
    options = connect_options(url, {})
    (host, port), password = options.hosts[0], options.password or ""
    for form in (
        f"CUBRID:{host}:{port}:{options.database}:{options.user}:{password}:",
        f"cubrid:{host}:{port}:{options.database}:{options.user}:{password}:?charset=utf-8&loginTimeout=5000",
        f"jdbc:cubrid:{host}:{port}:{options.database}:{options.user}:{password}:?queryTimeout=10000",
    ):
        with headrace.connect(form) as conn:
            assert isinstance(conn, headrace.cubrid.Connection)
            assert conn.fetchval("select 1") == 1


def test_another_broker_is_tried(url: str) -> None:
    options = connect_options(url, {})
    host, port = options.hosts[0]
    with headrace.cubrid.connect(url, host="127.0.0.1", port=1, alt_hosts=f"{host}:{port}") as conn:
        assert conn.fetchval("select 1") == 1


def test_what_the_server_says_of_itself(conn: Connection) -> None:
    assert conn.fetch_server_version()[:2].isdigit()
    assert conn.protocol_version >= 8
    assert conn.cas_pid > 0
    assert len(conn.session_id) == 20


def test_the_query_timeout_of_the_server(url: str, numbers: str) -> None:
    slow = f"select count(*) from {numbers} a, {numbers} b, {numbers} c where a.n + b.n + c.n = 7"
    with headrace.cubrid.connect(url, query_timeout=300) as conn:
        with pytest.raises(errors.QueryCanceled):
            conn.execute(slow)
        conn.rollback()
        assert conn.fetchval("select 1") == 1


def test_the_last_generated_value(conn: Connection) -> None:
    conn.execute("drop table if exists hr_ids")
    conn.execute("create table hr_ids (id int auto_increment primary key, v int)")
    assert conn.execute("insert into hr_ids (v) values (1)").lastrowid == 1
    assert conn.execute("insert into hr_ids (v) values (2), (3)").lastrowid == 2
    assert conn.last_insert_id() == 2
    conn.rollback()


def test_a_stream_is_read_in_bounded_memory(conn: Connection, numbers: str) -> None:
    sql = f"select a.n, b.n from {numbers} a, {numbers} b where a.n < 20"
    count = len(conn.fetch(sql))
    assert sum(1 for _ in conn.stream(sql, fetch_size=100)) == count
    rows = conn.stream(sql, fetch_size=100)
    next(rows)
    with pytest.raises(errors.InterfaceError, match="stream"):
        conn.execute("select 1")
    rows.close()  # type: ignore[attr-defined]
    assert conn.fetchval("select 1") == 1
    assert [len(block) for block in conn.stream_blocks(sql, fetch_size=1000)][:2] == [1000, 1000]


async def test_the_same_of_a_loop(url: str, numbers: str) -> None:
    async with await headrace.aio.connect(url) as conn:
        sql = f"select a.n, b.n from {numbers} a, {numbers} b where a.n < 5"
        assert len([row async for row in conn.stream(sql)]) == len(await conn.fetch(sql))
        await conn.execute("drop table if exists hr_ids")
        await conn.execute("create table hr_ids (id int auto_increment primary key, v int)")
        await conn.execute("insert into hr_ids (v) values (1)")
        assert await conn.last_insert_id() == 1
        locator = await conn.store_lob(b"x" * 200_000)
        assert await conn.read_lob(locator) == b"x" * 200_000
        await conn.rollback()


def test_many_queries_in_one_transaction(conn: Connection, numbers: str) -> None:
    # The server keeps the results of 100.
    for n in range(250):
        assert conn.fetchval(f"select n + {n} from {numbers} where n = 1") == n + 1
    with conn.pipeline():
        cursors = [conn.execute(f"select n - {n} from {numbers} where n = 2") for n in range(250)]
    assert [cursor.fetchone() for cursor in cursors] == [(2 - n,) for n in range(250)]
    for n in range(150):
        assert len(list(conn.stream(f"select n, {n} from {numbers}"))) == 1000
    kept = f"select n from {numbers} where n = ?"
    with conn.cursor(scrollable=True) as cursor:
        cursor.execute(f"select n from {numbers} order by n")
        assert cursor.fetchone() == (0,)
        for n in range(150):
            assert (conn.fetchval(kept, n), conn.fetchval(f"select {n} from {numbers} where n = 1")) == (n, n)
        assert cursor.fetchall() == [(n,) for n in range(1, 1000)]
    conn.rollback()
    assert conn.fetchval(kept, 3) == 3
