"""Servers whose sessions do not begin in the character set that the handshake asks for: text is stored and read as it
is, by every way of the driver, on the first statement and after a reset."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import headrace.aio.mysql
import headrace.mysql
from headrace import errors
from headrace.compat import mysqldb
from headrace.pool import ConnectionPool
from headrace.testing import mariadb, mysql
from served import SETTINGS, Served, fresh, served

from .maven import mysql80

TEXT = "é日😀\\'\""
"""With what a literal has to escape, which depends on the server's modes."""
STORED = TEXT.encode().hex().upper()
LATIN = "E9"
"""``é`` in a column of latin1."""
IGNORING = {"skip_character_set_client_handshake": "1", "character_set_server": "latin1"}
GLOBALS: dict[str, dict[str, str]] = {
    "utf8 by init_connect": {"init_connect": "SET NAMES utf8"},
    "latin1 by init_connect": {"init_connect": "SET NAMES latin1"},
    "binary by init_connect": {"init_connect": "SET NAMES binary"},
    "a collation by init_connect": {"init_connect": "SET collation_connection = latin1_swedish_ci"},
    "no results by init_connect": {"init_connect": "SET character_set_results = NULL"},
    "a server that reports nothing": {"init_connect": "SET NAMES latin1", "session_track_system_variables": ""},
    "globals in latin1": {
        "character_set_client": "latin1",
        "character_set_connection": "latin1",
        "character_set_results": "latin1",
    },
    **{
        f"globals in {name}": {
            "character_set_client": name,
            "character_set_connection": name,
            "character_set_results": name,
            "collation_server": f"{name}_bin",
        }
        for name in ("gbk", "sjis", "koi8r")
    },
    "backslashes without a meaning": {"sql_mode": "NO_BACKSLASH_ESCAPES", "init_connect": "SET NAMES gbk"},
    "quotes of names": {"sql_mode": "ANSI_QUOTES,NO_BACKSLASH_ESCAPES", "init_connect": "SET NAMES sjis"},
    "every mode off": {"sql_mode": "", "init_connect": "SET NAMES latin1"},
    "full GROUP BY": {"sql_mode": "ONLY_FULL_GROUP_BY,ANSI_QUOTES", "init_connect": "SET NAMES latin1"},
}
"""Global variables, by what they make of the session of an account without privileges."""
INSERT = "insert into texts (t, l) values (%s, 'é')"


def _blocking(**keywords: Any) -> Callable[[str], Any]:
    def store(url: str) -> Any:
        with headrace.mysql.connect(url, get_server_public_key=True, **keywords) as conn:
            conn.execute(INSERT, (TEXT,))
            return conn.fetchrow("select t, l, (select count(*) from texts where t = %s) from texts", TEXT)

    return store


def _first_reads(url: str) -> Any:
    with headrace.mysql.connect(url, get_server_public_key=True) as conn:
        conn.executemany(INSERT, [(TEXT,)])
    with headrace.mysql.connect(url, get_server_public_key=True) as conn:
        return conn.fetchrow("select t, l, 1 from texts where t = %s", TEXT)


def _load(url: str) -> Any:
    with headrace.mysql.connect(url, get_server_public_key=True, local_infile=True) as conn:
        conn.load_rows("texts", [(TEXT, "é")], columns=["t", "l"])
        return next(iter(conn.stream("select t, l, 1 from texts")))


def _on_a_loop(url: str) -> Any:
    async def store() -> Any:
        async with await headrace.aio.mysql.connect(url, get_server_public_key=True) as conn:
            await conn.execute(INSERT, (TEXT,))
            return await conn.fetchrow("select t, l, 1 from texts where t = %s", TEXT)

    return asyncio.run(store())


def _facade(**keywords: Any) -> Callable[[str], Any]:
    def store(url: str) -> Any:
        where = headrace.mysql.settings.connect_options(url, {})
        host, port = where.hosts[0]
        conn = mysqldb.connect(
            host=host, port=port, user=where.user, password=where.password, database=where.database,
            get_server_public_key=True, **keywords,
        )  # fmt: skip
        with conn, conn.cursor() as cursor:
            cursor.execute(INSERT, (TEXT,))
            cursor.execute("select t, l, 1 from texts where t = %s", (TEXT,))
            found = cursor.fetchone()
            conn.commit()
            return found

    return store


def _second_of_a_pool(reset: Any) -> Callable[[str], Any]:
    def store(url: str) -> Any:
        keywords = {"get_server_public_key": True}
        with ConnectionPool(url, min_size=1, max_size=1, reset=reset, kwargs=keywords) as pool:
            with pool.connection() as conn:
                conn.execute("set names utf8")
            with pool.connection() as conn:
                conn.execute(INSERT, (TEXT,))
            with pool.connection() as conn:
                return conn.fetchrow("select t, l, 1 from texts where t = %s", TEXT)

    return store


WAYS: dict[str, Callable[[str], Any]] = {
    "prepared": _blocking(),
    "in autocommit": _blocking(autocommit=True),
    "as text": _blocking(prepared=False),
    "with a collation": _blocking(collation="utf8mb4_bin"),
    "several": _first_reads,
    "loaded": _load,
    "asyncio": _on_a_loop,
    "MySQLdb": _facade(),
    "MySQLdb with charset": _facade(charset="utf8mb4"),
    "MySQLdb with utf8": _facade(charset="utf8", collation="utf8_general_ci"),
    "a pool that rolls back": _second_of_a_pool("rollback"),
    "a pool that discards": _second_of_a_pool("discard"),
}


