"""The facade of asyncpg: every test is also one of asyncpg itself."""

from __future__ import annotations

import asyncio
import contextlib
import datetime
import decimal
import io
import ipaddress
import json
import subprocess
import sys
import time
import uuid
from collections.abc import AsyncIterator
from typing import Any

import asyncpg
import pytest

from headrace.compat import asyncpg as facade

BOTH = [pytest.param(asyncpg, id="asyncpg"), pytest.param(facade, id="headrace")]


@pytest.fixture(params=BOTH)
def module(request: pytest.FixtureRequest) -> Any:
    return request.param


@pytest.fixture
async def con(module: Any, url: str) -> AsyncIterator[Any]:
    connection = await module.connect(url)
    yield connection
    await connection.close()


# values

UTC = datetime.timezone.utc
SAME_VALUES: list[tuple[str, Any]] = [
    ("1::int", 1),
    ("1.50::numeric", decimal.Decimal("1.50")),
    ("'x'::text", "x"),
    ("'\\x00ff'::bytea", b"\x00\xff"),
    ("'{\"a\": 1}'::json", '{"a": 1}'),
    ("'{\"a\": 1}'::jsonb", '{"a": 1}'),
    ("array['[1]'::jsonb]", ["[1]"]),
    ("'1 year 1 month 1 day'::interval", datetime.timedelta(days=396)),
    ("array['-1 month'::interval, null]", [datetime.timedelta(days=-30), None]),
    ("'2020-01-02 03:04'::timestamptz at time zone 'utc'", datetime.datetime(2020, 1, 2, 3, 4)),
    ("'2020-01-02 03:04+00'::timestamptz", datetime.datetime(2020, 1, 2, 3, 4, tzinfo=UTC)),
    ("'12345678-1234-5678-1234-567812345678'::uuid", uuid.UUID("12345678-1234-5678-1234-567812345678")),
    ("'10.0.0.1'::inet", ipaddress.IPv4Address("10.0.0.1")),
    ("'10.0.0.0/8'::cidr", ipaddress.IPv4Network("10.0.0.0/8")),
    ("array[[1, 2], [3, null]]", [[1, 2], [3, None]]),
    ("row(1, 'x'::text)", (1, "x")),
    ("'a'::\"char\"", b"a"),
    ("'(3,4)'::tid", (3, 4)),
    ("'16/B374D848'::pg_lsn", 97_500_059_720),
    ("array['16/B374D848'::pg_lsn]", [97_500_059_720]),
]


@pytest.mark.parametrize(("sql", "value"), SAME_VALUES, ids=[sql for sql, _ in SAME_VALUES])
async def test_values_are_asyncpgs(con: Any, sql: str, value: Any) -> None:
    got = await con.fetchval(f"select {sql}")
    assert got == value
    assert type(got) is type(value) or isinstance(value, uuid.UUID)


OTHER_CLASSES: list[tuple[str, Any, str]] = [
    ("int4range", (1, 5), "[1,6)"),
    ("int4range", [None, 5], "(,6)"),
    ("int4range", (1,), "[1,)"),
    ("int4range", (), "empty"),
    ("numrange", (1, decimal.Decimal("2.50")), "[1,2.50]"),
    ("int4range[]", [(1, 5), (2, 3)], '{"[1,6)","[2,4)"}'),
    ("int4multirange", [(1, 5), (7, 9)], "{[1,6),[7,10)}"),
    ("pg_lsn", 97_500_059_720, "16/B374D848"),
    ("pg_lsn[]", [1, 2**32], "{0/1,1/0}"),
    ("pg_snapshot", (10, 20, (10, 14)), "10:20:10,14"),
    ("txid_snapshot", (10, 20, ()), "10:20:"),
    ("tid[]", [(1, 2)], '{"(1,2)"}'),
    ("inet", 167_772_161, "10.0.0.1/32"),
    ("inet", bytes(15) + b"\x01", "::1/128"),
    ("inet[]", [1], "{0.0.0.1}"),
    ("cidr", b"\x0a\0\0\1", "10.0.0.1/32"),
    ("bit(8)", b"\xa5", "10100101"),
    ("varbit", bytearray(b"\xa5\x01"), "1010010100000001"),
    ("bit(8)[]", [b"a"], "{01100001}"),
]


@pytest.mark.parametrize(("kind", "value", "text"), OTHER_CLASSES, ids=[f"{k}-{v}" for k, v, _ in OTHER_CLASSES])
async def test_values_of_other_classes_are_taken(con: Any, kind: str, value: Any, text: str) -> None:
    assert await con.fetchval(f"WITH given AS (SELECT $1::{kind} AS v) SELECT v::text FROM given", value) == text


