"""What a text and a name mean is up to the client that sends them, whoever had the server connection before."""

from __future__ import annotations

import struct
import threading
from collections.abc import Iterator

import asyncpg
import pytest

import headrace
from headrace.testing import PostgresServer

from .conftest import Daemon
from .raw import EXECUTE, SYNC, Client, bind, close, describe, message, parse, query, sqlstates, values


def client(daemon: Daemon, **parameters: str) -> Client:
    """A client of a pool with one server connection."""
    return Client.local(daemon.socket, user="postgres", database="one", **parameters)


def run(name: str, sql: str) -> bytes:
    """Prepares a text, and executes it."""
    return parse(name, sql) + bind(name) + EXECUTE + SYNC


@pytest.fixture(scope="module")
def schemas(server: PostgresServer) -> Iterator[None]:
    """Two tables of one name."""
    with headrace.connect(server.url, autocommit=True) as admin:
        admin.executescript("create schema of_int; create schema of_text")
        admin.executescript("create table of_int.t (a int); create table of_text.t (a text)")
        yield
        admin.execute("drop schema of_int, of_text cascade")


@pytest.mark.parametrize("sql", ["select 'now'::timestamptz::text", "select (date 'now' + time 'NOW')::text"])
def test_constant_of_a_parse_is_that_of_its_own_client(daemon: Daemon, sql: str) -> None:
    times = []
    for _ in range(2):
        with client(daemon) as one:
            (time,) = values(one.ask(run("s", sql)))
            # Until it prepares it again, as on the server.
            assert values(one.ask(bind("s") + EXECUTE + SYNC)) == [time]
            times.append(time)
    assert times[0] < times[1]


@pytest.mark.parametrize(
    ("setting", "first", "second", "sql", "expected"),
    [
        ("TimeZone", "UTC", "Asia/Tokyo", "select '2024-06-01'::timestamptz at time zone 'UTC'", "2024-05-31 15:00:00"),
        ("DateStyle", "ISO, MDY", "ISO, DMY", "select '01/02/2024'::date", "2024-02-01"),
        ("standard_conforming_strings", "on", "off", r"select length('a\nb')", "3"),
        ("client_encoding", "UTF8", "LATIN1", "select length('ä')", "2"),
        ("IntervalStyle", "postgres", "sql_standard", "select interval '-1 2:00'", "-1 2:00:00"),
    ],
)
def test_text_is_parsed_under_the_settings_of_its_client(
    daemon: Daemon, setting: str, first: str, second: str, sql: str, expected: str
) -> None:
    with client(daemon, **{setting: first}) as one, client(daemon, **{setting: second}) as two:
        assert values(one.ask(run("s", sql))) != [expected]
        assert values(two.ask(run("s", sql))) == [expected]
        # A setting that is changed later counts, too, and is known only when the server has answered.
        assert values(one.ask(query(f"set {setting} to '{second}'") + run("t", sql), 2)) == [expected]
        assert values(two.ask(run("t", sql))) == [expected]


def test_constant_with_a_backslash_is_read_by_the_setting_of_its_parse(daemon: Daemon) -> None:
    sql = r"select length('a\nb')"
    with client(daemon) as one, client(daemon, standard_conforming_strings="off") as two:
        assert [values(each.ask(run("s", sql))) for each in (one, two)] == [["4"], ["3"]]
        one.ask(query("set standard_conforming_strings to off"))
        assert values(one.ask(run("t", sql))) == ["3"]
        assert values(one.ask(bind("s") + EXECUTE + SYNC)) == ["4"], "as on the server itself"


@pytest.mark.usefixtures("schemas")
def test_text_means_the_tables_of_its_client(daemon: Daemon) -> None:
    with client(daemon) as one, client(daemon) as two:
        one.ask(query("set search_path to of_int"))
        insert = parse("s", "insert into t values ($1)") + bind("s", "007") + EXECUTE + SYNC
        assert sqlstates(one.ask(insert)) == []
        two.ask(query("set search_path to of_text"))
        assert sqlstates(two.ask(insert)) == []
        assert values(two.ask(query("select a from of_text.t"))) == ["007"]


