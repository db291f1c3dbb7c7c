"""What a statement leaves in its session stays with its client, however the statement is written."""

from __future__ import annotations

import struct
from pathlib import Path

import pytest

import headrace
from headrace.testing import PostgresServer

from .conftest import Daemon, config, started
from .raw import TERMINATE, Client, answers, message, query, sqlstates, startup, values

# Everything that the statements below leave, as one value.
LOOK = """select concat_ws(' ',
    to_regclass('pg_temp.left_table'), to_regclass('pg_temp.left_sequence'),
    (select string_agg(name, ',') from pg_prepared_statements where from_sql),
    (select string_agg(name, ',') from pg_cursors),
    (select string_agg(objid::text, ',') from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
    (select string_agg(channel, ',') from pg_listening_channels() as channel),
    current_setting('statement_timeout'),
    nullif(current_setting('left.x', true), ''), nullif(current_setting('local.x', true), ''),
    nullif(current_setting('session.x', true), ''), nullif(current_setting('transaction.x', true), ''),
    nullif(current_setting('timezone.x', true), ''), nullif(current_setting('application_name.x', true), ''))"""

TEMPORARY_TABLES = [
    "explain analyze create temp table left_table as select 1",
    "explain (analyze, costs off) create temp table left_table as select 1",
    "explain analyze select 1 as n into temp left_table",
    "select 1 as n into local temp left_table",
    "select 1 as n into global temporary table left_table",
    "set search_path to pg_temp, public; create table left_table (n int)",
    "begin; set local search_path to pg_temp; create table left_table (n int); commit",
    "begin; select set_config('search_path', 'pg_temp', true); create table left_table (n int); commit",
    'create table "pg_temp".left_table (n int)',
    "create temp sequence left_sequence",
    "select 1 as atomic; create temp table left_table (n int)",
    "create or replace function pins_f() returns int begin atomic select case 1 when 1 then 1 end; end;"
    "create temp table left_table (n int)",
]
SETTINGS = [
    "create or replace function pins_f() returns int begin atomic select 1; end; set statement_timeout = 779",
    "update pg_settings set setting = '5555' where name = 'statement_timeout'",
    "with u as (select 1) update only pg_catalog.pg_settings set setting = '5555' where name = 'statement_timeout'",
    "select set_config('left.x', 'alice', not true)",
    "select set_config('left.x', 'alice', null is true)",
    "select set_config('application_name' || '.x', 'alice', false)",
    "select \"set_config\"('left.x', 'alice', false)",
    "select U&\"set\\005Fconfig\"('left.x', 'alice', false)",
    "set local.x = 'alice'",
    "set session.x = 'alice'",
    "set session local.x = 'alice'",
    "set transaction.x = 'alice'",
    "set timezone.x = 'alice'",
]
OTHERS = [
    "do $$ begin execute 'prepare left_statement as select 42'; end $$",
    "do $$ begin execute 'declare left_cursor cursor with ' || 'hold for select 42'; end $$",
    "do 'begin execute ''lis'' || ''ten left_channel''; end'",
    "do e'begin perform \\x73et_config(''left.x'', ''alice'', false); end'",
    "prepare transaction as select 1",
    'select "pg_advisory_lock"(77)',
    'select pg_catalog."pg_try_advisory_lock_shared"(77)',
]


def after(daemon: Daemon, sql: str, **parameters: str) -> list[str]:
    """What the next client finds in the only session after one that has sent ``sql``."""
    left = answers(daemon.socket, startup(user="me", database="one", **parameters) + query(sql) + TERMINATE)
    assert sqlstates(left) == []
    return values(answers(daemon.socket, startup(user="me", database="one") + query(LOOK) + TERMINATE))


@pytest.mark.parametrize("leak", TEMPORARY_TABLES + SETTINGS + OTHERS)
def test_what_a_statement_leaves_does_not_reach_the_next_client(daemon: Daemon, leak: str) -> None:
    clean = after(daemon, "select 1")
    assert after(daemon, leak) == clean


@pytest.mark.parametrize(
    "leak",
    [
        "select 'it\\'s'; set statement_timeout = 66; select 'x'",
        "select 'it\\\\'; set statement_timeout = 66; select 'x'",
    ],
)
def test_strings_with_escapes_hide_nothing(daemon: Daemon, leak: str) -> None:
    clean = after(daemon, "select 1")
    assert after(daemon, leak, standard_conforming_strings="off") == clean


@pytest.mark.parametrize(
    ("encoding", "character"), [("SJIS", b"\x95\\"), ("SJIS", b"\xc3\x95\\"), ("GBK", b"\xd5\\"), ("BIG5", b"\xa4\\")]
)
def test_character_whose_second_byte_is_a_backslash_hides_nothing(
    daemon: Daemon, encoding: str, character: bytes
) -> None:
    clean = after(daemon, "select 1")
    leak = b"select E'%s'; set statement_timeout = 67; select E'%s'\0" % (character, character)
    begun = startup(user="me", database="one", client_encoding=encoding)
    assert sqlstates(answers(daemon.socket, begun + message(b"Q", leak) + TERMINATE)) == []
    assert after(daemon, "select 1") == clean


@pytest.mark.parametrize(
    ("sql", "refused"),
    [
        ("select 1 as atomic; begin", True),
        ("create or replace function pins_g() returns int begin atomic select 1; end; begin", True),
        ("create or replace function pins_g() returns int begin atomic select 1; end", False),
    ],
)
def test_begin_is_found_after_the_word_atomic(
    program: Path, folder: Path, server: PostgresServer, sql: str, refused: bool
) -> None:
    with started(program, folder, config(server, app='pool_mode = "statement"'), server) as daemon:
        received = answers(daemon.socket, startup(user="me", database="app") + query(sql) + TERMINATE)
    assert (b"HR006" in received) == refused


def test_no_function_of_large_objects_keeps_the_connection(daemon: Daemon) -> None:
    """pgjdbc and libpq call them by their numbers."""
    with headrace.connect(daemon.server.url) as admin:
        functions = admin.execute(
            "select oid::int, proname, pronargs::int from pg_proc where pronamespace = 'pg_catalog'::regnamespace"
            " and proname ~ '^lo(_|read$|write$)'"
        ).fetchall()
    assert {"lo_creat", "lo_open", "lowrite", "lo_close"} <= {name for _, name, _ in functions}
    with Client.local(daemon.socket, user="me", database="impatient") as one:
        for number, name, arguments in functions:
            given = struct.pack("!i", -1) * arguments
            # All of them are strict: with NULL they do nothing.
            answer = one.ask(message(b"F", struct.pack("!ihh", number, 0, arguments) + given + struct.pack("!h", 0)))
            assert sqlstates(answer) == [], name
            with Client.local(daemon.socket, user="me", database="impatient") as other:
                assert sqlstates(other.ask(query("select 1"))) == [], name


def test_reading_a_long_text_takes_little_memory(daemon: Daemon) -> None:
    """The server refuses the text at its first word, the daemon has read it to its end."""
    text = "nonsense " + ",".join(["(1)"] * 2_000_000)
    received = answers(daemon.socket, startup(user="me", database="one") + query(text) + TERMINATE)
    assert sqlstates(received) == ["42601"]
    lines = Path(f"/proc/{daemon.process.pid}/status").read_text().splitlines()
    peak_kb = next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))
    assert peak_kb * 1024 < 12 * len(text)