MADE_VALUES: list[tuple[str, str, str]] = [
    ("int4range", "Range(1, 5)", "[1,5)"),
    ("int4range", "Range(empty=True)", "empty"),
    ("numrange", "Range(None, 5, upper_inc=True)", "(,5]"),
    ("point", "Point(1.0, 2.0)", "(1,2)"),
    ("box", "Box((3.0, 4.0), (1.0, 2.0))", "(3,4),(1,2)"),
    ("lseg", "LineSegment((1.0, 2.0), (3.0, 4.0))", "[(1,2),(3,4)]"),
    ("line", "Line(1.0, 2.0, 3.0)", "{1,2,3}"),
    ("path", "Path((1.0, 2.0), (3.0, 4.0))", "[(1,2),(3,4)]"),
    ("path", "Path((1.0, 2.0), (3.0, 4.0), is_closed=True)", "((1,2),(3,4))"),
    ("polygon", "Polygon((1.0, 2.0), (3.0, 4.0))", "((1,2),(3,4))"),
    ("circle", "Circle((1.0, 2.0), 3.0)", "<(1,2),3>"),
    ("varbit", "BitString('1010 01')", "101001"),
]


@pytest.mark.parametrize(("kind", "made", "text"), MADE_VALUES, ids=[f"{k}-{t}" for k, _, t in MADE_VALUES])
async def test_values_of_asyncpgs_classes_go_both_ways(module: Any, con: Any, kind: str, made: str, text: str) -> None:
    value = eval(made, vars(module))
    got = await con.fetchrow(f"select $1::{kind} as value, $1::{kind}::text as shown, array[$1::{kind}] as them", value)
    assert (got["value"], got["shown"], got["them"]) == (value, text, [value])
    assert type(got["value"]) is type(value)


async def test_points_in_a_list_are_an_open_path_and_in_a_tuple_a_closed_one(con: Any) -> None:
    assert await con.fetchval("select $1::path::text", [(1, 2), (3, 4)]) == "[(1,2),(3,4)]"
    assert await con.fetchval("select $1::path::text", ((1, 2), (3, 4))) == "((1,2),(3,4))"


async def test_composite_values_are_records_with_the_names_of_their_attributes(con: Any) -> None:
    await con.execute("create type pg_temp.pair as (n int, during int4range)")
    row = await con.fetchrow("select row(1, '[1,2)')::pg_temp.pair as one, array[row(2, null)::pg_temp.pair] as many")
    assert row["one"]["n"] == 1
    assert row["one"]["during"].upper == 2
    assert dict(row["many"][0]) == {"n": 2, "during": None}


CHANGED = (
    ("date", "'infinity'", "text"),
    ("text", "'1 mon'", "interval"),
    ("interval", "'(1,2)'", "point"),
    ("int", "'(1,2)'", "tid"),
)


@pytest.mark.parametrize(("kind", "value", "then"), CHANGED, ids=[f"{kind}-{then}" for kind, _, then in CHANGED])
async def test_values_follow_a_column_that_others_have_altered(
    module: Any, con: Any, url: str, kind: str, value: str, then: str
) -> None:
    other = await module.connect(url)
    try:
        await other.execute(f"drop table if exists altered; create table altered (v {kind})")
        await other.execute("insert into altered values (null)")
        assert [row["v"] for row in await con.fetch("select v from altered")] == [None]
        await other.execute(f"alter table altered alter v type {then} using {value}::{then}")
        expected = await other.fetchval(f"select {value}::{then}")
        found = await con.fetchval("select v from altered")
        assert (found, type(found)) == (expected, type(expected))
    finally:
        await other.execute("drop table altered")
        await other.close()


async def test_attributes_are_never_those_of_another_name(module: Any, con: Any, url: str) -> None:
    other = await module.connect(url)
    try:
        await other.execute("create type part as (n int, span interval); create table parts (p part)")
        await other.execute("insert into parts values (row(1, '1 mon'))")
        assert dict(await con.fetchval("select p from parts")) == {"n": 1, "span": datetime.timedelta(days=30)}
        changes = (
            ("add attribute at tid", {"n": 1, "span": datetime.timedelta(days=30), "at": None}),
            ("drop attribute n", {"span": datetime.timedelta(days=30), "at": None}),
        )
        for change, expected in changes:
            await other.execute(f"alter type part {change}")
            if module is asyncpg:
                # It looks the type up again after an error.
                with pytest.raises(asyncpg.OutdatedSchemaCacheError):
                    await con.fetchval("select p from parts")
            assert dict(await con.fetchval("select p from parts")) == expected
            assert [dict(row["p"]) for row in await con.fetch("select p, 1 as n from parts")] == [expected]
    finally:
        await other.execute("drop table if exists parts; drop type if exists part")
        await other.close()