def test_setting_of_a_transaction_is_not_that_of_other_texts(daemon: Daemon) -> None:
    sql = "select '2024-06-01'::timestamptz at time zone 'UTC'"
    with client(daemon, TimeZone="UTC") as one, client(daemon, TimeZone="Asia/Tokyo") as two:
        assert values(two.ask(query("begin; set local timezone to 'UTC'") + run("s", sql) + query("commit"), 3)) == [
            "2024-06-01 00:00:00"
        ]
        assert values(two.ask(run("t", sql))) == ["2024-05-31 15:00:00"]
        assert values(one.ask(run("s", sql))) == ["2024-06-01 00:00:00"]


def test_setting_that_a_function_changes_is_not_that_of_other_texts(daemon: Daemon, server: PostgresServer) -> None:
    """The server says it only at the end of the request, when the next one has been sent."""
    sql = "select '2024-06-01'::timestamptz at time zone 'UTC'"
    utc, tokyo = "2024-06-01 00:00:00", "2024-05-31 15:00:00"
    unsynced = parse("", "select zoned(false)") + bind("") + EXECUTE
    cases = {
        "next request": (query("select zoned(false)") + run("s", sql), 2, tokyo),
        "same group": (unsynced + run("s", sql), 1, tokyo),
        "procedure": (query("call zone_all()") + run("s", sql), 2, tokyo),
        "trigger": (query("insert into zoned_rows values (1)") + run("s", sql), 2, tokyo),
        "local": (query("begin; select zoned(true)") + run("s", sql) + query("commit") + run("t", sql), 4, utc),
        "rolled back": (query("begin; select zoned(false)") + query("rollback") + run("s", sql), 3, utc),
        "unnamed": (query("select zoned(false)") + run("", sql), 2, tokyo),
    }
    with headrace.connect(server.url, autocommit=True) as admin:
        admin.executescript(
            "create function zoned(only_local bool) returns text language sql as"
            " $$ select set_config('TimeZone', 'Asia/Tokyo', only_local) $$;"
            "create procedure zone_all() language sql as $$ select zoned(false) $$;"
            "create table zoned_rows (a int);"
            "create function zoned_row() returns trigger language plpgsql as"
            " $$ begin perform zoned(false); return new; end $$;"
            "create trigger zoned before insert on zoned_rows for each row execute function zoned_row()"
        )
        try:
            for name, (sent, answers, expected) in cases.items():
                with client(daemon, TimeZone="UTC") as one:
                    assert values(one.ask(sent, answers))[-1] == expected, name
                with client(daemon, TimeZone="UTC") as two:
                    assert values(two.ask(run("s", sql))) == [utc], name
        finally:
            admin.executescript(
                "drop table zoned_rows; drop function zoned_row; drop procedure zone_all; drop function zoned"
            )


def test_statement_of_a_session_of_its_own_is_nobody_elses(daemon: Daemon) -> None:
    sql = "select null = null"
    with client(daemon) as other:
        assert values(other.ask(run("s", sql))) == [""]
    with client(daemon) as pinned:
        pinned.ask(query("set transform_null_equals = on"))
        assert values(pinned.ask(run("s", sql))) == ["t"]
    with client(daemon) as other:
        assert values(other.ask(run("s", sql))) == [""]


def test_what_no_text_shows_keeps_its_session(daemon: Daemon) -> None:
    pg_advisory_lock = 2880
    call = struct.pack("!ihhhiqh", pg_advisory_lock, 1, 1, 1, 8, 17, 1)
    with client(daemon) as one:
        one.ask(message(b"F", call))
    with client(daemon, search_path="pg_temp, public") as one:
        one.ask(query("create table of_one_client (a int)"))
    with client(daemon) as two:
        assert values(two.ask(query("select count(*) from pg_locks where locktype = 'advisory'"))) == ["0"]
        assert values(two.ask(query("select to_regclass('pg_temp.of_one_client') is null"))) == ["t"]


