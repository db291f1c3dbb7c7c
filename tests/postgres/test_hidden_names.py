"""A name in a statement stands for what it stands for now, after the session has made something nearer of that name:
the server goes on with the plan that it has, without an error."""

from __future__ import annotations

from typing import Any

import pytest

MADE = {
    "temporary table": ("create temporary table hidden (a int)", "drop table pg_temp.hidden"),
    "temporary table of EXPLAIN ANALYZE": (
        "explain analyze create temporary table hidden as select 2 as a where false",
        "drop table pg_temp.hidden",
    ),
    "temporary table of SELECT INTO": ("select 2 as a into temporary hidden where false", "drop table pg_temp.hidden"),
    "table in a schema before": ("create table nearer.hidden (a int)", "drop table nearer.hidden"),
    "view in a schema before": ("create view nearer.hidden as select 2 as a where false", "drop view nearer.hidden"),
}
QUERIES: tuple[tuple[str, tuple[object, ...]], ...] = (
    ("select count(*)::int from hidden", ()),
    ("select count(*)::int from hidden where a >= %s", (0,)),
    ("select count(*)::int from hidden where a >= $1", (0,)),
)


@pytest.fixture
def names(conn: Any) -> Any:
    """A connection with a table that can be hidden; the schemas of temporary tables and others are searched before."""
    conn.autocommit = True
    conn.execute("create temporary table other (a int)")
    conn.executescript("drop schema if exists nearer, farther cascade; create schema nearer; create schema farther")
    conn.executescript("create table farther.hidden (a int); insert into farther.hidden values (1)")
    conn.execute("set search_path = nearer, farther, public")
    return conn


@pytest.mark.parametrize("made", MADE)
def test_table_that_is_hidden_is_not_read(names: Any, made: str) -> None:
    make, drop = MADE[made]
    for _ in range(2):
        for query, values in QUERIES:
            assert [names.fetchval(query, *values) for _ in range(2)] == [1, 1]
        names.execute(make)
        for query, values in QUERIES:
            assert [names.fetchval(query, *values) for _ in range(2)] == [0, 0]
        names.execute(drop)


@pytest.mark.parametrize("made", MADE)
def test_table_that_is_hidden_in_a_pipeline_is_not_read(names: Any, made: str) -> None:
    make, drop = MADE[made]
    for query, values in QUERIES:
        assert [names.fetchval(query, *values) for _ in range(2)] == [1, 1]
        with names.pipeline():
            names.execute(make)
            found = names.execute(query, values or None)
        assert found.fetchall() == [(0,)]
        names.executescript(f"{drop}; {make}")
        assert names.fetchval(query, *values) == 0
        names.execute(drop)


def test_table_that_is_hidden_is_not_written(names: Any) -> None:
    writes = ("insert into hidden values (5)", "update hidden set a = a + 1", "delete from hidden where a > 100")
    for write in writes:
        names.execute(write)
    names.executemany("insert into hidden values (%s)", [(7,)])
    before = names.fetch("select a from farther.hidden order by a")
    names.execute("create temporary table hidden (a int)")
    for write in writes:
        names.execute(write)
    names.executemany("insert into hidden values (%s)", [(8,)])
    with names.pipeline():
        names.execute(writes[0])
    assert names.fetch("select a from farther.hidden order by a") == before
    assert names.fetch("select a from pg_temp.hidden order by a") == [(5,), (6,), (8,)]


def test_function_with_nearer_types_is_called(names: Any) -> None:
    names.execute("create function farther.called(numeric) returns text language sql as $$ select 'numeric' $$")
    assert [names.fetchval("select called(1)") for _ in range(2)] == ["numeric"] * 2
    names.execute("create function farther.called(int) returns text language sql as $$ select 'int' $$")
    assert [names.fetchval("select called(1)") for _ in range(2)] == ["int"] * 2
