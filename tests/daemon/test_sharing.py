"""Server connections are shared, and nothing of one client reaches another."""

from __future__ import annotations

import contextlib
import os
import socket
import struct
import threading
import time
from typing import Any

import psycopg
import pytest

import headrace
from waiting import until

from .conftest import Daemon
from .raw import (
    EXECUTE,
    SYNC,
    TERMINATE,
    Client,
    answers,
    bind,
    close,
    describe,
    messages,
    parse,
    query,
    sqlstates,
    startup,
)

INT4, TEXT = 23, 25


def pid(connection: Any) -> int:
    """The session on the server that answers."""
    return int(connection.execute("select pg_backend_pid()").fetchone()[0])


def test_clients_share_one_session(daemon: Daemon) -> None:
    with daemon.connect("one", autocommit=True) as one, daemon.connect("one", autocommit=True) as two:
        assert pid(one) == pid(two) == pid(one)


def test_transaction_keeps_its_session_and_others_wait(daemon: Daemon) -> None:
    with daemon.connect("one") as one, daemon.connect("one", autocommit=True) as two:
        with one.transaction():
            mine = pid(one)
            answers: list[int] = []
            waiting = threading.Thread(target=lambda: answers.append(pid(two)))
            waiting.start()
            assert pid(one) == mine
            assert answers == []
        waiting.join()
        assert answers == [mine]


def test_prepared_statement_is_prepared_once_for_all(daemon: Daemon) -> None:
    text = "select $1::int + 41 /* shared */"
    for _ in range(3):
        with daemon.connect("one", autocommit=True) as conn:
            assert conn.fetchval(text, 1) == 42
    with daemon.connect("one", autocommit=True) as conn:
        known = conn.fetchval("select count(*) from pg_prepared_statements where statement = $1", text)
    assert known == 1


def test_setting_belongs_to_its_client(daemon: Daemon) -> None:
    with daemon.connect("one", autocommit=True) as one, daemon.connect("one", autocommit=True) as two:
        one.execute("set timezone = 'Asia/Tokyo'")
        one.execute("set datestyle = 'German'")
        assert two.fetchval("show timezone") != "Asia/Tokyo"
        assert two.fetchval("show datestyle").startswith("ISO")
        assert one.fetchval("show timezone") == "Asia/Tokyo"
        assert one.fetchval("show datestyle").startswith("German")
        assert pid(one) == pid(two)


def test_settings_of_the_connection_string_are_the_clients_own(daemon: Daemon) -> None:
    with (
        psycopg.connect(**daemon.where("one"), application_name="first", autocommit=True) as one,
        psycopg.connect(**daemon.where("one"), application_name="second", autocommit=True) as two,
    ):
        for _ in range(2):
            assert one.execute("show application_name").fetchone() == ("first",)
            assert two.execute("show application_name").fetchone() == ("second",)
        assert one.info.parameter_status("application_name") == "first"


@pytest.mark.parametrize(
    "statement",
    [
        "create temp table mine (n int)",
        "set enable_seqscan = off",
        "select pg_advisory_lock(7)",
        "listen mine",
        "prepare mine as select 1",
        "do $$ begin create temp table mine (n int); end $$",
    ],
)
def test_what_cannot_be_shared_keeps_its_session_and_is_gone_afterwards(daemon: Daemon, statement: str) -> None:
    with daemon.connect("two", autocommit=True) as one, daemon.connect("two", autocommit=True) as two:
        one.execute(statement)
        mine = pid(one)
        assert {pid(two) for _ in range(5)}.isdisjoint({mine})
        assert pid(one) == mine
    # At the same time, so that each has one of the two sessions. The locks of one that has not come back yet may still
    # be there: only those count that a client sees in its own.
    locks = "select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()"
    with (
        daemon.connect("two", autocommit=True) as three,
        daemon.connect("two", autocommit=True) as four,
        three.transaction(),
        four.transaction(),
    ):
        assert pid(three) != pid(four)
        for conn in (three, four):
            assert conn.fetchval("select to_regclass('pg_temp.mine')") is None
            assert conn.fetchval("show enable_seqscan") == "on"
            assert conn.fetchval(locks) == 0
            assert conn.fetchval("select count(*) from pg_listening_channels()") == 0
            assert conn.fetchval("select count(*) from pg_prepared_statements where name = 'mine'") == 0


def test_transaction_of_a_client_that_dies_is_rolled_back(daemon: Daemon) -> None:
    with daemon.connect("one", autocommit=True) as conn:
        conn.executescript("drop table if exists died; create table died (n int)")
    client = psycopg.connect(**daemon.where("one"))
    client.execute("insert into died values (1)")
    client.pgconn.finish()
    with daemon.connect("one", autocommit=True) as conn:
        assert conn.fetchval("select count(*) from died") == 0
        conn.execute("drop table died")


def die(client: psycopg.Connection[Any]) -> None:
    """Ends a connection as the end of a process does, without a goodbye: after one, what was sent is executed."""
    with socket.socket(fileno=os.dup(client.fileno())) as same:
        same.shutdown(socket.SHUT_RDWR)
    client.close()


