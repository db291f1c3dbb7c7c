"""A name that the server would shorten never means what has the shorter one."""

# Made by tools/async_to_sync.py of test_long_names_async.py: edit that file, and run the tool.

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import pytest

from headrace import errors


class Label(enum.Enum):
    """Of an enumeration."""

    only = "only"


def longest(letter: str) -> str:
    """A name of 63 bytes, as long as names are."""
    return letter * 31 + "x"


CALLS: dict[str, tuple[str, Callable[[Any, str], Any]]] = {
    "LISTEN": (longest("ü"), lambda conn, name: conn.listen(name)),
    "UNLISTEN": (longest("ü"), lambda conn, name: conn.unlisten(name)),
    "function": (longest("ü"), lambda conn, name: conn.cursor().callproc(name)),
    "function, schema": (longest("ü"), lambda conn, name: conn.cursor().callproc(f"public.{name}")),
    "composite type": (longest("ü"), lambda conn, name: conn.register_composite(name, tuple)),
    "composite type, schema": (longest("ü"), lambda conn, name: conn.register_composite(f'public."{name}"', tuple)),
    "enumeration": (longest("ö"), lambda conn, name: conn.register_enum(f'"{name}"', Label)),
}


@pytest.mark.parametrize("what", CALLS)
def test_a_name_that_the_server_would_shorten_is_refused(conn: Any, what: str) -> None:
    conn.executescript(
        f'drop type if exists "{longest("ü")}" cascade; create type "{longest("ü")}" as (n int);'
        f'drop type if exists "{longest("ö")}" cascade; create type "{longest("ö")}" as enum (\'only\');'
        f'create or replace function "{longest("ü")}"() returns int language sql as $$ select 1 $$'
    )
    name, call = CALLS[what]
    call(conn, name)
    with pytest.raises(errors.ProgrammingError, match=r"has 64 bytes, and names of PostgreSQL at most 63"):
        call(conn, name + "y")
    assert conn.fetchval("select 1") == 1


def test_cursors_of_names_with_the_same_beginning_are_not_mixed_up(conn: Any) -> None:
    with conn.transaction(), conn.cursor(longest("ü")) as cursor:
        cursor.execute("select 1")
        with conn.cursor("ü" * 40) as other:
            other.execute("select 2")
            assert cursor.fetchall() == [(1,)]
            assert other.fetchall() == [(2,)]
    with pytest.raises(errors.DuplicateCursor), conn.transaction(), conn.cursor(longest("ü") + "y") as cursor:
        cursor.execute("select 1")
        conn.cursor(longest("ü") + "z").execute("select 2")


def test_blocks_of_savepoints_with_the_same_beginning_are_not_mixed_up(conn: Any) -> None:
    conn.execute("create temp table kept (n int)")
    with conn.transaction(), conn.transaction(savepoint_name=longest("ü") + "y"):
        conn.execute("insert into kept values (1)")
        with pytest.raises(ZeroDivisionError), conn.transaction(savepoint_name=longest("ü") + "z"):
            conn.execute("insert into kept values (2)")
            raise ZeroDivisionError
        conn.execute("insert into kept values (3)")
    assert conn.fetch("select n from kept order by n") == [(1,), (3,)]