# records


async def test_records_are_read_by_name_number_and_slice(module: Any, con: Any) -> None:
    row = await con.fetchrow("select 1 as a, 'x' as b, 3 as a")
    assert isinstance(row, module.Record)
    assert not isinstance(row, tuple)
    assert (row["a"], row["b"], row[0], row[-1], row[:2]) == (3, "x", 1, 3, (1, "x"))
    assert row == (1, "x", 3)
    assert hash(row) == hash((1, "x", 3))
    assert row < (2,)
    assert repr(row) == "<Record a=1 b='x' a=3>"
    assert (list(row.keys()), list(row.values())) == (["a", "b", "a"], [1, "x", 3])
    assert list(row.items()) == [("a", 1), ("b", "x"), ("a", 3)]
    assert dict(row) == {"a": 3, "b": "x"}
    assert "a" in row
    assert "z" not in row
    assert (row.get("a"), row.get("z"), row.get("z", 5)) == (3, None, 5)
    assert len(row) == 3
    with pytest.raises(KeyError):
        row["z"]
    with pytest.raises(IndexError):
        row[3]
    with pytest.raises(TypeError, match="not JSON serializable"):
        json.dumps(row)


async def test_the_class_of_records_is_the_programs(module: Any, con: Any) -> None:
    class Dotted(module.Record):  # type: ignore[misc]
        def __getattr__(self, name: str) -> Any:
            return self[name]

    row = await con.fetchrow("select 1 as count, 2 as index", record_class=Dotted)
    assert (row.count, row.index, type(row)) == (1, 2, Dotted)


# statements


async def test_execute_returns_the_status_of_the_last_statement(con: Any) -> None:
    assert await con.execute("create temp table t (a int); insert into t values (1), (2)") == "INSERT 0 2"
    assert await con.execute("delete from t where a = $1", 1) == "DELETE 1"


async def test_batches_are_stored_whole_or_not_at_all(module: Any, con: Any) -> None:
    await con.execute("create temp table t (a int primary key)")
    await con.executemany("insert into t values ($1)", [(1,), (2,)])
    assert [tuple(r) for r in await con.fetchmany("insert into t values ($1) returning a", [(3,), (4,)])] == [
        (3,),
        (4,),
    ]
    with pytest.raises(module.UniqueViolationError):
        await con.executemany("insert into t values ($1)", [(5,), (1,)])
    with pytest.raises(module.DataError):
        await con.executemany("insert into t values ($1)", [(6,), (object(),)])
    assert await con.fetchval("select array_agg(a order by a) from t") == [1, 2, 3, 4]


async def test_prepared_statements_are_described(con: Any) -> None:
    await con.execute("create temp table t (a int, b text[])")
    prepared = await con.prepare("select b, a from t where a = $1 or b = $2")
    assert [(each.name, each.type.name, each.type.kind) for each in prepared.get_attributes()] == [
        ("b", "text[]", "array"),
        ("a", "int4", "scalar"),
    ]
    assert [(each.oid, each.name, each.schema) for each in prepared.get_parameters()] == [
        (23, "int4", "pg_catalog"),
        (1009, "text[]", "pg_catalog"),
    ]
    assert prepared.get_query().startswith("select b")
    assert await prepared.fetch(1, None) == []
    assert prepared.get_statusmsg() == "SELECT 0"
    await (await con.prepare("insert into t values ($1)")).executemany([(1,), (2,)])
    assert await prepared.fetchval(2, None, column=1) == 2
    assert (await prepared.fetchrow(1, None))["a"] == 1
    assert (await prepared.explain(1, None))[0]["Plan"]["Node Type"] == "Seq Scan"


ERRORS: list[tuple[str, tuple[Any, ...], str, str | None]] = [
    ("selekt", (), "PostgresSyntaxError", "42601"),
    ("select * from missing", (), "UndefinedTableError", "42P01"),
    ("select 1/0", (), "DivisionByZeroError", "22012"),
    ("select $1::int", (object(),), "DataError", "22000"),
    ("select $1::int", (2**40,), "DataError", "22000"),
    ("select $1::int", (1, 2), "InterfaceError", None),
    ("select $1::int", (), "InterfaceError", None),
]