def test_unnamed_statement_is_not_another_clients(daemon: Daemon) -> None:
    with client(daemon) as one, client(daemon) as two:
        one.ask(parse("", "select 'of another client'") + SYNC)
        for asked in (bind("") + EXECUTE, describe("")):
            assert sqlstates(two.ask(asked + SYNC)) == ["26000"]
        assert values(one.ask(bind("") + EXECUTE + SYNC)) == ["of another client"]
        assert sqlstates(one.ask(close("") + bind("") + EXECUTE + SYNC)) == ["26000"]


def test_statement_cannot_be_reached_by_its_name_on_the_server(daemon: Daemon) -> None:
    with client(daemon) as one, client(daemon) as two:
        one.ask(run("s", "select 'of another client'"))
        for name in values(two.ask(query("select name from pg_prepared_statements"))):
            assert sqlstates(two.ask(bind(name) + EXECUTE + SYNC)) == ["26000"]
            two.ask(close(name) + SYNC)
        assert values(one.ask(bind("s") + EXECUTE + SYNC)) == ["of another client"]


def test_unnamed_statement_outlasts_what_the_daemon_sends_for_itself(daemon: Daemon) -> None:
    with client(daemon, application_name="one") as one, client(daemon, application_name="two") as two:
        one.ask(parse("", "select 41 + 1") + SYNC)
        two.ask(query("select 1"))
        assert values(one.ask(bind("") + EXECUTE + SYNC)) == ["42"]


@pytest.mark.parametrize("forgets", ["discard all", "deallocate all"])
def test_what_follows_in_a_pipeline_is_not_forgotten(daemon: Daemon, forgets: str) -> None:
    sql = f"select 3 /* {forgets} */"
    with client(daemon) as one:
        assert values(one.ask(query(forgets) + parse("s", sql) + SYNC + bind("s") + EXECUTE + SYNC, 3)) == ["3"]
        assert values(one.ask(parse("d", forgets) + bind("d") + EXECUTE + parse("s", sql) + SYNC)) == []
        assert values(one.ask(bind("s") + EXECUTE + SYNC)) == ["3"]
    with client(daemon) as two:
        assert sqlstates(two.ask(run("s", sql))) == []


def test_setting_after_discard_all_in_a_pipeline_is_not_left_behind(daemon: Daemon) -> None:
    with client(daemon) as one:
        one.ask(query("discard all") + query("set statement_timeout = 54321"), 2)
    with client(daemon) as two:
        assert values(two.ask(query("show statement_timeout"))) == ["0"]


def test_refused_deallocate_leaves_the_connection_usable(daemon: Daemon) -> None:
    with client(daemon) as one:
        one.ask(parse("s1", "select 1") + parse("s2", "select 2") + SYNC)
        for sql in ("begin", "select 1/0", "deallocate s1", "rollback"):
            one.ask(query(sql))
        assert values(one.ask(bind("s1") + EXECUTE + SYNC)) == ["1"], "it was refused"
        assert sqlstates(one.ask(query("deallocate s2"))) == []
        assert sqlstates(one.ask(bind("s2") + EXECUTE + SYNC)) == ["26000"]
        # What is only prepared has no effect.
        one.ask(parse("", "deallocate s1") + SYNC)
        assert values(one.ask(bind("s1") + EXECUTE + SYNC)) == ["1"]
    with client(daemon) as two:
        assert values(two.ask(query("select 3"))) == ["3"]


@pytest.mark.parametrize("reset", ["reset all", "discard all", "reset timezone", "set time zone default"])
def test_setting_that_is_reset_is_what_the_client_began_with(daemon: Daemon, reset: str) -> None:
    with client(daemon, TimeZone="Asia/Tokyo") as one, client(daemon, TimeZone="UTC") as two:
        for name in ("Europe/Paris", "UTC"):
            one.ask(query(f"set timezone to '{name}'"))
            told = one.ask(query(reset) + query("show timezone"), 2)
            assert values(told) == ["Asia/Tokyo"]
            assert b"TimeZone\0Asia/Tokyo\0" in told
            assert values(two.ask(query("show timezone"))) == ["UTC"]
        # One that is undone is not reset.
        one.ask(query("set timezone to 'Europe/Paris'") + query(f"begin; {reset.replace('discard', 'reset')}"), 2)
        one.ask(query("rollback"))
        assert values(one.ask(query("show timezone"))) == ["Europe/Paris"]


