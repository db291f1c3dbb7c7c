"""A name that the server would shorten never means what has the shorter one."""

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
    "LISTEN": (longest("ü"), lambda aconn, name: aconn.listen(name)),
    "UNLISTEN": (longest("ü"), lambda aconn, name: aconn.unlisten(name)),
    "function": (longest("ü"), lambda aconn, name: aconn.cursor().callproc(name)),
    "function, schema": (longest("ü"), lambda aconn, name: aconn.cursor().callproc(f"public.{name}")),
    "composite type": (longest("ü"), lambda aconn, name: aconn.register_composite(name, tuple)),
    "composite type, schema": (longest("ü"), lambda aconn, name: aconn.register_composite(f'public."{name}"', tuple)),
    "enumeration": (longest("ö"), lambda aconn, name: aconn.register_enum(f'"{name}"', Label)),
}


@pytest.mark.parametrize("what", CALLS)
async def test_a_name_that_the_server_would_shorten_is_refused(aconn: Any, what: str) -> None:
    await aconn.executescript(
        f'drop type if exists "{longest("ü")}" cascade; create type "{longest("ü")}" as (n int);'
        f'drop type if exists "{longest("ö")}" cascade; create type "{longest("ö")}" as enum (\'only\');'
        f'create or replace function "{longest("ü")}"() returns int language sql as $$ select 1 $$'
    )
    name, call = CALLS[what]
    await call(aconn, name)
    with pytest.raises(errors.ProgrammingError, match=r"has 64 bytes, and names of PostgreSQL at most 63"):
        await call(aconn, name + "y")
    assert await aconn.fetchval("select 1") == 1


async def test_cursors_of_names_with_the_same_beginning_are_not_mixed_up(aconn: Any) -> None:
    async with aconn.transaction(), aconn.cursor(longest("ü")) as cursor:
        await cursor.execute("select 1")
        async with aconn.cursor("ü" * 40) as other:
            await other.execute("select 2")
            assert await cursor.fetchall() == [(1,)]
            assert await other.fetchall() == [(2,)]
    with pytest.raises(errors.DuplicateCursor):
        async with aconn.transaction(), aconn.cursor(longest("ü") + "y") as cursor:
            await cursor.execute("select 1")
            await aconn.cursor(longest("ü") + "z").execute("select 2")


async def test_blocks_of_savepoints_with_the_same_beginning_are_not_mixed_up(aconn: Any) -> None:
    await aconn.execute("create temp table kept (n int)")
    async with aconn.transaction(), aconn.transaction(savepoint_name=longest("ü") + "y"):
        await aconn.execute("insert into kept values (1)")
        with pytest.raises(ZeroDivisionError):
            async with aconn.transaction(savepoint_name=longest("ü") + "z"):
                await aconn.execute("insert into kept values (2)")
                raise ZeroDivisionError
        await aconn.execute("insert into kept values (3)")
    assert await aconn.fetch("select n from kept order by n") == [(1,), (3,)]
