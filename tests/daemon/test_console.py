"""The console that stands for PgBouncer's: its tables have the columns of the genuine one, its orders do the same."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import psycopg
import pytest

from headrace.testing import PostgresServer
from headrace_lab.pgbouncer import newest_pgbouncer, pgbouncer, system_pgbouncer
from waiting import Work, until

from .conftest import Daemon, config, started
from .raw import SYNC, Client, bind, message, messages, parse, query, sqlstates, values
from .test_orders import database
from .test_timeouts import told

TABLES = (
    "CLIENTS", "CONFIG", "DATABASES", "LISTS", "MEM", "POOLS", "SERVERS", "STATE", "STATS", "STATS_AVERAGES",
    "STATS_TOTALS", "TOTALS", "USERS", "VERSION",
)  # fmt: skip


@pytest.fixture
def daemon(program: Path, folder: Path, server: PostgresServer) -> Iterator[Daemon]:
    """A daemon with an operator, and somebody who may look."""
    daemon = '[daemon]\nadmin_users = ["root"]\nstats_users = ["watcher"]\n'
    with started(program, folder, daemon + config(server, app="", one="pool_size = 1"), server) as running:
        yield running


def console(daemon: Daemon, user: str = "pgbouncer") -> psycopg.Connection[Any]:
    """The console, by psycopg."""
    return psycopg.connect(**daemon.where("pgbouncer", user=user), autocommit=True)


def rows(conn: psycopg.Connection[Any], command: bytes) -> list[dict[str, Any]]:
    """What a command shows."""
    cursor = conn.execute(command)
    assert cursor.description is not None
    names = [column.name for column in cursor.description]
    return [dict(zip(names, row, strict=True)) for row in cursor]


def columns(conn: psycopg.Connection[Any], table: str) -> list[tuple[str, int]]:
    """The names and types of a table."""
    description = conn.execute(f"SHOW {table}".encode()).description
    assert description is not None
    return [(column.name, column.type_code) for column in description]


@pytest.mark.parametrize("genuine", [newest_pgbouncer, system_pgbouncer], ids=["newest", "oldest"])
def test_tables_have_the_columns_of_pgbouncer(daemon: Daemon, server: PostgresServer, genuine: Any) -> None:
    with pgbouncer(genuine(), server, f"admin_users = {server.user}") as bouncer:
        where: dict[str, Any] = {"host": str(bouncer.folder), "port": 6432, "user": server.user, "dbname": "pgbouncer"}
        with psycopg.connect(**where, autocommit=True) as theirs, console(daemon) as ours:
            for table in TABLES:
                is_newest = genuine is newest_pgbouncer
                if table == "STATE" and not is_newest:
                    continue
                have, expected = columns(ours, table), columns(theirs, table)
                if is_newest:
                    assert have == expected, table
                else:
                    # Later versions have more columns; the names of some have changed.
                    renamed = {("reserve_pool", 23), ("pool_mode", 25)}
                    assert set(expected) - set(have) <= renamed, table


def test_programs_that_watch_find_the_figures(daemon: Daemon) -> None:
    with daemon.connect("app", autocommit=True) as conn, console(daemon, "watcher") as watcher:
        for n in range(5):
            assert conn.fetchval("select $1::int", n) == n
        with conn.transaction():
            conn.execute("select 1")
            [pool] = [row for row in rows(watcher, b"SHOW POOLS") if row["database"] == "app"]
            assert (pool["cl_active"], pool["sv_active"], pool["sv_idle"], pool["cl_waiting"]) == (1, 1, 0, 0)
            [server] = rows(watcher, b"show servers;")
            assert server["state"] == "active"
            assert server["addr"] == "127.0.0.1"
            [client] = [row for row in rows(watcher, b"SHOW CLIENTS") if row["database"] == "app"]
            assert (client["link"], server["link"]) == (server["ptr"], client["ptr"])
            assert client["remote_pid"] == os.getpid()
            assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC", client["connect_time"])
        [totals] = rows(watcher, b"SHOW STATS_TOTALS")
        assert totals["database"] == "app"
        assert totals["query_count"] >= 5
        assert totals["xact_count"] >= 5
        assert totals["bytes_sent"] > 0
        assert totals["client_login_count"] == 1
        shown = {row["name"]: row for row in rows(watcher, b"SHOW DATABASES")}
        assert set(shown) == {"app", "one", "pgbouncer"}
        assert (shown["one"]["pool_size"], shown["app"]["current_connections"]) == (1, 1)
        settings = {row["key"]: row["value"] for row in rows(watcher, b"SHOW CONFIG")}
        assert settings["max_client_conn"] == "10000"
        assert settings["databases.one.pool_size"] == "1"
        lists = {row["list"]: row["items"] for row in rows(watcher, b"SHOW LISTS")}
        assert (lists["databases"], lists["used_clients"], lists["used_servers"]) == (3, 2, 1)
        assert rows(watcher, b"SHOW VERSION")[0]["version"].startswith("PgBouncer 1.")
        assert watcher.info.server_version >= 10000


def test_orders_are_carried_out(daemon: Daemon) -> None:
    with (
        console(daemon) as operator,
        Client.local(daemon.socket, user="anyone", database="one") as running,
        Client.local(daemon.socket, user="anyone", database="one") as waiting,
    ):
        running.ask(query("begin"))
        paused = Work(operator.execute, b"PAUSE one;")
        until(lambda: database(daemon, "one")["paused"])
        waiting.send(query("select 'served'"))
        until(lambda: database(daemon, "one")["waiting"] == 1)
        assert not paused.done
        running.ask(query("commit"))
        assert paused.result().statusmessage == "PAUSE"
        assert database(daemon, "one")["open"] == 0
        assert [row["paused"] for row in rows(operator, b"SHOW DATABASES") if row["name"] == "one"] == [1]
        assert operator.execute(b"RESUME one").statusmessage == "RESUME"
        assert values(waiting.receive()) == ["served"]
        with pytest.raises(psycopg.errors.ObjectNotInPrerequisiteState):
            operator.execute(b"RESUME one")
        before = values(waiting.ask(query("select pg_backend_pid()")))
        assert operator.execute(b"RECONNECT").statusmessage == "RECONNECT"
        assert values(waiting.ask(query("select pg_backend_pid()"))) != before
        (daemon.folder.parent / "headraced.toml").write_text(config(daemon.server, one="", new=""))
        assert operator.execute(b"RELOAD").statusmessage == "RELOAD"
        assert "new" in {row["name"] for row in rows(operator, b"SHOW DATABASES")}


def test_kill_ends_clients_and_not_operators(daemon: Daemon) -> None:
    with console(daemon) as operator:
        one, other = (Client.local(daemon.socket, user="anyone", database=name) for name in ("one", "app"))
        for client in (one, other):
            client.ask(query("begin"))
        number = {row["database"]: row["id"] for row in rows(operator, b"SHOW CLIENTS")}["one"]
        assert operator.execute(f"KILL_CLIENT {number}".encode()).statusmessage == "KILL_CLIENT"
        assert told(one) == ["57P01"]
        assert operator.execute(b"KILL").statusmessage == "KILL"
        assert told(other) == ["57P01"]
        assert {row["key"]: row["value"] for row in rows(operator, b"SHOW STATE")}["paused"] == "yes"
        operator.execute(b"RESUME")


def test_wait_of_an_operator_can_be_cancelled(daemon: Daemon) -> None:
    with console(daemon) as operator, Client.local(daemon.socket, user="anyone", database="one") as running:
        running.ask(query("begin"))
        paused = Work(operator.execute, b"PAUSE")
        until(lambda: database(daemon, "one")["paused"])
        operator.cancel()
        with pytest.raises(psycopg.errors.QueryCanceled):
            paused.result()
        operator.execute(b"RESUME")
        assert values(running.ask(query("select 7"))) == ["7"]


def test_who_may_look_may_not_order(daemon: Daemon) -> None:
    """CVE-2026-6667: a command for operators that everybody on the console may give."""
    with console(daemon, "watcher") as watcher:
        (number,) = (row["id"] for row in rows(watcher, b"SHOW CLIENTS"))
        for command in (b"PAUSE", b"KILL one", f"KILL_CLIENT {number}".encode(), b"RELOAD", b"RECONNECT", b"RESUME"):
            with pytest.raises(psycopg.errors.InsufficientPrivilege):
                watcher.execute(command)
        assert rows(watcher, b"SHOW STATE")[1] == {"key": "paused", "value": "no"}
    with console(daemon, "root") as operator:
        operator.execute(b"RECONNECT")
    with pytest.raises(psycopg.OperationalError, match="may not use the console"):
        console(daemon, "anyone")


def test_what_is_no_command_is_refused_and_the_console_goes_on(daemon: Daemon) -> None:
    client = Client.local(daemon.socket, user="pgbouncer", database="pgbouncer")
    for sent, expected in [
        (query("select 1"), ["42601"]),
        (query("pause nowhere"), ["3D000"]),
        (query("kill_client 4711"), ["42704"]),
        (query("set max_clients = 1"), ["0A000"]),
        (parse("", "show pools") + bind("") + SYNC, ["0A000"]),
    ]:
        assert sqlstates(client.ask(sent)) == expected
    assert [tag for tag, _ in messages(client.ask(query(";")))] == [b"I", b"Z"]
    help_said = messages(client.ask(query("show help")))
    assert [tag for tag, _ in help_said] == [b"N", b"C", b"Z"]
    assert b"RECONNECT" in help_said[0][1]
    client.send(message(b"Q", b"show\xff\0"))
    assert told(client) == ["08P01"]


def test_name_of_the_console_is_no_database(program: Path, folder: Path, server: PostgresServer) -> None:
    text = config(server, pgbouncer="")
    with pytest.raises(AssertionError, match="the name is that of the console"), started(program, folder, text, server):
        pass
