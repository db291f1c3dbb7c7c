"""The plans that a session keeps of functions and statements are those that its client would have made in its own."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from contextlib import ExitStack

import pytest

import headrace
from headrace.testing import PostgresServer

from .conftest import Daemon
from .raw import EXECUTE, SYNC, Client, bind, close, messages, parse, query, sqlstates, values

Connect = Callable[..., Client]
FUNCTIONS = """
set check_function_bodies to off;
create schema plans;
create table plans.tt (n text);
create table plans.other (n text);
create table plans.fires (n text);
create view plans.v as select n from plans.tt;
create function plans.put(x text) returns text language plpgsql as $$
    begin insert into tt values (x); return x; end $$;
create function plans.put_sql(x text) returns text language sql as $$ insert into tt values (x) returning n $$;
create function plans.put_twice(x text) returns text language plpgsql as $$ begin return put(x); end $$;
create procedure plans.proc(x text) language plpgsql as $$ begin insert into tt values (x); end $$;
create function plans.fire() returns trigger language plpgsql as $$
    begin insert into tt values (new.n); return new; end $$;
create trigger fires before insert on plans.fires for each row execute function plans.fire();
create table plans.late (n text);
create constraint trigger late after insert on plans.late deferrable initially deferred
    for each row execute function plans.fire();
create function plans.make() returns void language plpgsql as $$ begin create temp table tt (n text); end $$;
create function plans.const() returns text language plpgsql as $$
    begin return ('2020-01-01 00:00'::timestamptz at time zone 'UTC')::text; end $$;
create function plans.const_stmt() returns text language plpgsql as $$
    declare r text; begin select ('2020-01-01 00:00'::timestamptz at time zone 'UTC')::text into r; return r; end $$;
create function plans.const_sql() returns setof text language sql volatile as $$
    select 1; select ('2020-01-01 00:00'::timestamptz at time zone 'UTC')::text $$;
create function plans.day() returns text language plpgsql as $$
    begin return to_char('02/03/2020'::date, 'YYYY-MM-DD'); end $$;
create function plans.seconds() returns text language plpgsql as $$
    begin return extract(epoch from '-1 2:03:04'::interval)::int::text; end $$;
