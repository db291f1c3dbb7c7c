"""The session's encoding stays UTF8: text in another one would be stored as what it is not."""

from __future__ import annotations

from typing import Any

import pytest

import headrace
from headrace import errors

CHANGES = [
    "set client_encoding = 'latin1'",
    "set names 'latin1'",
    "select set_config('client_encoding', 'latin1', false)",
    "do $$ begin set client_encoding = 'latin1'; end $$",
]


@pytest.mark.parametrize("change", CHANGES)
def test_another_encoding_closes_the_connection(url: str, change: str) -> None:
    conn = headrace.connect(url, autocommit=True)
    with pytest.raises(errors.OperationalError, match="set to LATIN1.*UTF8 only"):
        conn.execute(change)
    assert conn.closed
    with pytest.raises(errors.ConnectionClosed):
        conn.execute("select 'é'")


async def test_another_encoding_closes_the_asyncio_connection(url: str) -> None:
    conn = await headrace.aio.connect(url)
    with pytest.raises(errors.OperationalError, match="set to LATIN1.*UTF8 only"):
        await conn.executescript("set client_encoding = 'latin1'; select 1")
    assert conn.closed


def test_the_same_encoding_may_be_set(conn: headrace.Connection[Any]) -> None:
    for change in ["set client_encoding = 'UTF8'", "set names 'utf-8'", "set client_encoding to unicode", "reset all"]:
        conn.execute(change)
        assert conn.fetchval("select %s || 'é'", "é") == "éé"


def test_a_function_may_use_another_encoding_meanwhile(conn: headrace.Connection[Any]) -> None:
    conn.execute("create function pg_temp.f() returns text language sql set client_encoding = 'latin1' as $$ select 'é' $$")
    assert conn.fetchval("select pg_temp.f()") == "é"
    assert conn.fetchval("select %s", "é") == "é"
