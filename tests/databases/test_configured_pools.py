"""What a pool's ``configure`` has set stays, whatever a borrower changes and whatever the pool resets."""

from __future__ import annotations

import enum
from typing import Any

import pytest

import headrace
from headrace import errors
from headrace.rows import dict_row, namedtuple_row
from servers import Database, MySQL, database, names

from .left_behind import OTHER_VALUES, Configure, is_same, pool_of

SETTINGS = {
    "postgresql": ("set search_path = pg_catalog", "set search_path = public", "show search_path", "pg_catalog"),
    "mysql": ("set time_zone = '+01:00'", "set time_zone = '+02:00'", "select @@time_zone", "+01:00"),
}
"""By the kind of the database: what ``configure`` executes, what a borrower does, a query, and what ``configure``'s
setting is."""
RESETS = ("none", "rollback", "discard")


@pytest.fixture(params=["blocking", "asyncio"])
def shell(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.mark.parametrize("mode", RESETS)
def test_every_borrower_has_what_configure_has_set(shell: str, any_db: Database, mode: str) -> None:
    if mode not in any_db.resets.MODES:
        return
    statement, other, query, wanted = SETTINGS.get(any_db.kind, ("", "", "", ""))
    attributes = (("row_factory", dict_row), ("autocommit", True), ("isolation_level", "serializable"))
    configure = Configure((statement,) if statement else (), attributes)
    with pool_of(shell, any_db.url, configure, reset=mode) as (lend, give_back):
        one = lend()
        for name in ("row_factory", "autocommit", "isolation_level"):
            setattr(
                one,
                name,
                namedtuple_row if name == "row_factory" else {"autocommit": False}.get(name, OTHER_VALUES.get(name)),
            )
        if other and mode == "discard":
            one.execute(other)
            one.rollback()
        give_back(one)
        for _ in range(2):
            two = lend()
            assert is_same(one, two)
            assert (two.row_factory, two.autocommit, two.isolation_level) == (dict_row, True, "serializable")
            assert not query or two.fetchval(query) == wanted
            give_back(two)


@pytest.mark.parametrize("mysql", names(MySQL))
def test_a_level_that_the_session_had_before_comes_back(request: pytest.FixtureRequest, shell: str, mysql: str) -> None:
    db = database(request, mysql)
    assert isinstance(db, MySQL)
    options = {"init_command": "set session transaction isolation level read uncommitted, read only"}
    variables = f"select concat(@@{db.isolation_variables}_isolation, @@{db.isolation_variables}_read_only)"
    with pool_of(shell, db.url, reset="rollback", kwargs=options) as (lend, give_back):
        one = lend()
        before = one.fetchval(variables)
        one.rollback()
        for _ in range(2):
            one.isolation_level, one.read_only = "serializable", False
            assert one.fetchval(variables) != before
            one.rollback()
            give_back(one)
            one = lend()
            assert (one.isolation_level, one.read_only, one.fetchval(variables)) == (None, None, before)
            one.rollback()
        give_back(one)


class Mood(enum.Enum):
    GOOD = "good"


def test_handlers_and_types_that_a_borrower_has_registered_go(url: str) -> None:
    heard: list[Any] = []
    with headrace.connect(url, autocommit=True) as admin:
        admin.execute("create type mood as enum ('good')")

    def configure(conn: headrace.Connection[Any]) -> None:
        conn.register_adapters({23: lambda data: int(data) + 1})

    with headrace.ConnectionPool(url, min_size=1, max_size=1, configure=configure) as pool:
        for _ in range(2):
            with pool.connection() as conn:
                query = "select 'good'::mood, 1"
                assert conn.fetchrow(query) == ("good", 2)
                conn.register_enum("mood", Mood)
                conn.add_notice_handler(heard.append)
                assert conn.fetchrow(query) == (Mood.GOOD, 2)
        with pool.connection() as conn:
            conn.execute("do $$ begin raise notice 'heard'; end $$")
    assert heard == []


def test_a_reset_of_a_connection_of_ones_own_sets_attributes_back(any_db: Database) -> None:
    conn = any_db.connect(row_factory=dict_row)
    try:
        conn.row_factory, conn.autocommit = namedtuple_row, True
        conn.reset("rollback")
        assert (conn.row_factory, conn.autocommit) == (dict_row, False)
        with pytest.raises(errors.ProgrammingError, match="reset='all' is not one of none, rollback"):
            conn.reset("all")
    finally:
        conn.close()
