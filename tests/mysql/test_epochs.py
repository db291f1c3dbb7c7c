"""A statement means what it would mean on a fresh connection, whatever it was prepared for before.

Each row of ``CHANGES`` is a change of the session, a text, and the result of the text before and after it; it runs by
each way in which a text can be executed.
"""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable
from decimal import Decimal
from typing import Any

import pytest

import headrace.aio.mysql
import headrace.compat.mysqldb
import headrace.mysql
from headrace import errors
from served import Served, fresh

Conn = headrace.mysql.Connection[Any]

CHANGES = {
    "use": ("use {b}", "select v from t", 1, "b"),
    "use function": ("USE `{b}`", "select f()", 1, "b"),
    "use after a comment": ("/* tenant */ use {b}", "select database()", "{a}", "{b}"),
    "use in a comment that is executed": ("/*!50000 use {b} */", "select v from t", 1, "b"),
    "sql_mode quotes": ("set sql_mode = 'ANSI_QUOTES'", 'select "v" from t', "v", 1),
    "sql_mode concatenation": ("set @@sql_mode = 'PIPES_AS_CONCAT'", "select 'a' || 'b'", 0, "ab"),
    "sql_mode backslash": ("set @a = 1, sql_mode = 'NO_BACKSLASH_ESCAPES'", r"select 'a\\b'", r"a\b", r"a\\b"),
    "sql_mode precedence": ("set sql_mode = 'HIGH_NOT_PRECEDENCE'", "select not 1 between -5 and 5", 0, 1),
    "names": ("set names utf8mb4 collate utf8mb4_bin", "select 'a' = 'A'", 1, 0),
    "collation": ("set collation_connection = 'utf8mb4_bin'", "select 'a' = 'A'", 1, 0),
    "locale": ("set lc_time_names = 'de_DE'", "select dayname('2020-05-01')", "Friday", "Freitag"),
    "division": (
        "set div_precision_increment = 10",
        "select 1 / v from t",
        Decimal("1.0000"),
        Decimal("1." + "0" * 10),
    ),
    "week": ("set default_week_format = 3", "select week('2008-02-20')", 7, 8),
    "time_zone": ("set time_zone = '+05:00'", "select hour(from_unixtime(0))", 0, 5),
    "variable": ("set @n = 'abc'", "select @n", None, "abc"),
    "variable by a query": ("select 'abc' into @n", "select concat(@n)", None, "abc"),
    "altered table": ("alter table t modify v varchar(9)", "select v from t", 1, "1"),
    "temporary table": ("create temporary table t select 'temporary' as v", "select v from t", 1, "temporary"),
    "temporary table that is described": ("create temporary table t select 1 as w", "describe t", "v", "w"),
    "temporary table that is shown": ("create temporary table t select 1 as w", "show columns in t", "v", "w"),
    "another function": ("create or replace function f() ...", "select f()", 1, "c"),
    "procedure that assigns": ("call {b}.assign()", "select 'a' || 'b'", 0, 0),
}
"""Name: the change, the text, its value before, its value after."""


def by_stream(on_server: bool) -> Callable[[Conn, str], Any]:
    return lambda conn, sql: next(row for block in [*conn.stream_blocks(sql, on_server=on_server)] for row in block)[0]


def by_pipeline(conn: Conn, sql: str) -> Any:
    with conn.pipeline():
        cursors = [conn.execute(sql), conn.execute(sql)]
    values = [cursor.fetchone()[0] for cursor in cursors]
    assert values[0] == values[1]
    return values[0]


def by_facade(conn: Any, sql: str) -> Any:
    cursor = conn.cursor()
    cursor.execute(sql)
    return cursor.fetchone()[0]


WAYS: dict[str, Callable[[Any, str], Any]] = {
    "execute": lambda conn, sql: conn.execute(sql).fetchone()[0],
    "fetch": lambda conn, sql: conn.fetchval(sql),
    "stream": by_stream(False),
    "on_server": by_stream(True),
    "executemany": lambda conn, sql: conn.executemany(sql, [()], returning=True).fetchone()[0],
    "fetchmany": lambda conn, sql: conn.fetchmany(sql, [()])[0][0],
    "pipeline": by_pipeline,
    "executescript": lambda conn, sql: conn.executescript(sql).fetchone()[0],
    "prepared=False": lambda conn, sql: conn.fetchval(sql),
    "facade": by_facade,
}


@pytest.fixture(scope="module")
def schemas(my_server: Served, my_url: str) -> tuple[str, str]:
    """Two databases with tables and functions of the same names."""
    a = my_url.rpartition("/")[2]
    return a, f"{a}_b"


@pytest.fixture
def url(my_url: str, schemas: tuple[str, str]) -> str:
    """The URL of the first, both as new."""
    with headrace.mysql.connect(my_url, autocommit=True) as conn:
        for schema, value in zip(schemas, ("1", "'b'"), strict=True):
            kind = "int" if value == "1" else "varchar(9)"
            conn.executescript(f"create database if not exists {schema} character set utf8mb4")
            conn.select_db(schema)
            fresh(conn, f"table t (v {kind})")
            conn.executescript(f"insert into t values ({value})")
            fresh(conn, f"function f() returns {kind} deterministic return {value}")
            fresh(conn, "procedure assign() set sql_mode = 'PIPES_AS_CONCAT'")
    return my_url


