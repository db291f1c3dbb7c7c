"""Tenants in schemas of their own, each with a type of the same name: a statement means another table with each change
of the search path, however the path is changed."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import headrace

from .conftest import Connect

TENANTS = ("ten1", "ten2")
Choose = Callable[[Any, str], Any]
WAYS: dict[str, Choose] = {
    "set_local": lambda conn, name: conn.execute(f"SET LOCAL search_path TO {name}"),
    "literal": lambda conn, name: conn.execute(f"SELECT set_config('search_path', '{name}', true)"),
    "parameter": lambda conn, name: conn.execute("SELECT set_config('search_path', %s, true)", (name,)),
    "name_too": lambda conn, name: conn.execute("SELECT set_config(%s, %s, true)", ("search_path", name)),
    "fetch": lambda conn, name: conn.fetchval("SELECT set_config('search_path', $1, true)", name),
    "script": lambda conn, name: conn.executescript(f"SELECT set_config('search_path', '{name}', true)"),
    "do": lambda conn, name: conn.execute(f"DO $$BEGIN PERFORM set_config('search_path', '{name}', true); END$$"),
}
"""How a transaction chooses its tenant; the driver can see each of them."""


@pytest.fixture(scope="module", autouse=True)
def tenants(url: str) -> None:
    with headrace.connect(url, autocommit=True) as dba:
        for name in TENANTS:
            dba.executescript(
                f"CREATE SCHEMA {name}; CREATE TYPE {name}.st AS ENUM ('a', '{name}'); "
                f"CREATE TABLE {name}.o (id int, s {name}.st); INSERT INTO {name}.o VALUES (1, '{name}')"
            )
        dba.execute(
            "CREATE FUNCTION public.use_tenant(t text) RETURNS void LANGUAGE plpgsql AS "
            "$$BEGIN PERFORM set_config('search_path', t, true); END$$"
        )


def work(conn: Any, choose: Choose, name: str) -> None:
    """A transaction of a tenant."""
    with conn.transaction():
        choose(conn, name)
        assert conn.execute("SELECT id, s FROM o WHERE id = %s", (1,)).fetchall() == [(1, name)]
        assert conn.fetchval("SELECT s FROM o WHERE id = $1", 1) == name
        conn.execute("INSERT INTO o VALUES (%s, %s)", (2, name))


@pytest.mark.parametrize("way", WAYS)
def test_each_transaction_has_the_tables_of_its_tenant(connect: Connect, way: str) -> None:
    conn = connect()
    for name in [*TENANTS * 3, *TENANTS[:1] * 2, *TENANTS]:
        work(conn, WAYS[way], name)


def test_a_function_that_changes_the_path_fails_a_statement_once_at_most(connect: Connect, version: str) -> None:
    """PostgreSQL reports the path since version 18. Before that the driver learns of it by the server's refusal, which
    ends the transaction, and remembers the text."""
    conn = connect()
    failed: list[str] = []
    for name in TENANTS * 5:
        try:
            work(conn, lambda conn, name: conn.execute("SELECT public.use_tenant(%s)", (name,)), name)
        except (headrace.errors.FeatureNotSupported, headrace.errors.InvalidTextRepresentation) as error:
            failed.append(str(error))
    # Two texts select a column of the tenant's own type, and one has a parameter of it.
    assert len(failed) <= (0 if version == "18" else 3), failed