def test_query_of_a_client_that_dies_is_cancelled(daemon: Daemon) -> None:
    client = psycopg.connect(**daemon.where("one"), autocommit=True)
    client.pgconn.send_query(b"select pg_sleep(600) /* of the dead */")
    with headrace.connect(daemon.server.url, autocommit=True) as admin:
        running = (
            "select count(*) from pg_stat_activity where query like '%of the dead%' and state = 'active' "
            "and pid <> pg_backend_pid()"
        )
        until(lambda: admin.fetchval(running))
        die(client)
        until(lambda: not admin.fetchval(running))
    with daemon.connect("one", autocommit=True) as conn:
        assert conn.fetchval("select 1") == 1


def test_query_of_a_client_that_dies_at_once_is_cancelled(daemon: Daemon) -> None:
    """The server may have the CancelRequest before the query."""
    query = b"select pg_sleep(600) /* of those that die at once */"
    for n in range(100):
        client = psycopg.connect(**daemon.where("two"), autocommit=True)
        client.pgconn.send_query(query)
        time.sleep(n / 100_000)
        die(client)
    with daemon.connect("two", autocommit=True) as conn:
        running = (
            "select count(*) from pg_stat_activity where query like '%die at once%' and state = 'active' "
            "and pid <> pg_backend_pid()"
        )
        until(lambda: conn.fetchval(running) == 0)


def test_cancel_hits_its_own_query_only(daemon: Daemon) -> None:
    """One session for all: a cancel that came late would end somebody else's statement."""
    failures: list[BaseException] = []
    over = threading.Event()

    def innocent() -> None:
        try:
            with daemon.connect("one", autocommit=True) as conn:
                while not over.is_set():
                    assert conn.fetchval("select count(*) from generate_series(1, 20000)") == 20000
        except BaseException as error:
            failures.append(error)

    threads = [threading.Thread(target=innocent) for _ in range(3)]
    for thread in threads:
        thread.start()
    try:
        with psycopg.connect(**daemon.where("one"), autocommit=True) as client:

            def work() -> None:
                with contextlib.suppress(psycopg.errors.QueryCanceled):
                    client.execute("select count(*) from generate_series(1, 5000)")

            for _ in range(50):
                worker = threading.Thread(target=work)
                worker.start()
                client.cancel_safe()
                worker.join()
    finally:
        over.set()
        for thread in threads:
            thread.join()
    assert failures == []


def test_error_in_a_pipeline_leaves_statements_as_they_were(daemon: Daemon) -> None:
    with psycopg.connect(**daemon.where("one"), autocommit=True, prepare_threshold=0) as client:
        for n in range(5):
            with pytest.raises(psycopg.errors.DivisionByZero), client.pipeline():
                client.execute("select 1 / %s::int", (0,))
                client.execute(f"select {n} + %s::int", (n,))
            assert client.execute(f"select {n} + %s::int", (n,)).fetchone() == (2 * n,)
            assert client.execute("select 1 / %s::int", (1,)).fetchone() == (1,)


def test_parse_in_a_failed_transaction_is_refused_though_the_server_has_the_statement(daemon: Daemon) -> None:
    with Client.local(daemon.socket, user="me", database="one") as client:
        client.ask(parse("before", "select 7 /* known */") + SYNC)
        client.ask(query("begin") + query("select 1/0"), 2)
        answer = client.ask(parse("after", "select 7 /* known */") + SYNC)
        assert [tag for tag, _ in messages(answer)] == [b"E", b"Z"]
        client.ask(query("rollback"))
        answer = client.ask(bind("after") + EXECUTE + SYNC)
        assert sqlstates(answer) == ["26000"], "it was not prepared"


def test_statement_is_prepared_anew_after_its_table_was_altered(daemon: Daemon) -> None:
    with daemon.connect("one", autocommit=True) as conn:
        conn.executescript("drop table if exists altered; create table altered (a int); insert into altered values (1)")
    with psycopg.connect(**daemon.where("one"), autocommit=True, prepare_threshold=0) as client:
        assert client.execute("select * from altered").fetchall() == [(1,)]
        with daemon.connect("one", autocommit=True) as conn:
            conn.execute("alter table altered add b int")
        with pytest.raises(psycopg.errors.FeatureNotSupported):
            client.execute("select * from altered")
    with psycopg.connect(**daemon.where("one"), autocommit=True, prepare_threshold=0) as client:
        assert client.execute("select * from altered").fetchall() == [(1, None)]
        client.execute("drop table altered")