@pytest.mark.parametrize(("sql", "args", "name", "sqlstate"), ERRORS, ids=[f"{e[0]}-{len(e[1])}" for e in ERRORS])
async def test_errors_are_asyncpgs(
    module: Any, con: Any, sql: str, args: tuple[Any, ...], name: str, sqlstate: str | None
) -> None:
    with pytest.raises(Exception) as caught:
        await con.fetch(sql, *args)
    assert type(caught.value) is getattr(module, name)
    assert getattr(caught.value, "sqlstate", None) == sqlstate
    assert await con.fetchval("select 1") == 1


async def test_errors_have_the_fields_of_the_server(module: Any, con: Any) -> None:
    await con.execute("create temp table t (a int constraint positive check (a > 0))")
    with pytest.raises(module.CheckViolationError) as caught:
        await con.execute("insert into t values ($1)", -1)
    error = caught.value
    assert isinstance(error, module.IntegrityConstraintViolationError)
    assert isinstance(error, module.PostgresError)
    assert (error.table_name, error.constraint_name, error.severity) == ("t", "positive", "ERROR")
    assert error.detail.startswith("Failing row")
    assert error.as_dict()["sqlstate"] == "23514"


def test_the_exceptions_are_named_and_derived_as_asyncpgs() -> None:
    for name in asyncpg.exceptions.__all__:
        theirs, mine = getattr(asyncpg, name), getattr(facade, name)
        bases = [each.__name__ for each in theirs.__mro__]
        assert [each.__name__ for each in mine.__mro__] == bases
        assert getattr(mine, "sqlstate", None) == getattr(theirs, "sqlstate", None)


async def test_a_statement_that_takes_too_long_is_cancelled(con: Any) -> None:
    with pytest.raises(TimeoutError):
        await con.execute("select pg_sleep(30)", timeout=0.05)
    assert await con.fetchval("select 1") == 1


# transactions and cursors


async def test_transactions_nest_as_savepoints(con: Any) -> None:
    await con.execute("create temp table t (a int)")
    async with con.transaction(isolation="serializable", readonly=False, deferrable=True):
        assert await con.fetchval("show transaction_isolation") == "serializable"
        await con.execute("insert into t values (1)")
        with pytest.raises(ZeroDivisionError):
            async with con.transaction():
                await con.execute("insert into t values (2)")
                raise ZeroDivisionError
        inner = con.transaction()
        await inner.start()
        await con.execute("insert into t values (3)")
        await inner.commit()
        assert con.is_in_transaction()
    assert not con.is_in_transaction()
    outer = con.transaction()
    await outer.start()
    await con.execute("delete from t")
    await outer.rollback()
    assert await con.fetchval("select array_agg(a) from t") == [1, 3]


MISUSES: list[tuple[str, str]] = [
    ("t = con.transaction(); await t.commit()", "not yet started"),
    ("t = con.transaction(); await t.start(); await t.start()", "already started"),
    ("t = con.transaction(); await t.start(); await t.commit(); await t.rollback()", "already committed"),
    ("await con.execute('begin'); await con.transaction().start()", "manually started"),
    (
        "async with con.transaction() as t: pass\nt = con.transaction()\nasync with t: await t.commit()",
        "manually commit",
    ),
]


@pytest.mark.parametrize(("program", "words"), MISUSES, ids=[words for _, words in MISUSES])
async def test_transactions_that_are_misused_say_so(module: Any, con: Any, program: str, words: str) -> None:
    names: dict[str, Any] = {}
    lines = "\n    ".join(line.strip() for part in program.split("\n") for line in part.split("; ") or [part])
    exec(f"async def run(con):\n    {lines}", names)
    with pytest.raises(module.InterfaceError, match=words):
        await names["run"](con)


async def test_cursors_read_in_blocks_inside_a_transaction(module: Any, con: Any) -> None:
    with pytest.raises(module.NoActiveSQLTransactionError):
        await con.cursor("select 1")
    async with con.transaction():
        rows = [row["n"] async for row in con.cursor("select n from generate_series(1, $1) n", 7, prefetch=3)]
        assert rows == [1, 2, 3, 4, 5, 6, 7]
        cursor = await con.cursor("select n from generate_series(1, 7) n")
        assert await cursor.forward(2) == 2
        assert [row["n"] for row in await cursor.fetch(2)] == [3, 4]
        assert (await cursor.fetchrow())["n"] == 5
        assert [row["n"] for row in await cursor.fetch(10)] == [6, 7]
        assert await cursor.fetchrow() is None
        prepared = await con.prepare("select n from generate_series(1, 3) n")
        assert [row["n"] async for row in prepared.cursor()] == [1, 2, 3]


# COPY, what comes unasked, codecs


