"""What a new client is told of its settings, and when."""

from __future__ import annotations

import contextlib
import socket
from collections.abc import Iterator
from pathlib import Path

import pytest

import headrace
from headrace.testing import PostgresServer
from waiting import until

from .conftest import Daemon, config, started
from .raw import TERMINATE, answers, messages, startup
from .test_status import status


def welcome(daemon: Daemon, database: str, **settings: str) -> dict[str, str]:
    """The settings that a client is told when it connects."""
    received = answers(daemon.socket, startup(user="anyone", database=database, **settings) + TERMINATE)
    told = [body.decode().split("\0") for tag, body in messages(received) if tag == b"S"]
    return {name: value for name, value, _ in told}


@pytest.fixture
def altered(program: Path, folder: Path, server: PostgresServer) -> Iterator[Daemon]:
    """A daemon whose user on the server is one whose defaults may be changed."""
    with headrace.connect(server.url, autocommit=True) as admin:
        admin.executescript("drop role if exists altered; create role altered login")
    text = config(server, one="pool_size = 1", two="pool_size = 2").replace('user = "postgres"', 'user = "altered"')
    with started(program, folder, text, server) as running:
        yield running


@pytest.mark.parametrize("settings", [{}, {"TimeZone": "Etc/GMT+1"}, {"application_name": "x"}], ids=str)
def test_new_defaults_of_a_role_are_those_of_new_clients(altered: Daemon, settings: dict[str, str]) -> None:
    before = welcome(altered, "one", **settings)
    with headrace.connect(altered.server.url, autocommit=True) as admin:
        admin.execute("alter role altered set datestyle = 'German'")
        ends = "select count(pg_terminate_backend(pid, 30000)) from pg_stat_activity where usename = 'altered'"
        assert admin.fetchval(ends) == 1
    after = welcome(altered, "one", **settings)
    assert (before.pop("DateStyle"), after.pop("DateStyle")) == ("ISO, MDY", "German, DMY")
    assert before == after
    with altered.connect("one", autocommit=True) as conn:
        assert conn.fetchval("select current_setting('datestyle')") == "German, DMY"


def test_new_defaults_hold_on_sessions_opened_before(altered: Daemon) -> None:
    with altered.connect("two", autocommit=True) as old, altered.connect("two") as busy:
        assert old.fetchval("select current_setting('datestyle')") == "ISO, MDY"
        with headrace.connect(altered.server.url, autocommit=True) as admin:
            admin.execute("alter role altered set datestyle = 'German'")
        with busy.transaction():
            busy.execute("select 1")
            with altered.connect("two", autocommit=True) as second:
                second.execute("select 1")
        assert old.fetchval("select current_setting('datestyle')") == "ISO, MDY", "a client keeps what it has"
        with contextlib.ExitStack() as stack:
            for _ in range(2):
                new = stack.enter_context(altered.connect("two"))
                stack.enter_context(new.transaction())
                assert new.fetchval("select current_setting('datestyle')") == "German, DMY"


def test_part_of_a_setting_is_that_of_the_defaults(daemon: Daemon) -> None:
    with daemon.connect("one", autocommit=True) as other:
        other.execute("set datestyle = 'German, DMY'")
        assert welcome(daemon, "one", DateStyle="ISO")["DateStyle"] == "ISO, MDY"
        assert other.fetchval("select current_setting('datestyle')") == "German, DMY"


def test_clients_that_leave_before_they_are_welcomed_do_not_wait(daemon: Daemon) -> None:
    with daemon.connect("one") as busy, contextlib.ExitStack() as stack:
        busy.execute("select 1")
        for n in range(3):
            leaving = stack.enter_context(socket.socket(socket.AF_UNIX))
            leaving.connect(str(daemon.socket))
            leaving.sendall(startup(user="anyone", database="one", TimeZone=f"Etc/GMT+{n}"))
        until(lambda: sum(pool["waiting"] for pool in status(daemon)["pools"]) == 3)
        stack.close()
        until(lambda: sum(pool["waiting"] for pool in status(daemon)["pools"]) == 0)
        until(lambda: len(status(daemon)["clients"]) == 1)


@pytest.mark.parametrize(
    "settings",
    [{"TimeZone": "Nowhere"}, {"client_encoding": "FOO"}, {"DateStyle": "x"}, {"IntervalStyle": "y"}],
    ids=str,
)
def test_refused_setting_is_told_in_the_words_of_the_server(daemon: Daemon, settings: dict[str, str]) -> None:
    def fields(received: bytes) -> list[dict[str, str]]:
        errors = (body.decode().split("\0") for tag, body in messages(received) if tag == b"E")
        return [{field[0]: field[1:] for field in error if field} for error in errors]

    with daemon.connect("one", autocommit=True) as conn:
        session = conn.fetchval("select pg_backend_pid()")
        with socket.create_connection(("127.0.0.1", daemon.server.port)) as direct:
            direct.sendall(startup(user="postgres", database="postgres", **settings))
            direct.settimeout(30)
            expected = fields(b"".join(iter(lambda: direct.recv(65536), b"")))
        found = fields(answers(daemon.socket, startup(user="anyone", database="one", **settings)))
        assert [{name: error[name] for name in "SVCM"} for error in found] == [
            {name: error[name] for name in "SVCM"} for error in expected
        ]
        assert conn.fetchval("select pg_backend_pid()") == session, "the server connection can be used"


def test_new_application_connects_while_all_server_connections_are_in_use(daemon: Daemon) -> None:
    with daemon.connect("one") as busy:
        busy.execute("select 1")
        told = welcome(daemon, "one", application_name="never seen")
        assert told["application_name"] == "never seen"
    with daemon.connect("one", autocommit=True, application_name="it's \\ another") as conn:
        assert conn.fetchval("select current_setting('application_name')") == "it's \\ another"