def apply(change: str, url: str, do: Callable[[str], Any]) -> None:
    """Makes a change; MySQL has no CREATE OR REPLACE FUNCTION, and another session may do that one."""
    if "or replace function" in change:
        with headrace.mysql.connect(url, autocommit=True) as other:
            fresh(other, "function f() returns varchar(9) deterministic return 'c'")
    else:
        do(change)


def case(name: str, schemas: tuple[str, str]) -> tuple[str, str, Any, Any]:
    a, b = schemas

    def filled(part: Any) -> Any:
        return part.format(a=a, b=b) if isinstance(part, str) and "{" in part else part

    change, sql, before, after = map(filled, CHANGES[name])
    return change, sql, before, after


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", CHANGES)
def test_text_means_after_a_change_what_it_means_on_a_fresh_connection(
    name: str, way: str, url: str, schemas: tuple[str, str], my_server: Served
) -> None:
    change, sql, before, after = case(name, schemas)
    read = WAYS[way]
    if way == "facade":
        where = my_server.where | {"db": schemas[0], "charset": "utf8mb4", "autocommit": True}
        conn: Any = headrace.compat.mysqldb.connect(**where)
        do: Callable[[str], Any] = lambda text: conn.cursor().execute(text)  # noqa: E731
    else:
        conn = headrace.mysql.connect(url, autocommit=True, prepared=way != "prepared=False")
        do = conn.execute
    with contextlib.closing(conn):
        do("set time_zone = '+00:00'")
        for _ in range(2):
            assert read(conn, sql) == before
        apply(change, url, do)
        for _ in range(2):
            assert read(conn, sql) == after


async def read_async(conn: Any, way: str, sql: str) -> Any:
    if way in ("stream", "on_server"):
        rows = [row async for row in conn.stream(sql, on_server=way == "on_server")]
        return rows[0][0]
    if way == "executemany":
        return (await (await conn.executemany(sql, [()], returning=True)).fetchone())[0]
    if way == "pipeline":
        async with conn.pipeline():
            cursors = [await conn.execute(sql), await conn.execute(sql)]
        return (await cursors[1].fetchone())[0]
    if way == "executescript":
        return (await (await conn.executescript(sql)).fetchone())[0]
    return await conn.fetchval(sql)


@pytest.mark.parametrize("way", ["fetch", "stream", "on_server", "executemany", "pipeline", "executescript"])
@pytest.mark.parametrize("name", CHANGES)
async def test_text_means_the_same_on_a_loop(name: str, way: str, url: str, schemas: tuple[str, str]) -> None:
    change, sql, before, after = case(name, schemas)
    async with await headrace.aio.mysql.connect(url, autocommit=True) as conn:
        await conn.execute("set time_zone = '+00:00'")
        for _ in range(2):
            assert await read_async(conn, way, sql) == before
        if "or replace function" in change:
            apply(change, url, conn.execute)
        else:
            await conn.execute(change)
        for _ in range(2):
            assert await read_async(conn, way, sql) == after


# What changes the schema, each with what reads and writes must follow it.

SWITCHES: dict[str, Callable[[Conn, str], Any]] = {
    "execute": lambda conn, b: conn.execute(f"use {b}"),
    "executescript": lambda conn, b: conn.executescript(f"use {b}"),
    "one of several": lambda conn, b: conn.executescript(f"select 1; use {b}; select 2"),
    "select_db": lambda conn, b: conn.select_db(b),
}


@pytest.mark.parametrize("switch", SWITCHES)
def test_rows_land_in_the_current_schema(switch: str, url: str, schemas: tuple[str, str]) -> None:
    a, b = schemas
    insert = "insert into t values (?)"
    with headrace.mysql.connect(url, autocommit=True, multi_statements=True) as conn:
        conn.execute(insert, (7,))
        conn.executemany(insert, [(8,), (9,)])
        update = "update t set v = ? where v = ?"
        conn.executemany(update, [("7", "7"), ("8", "8")])
        SWITCHES[switch](conn, b)
        conn.execute(insert, (17,))
        conn.executemany(insert, [(18,), (19,)])
        assert conn.executemany(update, [("20", "18"), ("21", "19")]).rowcount == 2
        conn.select_db(a)
        conn.execute(insert, (10,))
        assert conn.fetch(f"select v from {a}.t order by v") == [(1,), (7,), (8,), (9,), (10,)]
        assert conn.fetch(f"select v from {b}.t order by v") == [("17",), ("20",), ("21",), ("b",)]


@pytest.mark.parametrize("change", ["use {b}", "/* */ use {b}", "select 1; use {b}"])
def test_nothing_is_bound_after_a_change_that_is_not_answered(change: str, url: str, schemas: tuple[str, str]) -> None:
    a, b = schemas
    with headrace.mysql.connect(url, autocommit=True, multi_statements=True) as conn:
        assert conn.fetchval("select v from t") == 1
        with conn.pipeline():
            first = conn.execute("select v from t")
            conn.executescript(change.format(b=b))
            second = conn.execute("select v from t")
            conn.executescript(f"use {a}")
            third = conn.execute("select v from t")
        assert [cursor.fetchone()[0] for cursor in (first, second, third)] == [1, "b", 1]


