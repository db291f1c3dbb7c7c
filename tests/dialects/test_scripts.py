"""Texts of several statements through SQLAlchemy, as migrations and fixtures have them."""

from __future__ import annotations

import pytest
import sqlalchemy as sa

from servers import Database, MySQL, PostgreSQL, names

from .conftest import Engines

SCRIPT = (
    "create table of_scripts (v varchar(20));"
    " insert into of_scripts values ('a;b');"
    " insert into of_scripts values ('%s')"
)


def with_dialect(url: str) -> str:
    scheme, _, rest = url.partition("://")
    return f"{scheme}+headrace://{rest}"


@pytest.mark.parametrize("any_db", names(PostgreSQL, MySQL), indirect=True)
def test_several_statements_are_one_text(any_db: Database, shell: str) -> None:
    engines = Engines(with_dialect(any_db.scripting_url), shell == "asyncio")

    def work(conn: sa.Connection) -> None:
        conn.exec_driver_sql("drop table if exists of_scripts")
        conn.commit()
        conn.exec_driver_sql(SCRIPT)
        assert sorted(conn.exec_driver_sql("select v from of_scripts").scalars()) == ["%s", "a;b"]
        assert conn.exec_driver_sql("select 'one;two' as n; select 2").scalars().all() == ["one;two"]
        assert conn.execute(sa.text("update of_scripts set v = 'c;d' where v = 'a;b'")).rowcount == 1
        conn.execute(sa.text("insert into of_scripts values (:v)"), [{"v": "e;f"}, {"v": "g"}])
        conn.rollback()
        # CREATE TABLE ends the transaction on MySQL; what came behind it is undone everywhere.
        is_there = sa.inspect(conn).has_table("of_scripts")
        assert is_there is any_db.commits_ddl
        conn.exec_driver_sql("drop table if exists of_scripts; select 1")
        conn.commit()
        assert not sa.inspect(conn).has_table("of_scripts")

    try:
        engines.connected(work, begin=False)
    finally:
        engines.dispose()


@pytest.mark.parametrize("any_db", names(PostgreSQL), indirect=True)
def test_a_semicolon_in_a_string_is_of_one_statement(any_db: Database, shell: str) -> None:
    """Which is prepared, as scripts are not."""
    engines = Engines(with_dialect(any_db.url), shell == "asyncio")
    prepared = "select statement from pg_prepared_statements where statement like 'select ''a;%%'"

    def work(conn: sa.Connection) -> None:
        assert conn.exec_driver_sql("select 'a;b' as n;").scalar() == "a;b"
        assert conn.exec_driver_sql(prepared).scalars().all() == ["select 'a;b' as n;"]

    try:
        engines.connected(work)
    finally:
        engines.dispose()


@pytest.mark.parametrize("any_db", names(MySQL), indirect=True)
def test_what_a_connection_needs_for_it_is_said(any_db: Database, shell: str) -> None:
    engines = Engines(with_dialect(any_db.url), shell == "asyncio")
    try:
        with pytest.raises(sa.exc.ProgrammingError, match="multi_statements=True"):
            engines.connected(lambda conn: conn.exec_driver_sql("select 1; select 2"))
        with pytest.raises(sa.exc.ProgrammingError) as caught:
            engines.connected(lambda conn: conn.exec_driver_sql("select nothing from from;"))
        assert "multi_statements" not in str(caught.value)
    finally:
        engines.dispose()