async def test_copy_in_every_direction(con: Any) -> None:
    await con.execute('create temp table "T" (a int, b text)')
    assert await con.copy_records_to_table("T", records=[(1, "x"), (2, None)], columns=["a", "b"]) == "COPY 2"
    assert await con.copy_records_to_table("T", records=[(3, "y"), (4, "z")], where="a > 3") == "COPY 1"
    out = io.BytesIO()
    assert await con.copy_from_table("T", output=out, format="csv", header=True, delimiter=";") == "COPY 3"
    assert out.getvalue() == b"a;b\n1;x\n2;\n4;z\n"
    out.seek(0)
    assert await con.copy_to_table("T", source=out, format="csv", header=True, delimiter=";") == "COPY 3"
    blocks: list[bytes] = []

    async def take(block: bytes) -> None:
        blocks.append(block)

    query = 'select a from "T" where a = $1 or b = $2'
    assert await con.copy_from_query(query, 2, "it's", output=take, null="-") == "COPY 2"
    assert b"".join(blocks) == b"2\n2\n"


async def test_notifications_and_notices_are_passed_to_functions(con: Any) -> None:
    got: asyncio.Queue[Any] = asyncio.Queue()

    async def later(*args: Any) -> None:
        await got.put(args)

    await con.add_listener("Channel", later)
    await con.execute("select pg_notify('Channel', 'hello')")
    connection, pid, channel, payload = await asyncio.wait_for(got.get(), 10)
    assert (connection, pid, channel, payload) == (con, con.get_server_pid(), "Channel", "hello")
    await con.remove_listener("Channel", later)
    con.add_log_listener(lambda connection, message: got.put_nowait(message))
    await con.execute("do $$ begin raise notice 'hear'; end $$")
    assert (await asyncio.wait_for(got.get(), 10)).message == "hear"


async def test_the_end_of_a_connection_is_told_once(con: Any, module: Any, url: str) -> None:
    ended: asyncio.Queue[Any] = asyncio.Queue()
    con.add_termination_listener(ended.put_nowait)
    other = await module.connect(url)
    await other.execute("select pg_terminate_backend($1)", con.get_server_pid())
    await other.close()
    assert await asyncio.wait_for(ended.get(), 10) is con
    assert con.is_closed()
    with pytest.raises((module.InterfaceError, module.PostgresError)):
        await con.fetch("select 1")
    await con.close()
    assert ended.empty()


async def test_codecs_convert_by_type(con: Any) -> None:
    await con.set_type_codec("jsonb", schema="pg_catalog", encoder=json.dumps, decoder=json.loads)
    assert await con.fetchval("select $1::jsonb", {"a": [1]}) == {"a": [1]}
    assert await con.fetchval("select $1::jsonb[]", [{"a": 1}, None]) == [{"a": 1}, None]
    await con.reset_type_codec("jsonb", schema="pg_catalog")
    assert await con.fetchval("select $1::jsonb", "[1]") == "[1]"
    await con.set_type_codec(
        "interval", schema="pg_catalog", encoder=lambda given: given, decoder=lambda parts: parts, format="tuple"
    )
    assert await con.fetchval("select $1::interval", (2, 3, 1)) == (2, 3, 1)
    await con.set_type_codec(
        "bytea", schema="pg_catalog", encoder=bytes.fromhex, decoder=lambda data: data.hex(), format="binary"
    )
    assert await con.fetchval("select $1::bytea", "00ff") == "00ff"
    await con.execute("create temp table t (a bytea, b interval)")
    await con.copy_records_to_table("t", records=[("00ff", (1, 2, 3))])
    assert await con.fetch("select * from t") == [("00ff", (1, 2, 3))]


async def test_infinity_is_the_last_date_that_python_has(con: Any) -> None:
    row = await con.fetchrow(
        "select 'infinity'::date, '-infinity'::timestamp, array['infinity'::timestamptz],"
        " daterange('2020-01-01', 'infinity'), null::date"
    )
    day, low, many, during, none = row
    assert (day, low, many) == (datetime.date.max, datetime.datetime.min, [datetime.datetime.max])
    assert (during.upper, none) == (datetime.date.max, None)


async def test_a_cursor_that_has_failed_says_so_again(module: Any, con: Any) -> None:
    with pytest.raises(ZeroDivisionError):
        async with con.transaction():
            cursor = await con.cursor("select 1 / (n - $1) from generate_series(1, 3) n", 1)
            with pytest.raises(module.DivisionByZeroError):
                await cursor.fetch(1)
            with pytest.raises(module.InFailedSQLTransactionError):
                await cursor.fetch(1)
            raise ZeroDivisionError
    assert await con.fetchval("select 1") == 1


