"""What a session of another database keeps: each line of the page that says so, by two clients in turn."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

from served import Served

from ..test_sessions import PAGES, kept, shared
from ..test_status import ask
from .conftest import Front, running
from .plain import PlainClient

SECTIONS = {"mysql": "MySQL and MariaDB", "mariadb": "MySQL and MariaDB", "informix": "Informix", "cubrid": "CUBRID"}
LINES = [(name, *line) for name, section in SECTIONS.items() for line in kept(PAGES[section])]
HARMLESS = [(name, sql) for name, section in SECTIONS.items() for sql in shared(PAGES[section])]
OF_MYSQL = (
    "create table if not exists sessions_t (n int, id int auto_increment primary key) engine = innodb",
    "create database if not exists sessions_other",
    "drop procedure if exists sessions_p",
    "create procedure sessions_p() set @sessions = 7",
    "create role if not exists sessions_role",
    "grant sessions_role to current_user()",
)
MADE = {
    "mysql": OF_MYSQL,
    "mariadb": OF_MYSQL,
    "informix": (
        "drop table if exists sessions_t",
        "create table sessions_t (n int)",
        "create database if not exists sessions_other with log",
    ),
    "cubrid": ("drop table if exists sessions_t", "create table sessions_t (n int)"),
}
"""Statements of an administrator, before the lines of the page."""
SEEDS = "set rand_seed1 = 7, rand_seed2 = 7"
VARIABLES = """select concat_ws(' ', database(), coalesce(current_role(), ''), coalesce(@sessions, ''),
    coalesce(is_used_lock('sessions'), ''), @@sql_mode, @@time_zone, @@character_set_client, @@character_set_results,
    @@collation_connection, @@autocommit, {isolation}_isolation, {isolation}_read_only, @@foreign_key_checks,
    @@sql_select_limit, timestampdiff(day, now(), sysdate()), @@insert_id, @@profiling)"""
NAMED = ("select n from sessions_temp", "execute sessions", "handler sessions_t read first")
"""What a session may have by name: they fail where it has not."""
OTHERS = ("begin; select last_insert_id() = 777; rollback", "insert into sessions_t (n) values (8)")
LOOKS = {
    "mysql": (VARIABLES.format(isolation="@@transaction"), *NAMED, *OTHERS),
    "mariadb": (VARIABLES.format(isolation="@@tx"), *NAMED, *OTHERS),
    "informix": ("select n from sessions_temp", "insert into sessions_t (n) values (8)"),
    "cubrid": ("select @sessions", "execute sessions", "insert into sessions_t (n) values (8)"),
}
"""How it is seen what a session has."""


@pytest.fixture(scope="module")
def mysql_front(program: Path, mysql_served: Served) -> Iterator[Front]:
    """Genuine MySQL behind a daemon."""
    url = mysql_served.url("test")
    pools = {"mysql": "", "mysql_one": "pool_size = 1", "mysql_session": "pool_mode = 'session'"}
    text = "".join(f"[databases.{name}]\nurl = {json.dumps(url)}\n{more}\n" for name, more in pools.items())
    with running(program, text) as folder:
        yield Front("mysql", folder, url, "")


@pytest.fixture(scope="module")
def made() -> set[str]:
    """The databases that have what the lines name."""
    return set()


@pytest.fixture
def place(request: pytest.FixtureRequest, name: str, made: set[str]) -> Front:
    """The database of a line, with what the line names."""
    front: Front = (
        request.getfixturevalue("mysql_front") if name == "mysql" else request.getfixturevalue("fronts")[name]
    )
    if name not in made:
        for sql in MADE[name]:
            with front.direct() as admin:
                admin.execute(sql)
        made.add(name)
    return front


def opened(front: Front, database: str) -> int:
    """The sessions that a pool has opened."""
    metrics = ask(front, "GET", "/metrics")[1]
    found = re.search(rf'^headraced_connections_opened_total\{{.*@{database}".*\}} (\d+)$', metrics, re.MULTILINE)
    return int(found[1]) if found else 0


def looked(front: Front, database: str) -> list[list[str]]:
    """What a client sees of its session."""
    with PlainClient(front, database) as client:
        found = [client.query(look) for look in LOOKS[front.name]]
        if front.name in ("mysql", "mariadb"):
            found.append(client.query(f"select abs(rand() - {seeded(front)}) < 0.000001"))
        return found


def seeded(front: Front) -> float:
    """The first random number after :data:`SEEDS`."""
    with front.direct() as admin:
        admin.execute(SEEDS)
        return float(admin.fetchval("select rand()"))


def test_page_has_what_keeps_a_session() -> None:
    assert {name: sum(line[0] == name for line in LINES) > 9 for name in SECTIONS} == dict.fromkeys(SECTIONS, True)
    assert {line[2] for line in LINES if line[0] in ("informix", "cubrid")} == {"closed"}


@pytest.mark.parametrize("way", ["one", "session", "discard"])
@pytest.mark.parametrize(("name", "sql", "end"), LINES)
def test_session_is_reset_or_closed(place: Front, sql: str, end: str, way: str) -> None:
    database = f"{place.name}_{'session' if way == 'session' else 'one'}"
    nothing = "select 7" + place.one_row
    clean = looked(place, database)
    with PlainClient(place, database) as first:
        first.query(nothing)
        before = opened(place, database)
        first.query(sql)
        if way == "discard":
            first.query("rollback")
            discarded = first.query("discard all")
            assert discarded == (["25001"] if sql.startswith("xa ") else [])
            if not discarded:
                # The client has nothing there any more: another has its turn, though it has not left.
                with PlainClient(place, database) as second:
                    second.query(nothing)
    with PlainClient(place, database) as second:
        second.query(nothing)
    assert opened(place, database) - before == (end == "closed")
    assert looked(place, database) == clean


@pytest.mark.parametrize(("name", "sql"), HARMLESS)
def test_what_leaves_nothing_keeps_no_session(place: Front, sql: str) -> None:
    with PlainClient(place, f"{place.name}_one") as first:
        first.query(sql)
        before = opened(place, f"{place.name}_one")
        with PlainClient(place, f"{place.name}_one") as second:
            second.query("select 7" + place.one_row)
        first.query("select 7" + place.one_row)
        assert opened(place, f"{place.name}_one") == before