@pytest.mark.parametrize("pins", ["select 1", "set enable_sort to on", "create temp table own (a int)"])
@pytest.mark.parametrize("way", ["made again", "rolled back", "replaced view", "in a block"])
def test_text_that_others_have_prepared_fits_the_tables_of_now(daemon: Daemon, way: str, pins: str) -> None:
    """Within a transaction a statement cannot be tried again: who has not prepared it gets no error for it."""
    change, before, now = {
        "made again": ("drop table changed; create table changed as select 'a' as a", 1, "a"),
        "rolled back": ("alter table changed alter a type text", 1, 1),
        "replaced view": ("create or replace view changed_view as select a, 2 as b from changed", 1, 2),
        "in a block": ("do $$ begin alter table changed alter a type text; end $$", 1, "1"),
    }[way]
    text = "select * from changed_view" if way == "replaced view" else "select * from changed"
    with daemon.connect("one", autocommit=True) as conn:
        conn.executescript("drop table if exists changed cascade; create table changed as select 1 as a")
        conn.execute("create view changed_view as select a from changed" if way == "replaced view" else "select 1")
    with daemon.connect("one", autocommit=True) as other:
        assert other.fetchrow(text)[-1] == before
        with daemon.connect("one", autocommit=True) as conn:
            conn.execute("begin")
            conn.execute(pins)
            conn.executescript(change)
            if way == "rolled back":
                assert conn.fetchval(text) == "1"
                conn.execute("rollback")
                conn.execute("begin")
            assert conn.fetchrow(text)[-1] == now
            conn.execute("commit")
            with daemon.connect("two", autocommit=True) as past:
                assert past.fetchrow(text)[-1] == now
    with daemon.connect("one", autocommit=True) as last:
        last.execute("begin")
        assert last.fetchrow(text)[-1] == now
        last.execute("rollback")
        last.execute("drop table changed cascade")


@pytest.mark.parametrize(
    "change", ["alter table typed alter n type text", "drop table typed; create table typed (n text)"]
)
@pytest.mark.parametrize("through", [True, False], ids=["through the daemon", "past it"])
def test_client_that_prepares_again_gets_the_types_of_now(daemon: Daemon, change: str, through: bool) -> None:
    """Clients that keep the types of parameters close a statement that does not fit, and prepare it again."""
    asks = parse("s", "insert into typed values ($1)") + describe("s") + SYNC
    with headrace.connect(daemon.server.url, autocommit=True) as admin, daemon.connect("one", autocommit=True) as other:
        admin.executescript("drop table if exists typed; create table typed (n int)")
        with socket.socket(socket.AF_UNIX) as raw:
            raw.settimeout(30)
            raw.connect(str(daemon.socket))
            types = []
            for request in (startup(user="me", database="one"), asks, close("s") + asks):
                raw.sendall(request)
                received = b""
                while not received.endswith(b"Z\0\0\0\5I"):
                    received += raw.recv(65536)
                found = [struct.unpack_from("!i", body, 2)[0] for tag, body in messages(received) if tag == b"t"]
                types += found
                if found:
                    (other if through else admin).executescript(change)
        later = messages(answers(daemon.socket, startup(user="me", database="one") + asks + TERMINATE))
    assert types == [INT4, TEXT]
    assert [struct.unpack_from("!i", body, 2)[0] for tag, body in later if tag == b"t"] == [TEXT]


def test_discard_all_and_deallocate_all(daemon: Daemon) -> None:
    with daemon.connect("one", autocommit=True) as one, daemon.connect("one", autocommit=True) as two:
        for sql in ("discard all", "deallocate all"):
            assert one.fetchval("select $1::int", 1) == two.fetchval("select $1::int", 1) == 1
            two.execute(sql)
            assert one.fetchval("select $1::int", 2) == two.fetchval("select $1::int", 2) == 2


def test_waiting_ends_with_a_clear_error(daemon: Daemon) -> None:
    with daemon.connect("impatient") as one:
        one.execute("select 1")
        with (
            pytest.raises(headrace.OperationalError, match="within queue_wait") as caught,
            daemon.connect("app"),
            daemon.connect("impatient") as two,
        ):
            two.execute("select 1")
        assert caught.value.sqlstate == "HR002"


def test_session_mode_keeps_everything_until_the_client_leaves(daemon: Daemon) -> None:
    with daemon.connect("session", autocommit=True) as one, daemon.connect("session", autocommit=True) as two:
        one.execute("create temp table mine (n int)")
        assert pid(one) != pid(two)
        assert one.fetchval("select count(*) from mine") == 0
    with daemon.connect("session", autocommit=True) as one, daemon.connect("session", autocommit=True) as two:
        for conn in (one, two):
            assert conn.fetchval("select to_regclass('pg_temp.mine')") is None


def test_backend_that_is_killed_is_replaced(daemon: Daemon) -> None:
    with daemon.connect("one", autocommit=True) as conn:
        victim = pid(conn)
        with headrace.connect(daemon.server.url, autocommit=True) as admin:
            admin.execute("select pg_terminate_backend($1, 30000)", (victim,))
        assert pid(conn) != victim


def test_loss_of_a_session_under_way_is_said(daemon: Daemon) -> None:
    with (
        daemon.connect("one", autocommit=True) as conn,
        headrace.connect(daemon.server.url, autocommit=True) as admin,
    ):
        with pytest.raises(headrace.OperationalError) as caught:
            conn.execute("select pg_terminate_backend(pg_backend_pid())")
        assert caught.value.sqlstate in ("57P01", "HR005")
        assert admin.fetchval("select 1") == 1
    with daemon.connect("one", autocommit=True) as conn:
        assert conn.fetchval("select 1") == 1