async def test_the_end_of_the_server_process_is_an_error_of_the_statement(module: Any, con: Any, url: str) -> None:
    pid = con.get_server_pid()
    sleeping = asyncio.create_task(con.execute("select pg_sleep(60)"))
    async with module.create_pool(url, min_size=1, max_size=1) as pool:
        asleep = "select count(*) from pg_stat_activity where pid = $1 and wait_event = 'PgSleep'"
        while not await pool.fetchval(asleep, pid):
            await asyncio.sleep(0.01)
        await pool.execute("select pg_terminate_backend($1)", pid)
    with pytest.raises(module.ConnectionDoesNotExistError, match="closed in the middle of operation") as caught:
        await sleeping
    assert isinstance(caught.value.__cause__, module.AdminShutdownError)


@pytest.mark.parametrize("call", ["execute", "fetch", "fetchrow", "fetchval", "executemany", "block"])
async def test_a_pool_raises_what_has_ended_the_connection_that_it_lent(module: Any, url: str, call: str) -> None:
    async def sleep(pool: Any) -> None:
        if call == "executemany":
            await pool.executemany("select pg_sleep($1)", [(60,), (60,)])
        elif call == "block":
            async with pool.acquire() as borrowed:
                await borrowed.fetch("select pg_sleep($1)", 60)
        else:
            await getattr(pool, call)("select pg_sleep(60)")

    asleep = "from pg_stat_activity where wait_event = 'PgSleep' and application_name = $1"
    settings = {"application_name": f"sleeping {call}"}
    async with (
        module.create_pool(url, min_size=1, max_size=1, server_settings=settings) as pool,
        module.create_pool(url, min_size=1, max_size=1) as other,
    ):
        sleeping = asyncio.create_task(sleep(pool))
        waiting = asyncio.create_task(pool.fetchval("select 1"))
        while not await other.fetch(f"select pg_terminate_backend(pid) {asleep}", settings["application_name"]):
            await asyncio.sleep(0.01)
        with pytest.raises(module.ConnectionDoesNotExistError, match="closed in the middle of operation"):
            await sleeping
        assert await waiting == 1


@pytest.mark.parametrize("place", ["connect", "pool", "acquire", "copy"])
async def test_a_cancellation_is_raised_whenever_it_comes(url: str, place: str) -> None:
    async def use() -> None:
        if place == "connect":
            await (await facade.connect(url)).close()
        elif place == "copy":
            con = await facade.connect(url)
            try:
                await con.copy_from_query("select 1", output=io.BytesIO(), timeout=30)
            finally:
                await con.close()
        else:
            async with facade.create_pool(url, min_size=0, max_size=1) as pool:
                if place == "acquire":
                    await pool.release(await pool.acquire(timeout=30))
                else:
                    await pool.execute("select 1")

    await use()
    began = time.perf_counter()
    await use()
    took = time.perf_counter() - began
    for attempt in range(60):
        task = asyncio.create_task(use())
        end = time.perf_counter() + took * attempt / 60
        while time.perf_counter() < end and not task.done():
            await asyncio.sleep(0)
        if not task.cancel():
            break
        with pytest.raises(asyncio.CancelledError):
            await task


async def test_pools_replace_what_they_have_lost(module: Any, url: str) -> None:
    async with module.create_pool(url, min_size=1, max_size=2) as pool:
        con = await pool.acquire()
        assert isinstance(con, module.Connection)
        con.terminate()
        async with asyncio.timeout(10):
            while pool.get_size() < 1:
                await asyncio.sleep(0.01)
        await pool.release(con)
        assert await pool.fetchval("select 1") == 1


# pools


@pytest.mark.parametrize("ended", [False, True], ids=["open", "ended"])
@pytest.mark.parametrize("error", [ValueError, asyncio.CancelledError])
async def test_a_place_is_lent_once_after_a_setup_that_failed(
    module: Any, url: str, ended: bool, error: type[BaseException]
) -> None:
    is_failing = False

    async def setup(con: Any) -> None:
        if not is_failing:
            return
        if ended:
            with contextlib.suppress(module.PostgresError, module.InterfaceError):
                await con.fetch("select pg_terminate_backend(pg_backend_pid())")
            async with asyncio.timeout(10):
                # Until the pool was told, too.
                while pool.get_size() or (module is facade and con._con is not None):
                    await asyncio.sleep(0.01)
        raise error

    async with module.create_pool(url, min_size=0, max_size=1, setup=setup) as pool:
        for is_failing in (True, False, True, False):
            if is_failing:
                with pytest.raises(error):
                    await pool.acquire()
                continue
            borrowed = await pool.acquire()
            with pytest.raises(TimeoutError):
                await pool.acquire(timeout=0.1)
            assert await borrowed.fetchval("select 1") == 1
            # Twice at once is once; asyncpg refuses the second.
            await asyncio.gather(*(pool.release(borrowed) for _ in range(2 if module is facade else 1)))