def check(url: str, admin: Any) -> None:
    """Stores and reads by every way."""
    wrong: list[str] = []
    for name, way in WAYS.items():
        admin.execute("truncate texts")
        found = way(url)
        stored = admin.fetch("select hex(t), hex(l) from texts")
        if found != (TEXT, "é", 1) or stored != [(STORED, LATIN)]:
            wrong.append(f"{name}: {found} of {stored}")
    assert not wrong


def _prepared(made: Served, admin: Any, schema: str) -> str:
    """The URL of an account without privileges, for which init_connect is executed."""
    admin.execute("drop user if exists plain@'%'")
    admin.execute("create user plain@'%' identified by 'pw'")
    admin.execute(f"grant all on {schema}.* to plain@'%'")
    fresh(admin, "table texts (t varchar(20) character set utf8mb4, l varchar(5) character set latin1) engine=innodb")
    return made.url(schema).replace("tester:tiger", "plain:pw")


@pytest.fixture(scope="module")
def plain_url(my_server: Served, my_url: str) -> Iterator[str]:
    with headrace.mysql.connect(my_url, autocommit=True) as admin:
        yield _prepared(my_server, admin, my_url.rpartition("/")[2])


@pytest.mark.parametrize("settings", GLOBALS.values(), ids=list(GLOBALS))
def test_text_is_text_whatever_a_session_begins_in(plain_url: str, my: Any, settings: dict[str, str]) -> None:
    before = {name: my.fetchval(f"select @@global.{name}") for name in settings}
    for name, value in settings.items():
        my.execute(f"set global {name} = ?", (value,))
    try:
        check(plain_url, my)
    finally:
        for name, value in before.items():
            my.execute(f"set global {name} = ?", (value,))


@pytest.mark.parametrize("name", ["mariadb", "mysql80"])
def test_text_is_text_on_a_server_that_ignores_the_handshake(name: str) -> None:
    settings = {**(SETTINGS if name == "mysql80" else {}), **IGNORING}
    starting = (
        mysql(installation=mysql80(), settings=settings, tls=True) if name == "mysql80" else mariadb(settings=settings)
    )
    with starting as running:
        made = served(name, running)
        with headrace.mysql.connect(made.url("test"), autocommit=True) as admin:
            check(_prepared(made, admin, "test"), admin)


KEEPING = [
    "set names utf8",
    "set names utf8 collate utf8_general_ci",
    "set names binary",
    "set character set utf8mb4",
    "set character_set_connection = latin1",
    "set collation_connection = latin1_swedish_ci",
    "set @@session.collation_connection = 'latin1_bin'",
    "set character_set_results = NULL",
    "set session_track_system_variables = ''",
    "call named()",
    "select named()",
    "execute made",
]
"""Statements after which text is text all the same."""


@pytest.fixture(scope="module")
def changing(plain_url: str, my_url: str) -> str:
    with headrace.mysql.connect(my_url, autocommit=True) as admin:
        fresh(admin, "procedure named() begin set names utf8; select 1; end")
        admin.execute("drop function if exists named")
        admin.execute(
            "create function named() returns int no sql begin set character_set_results = NULL; return 1; end"
        )
    return my_url


@pytest.mark.parametrize("statement", KEEPING)
def test_text_is_text_after_a_change_that_can_be_set_back(changing: str, my: Any, statement: str) -> None:
    for autocommit in (True, False):
        my.execute("truncate texts")
        with headrace.mysql.connect(changing, autocommit=autocommit) as conn:
            if statement == "execute made":
                conn.execute("prepare made from 'set collation_connection = latin1_swedish_ci'")
            conn.execute(statement)
            conn.execute(INSERT, (TEXT,))
            assert conn.fetchrow("select t, l from texts where t = %s", TEXT) == (TEXT, "é")
            assert conn.fetchval("select concat('日', '😀')") == "日😀"
        assert my.fetch("select hex(t), hex(l) from texts") == [(STORED, LATIN)]


def test_a_collation_of_the_programs_own_stays(my: Any) -> None:
    for sql in ("set names utf8mb4 collate utf8mb4_bin", "set collation_connection = utf8mb4_bin"):
        my.execute(sql)
        assert my.fetchval("select @@collation_connection") == "utf8mb4_bin"
        my.execute("set character_set_results = NULL")
        assert my.fetchrow("select @@collation_connection, @@character_set_results") == ("utf8mb4_bin", "utf8mb4")


async def test_requests_in_flight_after_a_change_are_not_believed(changing: str) -> None:
    conn = await headrace.aio.mysql.connect(changing, autocommit=True)
    await conn.fetchval("select 1")
    answers = await asyncio.gather(
        conn.executescript("call named()"), conn.executescript("select '😀'"), return_exceptions=True
    )
    assert all(isinstance(answer, errors.OperationalError) for answer in answers), answers
    assert conn.closed


def test_opening_costs_no_further_round_trip(my: Any, my_url: str) -> None:
    """The statement that sets the character sets travels with the first one, and with autocommit is one with it."""
    for autocommit in (True, False):
        before = int(my.fetch("show global status like 'Questions'")[0][1])
        with headrace.mysql.connect(my_url, autocommit=autocommit) as conn:
            conn.executescript("do 1")
            after = int(conn.executescript("show global status like 'Questions'").fetchall()[0][1])
        # SHOW, SET, DO, SHOW.
        assert after - before <= 4, autocommit