create function plans.digits() returns text language plpgsql as $$ begin return 1.1::float8::text; end $$;
"""
PATH = "plans, public"


@pytest.fixture(scope="module", autouse=True)
def functions(server: PostgresServer) -> Iterator[None]:
    """Functions and a table that all clients share."""
    with headrace.connect(server.url, autocommit=True) as admin:
        admin.executescript(FUNCTIONS)
        yield
        admin.executescript("drop schema plans cascade")


@pytest.fixture(params=["one", "session"])
def connect(request: pytest.FixtureRequest, daemon: Daemon) -> Iterator[Connect]:
    """Clients of one session that has had a temporary table, and in which all functions were called."""
    with ExitStack() as stack:

        def connected(**parameters: str) -> Client:
            return stack.enter_context(
                Client.local(daemon.socket, user="postgres", database=request.param, search_path=PATH, **parameters)
            )

        with headrace.connect(daemon.server.url, autocommit=True) as admin:
            admin.execute("truncate plans.tt, plans.other, plans.fires")
        with connected() as first:
            done(first, "create temp table any_table (n int)")
            done(first, "drop table any_table")
            # After a DO plans are made again: the others keep theirs.
            for call in sorted([*CALLS, "insert into late values ('{}')"], key=lambda call: not call.startswith("do ")):
                done(first, call.format("shared"))
        yield connected


def done(client: Client, sql: str, answers: int = 1) -> list[str]:
    """The values of a text that succeeds."""
    received = client.ask(query(sql), answers)
    assert sqlstates(received) == [], sql
    return values(received)


CALLS = [
    "select put('{}')", "select put_sql('{}')", "select put_twice('{}')", "call proc('{}')",
    "insert into fires values ('{}')", "do $$ begin perform put('{}'); end $$", "insert into tt values ('{}')",
]  # fmt: skip
MAKES = [
    "create temp table tt (n text)", "create table pg_temp.tt (n text)", "select ''::text as n into temp tt limit 0",
    "create temp view tt as select n from other",
    "do $$ begin create temp table tt (n text); end $$", "do $$ begin execute 'create temp table tt (n text)'; end $$",
]  # fmt: skip


def once(connect: Connect, sql: str) -> list[str]:
    """The same of a client that leaves."""
    with connect() as client:
        return done(client, sql)


def assert_private(client: Client) -> None:
    """What was put last is in what the client has made, and not in the table of all."""
    assert "private" not in done(client, "select n from plans.tt")
    assert "private" in done(client, "select n from pg_temp.tt")


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("makes", MAKES)
def test_function_writes_into_the_temporary_table_of_its_caller(connect: Connect, makes: str, call: str) -> None:
    client = connect()
    done(client, makes)
    done(client, call.format("private"))
    assert_private(client)


@pytest.mark.parametrize("call", CALLS[:2])
def test_next_client_has_the_shared_table_again(connect: Connect, call: str) -> None:
    for leaves in ("drop table tt", "select 1"):
        client = connect()
        done(client, "create temp table tt (n text)")
        done(client, call.format("private"))
        done(client, leaves)
        client.close()
        assert once(connect, call.format("shared again")) == ["shared again"]
    assert once(connect, "select n from plans.tt").count("shared again") == 2


@pytest.mark.parametrize("call", CALLS)
def test_table_and_call_in_one_text(connect: Connect, call: str) -> None:
    client = connect()
    put = call.format("private")
    done(client, f"begin; set local timezone to 'UTC'; create temp table tt (n text) ; {put} -- it\n; commit")
    assert_private(client)
    received = client.ask(query(f"drop table tt; create temp table tt (n text); {put}; select nosuch"))
    (error,) = [body for tag, body in messages(received) if tag == b"E"]
    position = int(next(field[1:] for field in error.split(b"\0") if field.startswith(b"P")))
    assert position == len(f"drop table tt; create temp table tt (n text); {put}; select ") + 1
    # DISCARD PLANS is not the client's.
    assert sum(tag == b"C" for tag, _ in messages(received)) == 3


@pytest.mark.parametrize("call", CALLS)
def test_call_in_a_text_that_begins_with_what_plans_nothing(connect: Connect, call: str) -> None:
    client = connect()
    done(client, "create temp table tt (n text)")
    done(client, f"begin; set local lock_timeout = 0; {call.format('private')}; commit")
    assert_private(client)


def test_deferred_trigger_that_set_constraints_fires(connect: Connect) -> None:
    client = connect()
    for sql in (
        "begin", "insert into late values ('private')", "create temp table tt (n text)",
        "set constraints all immediate", "commit",
    ):  # fmt: skip
        done(client, sql)
    assert_private(client)


def test_deferred_trigger_that_the_end_of_its_text_fires(connect: Connect) -> None:
    client = connect()
    done(client, "insert into late values ('private'); create temp table tt (n text)")
    assert_private(client)


@pytest.mark.parametrize("make", ["create temp table tt (n text)", "execute ''create temp table tt (n text)''"])
@pytest.mark.parametrize("end", ["", "commit; "])
def test_block_that_makes_a_table_and_uses_it(connect: Connect, make: str, end: str) -> None:
    block = f"do 'begin {make}; {end}perform put(''private''); end'"
    named = parse("block", block) + SYNC + bind("block") + EXECUTE + SYNC
    for asked, count in ((query(block), 1), (parse("", block) + bind("") + EXECUTE + SYNC, 1), (named, 2)):
        client = connect()
        assert sqlstates(client.ask(asked, count)) == []
        assert_private(client)
        client.close()
    client = connect()
    done(client, f"select 1; {block}") if not end else done(client, block)
    assert_private(client)


@pytest.mark.parametrize(
    "before", ["listen a", "prepare p as select 1", "set app.x to 1", "select pg_advisory_lock(1)"]
)
@pytest.mark.parametrize("used", ["in it", "behind it"])
def test_block_that_makes_a_table_behind_what_leaves_something_else(connect: Connect, before: str, used: str) -> None:
    block, put = "do 'begin create temp table tt (n text); %send'", "perform put(''private''); "
    nothing = ""
    asked, count = {
        "in it": (query(f"{before}; {block % put}"), 1),
        "behind it": (query(f"{before}; {block % nothing}") + query("select put('private')"), 2),
    }[used]
    client = connect()
    assert sqlstates(client.ask(asked, count)) == []
    assert_private(client)


def test_client_that_keeps_its_session_has_what_others_make(daemon: Daemon) -> None:
    with headrace.connect(daemon.server.url, autocommit=True) as admin, ExitStack() as stack:

        def connected() -> Client:
            path = "nearer, plans"
            client = Client.local(daemon.socket, user="postgres", database="two", search_path=path)
            return stack.enter_context(client)

        admin.execute("create schema nearer")
        try:
            once_there = connected()
            done(once_there, "select put('far')")
            once_there.close()
            # The same server connection, of which it is not known what the plans of its functions mean to whom.
            keeps = connected()
            done(keeps, "listen plans")
            done(connected(), "create table nearer.tt (n text)")
            done(keeps, "select put('near')")
            assert done(keeps, "select n from nearer.tt") == ["near"]
        finally:
            admin.execute("drop schema nearer cascade")


@pytest.mark.parametrize("before", ["create temp table any_table (n int)", "select 1"])
def test_transaction_sees_what_was_there_when_it_had_its_lock(connect: Connect, daemon: Daemon, before: str) -> None:
    client = connect()
    done(client, before)
    done(client, "begin isolation level repeatable read; set local timezone to 'Asia/Tokyo'")
    waits = "select count(*) from pg_locks where not granted and relation = 'plans.other'::regclass"
    with headrace.connect(daemon.server.url) as admin, headrace.connect(daemon.server.url, autocommit=True) as other:
        admin.execute("lock table plans.other")
        client.send(query("lock table other in exclusive mode"))
        while not other.fetchval(waits):
            pass
        admin.execute("insert into plans.other values ('last')")
        admin.commit()
        assert sqlstates(client.receive()) == []
    assert done(client, "select n from other") == ["last"]


def test_procedure_commits_in_a_group_that_begins_with_close(connect: Connect, daemon: Daemon) -> None:
    with headrace.connect(daemon.server.url, autocommit=True) as admin:
        admin.execute("create or replace procedure plans.commits() language plpgsql as $$ begin commit; end $$")
    client = connect()
    done(client, "create temp table any_table (n int)")
    group = close("unknown") + parse("", "call commits()") + bind("") + EXECUTE + SYNC
    assert sqlstates(client.ask(group)) == []
    # What is sent before it is not waited for.
    assert sqlstates(client.ask(query("set timezone to 'Asia/Tokyo'") + group, 2)) == []


def test_discard_all_behind_a_setting_in_a_pipeline(connect: Connect) -> None:
    client = connect()
    texts = ("set timezone to 'Asia/Tokyo'", "discard all", "show timezone")
    received = client.ask(b"".join(parse("", sql) + bind("") + EXECUTE + SYNC for sql in texts), 3)
    assert sqlstates(received) == []
    assert values(received) == ["UTC"]


@pytest.mark.parametrize("call", CALLS)
def test_table_and_call_in_one_group_and_in_a_pipeline(connect: Connect, call: str) -> None:
    put = parse("", call.format("private")) + bind("") + EXECUTE
    for between in (b"", SYNC):
        client = connect()
        made = parse("", "create temp table tt (n text)") + bind("") + EXECUTE
        assert sqlstates(client.ask(made + between + put + SYNC, 2 if between else 1)) == []
        assert_private(client)
        client.close()
    client = connect()
    texts = query("create temp table tt (n text)") + query(call.format("private"))
    assert sqlstates(client.ask(texts, 2)) == []
    assert_private(client)


def test_prepared_statement_means_the_temporary_table(connect: Connect) -> None:
    client = connect()
    client.ask(parse("s", "insert into tt values ('private')") + SYNC)
    assert sqlstates(client.ask(bind("s") + EXECUTE + SYNC)) == []
    done(client, "delete from plans.tt where n = 'private'")
    made = parse("", "create temp table tt (n text)") + bind("") + EXECUTE
    assert sqlstates(client.ask(made + bind("s") + EXECUTE + SYNC)) == []
    assert_private(client)


def test_plans_are_those_of_after_a_savepoint(connect: Connect) -> None:
    client = connect()
    for sql in ("begin", "savepoint s", "create temp table tt (n text)", "rollback to s", "select put('shared')"):
        done(client, sql)
    done(client, "create temp table tt (n text)")
    assert sqlstates(client.ask(query("savepoint t") + query("select 1/0") + query("rollback to t"), 3)) == ["22012"]
    for sql in ("select put('private')", "commit"):
        done(client, sql)
    assert_private(client)


def test_temporary_table_in_a_transaction_that_has_failed(connect: Connect) -> None:
    client = connect()
    done(client, "begin")
    client.ask(query("select 1/0"))
    made = parse("", "create temp table tt (n text)") + bind("") + EXECUTE
    for asked in (query("create temp table tt (n text)"), query("select put('private')"), made + SYNC):
        assert sqlstates(client.ask(asked)) == ["25P02"]
    assert sqlstates(client.ask(query("create temp table tt (n text)") + query("select 1"), 2)) == ["25P02"] * 2
    for sql in ("rollback", "create temp table tt (n text)", "select put('private')"):
        done(client, sql)
    assert_private(client)


def test_table_in_an_earlier_schema_is_meant_from_then_on(connect: Connect, daemon: Daemon) -> None:
    with headrace.connect(daemon.server.url, autocommit=True) as admin:
        admin.execute("create schema nearer")
    try:
        path = "set search_path to nearer, plans"
        first = connect()
        for sql in (path, "select put('far')"):
            done(first, sql)
        first.close()
        one = connect()
        for sql in (path, "create table nearer.tt (n text)", "select put('near')"):
            done(one, sql)
        assert done(one, "select n from nearer.tt") == ["near"]
        one.close()
        other = connect()
        for sql in (path, "select put('near')"):
            done(other, sql)
        assert done(other, "select n from nearer.tt") == ["near", "near"]
    finally:
        with headrace.connect(daemon.server.url, autocommit=True) as admin:
            admin.execute("drop schema nearer cascade")


SETTINGS = [
    ("TimeZone", "Asia/Tokyo", "const()"),
    ("TimeZone", "Asia/Tokyo", "const_stmt()"),
    ("TimeZone", "Asia/Tokyo", "const_sql()"),
    ("DateStyle", "SQL, DMY", "day()"),
    ("IntervalStyle", "sql_standard", "seconds()"),
    ("extra_float_digits", "-14", "digits()"),
]


def asked_directly(server: PostgresServer, name: str, value: str, call: str) -> list[str]:
    """What a session of its own has."""
    direct = socket.create_connection(("127.0.0.1", server.port))
    with Client(direct, user="postgres", database="postgres", search_path=PATH) as client:
        done(client, f"set {name} to '{value}'")
        return done(client, f"select {call}")


@pytest.mark.parametrize(("name", "value", "call"), SETTINGS)
def test_constants_in_functions_are_read_by_the_settings_of_the_caller(
    connect: Connect, daemon: Daemon, name: str, value: str, call: str
) -> None:
    expected, text = asked_directly(daemon.server, name, value, call), f"select {call}"
    by_default = once(connect, text)
    assert by_default != expected
    for sets in (
        [f"set {name} to '{value}'", text],
        [f"select set_config('{name}', '{value}', false)", text],
        ["begin", f"set local {name} to '{value}'", "set transaction isolation level serializable", text],
        [f"begin; set local {name} to '{value}'; set transaction read only; {text}"],
        [f"set {name} to '{value}'; {text}"],
        [f"select {call} from (select set_config('{name}', '{value}', false) offset 0) as setting"],
    ):
        client = connect()
        for sql in sets[:-1]:
            done(client, sql)
        assert done(client, sets[-1]) == expected, sets
        client.close()
        assert once(connect, text) == by_default
    group = parse("", f"set {name} to '{value}'") + bind("") + EXECUTE
    asks = parse("", text) + bind("") + EXECUTE + SYNC
    for request, count in (
        (group + asks, 1), (group + SYNC + asks, 2), (query(f"set {name} to '{value}'") + query(text), 2),
    ):  # fmt: skip
        client = connect()
        received = client.ask(request, count)
        assert sqlstates(received) == []
        assert values(received) == expected
        client.close()
        assert once(connect, text) == by_default


def test_constants_are_those_of_clients_that_take_turns(daemon: Daemon) -> None:
    expected = {"UTC": "2020-01-01 00:00:00", "Asia/Tokyo": "2019-12-31 15:00:00"}
    with ExitStack() as stack:
        clients = {
            zone: stack.enter_context(
                Client.local(daemon.socket, user="postgres", database="one", search_path=PATH, TimeZone=zone)
            )
            for zone in expected
        }
        for _ in range(3):
            for zone, client in clients.items():
                assert done(client, "select const()") == [expected[zone]]
                assert done(client, "select const()") == [expected[zone]]