async def test_pools_lend_connections(module: Any, url: str) -> None:
    calls: list[str] = []

    async def note(what: str) -> None:
        calls.append(what)

    pool = module.create_pool(
        url, min_size=1, max_size=2, init=lambda con: note("init"), setup=lambda con: note("setup")
    )
    with pytest.raises(module.InterfaceError, match="not initialized"):
        await pool.fetchval("select 1")
    async with pool:
        assert (pool.get_size(), pool.get_idle_size(), pool.get_max_size()) == (1, 1, 2)
        assert sorted(await asyncio.gather(*(pool.fetchval("select $1::int", n) for n in range(5)))) == [0, 1, 2, 3, 4]
        assert (calls.count("init"), calls.count("setup")) == (2, 5)
        async with pool.acquire() as con:
            await con.execute("set application_name = 'borrowed'")
            first = con.get_server_pid()
        with pytest.raises(module.InterfaceError, match="released"):
            await con.fetch("select 1")
        con = await pool.acquire(timeout=10)
        assert con.get_server_pid() == first
        assert await con.fetchval("show application_name") != "borrowed"
        await pool.expire_connections()
        await pool.release(con)
        assert await pool.fetchval("select pg_backend_pid()") != first
        one, two = await pool.acquire(), await pool.acquire()
        with pytest.raises(TimeoutError):
            await pool.acquire(timeout=0.01)
        await pool.release(one)
        await pool.release(two)
    with pytest.raises(module.InterfaceError, match="closed"):
        await pool.acquire()


async def test_pools_wait_before_they_open_again_what_ends_at_once(module: Any, url: str) -> None:
    opened = 0

    async def end_later_ones(con: Any) -> None:
        nonlocal opened
        opened += 1
        if opened > 1:
            await con.close()

    async with module.create_pool(url, min_size=1, max_size=1, init=end_later_ones) as pool:
        (await pool.acquire()).terminate()
        while opened < 2:
            await asyncio.sleep(0.01)
        await asyncio.sleep(0.05)
        assert opened == 2


async def test_a_transaction_that_is_left_open_is_not_the_next_borrowers(module: Any, url: str) -> None:
    async with module.create_pool(url, min_size=1, max_size=1) as pool:
        async with pool.acquire() as con:
            await con.execute("begin; create table never (a int)")
        async with pool.acquire() as con:
            assert not con.is_in_transaction()
            assert await con.fetchval("select to_regclass('never')") is None


# connecting


async def _no_reset(connection: Any) -> None:
    """Has nothing to reset: transactions are the pool's to end."""


@pytest.mark.parametrize("reset", [None, _no_reset], ids=["reset", "own reset"])
async def test_what_is_reported_after_a_cancelled_transaction_is_stored(module: Any, url: str, reset: Any) -> None:
    """A BEGIN or COMMIT that was cancelled leaves nothing open, into which the next request would write, whoever resets
    what the session has."""
    async with module.create_pool(url, min_size=1, max_size=1, reset=reset) as pool:
        await pool.execute("drop table if exists reported; create table reported (n int)")

        async def request() -> None:
            async with pool.acquire() as connection, connection.transaction():
                await connection.execute("insert into reported values (-1)")

        # asyncpg itself is not right at every moment.
        for turns in [3] * 20 if module is asyncpg else [*range(20)] * 3:
            task = asyncio.create_task(request())
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            assert await pool.execute("insert into reported values (1)") == "INSERT 0 1"
            async with pool.acquire() as connection, connection.transaction():
                await connection.execute("insert into reported values (1)")
        count = await pool.fetchval("select count(*) from reported where n = 1")
        assert count == (40 if module is asyncpg else 120)


async def test_a_begin_of_the_program_that_was_cancelled_is_not_the_next_borrowers(url: str) -> None:
    async with facade.create_pool(url, min_size=1, max_size=1, reset=_no_reset) as pool:
        await pool.execute("drop table if exists begun; create table begun (n int)")

        async def request() -> None:
            async with pool.acquire() as connection:
                await connection.execute("begin")

        for turns in range(20):
            task = asyncio.create_task(request())
            for _ in range(turns):
                await asyncio.sleep(0)
            task.cancel()
            await asyncio.wait([task])
            assert await pool.execute("insert into begun values (1)") == "INSERT 0 1"
        assert await pool.fetchval("select count(*) from begun") == 20