async def test_tasks_that_share_a_connection_see_each_other_change_the_schema(
    url: str, schemas: tuple[str, str]
) -> None:
    a, b = schemas
    async with await headrace.aio.mysql.connect(url, autocommit=True) as conn:
        assert await conn.fetchval("select v from t") == 1
        steps: list[Awaitable[Any]] = []
        for schema in (b, a, b):
            steps += [conn.select_db(schema), conn.fetchval("select v from t")]
        assert (await asyncio.gather(*steps))[1::2] == ["b", 1, "b"]


def test_failed_text_of_several_statements_may_have_changed_the_schema(url: str, schemas: tuple[str, str]) -> None:
    with headrace.mysql.connect(url, autocommit=True, multi_statements=True) as conn:
        assert conn.fetchval("select v from t") == 1
        with pytest.raises(errors.UndefinedTable):
            conn.executescript(f"use {schemas[1]}; select * from nowhere")
        assert conn.fetchval("select v from t") == "b"


def test_dropped_schema_is_the_current_one_no_more(my_server: Served, url: str) -> None:
    with headrace.mysql.connect(url, autocommit=True) as conn:
        for statement in ("create database passing", "use passing", "create table t (v int)"):
            conn.execute(statement)
        assert conn.fetch("select v from t") == []
        for statement in ("drop database passing", "create database passing", "create table passing.t (v int)"):
            conn.execute(statement)
        with pytest.raises(errors.ProgrammingError, match="No database selected"):
            conn.fetch("select v from t")
        conn.execute("drop database passing")


@pytest.mark.servers("mariadb")
def test_schema_that_dynamic_sql_changes(url: str, schemas: tuple[str, str]) -> None:
    with headrace.mysql.connect(url, autocommit=True) as conn:
        assert conn.fetchval("select v from t") == 1
        conn.execute(f"execute immediate 'use {schemas[1]}'")
        assert conn.fetchval("select v from t") == "b"
        # Also with a server that does not report it.
        conn.execute("set session_track_schema = 0")
        conn.execute(f"execute immediate 'use {schemas[0]}'")
        assert conn.fetchval("select v from t") == 1


def test_server_cursor_reads_on_in_the_schema_that_it_was_opened_in(url: str, schemas: tuple[str, str]) -> None:
    with headrace.mysql.connect(url, autocommit=True) as conn:
        conn.executemany("insert into t values (?)", [(n,) for n in range(2, 10)])
        rows = conn.stream("select v from t", fetch_size=2, on_server=True)
        first = next(rows)
        conn.select_db(schemas[1])
        assert sorted([first, *rows]) == [(n,) for n in range(1, 10)]
        assert [*conn.stream("select v from t", fetch_size=2, on_server=True)] == [("b",)]
        assert conn.fetchval("select v from t") == "b"


@pytest.mark.parametrize("switched", [False, True])
def test_discarded_session_begins_again_in_its_own_schema(switched: bool, url: str, schemas: tuple[str, str]) -> None:
    with headrace.mysql.connect(url, autocommit=True) as conn:
        assert conn.fetchval("select v from t") == 1
        if switched:
            conn.select_db(schemas[1])
        conn.reset("discard")
        assert conn.fetchval("select database()") == schemas[0]
        assert conn.fetchval("select v from t") == 1


def test_pool_lends_a_connection_that_another_has_moved(url: str, schemas: tuple[str, str]) -> None:
    with headrace.ConnectionPool(url, min_size=1, max_size=1, kwargs={"autocommit": True}) as pool:
        for schema, value in zip((*schemas, *schemas), (1, "b", 1, "b"), strict=True):
            with pool.connection() as conn:
                conn.select_db(schema)
                assert conn.fetchval("select v from t") == value


def test_harmless_settings_keep_what_is_prepared(url: str) -> None:
    with headrace.mysql.connect(url, autocommit=True) as conn:

        def prepared() -> int:
            return int(conn.fetch("show session status like 'Com_stmt_prepare'")[0][1])

        conn.fetchval("select v from t")
        prepared()
        first = prepared()
        before = prepared()
        # On MySQL the question itself is prepared each time.
        asking = before - first
        for sql in ("set autocommit = 0", "set @a = 1", "set session transaction read write", "set autocommit = 1"):
            conn.executescript(sql)
            conn.fetchval("select v from t")
        assert prepared() == before + asking


def test_parameters_of_a_text_are_found_by_the_sql_mode_of_now(url: str) -> None:
    text = r"select '\', ?"
    with headrace.mysql.connect(url, autocommit=True) as conn:
        for _ in range(2):
            conn.execute("set sql_mode = ''")
            with pytest.raises(errors.ProgrammingError):
                conn.fetchrow(text, 5)
            conn.execute("set sql_mode = 'NO_BACKSLASH_ESCAPES'")
            assert conn.fetchrow(text, 5) == ("\\", 5)
