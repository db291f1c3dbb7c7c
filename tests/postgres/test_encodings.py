"""The session's encoding stays UTF8: text in another one would be stored as what it is not."""

from __future__ import annotations

import pytest

from headrace import errors

from .conftest import Connect

CHANGES = [
    "set client_encoding = 'latin1'",
    "set names 'latin1'",
    "select set_config('client_encoding', 'latin1', false)",
    "do $$ begin set client_encoding = 'latin1'; end $$",
]


@pytest.mark.parametrize("change", CHANGES)
def test_another_encoding_closes_the_connection(connect: Connect, change: str) -> None:
    for execute in ("execute", "executescript"):
        conn = connect(autocommit=True)
        with pytest.raises(errors.OperationalError, match=r"set to LATIN1.*UTF8 only"):
            getattr(conn, execute)(change)
        assert conn.closed
        with pytest.raises(errors.ConnectionClosed):
            conn.execute("select 'é'")


def test_the_same_encoding_may_be_set(connect: Connect) -> None:
    conn = connect()
    for change in ["set client_encoding = 'UTF8'", "set names 'utf-8'", "set client_encoding to unicode", "reset all"]:
        conn.execute(change)
        assert conn.fetchval("select %s || 'é'", "é") == "éé"


def test_a_function_may_use_another_encoding_meanwhile(connect: Connect) -> None:
    conn = connect()
    conn.execute(
        "create function pg_temp.f() returns text language sql set client_encoding = 'latin1' as 'select 1::text'"
    )
    assert conn.fetchval("select pg_temp.f() || 'é' || %s", "é") == "1éé"
