"""An INSERT whose columns another session has changed, to a type that this connection has never seen: it is stored
once, and its row comes. A program that were told to execute it again would store it twice."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import pytest

import headrace
import headrace.aio
from headrace import errors

CHANGES: dict[str, tuple[str, tuple[Any, ...]]] = {
    "a column of an enumeration": ("alter table fresh add s mood default 'good'", (9, None, "good")),
    "an enumeration in place of a number": (
        "alter table fresh alter v type mood using 'bad', alter v set default 'bad'",
        (9, "bad"),
    ),
    "a column of a composite type": ("alter table fresh add s pair default row(1, 'q')", (9, None, (1, "q"))),
    "a column of an array": ("alter table fresh add s mood[] default '{good,bad}'", (9, None, ["good", "bad"])),
    "a column of a domain": ("alter table fresh add s small default 3", (9, None, 3)),
    "an array in place of a number": (
        "alter table fresh alter v type mood[] using '{bad}', alter v set default '{bad}'",
        (9, ["bad"]),
    ),
    "a column whose binary form is not known": ("alter table fresh add s tsvector default 'a'", (9, None, "'a'")),
    "a column that is not new": ("alter table fresh add s text default 'x'", (9, None, "x")),
    "a column less": ("alter table fresh drop v", (9,)),
}
STYLES = ("insert into fresh (id) values (%s) returning *", "insert into fresh (id) values ($1) returning *")
KEPT = (1, 2, 3)
"""How often the statement is executed before the change: the second time the driver looks whether a pooler is there."""


def execute(conn: Any, sql: str, number: int) -> Any:
    return conn.execute(sql, (number,)).fetchall()


def fetch(conn: Any, sql: str, number: int) -> Any:
    return conn.fetch(sql, number)


def stream(conn: Any, sql: str, number: int) -> Any:
    return list(conn.stream(sql, (number,)))


def block(conn: Any, sql: str, number: int) -> Any:
    with conn.transaction():
        return conn.fetch(sql, number)


def pipeline(conn: Any, sql: str, number: int) -> Any:
    with conn.pipeline():
        cursor = conn.execute(sql, (number,))
    return cursor.fetchall()


def batch(conn: Any, sql: str, number: int) -> Any:
    return conn.executemany(sql, [(number,)], returning=True).fetchall()


WAYS: dict[str, Callable[[Any, str, int], Any]] = {
    way.__name__: way for way in (execute, fetch, stream, block, pipeline, batch)
}


MAKE = (
    "drop table if exists fresh cascade; drop type if exists mood, pair cascade; drop domain if exists small; "
    "create table fresh (id int, v int); create type mood as enum ('good', 'bad'); "
    "create type pair as (x int, y text); create domain small as int"
)
"""The types are others each time: no session knows them."""


@pytest.fixture
def admin(url: str) -> Iterator[headrace.Connection[Any]]:
    """Another session."""
    with headrace.connect(url, autocommit=True) as conn:
        conn.executescript(MAKE)
        yield conn


def outcome(way: str, change: str, run: Callable[[], Any], expected: Any, admin: Any) -> Any:
    """What became of an INSERT; the row that was expected also for what the driver cannot repeat, as others were or may
    have been sent after it, and says rightly what it has done."""
    try:
        return run()
    except errors.FeatureNotSupported as error:
        is_right = way in ("pipeline", "batch", "block") and "cached plan" in str(error)
        # Nothing was executed: the program can repeat it.
        return run() if is_right and not admin.fetch("select from fresh") else error
    except errors.DataError as error:
        is_right = way in ("pipeline", "batch") and "binary form" in change and "It was executed" in str(error)
        return [expected] if is_right else error


@pytest.mark.parametrize("options", [{}, {"prepared": False}], ids=["prepared", "unprepared"])
@pytest.mark.parametrize("change", CHANGES)
def test_an_insert_that_returns_a_new_type_is_stored_once(
    url: str, admin: Any, options: dict[str, Any], change: str
) -> None:
    definition, expected = CHANGES[change]
    wrong: list[str] = []
    for (name, way), sql, before in itertools.product(WAYS.items(), STYLES, KEPT):
        with headrace.connect(url, autocommit=True, **options) as conn:
            for number in range(before):
                way(conn, sql, number)
            admin.executescript(f"truncate fresh; {definition}")
            found = outcome(name, change, partial(way, conn, sql, 9), expected, admin)
            stored = admin.fetchval("select count(*) from fresh")
            if found != [expected] or stored != 1:
                wrong.append(f"{name}, {sql}, {before} before: {found!r}, {stored} rows")
        admin.executescript(MAKE)
    assert wrong == []


@pytest.mark.parametrize("sql", STYLES)
async def test_the_same_on_asyncio_and_as_arrow(url: str, admin: Any, sql: str) -> None:
    definition, expected = CHANGES["an enumeration in place of a number"]
    async with await headrace.aio.connect(url, autocommit=True, prepared=False) as conn:
        await conn.fetch(sql, 1)
        await conn.fetch_arrow(sql, 1)
        admin.executescript(f"truncate fresh; {definition}")
        assert (await conn.fetch_arrow_table(sql, 9)).to_pylist() == [{"id": 9, "v": "bad"}]
        admin.executescript(f"{MAKE}; {definition}")
        assert await conn.fetch(sql, 9) == [expected]
    assert admin.fetchval("select count(*) from fresh") == 1


@pytest.mark.parametrize("options", [{}, {"prepared": False}], ids=["prepared", "unprepared"])
@pytest.mark.parametrize("sql", STYLES)
def test_types_are_looked_up_whatever_a_backslash_in_a_string_is(
    url: str, admin: Any, sql: str, options: dict[str, Any]
) -> None:
    """The server refuses some escapes where a backslash in a string is one, and after a row was stored."""
    definition, expected = CHANGES["a column of a composite type"]
    with headrace.connect(url, autocommit=True, **options) as conn:
        conn.execute("set standard_conforming_strings = off")
        conn.fetch(sql, 1)
        admin.executescript(f"truncate fresh; {definition}")
        assert conn.fetch(sql, 9) == [expected]
    assert admin.fetchval("select count(*) from fresh") == 1


def test_tenants_with_types_of_their_own_may_alternate(url: str, admin: Any) -> None:
    sql = "insert into things (mood) values (%s) returning mood"
    for tenant in ("one", "two"):
        admin.executescript(
            f"drop schema if exists {tenant} cascade; create schema {tenant}; set search_path = {tenant}; "
            "create type mood as enum ('good', 'bad'); create table things (mood mood)"
        )
    with headrace.connect(url, autocommit=True, prepared=False) as conn:
        for _ in range(4):
            for tenant in ("one", "two"):
                conn.fetch("select set_config('search_path', %s, false)", tenant)
                assert conn.fetch(sql, "good") == [("good",)]
    assert [admin.fetchval(f"select count(*) from {tenant}.things") for tenant in ("one", "two")] == [4, 4]


@pytest.mark.parametrize("options", [{}, {"prepared": False}], ids=["prepared", "unprepared"])
@pytest.mark.parametrize("way", [pipeline, batch])
def test_after_a_value_without_a_known_binary_form_the_next_execution_returns_its_text(
    url: str, admin: Any, way: Callable[[Any, str, int], Any], options: dict[str, Any]
) -> None:
    definition, expected = CHANGES["a column whose binary form is not known"]
    with headrace.connect(url, autocommit=True, **options) as conn:
        for number in range(3):
            way(conn, STYLES[0], number)
        admin.executescript(f"truncate fresh; {definition}")
        with contextlib.suppress(errors.DataError, errors.FeatureNotSupported):
            way(conn, STYLES[0], 8)
        assert way(conn, STYLES[0], 9) == [expected]
    assert admin.fetchval("select count(*) from fresh where id = 9") == 1