async def test_pool_of_asyncpg_keeps_its_settings(daemon: Daemon) -> None:
    settings = {"TimeZone": "Asia/Tokyo", "application_name": "a tenant", "search_path": "of_int"}
    where = {"host": str(daemon.folder), "port": 5432, "user": "postgres", "database": "one"}
    async with asyncpg.create_pool(**where, min_size=1, max_size=1, server_settings=settings) as pool:
        for _ in range(3):
            async with pool.acquire() as conn:
                assert {name: await conn.fetchval(f"show {name}") for name in settings} == settings


def test_settings_in_other_encodings_reach_their_clients(daemon: Daemon) -> None:
    with client(daemon) as one, client(daemon) as two:
        one.ask(query('set search_path to "schemä"'))
        two.ask(query("set client_encoding to latin1"))
        assert values(one.ask(query("show search_path"))) == ['"schemä"']


def test_table_made_of_rows_has_texts_parsed_again(daemon: Daemon, server: PostgresServer) -> None:
    with headrace.connect(server.url, autocommit=True) as admin:
        admin.executescript("create schema near; create schema far; create table far.t as select 1 as a")
    try:
        for sql in ("create table near.t as select 2 as a", "select 2 as a into near.t"):
            with client(daemon) as one, client(daemon) as two:
                for each in (one, two):
                    each.ask(query("set search_path to near, far"))
                assert values(one.ask(run("s", "select a from t"))) == ["1"]
                one.ask(query(sql))
                assert values(two.ask(run("s", "select a from t"))) == ["2"]
                two.ask(query("drop table near.t"))
    finally:
        with headrace.connect(server.url, autocommit=True) as admin:
            admin.execute("drop schema near, far cascade")


def test_copy_ignores_sync_up_to_its_end(daemon: Daemon) -> None:
    data = b"d" + (6).to_bytes(4, "big") + b"1\n"
    done = b"c" + (4).to_bytes(4, "big")
    with client(daemon) as one:
        one.ask(query("create temp table t (a int)"))
        assert sqlstates(one.ask(query("copy t from stdin") + SYNC + data + SYNC + done)) == []
        assert values(one.ask(run("s", "select count(*) from t"))) == ["1"]
        extended = parse("c", "copy t from stdin") + bind("c") + EXECUTE
        assert sqlstates(one.ask(extended + data + SYNC + data + done + SYNC + query("select 1"), 2)) == []
        assert values(one.ask(run("", "select count(*) from t"))) == ["3"]


def test_client_that_gives_way_in_a_block_goes_on(daemon: Daemon) -> None:
    with client(daemon) as one, client(daemon) as two:
        one.ask(query("begin"))
        two.send(query("select 5"))
        block = query("begin") + query("select 2") + query("commit")
        assert len(values(one.ask(query("commit") + query("select pg_sleep(0.2)") + block * 40, 122))) == 41
        assert values(two.receive()) == ["5"]


def test_many_messages_without_an_answer_take_bounded_memory(daemon: Daemon) -> None:
    def memory() -> int:
        with open(f"/proc/{daemon.process.pid}/status") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))

    before = memory()
    closes = b"".join(close(f"s{n}") for n in range(100)) * 3000
    with client(daemon) as one:
        request = parse("", "select pg_sleep(0.3)") + bind("") + EXECUTE + closes + SYNC
        sending = threading.Thread(target=one.send, args=(request,))
        sending.start()
        assert sqlstates(one.receive()) == []
        sending.join()
    assert memory() - before < 64 * 1024
