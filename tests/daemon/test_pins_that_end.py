"""What keeps a server connection with its client ends, and settings that are not reported follow their client."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import pytest

import headrace
from waiting import until

from .conftest import Daemon
from .raw import EXECUTE, SYNC, Client, answers, bind, messages, parse, query, sqlstates, startup, values
from .test_status import status

PID = query("select pg_backend_pid()")


@contextlib.contextmanager
def two(daemon: Daemon, database: str = "one") -> Iterator[tuple[Client, Client]]:
    """Two clients of one server connection."""
    with (
        Client.local(daemon.socket, user="me", database=database) as one,
        Client.local(daemon.socket, user="me", database=database) as other,
    ):
        yield one, other


def pinned(daemon: Daemon) -> list[str]:
    """Why clients keep their connections."""
    return [client["pinned_by"] for client in status(daemon)["clients"] if client["pinned_by"]]


ENDING = [
    ("create temp table pins_t (n int)", "drop table pins_t"),
    ("create temp sequence pins_s", "drop sequence pins_s"),
    ("begin; create temp table pins_t (n int) on commit drop; commit", "select 1"),
    ("begin; create temp table pins_t (n int); rollback", "select 1"),
    ("create temp table", "select 1"),
    ("listen pins_a; listen pins_b", "unlisten *"),
    ("prepare pins as select 1", "deallocate pins"),
    ("declare pins cursor with hold for select 1", "close pins"),
    ("select pg_advisory_lock(7)", "select pg_advisory_unlock(7)"),
    ("select pg_try_advisory_lock_shared(7)", "select pg_advisory_unlock_all()"),
    ("set enable_seqscan = off", "reset enable_seqscan"),
    ("set enable_seqscan = off", "set enable_seqscan to default"),
    ("set statement_timeout = 5", "reset statement_timeout"),
    ("set search_path to pg_temp", "set search_path to public"),
    ("set role pg_monitor", "reset role"),
    ("set session authorization pg_monitor", "reset session authorization"),
]


@pytest.mark.parametrize(("begins", "ends"), ENDING)
def test_connection_is_shared_when_what_keeps_it_is_gone(daemon: Daemon, begins: str, ends: str) -> None:
    with two(daemon) as (one, other):
        (pid,) = values(one.ask(PID))
        one.ask(query(begins))
        one.ask(query(ends))
        until(lambda: pinned(daemon) == [])
        assert values(other.ask(PID)) == [pid]


@pytest.mark.parametrize("begins", [begins for begins, ends in ENDING if ends != "select 1"])
def test_connection_is_kept_while_it_is_there(daemon: Daemon, begins: str) -> None:
    with Client.local(daemon.socket, user="me", database="impatient") as one:
        one.ask(query(begins))
        assert len(pinned(daemon)) == 1
        received = answers(daemon.socket, startup(user="me", database="impatient") + PID)
        assert sqlstates(received) == ["HR002"]
        assert len(pinned(daemon)) == 1


def test_lock_that_ends_by_a_prepared_statement_is_noticed_after_a_pause(daemon: Daemon) -> None:
    with two(daemon) as (one, other):
        one.ask(parse("lock", "select pg_advisory_lock($1)") + parse("unlock", "select pg_advisory_unlock($1)") + SYNC)
        one.ask(bind("lock", "7") + EXECUTE + SYNC)
        assert len(pinned(daemon)) == 1
        one.ask(bind("unlock", "7") + EXECUTE + SYNC)
        until(lambda: pinned(daemon) == [])
        # It may take the lock again, wherever it is.
        one.ask(bind("lock", "7") + EXECUTE + SYNC)
        assert len(pinned(daemon)) == 1
        one.ask(bind("unlock", "7") + EXECUTE + SYNC)
        assert values(other.ask(PID)) != []


FOLLOWING = [
    ("statement_timeout", "5s", "0"),
    ("lock_timeout", "7s", "0"),
    ("idle_in_transaction_session_timeout", "1min", "0"),
    ("client_min_messages", "warning", "notice"),
    ("extra_float_digits", "-3", "1"),
    ("bytea_output", "escape", "hex"),
    ("default_transaction_isolation", "serializable", "read committed"),
    ("default_transaction_deferrable", "on", "off"),
    ("work_mem", "1MB", "4MB"),
    ("synchronous_commit", "off", "on"),
    ("app.tenant", "a'\u00e4 7", None),
]


@pytest.mark.parametrize("how", ["set", "set_config", "prepared"])
@pytest.mark.parametrize(("name", "value", "default"), FOLLOWING)
def test_setting_that_is_not_reported_follows_its_client(
    daemon: Daemon, name: str, value: str, default: str | None, how: str
) -> None:
    shown = query(f"select current_setting('{name}', true)")
    literal = value.replace("'", "''")
    with two(daemon) as (one, other):
        clean = values(other.ask(shown)) if default else [""]
        if how == "set":
            one.ask(query(f"set {name} = '{literal}'"))
        elif how == "set_config":
            one.ask(query(f"select set_config('{name}', '{literal}', false)"))
        else:
            assert sqlstates(one.ask(parse("", f"set {name} = '{literal}'") + bind("") + EXECUTE + SYNC)) == []
        until(lambda: pinned(daemon) == [])
        for _ in range(2):
            assert values(one.ask(shown)) == [value]
            assert (values(other.ask(shown)) or [""]) == clean
        one.ask(query(f"reset {name}"))
        assert (values(one.ask(shown)) or [""]) == clean


def test_setting_is_what_its_transaction_has_made_of_it(daemon: Daemon) -> None:
    shown = query("select current_setting('statement_timeout')")
    with two(daemon) as (one, other):
        one.ask(query("begin"))
        one.ask(query("set statement_timeout = '5s'"))
        one.ask(query("rollback"))
        assert values(one.ask(shown)) == ["0"]
        one.ask(query("set statement_timeout = '5s'"))
        one.ask(query("begin; set statement_timeout = '6s'; rollback"))
        assert values(other.ask(shown)) == ["0"]
        assert values(one.ask(shown)) == ["5s"]
        one.ask(query("reset all"))
        assert values(other.ask(shown)) == ["0"]
        assert values(one.ask(shown)) == ["0"]
        one.ask(query("set statement_timeout = '5s'"))
        one.ask(query("discard all"))
        assert values(other.ask(shown)) == ["0"]
        assert values(one.ask(shown)) == ["0"]


def test_client_whose_setting_another_session_refuses_is_told(daemon: Daemon) -> None:
    """A setting of an extension that the other session has loaded."""
    setting = Client.local(daemon.socket, user="me", database="two")
    with two(daemon, "two") as (holder, other), setting.socket:
        holder.ask(query("begin"))
        other.ask(query("do $$ begin end $$"))
        holder.ask(query("commit"))
        assert sqlstates(setting.ask(query("set plpgsql.unknown = 7"))) == []
        until(lambda: pinned(daemon) == [])
        holder.ask(query("begin"))
        with pytest.raises(ConnectionError, match=r"plpgsql\.unknown"):
            setting.ask(query("create table never_made (n int)"))
        assert values(holder.ask(query("select to_regclass('never_made') is null"))) == ["t"]


def test_notifications_that_come_with_the_answer_are_the_client_s(daemon: Daemon) -> None:
    with two(daemon, "two") as (one, other):
        received = one.ask(query("listen pins_n"))
        with headrace.connect(daemon.server.url, autocommit=True) as admin:
            for number in range(40):
                admin.execute(f"notify pins_n, '{number}'")
                # Each asks the server whether it listens still.
                received += one.ask(query("close all"))
        other.ask(PID)
        received += one.ask(PID)
        assert sum(tag == b"A" for tag, _ in messages(received)) == 40


def test_statements_planned_with_other_settings_are_not_shared(daemon: Daemon) -> None:
    text = "select 1.1::float8::text"
    with two(daemon) as (one, other):
        one.ask(query("set extra_float_digits = -14"))
        for client, expected in [(one, "1"), (other, "1.1")] * 4:
            client.ask(parse("", text) + bind("") + EXECUTE + SYNC)
            assert values(client.ask(parse("", text) + bind("") + EXECUTE + SYNC)) == [expected]


def test_cursor_with_hold_is_read_by_its_client_alone(daemon: Daemon) -> None:
    with two(daemon) as (one, other):
        one.ask(query("declare pins cursor with hold for select n from generate_series(1, 3) n"))
        assert values(one.ask(query("fetch 2 from pins"))) == ["1", "2"]
        assert values(one.ask(query("fetch 2 from pins"))) == ["3"]
        one.ask(query("close pins"))
        assert sqlstates(other.ask(query("fetch 1 from pins"))) == ["34000"]