async def test_a_cancelled_begin_is_undone_before_what_follows_on_the_connection(url: str) -> None:
    connection, observer = await facade.connect(url), await facade.connect(url)
    await connection.execute("drop table if exists undone; create table undone (n int)")
    for turn in range(30):
        task = asyncio.create_task(connection.transaction().start())
        for _ in range(turn % 6):
            await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        if task.cancelled():
            await connection.execute("insert into undone values ($1)", turn)
            assert await observer.fetchval("select count(*) from undone where n = $1", turn) == 1
        else:
            await connection.execute("rollback")
            connection._top_xact = None
    await connection.close()
    await observer.close()


async def test_settings_of_the_dsn_and_of_keywords(module: Any, url: str) -> None:
    con = await module.connect(
        f"{url}?application_name=mine&search_path=pg_catalog", server_settings={"datestyle": "SQL, DMY"}
    )
    shown = [await con.fetchval(f"show {name}") for name in ("application_name", "search_path", "datestyle")]
    assert shown == ["mine", "pg_catalog", "SQL, DMY"]
    assert con.get_settings().application_name == "mine"
    assert con.get_server_version()[0] >= 15
    await con.close()


async def test_connections_that_fail(module: Any, url: str) -> None:
    with pytest.raises(module.InvalidCatalogNameError):
        await module.connect(f"{url}_missing")
    with pytest.raises(OSError):
        await module.connect("postgresql://postgres@127.0.0.1:1/x", timeout=10)
    with pytest.raises(ValueError, match="scheme"):
        await module.connect("http://localhost/x")


INSTANTS = (
    datetime.datetime(2020, 1, 2, 3, 4, 5, 6),
    datetime.datetime(1999, 12, 31, 23, 59, tzinfo=datetime.timezone(datetime.timedelta(hours=-5))),
    datetime.datetime(1, 1, 2),
    datetime.datetime.max,
    datetime.datetime.min,
    datetime.date.max,
    datetime.date.min,
    datetime.datetime.max.replace(tzinfo=UTC),
    datetime.datetime.min.replace(tzinfo=UTC),
    datetime.datetime(9999, 12, 31, 18, 59, 59, 999999, tzinfo=datetime.timezone(datetime.timedelta(hours=-5))),
)


async def test_a_record_is_an_argument_of_a_composite_type(con: Any) -> None:
    await con.execute(
        "create type pg_temp.pair as (n int, keys text); create temporary table pairs (n int, p pg_temp.pair)"
    )
    pair = await con.fetchrow("select row(1, 'a')::pg_temp.pair as pair")
    # The attributes are the values in their order, whatever their names are.
    row = await con.fetchrow("select 2 as keys, 'b' as n")
    for number, given in enumerate((pair["pair"], row)):
        await con.execute("insert into pairs values ($1, $2)", number, given)
        await con.executemany("insert into pairs values ($1, $2)", [(number, given)] * 2)
        await con.copy_records_to_table("pairs", records=[(number, given)])
    shown = await con.fetch("select p::text, count(*) from pairs group by 1 order by 1")
    assert [tuple(each) for each in shown] == [("(1,a)", 4), ("(2,b)", 4)]


async def test_a_datetime_is_sent_as_what_its_type_has_and_the_last_as_infinity(url: str) -> None:
    kinds = ("date", "timestamp", "timestamptz", "time", "date[]", "daterange")

    async def shown(module: Any) -> list[Any]:
        con = await module.connect(url)
        found: list[Any] = []
        await con.execute("set timezone to utc; create temporary table days (d date, t timestamp, z timestamptz)")
        for value in INSTANTS:
            for kind in kinds:
                argument = {"date[]": [value], "daterange": module.Range(value, None)}.get(kind, value)
                try:
                    found.append((kind, await con.fetchval(f"select $1::{kind}::text", argument)))
                except module.DataError:
                    found.append((kind, "DataError"))
            if getattr(value, "tzinfo", None) is None:
                await con.executemany("insert into days values ($1, $2, $3)", [(value, value, value)] * 2)
                await con.copy_records_to_table("days", records=[(value, value, value)])
        rows = await con.fetch("select * from days")
        await con.close()
        return [*found, *(tuple(row) for row in rows)]

    assert await shown(facade) == await shown(asyncpg)


def test_it_takes_asyncpgs_place() -> None:
    program = (
        "import headrace.compat.asyncpg as facade; facade.install_as_asyncpg(); import asyncpg, asyncpg.pool;"
        " import asyncpg.pgproto.pgproto;"
        " from asyncpg.pgproto import types; from asyncpg.exceptions import UniqueViolationError;"
        " assert asyncpg is facade and asyncpg.pool.Pool is facade.Pool and types.Range is facade.Range"
    )
    subprocess.run([sys.executable, "-c", program], check=True)
