"""Sessions that begin with settings of the role or of the database, and databases that are not in UTF-8: values are
what they are everywhere else, or the server refuses them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import urlsplit

import pytest

import headrace
from headrace import errors
from headrace.pool import ConnectionPool

from .conftest import Connect

SETTINGS: dict[str, str] = {
    "DateStyle": "'SQL, DMY'",
    "IntervalStyle": "sql_standard",
    "bytea_output": "escape",
    "TimeZone": "'UTC'",
    "client_encoding": "LATIN1",
    "standard_conforming_strings": "off",
    "escape_string_warning": "off",
    "backslash_quote": "on",
    "array_nulls": "off",
    "quote_all_identifiers": "on",
    "extra_float_digits": "-15",
    "transform_null_equals": "on",
    "xmloption": "document",
    "search_path": "settled, public",
    "default_transaction_isolation": "serializable",
    "default_transaction_deferrable": "on",
    "row_security": "on",
    "plan_cache_mode": "force_generic_plan",
    "client_min_messages": "debug1",
    "lc_monetary": "'C'",
}
"""Settings that change how a value is written, read or found, or what a transaction is."""
STYLES = ("'German'", "'Postgres, MDY'", "'ISO, YMD'")
"""Further ones of dates."""
VALUES: tuple[Any, ...] = (
    "a\\b'c\"é\n", b"\x00\\'\xff", 0.1, 1e300, True, 2**60, [1, None, 2], ["a\\", None, "NULL"], None,
)  # fmt: skip
LITERALS = (
    "date '2020-02-03'",
    "timestamp '2020-02-03 04:05:06.7'",
    "timestamptz '2020-02-03 04:05:06.7+00'",
    "interval '1 year 2 mons -3 days 04:05:06.7'",
    "interval '-1 day -2 hours'",
    "decode('005c41', 'hex')",
    "0.1::float8",
    "array['NULL', null, 'b']",
    "array[date '2020-02-03']",
    "daterange('2020-02-03', '2020-03-04')",
)
"""Without a backslash in a plain literal, whose meaning a setting changes."""


def as_bound(conn: Any) -> list[Any]:
    return [conn.fetchval("select %s", value) for value in VALUES]


def as_native(conn: Any) -> list[Any]:
    types = ("text", "bytea", "float8", "float8", "bool", "int8", "int8[]", "text[]", "text")
    return [conn.fetchval(f"select $1::{kind}", value) for kind, value in zip(types, VALUES, strict=True)]


def as_stored(conn: Any) -> list[Any]:
    """Through a table, by each way to write."""
    columns = "a text, b bytea, c float8, d float8, e bool, f int8, g int8[], h text[], i text"
    marks = ", ".join(["%s"] * len(VALUES))
    conn.execute(f"create temporary table stored ({columns})")
    conn.execute(f"insert into stored values ({marks})", VALUES)
    conn.executemany(f"insert into stored values ({marks})", [VALUES, VALUES])
    conn.copy_in("stored", [VALUES])
    found = conn.fetch("select * from stored")
    copied = list(conn.copy_out("select * from stored"))
    conn.execute("drop table stored")
    return [list(row) for row in (*found, *copied)]


def as_script(conn: Any) -> list[Any]:
    return list(conn.executescript(f"select {', '.join(LITERALS)}").fetchone())


def as_query(conn: Any) -> list[Any]:
    return list(conn.fetchrow(f"select {', '.join(LITERALS)}"))


def as_stream(conn: Any) -> list[Any]:
    return [list(row) for row in list(conn.stream(f"select {', '.join(LITERALS)}"))]


def as_copy(conn: Any) -> list[Any]:
    """A tsvector makes it one of text."""
    (row,) = list(conn.copy_out(f"select {', '.join(LITERALS)}, 'a:1'::tsvector"))
    return list(row)


WAYS: tuple[Callable[[Any], list[Any]], ...] = (
    as_bound, as_native, as_stored, as_script, as_query, as_stream, as_copy,
)  # fmt: skip


def every_value(conn: Any) -> dict[str, list[Any]]:
    """By every way."""
    return {way.__name__: way(conn) for way in WAYS}


@pytest.fixture(params=["role", "database"])
def settled(request: pytest.FixtureRequest, dba: Any, url: str) -> Iterator[Callable[[dict[str, str]], None]]:
    """Gives the role ``settled``, or everybody in the database, settings."""
    dba.executescript("create schema if not exists settled")
    if not dba.fetch("select from pg_roles where rolname = 'settled'"):
        dba.executescript("create role settled superuser login")
    what = "role settled" if request.param == "role" else f'database "{urlsplit(url).path[1:]}"'

    def give(settings: dict[str, str]) -> None:
        for name, value in settings.items():
            dba.executescript(f"alter {what} set {name} = {value}")

    yield give
    dba.executescript(f"alter {what} reset all")


def test_no_setting_of_a_role_or_database_changes_a_value(
    connect: Connect, settled: Callable[[dict[str, str]], None]
) -> None:
    expected = every_value(connect(user="settled", autocommit=True))
    assert expected["as_native"] == list(VALUES)
    settled(SETTINGS)
    conn = connect(user="settled", autocommit=True)
    assert conn.fetchval("show DateStyle") == "SQL, DMY"
    assert conn.fetchval("show client_encoding") == "UTF8"
    assert every_value(conn) == expected
    for style in STYLES:
        settled({"DateStyle": style, "IntervalStyle": "iso_8601"})
        conn = connect(user="settled", autocommit=True)
        assert (as_script(conn), as_copy(conn)) == (expected["as_script"], expected["as_copy"])


def set_modes(conn: Any, read_only: bool | None, isolation_level: str | None) -> None:
    """In either shell."""
    if hasattr(conn, "set_read_only"):
        conn.set_read_only(read_only)
        conn.set_isolation_level(isolation_level)
    else:
        conn.read_only, conn.isolation_level = read_only, isolation_level


def test_transactions_begin_as_the_settings_say_until_the_program_says_otherwise(
    connect: Connect, settled: Callable[[dict[str, str]], None]
) -> None:
    settled({"default_transaction_read_only": "on", "default_transaction_isolation": "serializable"})
    modes = "select current_setting('transaction_read_only'), current_setting('transaction_isolation')"
    conn = connect(user="settled")
    assert conn.fetchrow(modes) == ("on", "serializable")
    with pytest.raises(errors.ReadOnlySqlTransaction):
        conn.execute("create table settled.never (n int)")
    conn.rollback()
    set_modes(conn, False, "read committed")
    assert conn.fetchrow(modes) == ("off", "read committed")
    conn.rollback()
    set_modes(conn, None, None)
    assert conn.fetchrow(modes) == ("on", "serializable")


@pytest.mark.parametrize("reset", ["none", "rollback", "discard"])
def test_a_pool_goes_back_to_the_settings_of_the_role(
    url: str, settled: Callable[[dict[str, str]], None], reset: Any
) -> None:
    settled(SETTINGS)
    names = [name for name in SETTINGS if name not in ("client_encoding", "default_transaction_isolation")]
    look = f"select {', '.join(f'current_setting({name!r})' for name in names)}"
    keywords = {"user": "settled", "autocommit": True}
    with ConnectionPool(url, min_size=1, max_size=1, reset=reset, kwargs=keywords) as pool:
        with pool.connection() as conn:
            before = conn.fetchrow(look)
            conn.executescript("reset DateStyle; set DateStyle = 'ISO, MDY'; set TimeZone = 'Asia/Tokyo'")
            conn.executescript("set search_path = public; set standard_conforming_strings = on")
            changed = conn.fetchrow(look)
        assert changed != before
        with pool.connection() as conn:
            assert conn.fetchrow(look) == (before if reset == "discard" else changed)


ENCODINGS = ("LATIN1", "SQL_ASCII")


@pytest.fixture(params=ENCODINGS)
def encoded(request: pytest.FixtureRequest, url: str, dba: Any) -> Iterator[tuple[str, str]]:
    """The URL of a database in another encoding, and that."""
    name = f"in_{request.param.lower()}"
    dba.execute(f"drop database if exists {name}")
    dba.execute(f"create database {name} encoding '{request.param}' lc_collate 'C' lc_ctype 'C' template template0")
    yield url.rpartition("/")[0] + f"/{name}", request.param
    dba.execute(f"drop database {name} with (force)")


def test_text_of_a_database_in_another_encoding(encoded: tuple[str, str]) -> None:
    """LATIN1 is converted by the server, which refuses what it does not have. A SQL_ASCII database stores the bytes of
    UTF-8; the server refuses to return others, which can be read as bytes."""
    where, encoding = encoded
    with headrace.connect(where, autocommit=True) as conn:
        conn.execute("create table texts (t text)")
        conn.execute("insert into texts values (%s)", ("é",))
        conn.executemany("insert into texts values ($1)", [("é",), ("é",)])
        conn.copy_in("texts", [("é",)])
        conn.executescript("insert into texts values ('é')")
        assert conn.fetch("select t from texts where t = %s", "é") == [("é",)] * 5
        assert list(conn.copy_out("texts")) == list(conn.stream("select t from texts")) == [("é",)] * 5
        assert conn.fetchval("select octet_length(t) from texts limit 1") == (1 if encoding == "LATIN1" else 2)
        if encoding == "LATIN1":
            for way in (conn.execute, conn.executemany):
                with pytest.raises(errors.UntranslatableCharacter):
                    way("insert into texts values (%s)", ("日",) if way == conn.execute else [("日",)])
            assert conn.fetchval("select count(*) from texts") == 5
            return
        conn.execute("insert into texts values (convert_from('\\xe9'::bytea, 'SQL_ASCII'))")
        for read in (conn.fetch, conn.executescript, lambda sql: list(conn.stream(sql))):
            with pytest.raises(errors.DataError) as caught:
                read("select t from texts")
            assert type(caught.value).__name__ == "CharacterNotInRepertoire"
        assert conn.fetch("select convert_to(t, 'SQL_ASCII') from texts offset 5") == [(b"\xe9",)]
