"""What operators order: pause, resume, reconnect and kill, and what they are shown."""

from __future__ import annotations

import json
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

import headrace
from headrace import _daemon
from waiting import Work, until

from .conftest import Daemon
from .raw import Client, query, values
from .test_status import ask, status
from .test_timeouts import told


def order(daemon: Daemon, *arguments: str) -> int:
    """``headrace daemon`` with these; its exit code."""
    command, *rest = arguments
    return _daemon.main([command, "--folder", str(daemon.folder), *rest])


def shown(daemon: Daemon, table: str) -> list[dict[str, Any]]:
    """The rows of a table."""
    code, text = ask(daemon, "GET", f"/{table}")
    assert code == 200
    found: list[dict[str, Any]] = json.loads(text)
    return found


def database(daemon: Daemon, name: str) -> dict[str, Any]:
    """What is shown of a database."""
    [found] = [each for each in shown(daemon, "databases") if each["name"] == name]
    return found


@contextmanager
def client(daemon: Daemon, name: str = "two") -> Iterator[Client]:
    """A client that is a socket."""
    with Client.local(daemon.socket, user="anyone", database=name) as connected:
        yield connected


def test_transactions_end_and_new_ones_wait_until_the_database_is_resumed(daemon: Daemon) -> None:
    with client(daemon) as running, client(daemon) as waiting, client(daemon, "app") as other:
        backend = values(running.ask(query("begin") + query("select pg_backend_pid()"), 2))
        assert order(daemon, "pause", "two", "--no-wait") == 0
        paused = Work(order, daemon, "pause", "two")
        assert values(running.ask(query("select pg_backend_pid()"))) == backend
        waiting.send(query("select 'served'"))
        until(lambda: database(daemon, "two")["waiting"] == 1)
        assert not paused.done
        assert database(daemon, "two")["paused"]
        assert values(other.ask(query("select 'of another database'"))) == ["of another database"]
        running.ask(query("commit"))
        assert paused.result() == 0
        assert database(daemon, "two")["open"] == 0
        # Clients that come are not refused.
        coming = Work(lambda: Client.local(daemon.socket, user="anyone", database="two"))
        until(lambda: database(daemon, "two")["waiting"] == 2)
        assert order(daemon, "resume", "two") == 0
        assert values(waiting.receive()) == ["served"]
        with coming.result() as came:
            assert values(came.ask(query("select 'came'"))) == ["came"]
        assert not database(daemon, "two")["paused"]


def test_time_for_which_a_database_is_paused_is_not_waited(daemon: Daemon) -> None:
    with client(daemon, "impatient") as waiting:
        assert order(daemon, "pause") == 0
        waiting.send(query("select 'served'"))
        answer = Work(waiting.receive)
        with pytest.raises(TimeoutError):
            # Longer than queue_wait.
            answer.result(0.5)
        assert status(daemon)["pools"][0]["paused"]
        assert order(daemon, "resume") == 0
        assert values(answer.result()) == ["served"]


def test_pause_that_is_waited_for_says_who_it_waits_for(daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
    with client(daemon) as running:
        running.ask(query("begin"))
        assert order(daemon, "pause", "two", "--timeout", "0") == 1
        [number] = [each["id"] for each in shown(daemon, "clients")]
        assert f"by clients {number}" in capsys.readouterr().err
        assert order(daemon, "resume", "two") == 0
        assert values(running.ask(query("select 7"))) == ["7"]


def test_reconnect_replaces_connections_when_they_come_back(daemon: Daemon) -> None:
    with client(daemon) as running, client(daemon) as idle:
        pid = query("select pg_backend_pid()")
        running.ask(query("begin"))
        [kept], [replaced] = (values(each.ask(pid)) for each in (running, idle))
        assert order(daemon, "reconnect", "two") == 0
        servers = {each["pid"]: each["closing"] for each in shown(daemon, "servers")}
        assert servers == {int(kept): True}, "the idle one is closed at once"
        assert values(idle.ask(pid)) not in ([kept], [replaced])
        assert values(running.ask(pid)) == [kept]
        waited = Work(order, daemon, "reconnect", "two", "--wait")
        running.ask(query("commit"))
        assert waited.result() == 0
        assert values(running.ask(pid)) != [kept]


def test_kill_ends_clients_and_what_runs_for_them(daemon: Daemon) -> None:
    running, idle, waiting = (Client.local(daemon.socket, user="anyone", database="one") for _ in range(3))
    with client(daemon, "two") as other:
        running.ask(query("begin"))
        running.send(query("select pg_sleep(600)"))
        waiting.send(query("select 1"))
        until(lambda: database(daemon, "one")["waiting"] == 1)
        assert order(daemon, "kill", "one") == 0
        for each in (running, idle, waiting):
            assert told(each) == ["57P01"]
        until(lambda: database(daemon, "one")["open"] == 0)
        with headrace.connect(daemon.server.url) as admin:
            sleeping = "select count(*) from pg_stat_activity where query = 'select pg_sleep(600)' and state = 'active'"
            until(lambda: admin.fetchval(sleeping) == 0)
        assert values(other.ask(query("select 7"))) == ["7"]
    assert database(daemon, "one")["paused"]
    assert order(daemon, "resume") == 0
    with client(daemon, "one") as new:
        assert values(new.ask(query("select 7"))) == ["7"]


def test_kill_of_a_client_ends_it_alone(daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
    one = Client.local(daemon.socket, user="anyone", database="two", application_name="one")
    with client(daemon) as other:
        one.ask(query("begin"))
        [number] = [each["id"] for each in shown(daemon, "clients") if each["application"] == "one"]
        assert order(daemon, "kill", "--client", str(number)) == 0
        assert told(one) == ["57P01"]
        assert order(daemon, "kill", "--client", str(number)) == 1
        assert f"there is no client {number}" in capsys.readouterr().err
        assert values(other.ask(query("select 7"))) == ["7"]
    assert not database(daemon, "two")["paused"]


@pytest.mark.parametrize("command", ["pause", "resume", "reconnect", "kill"])
def test_database_that_is_not_there_is_named(daemon: Daemon, capsys: pytest.CaptureFixture[str], command: str) -> None:
    assert order(daemon, command, "a/b?c") == 1
    assert '"a/b?c"' in capsys.readouterr().err
    assert not any(each["paused"] for each in shown(daemon, "databases"))


def test_tables_show_what_there_is(daemon: Daemon, capsys: pytest.CaptureFixture[str]) -> None:
    with daemon.connect("two", autocommit=True) as conn, client(daemon) as holder:
        assert conn.fetchval("select $1::int + 1", 1) == 2
        holder.ask(query("begin"))
        printed = {}
        for table in _daemon.COLUMNS:
            assert order(daemon, "show", table) == 0
            printed[table] = capsys.readouterr().out
            assert order(daemon, "show", table, "--json") == 0
            assert json.loads(capsys.readouterr().out)
        active = [each for each in shown(daemon, "servers") if each["state"] == "active"]
        clients = {each["id"]: each for each in shown(daemon, "clients")}
        assert [clients[each["client"]]["state"] for each in active] == ["active"]
    assert "postgres@two" in printed["pools"]
    assert "select $1::int + 1" in printed["statements"]
    assert "headraced_" in printed["statements"]
    assert "127.0.0.1" in printed["servers"]
    assert "impatient" in printed["databases"]
    assert "queue_wait" in printed["config"]
    assert "databases.impatient" in printed["config"]
