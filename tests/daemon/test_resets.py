"""Settings that go back, in one request with what follows them: as the server itself has it."""

from __future__ import annotations

import socket

import pytest

from headrace.testing import PostgresServer

from .conftest import Daemon
from .raw import EXECUTE, SYNC, Client, bind, messages, parse, query, values

STARTS: list[dict[str, str]] = [{}, {"TimeZone": "America/New_York", "DateStyle": "German", "search_path": "reset_one"}]
LOOK = (
    "select concat_ws('|', current_setting('TimeZone'), current_setting('DateStyle'), current_setting('search_path'),"
    " timestamptz '2024-01-01 12:00Z', to_regclass('reset_here'), current_setting('application_name'))"
)


def group(*texts: str) -> bytes:
    """Unnamed statements, one after the other, in one group."""
    return b"".join(parse("", text) + bind("") + EXECUTE for text in texts) + SYNC


REQUESTS = {
    "all, set": [query("reset all; set timezone to 'Asia/Tokyo'; set datestyle to 'SQL'")],
    "default, set": [query("set timezone to default; set timezone to 'Asia/Tokyo'")],
    "in a block": [query("begin; reset timezone; set timezone = 'Asia/Tokyo'; commit")],
    "a block of several": [
        query("begin"), query("reset timezone"), query("set transaction isolation level serializable"), query(LOOK),
        query("commit"),
    ],
    "all, set_config": [query("reset all; select set_config('TimeZone', 'Asia/Tokyo', false)")],
    "search path": [query("set search_path to reset_one"), query("reset search_path; set search_path to reset_two")],
    "search path of the start": [query("set search_path to default; set search_path to reset_two, public")],
    "group": [group("reset all", "set timezone to 'Asia/Tokyo'")],
    "group, and what follows sees it": [query("set timezone to 'Europe/Paris'"), group("reset timezone", LOOK)],
    "script, and what follows sees it": [query("set timezone to 'Europe/Paris'"), query(f"reset timezone; {LOOK}")],
    "group that fails": [query("set timezone to 'Europe/Paris'"), group("reset timezone", "select 1/0")],
    "script that fails": [query("set timezone to 'Europe/Paris'"), query("reset timezone; select 1/0")],
    "undone": [query("set timezone to 'Europe/Paris'"), query("begin; reset all"), query("rollback")],
    "undone by a savepoint": [
        query("set timezone to 'Europe/Paris'; begin; savepoint s; reset all"), query("rollback to s"), query(LOOK),
        query("commit"),
    ],
    "local": [
        query("set timezone to 'Europe/Paris'"), query(f"begin; set local timezone to default; {LOOK}"),
        query("commit"),
    ],
    "local in a group": [query("set timezone to 'Europe/Paris'"), group("set local time zone default", LOOK)],
    "local alone": [query("set timezone to 'Europe/Paris'"), query("set local timezone to default")],
    "discard all": [query("set timezone to 'Europe/Paris'"), query("discard all")],
    "discard all in a group that fails": [group("discard all", "select 1/0")],
    "discard all, set": [group("discard all", "set timezone to 'Asia/Tokyo'")],
    "discard all, set, sent together": [query("discard all") + query("set timezone to 'Asia/Tokyo'")],
    "reset, set, sent together": [group("reset all") + group("set timezone to 'Asia/Tokyo'")],
    "error behind it": [query("reset all; select 1/0 -- here"), query("reset all; selct 1")],
    "nothing": [query("")],
}  # fmt: skip


def told(request: bytes) -> int:
    """How many ReadyForQuery it has."""
    return sum(tag in b"QS" for tag, _ in messages(request))


def conversation(client: Client, requests: list[bytes]) -> tuple[list[object], dict[str, str]]:
    """What a client sees, and the settings that it has received in the end."""
    seen: list[object] = []
    known: dict[str, str] = {}
    answers = [client.welcome, *(client.ask(each, told(each)) for each in [*requests, query(LOOK)])]
    for answer in answers:
        for tag, body in messages(answer):
            if tag == b"S":
                name, value = body.decode().split("\0")[:2]
                known[name] = value
            elif tag in b"EN":
                # The class and the place, but not the text that differs by language.
                fields = {field[:1]: field[1:] for field in body.split(b"\0") if field}
                seen.append((tag, fields[b"C"], fields.get(b"P")))
            elif tag not in b"RK":
                seen.append((tag, body))
    return seen, {name: known[name] for name in ("TimeZone", "DateStyle", "search_path")}


@pytest.fixture(scope="module", autouse=True)
def tables(server: PostgresServer) -> None:
    """A table of the same name in two schemas."""
    with Client(socket.create_connection(("127.0.0.1", server.port)), user="postgres", database="postgres") as admin:
        for schema in ("reset_one", "reset_two"):
            admin.ask(query(f"drop schema if exists {schema} cascade; create schema {schema}"))
            admin.ask(query(f"create table {schema}.reset_here (n int)"))


@pytest.mark.parametrize("database", ["one", "session"])
@pytest.mark.parametrize("name", list(REQUESTS))
def test_setting_that_goes_back_is_as_without_the_daemon(daemon: Daemon, database: str, name: str) -> None:
    for start in STARTS:
        direct = socket.create_connection(("127.0.0.1", daemon.server.port))
        with (
            Client(direct, user="postgres", database="postgres", application_name="its own", **start) as one,
            Client.local(daemon.socket, user="postgres", database=database, application_name="its own", **start) as two,
        ):
            expected = conversation(one, REQUESTS[name])
            assert conversation(two, REQUESTS[name]) == expected, start
        with Client.local(daemon.socket, user="postgres", database=database) as next_client:
            assert "Asia/Tokyo" not in values(next_client.ask(query(LOOK)))[0]
